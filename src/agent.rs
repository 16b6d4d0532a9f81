//! The agent: one session, one model, one set of tools, and what can be asked of them.
//!
//! The driver that headless runs and the REPL share. It owns the session and the model, and tells
//! what happens as [`Update`]s; questions to the user go out as [`Question`]s.

mod background;
mod mind;
mod permissions;
mod rewind;
mod tuning;
mod window;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::client::learned::Learned;
use crate::client::profile::Profile;
use crate::client::profile::adjust::Adjustment;
use crate::client::profile::effort::Effort;
use crate::client::request::{Envelope, Message};
use crate::client::retry::RetryPolicy;
use crate::compact::{self, Wish, plan::Budget};
use crate::error::Error;
use crate::event::{Compaction, Event, SystemPrompt, Trigger};
use crate::jobs::Jobs;
use crate::mask::Masks;
use crate::policy::offer::Offer;
use crate::policy::rules::Rules;
use crate::policy::{Mode, Strength};
use crate::sandbox::inner::Repositories;
use crate::sandbox::{Confinement, Sandbox};
use crate::session::log::{self, LogError};
use crate::session::origin::{self, Origin};
use crate::session::state::estimate;
use crate::session::store::Store;
use crate::session::{Session, resume};
use crate::tools::Effect;
use crate::tools::paths::Workspace;
use crate::tools::registry::Registry;
use crate::tools::snapshot::Watch;
use crate::turn::{self, Tally, log_failed};
use crate::update::{Ask, SessionOpened, TurnSummary, Update};
pub use mind::Mind;
pub use permissions::KeepRules;
pub use rewind::Scope;
pub use window::{Probe, Window, assumed};
pub(crate) use window::{Sent, Windows};

/// A question about an action that needs the user's consent.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub ask: Ask,
    /// What [`Answer::Always`] would mean; none where that is no answer.
    pub always: Option<Offer>,
    /// Where the answer goes. Dropping it means no.
    pub answer: oneshot::Sender<Answer>,
}

/// The user's answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This time.
    Yes,
    /// Yes, and from now on as [`Question::always`] says.
    Always,
    /// No; the comment, if any, is for the model.
    No(Option<String>),
}

/// What fills the context window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextReport {
    /// Tokens in use, as the provider last reported plus what was added since.
    pub tokens: u64,
    /// The window and where its figure comes from.
    pub window: Window,
    /// What an unknown window is taken for on screen.
    pub assumed: u64,
    /// Where automatic compaction sets in.
    pub compact_at: Option<u64>,
    /// Labelled parts in estimated tokens: system prompt, tools, messages by kind.
    pub parts: Vec<(String, u64)>,
}

/// How an agent works, apart from what it works on.
#[derive(Clone, Debug)]
pub struct Options {
    /// Steps in a turn at most.
    pub max_steps: Option<u32>,
    /// How often the same calls in a row end a turn.
    pub max_repeats: u32,
    /// The permission mode.
    pub mode: Mode,
    /// The user has chosen it: it is not the usual one.
    pub mode_chosen: bool,
    /// What confines commands on this machine.
    pub sandbox: Sandbox,
    /// How patient the client is.
    pub retry: RetryPolicy,
    /// How hard the model thinks; none = as the provider sees fit.
    pub effort: Option<Effort>,
    /// Environment variables that children must not see.
    pub hidden_env: Arc<Vec<String>>,
    /// What must never be stored or shown.
    pub masks: Masks,
    /// Where side files go when the session is not saved.
    pub temporary: PathBuf,
    /// The replies come from a script in the program.
    pub scripted: bool,
}

/// A system prompt, and what went into it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltPrompt {
    /// The whole text.
    pub text: String,
    /// The instruction files that are in it.
    pub sources: Vec<String>,
    /// What the user should know about files that were cut or left out.
    pub warnings: Vec<String>,
}

/// Builds the system prompt for a model.
pub type BuildPrompt = Box<dyn Fn(&str) -> BuiltPrompt + Send>;

/// See the module.
pub struct Agent {
    pub(crate) session: Session,
    pub(crate) mind: Mind,
    pub(crate) envelope: Envelope,
    pub(crate) windows: Windows,
    /// What holds for the model in use; made by [`Agent::retune`].
    pub(crate) profile: Profile,
    /// What endpoints were seen to accept.
    pub(crate) learned: Learned,
    /// Changes that have not led to an answer yet.
    pub(crate) tried: Vec<Adjustment>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) store: Store,
    /// What runs in the background of this session.
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) options: Options,
    /// The user's rules.
    pub(crate) rules: Rules,
    /// Keeps rules for other sessions.
    pub(crate) keep_rules: KeepRules,
    /// The git repositories that commands can reach.
    pub(crate) repositories: Arc<Repositories>,
    /// The workspace as the last command left it.
    pub(crate) watch: Arc<Mutex<Watch>>,
    pub(crate) build_prompt: BuildPrompt,
    pub(crate) updates: mpsc::UnboundedSender<Update>,
    pub(crate) questions: Option<mpsc::UnboundedSender<Question>>,
    /// The system prompt has been checked against today's model, tools and directory.
    pub(crate) prompt_is_fresh: bool,
}

impl Agent {
    /// Runs one turn to its end. An error is a failure to begin it (the log cannot be written);
    /// every other fault is in the summary's ending.
    pub async fn turn(
        &mut self,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Result<TurnSummary, Error> {
        turn::run(self, prompt, cancel).await.map_err(|error| log_error(&error))
    }

    /// Prepares what the first request needs and costs time; to be called while the user types.
    pub fn warm_up(&mut self) {
        self.mind.model.warm_up();
        self.ask_window();
    }

    /// `/compact [focus]`: replaces old history by a summary. Says what came of it.
    pub async fn compact(
        &mut self,
        focus: Option<&str>,
        cancel: &CancellationToken,
    ) -> Result<String, Error> {
        self.show(Update::Compacting(Trigger::Manual));
        let mut tally = Tally::default();
        let wish = Wish { trigger: Trigger::Manual, focus, into: None };
        let done = compact::summarise(self, wish, &mut tally, cancel).await;
        match done.map_err(|error| log_error(&error))? {
            Ok(Compaction { tokens_before, tokens_after, .. }) => {
                Ok(format!("compacted: {tokens_before} → {tokens_after} tokens"))
            }
            Err(refusal) => Ok(format!("nothing was compacted: {refusal}")),
        }
    }

    /// `/context`.
    pub fn context(&mut self) -> ContextReport {
        self.take_window();
        let state = &self.session.state;
        let mut parts = vec![
            ("system prompt".to_owned(), estimate(state.encoded().first(0).len())),
            ("tools".to_owned(), estimate(self.envelope.tools.len())),
        ];
        for (label, belongs) in KINDS {
            let indices = (0..state.history.len())
                .filter(|&i| state.history.get(i).is_some_and(|entry| belongs(&entry.message)));
            let bytes = indices.map(|i| state.encoded().bytes_of(i)).sum();
            parts.push((label.to_owned(), estimate(bytes)));
        }
        ContextReport {
            tokens: state.size(self.envelope.tools.len()),
            window: self.mind.window.clone(),
            assumed: self.mind.assumed_window(),
            compact_at: self.budget().map(Budget::trigger),
            parts,
        }
    }

    /// `/tools`: name and first sentence of each tool, and where it comes from if it is not built in.
    pub fn tools(&self) -> Vec<(String, String)> {
        let first = |text: &str| text.split_once(". ").map_or(text, |(first, _)| first).to_owned();
        let origin = |name: &str| {
            let file = self.registry.file(name);
            file.map_or_else(String::new, |file| format!(" ({})", file.display()))
        };
        let described = self.registry.describe().into_iter();
        described.map(|(n, d)| (n.to_owned(), first(d) + &origin(n))).collect()
    }

    /// The session's id, and its file where it is saved.
    pub fn session(&self) -> (String, Option<PathBuf>) {
        (self.session.header.id.clone(), self.session.path())
    }

    /// The workspace.
    pub fn root(&self) -> &Path {
        &self.workspace.root
    }

    /// What must never be stored or shown.
    pub fn masks(&self) -> &Masks {
        &self.options.masks
    }

    /// `/new`: closes this session and begins another.
    pub fn new_session(&mut self) -> Result<(), Error> {
        self.settle()?;
        self.take_session(self.store.create(&self.workspace.root, &self.profile));
        self.opened(None);
        Ok(())
    }

    /// `/resume [ID]`: closes this session and goes on with another; none = the latest other one.
    /// Reading a long log takes its time, and ends soon after `cancel`.
    pub async fn resume_session(
        &mut self,
        id: Option<String>,
        cancel: &CancellationToken,
    ) -> Result<(), Error> {
        self.settle()?;
        let (store, profile, root) =
            (self.store.clone(), self.profile, self.workspace.root.clone());
        let (own, stop) = (self.session(), cancel.clone());
        let opened = tokio::task::spawn_blocking(move || {
            let path = store.find(id.as_deref(), Some(&own.0))?;
            if own.1.is_some_and(|own| same_file(&own, &path)) {
                return Err(Error::usage("this session is open already", ""));
            }
            let header = log::read_header(&path).map_err(|error| resume::cannot_resume(&error))?;
            if store.origin(&path, &header) == Origin::Foreign {
                return Err(Error::usage(format!("{} was not written here", header.id), "")
                    .help(origin::advice(&header.id)));
            }
            if store.home(&path, &header, &root) != root {
                return Err(Error::usage("this session belongs to another folder", header.cwd)
                    .help(format!("xsh --resume {}", header.id)));
            }
            let mut resumed = resume::open(&path, &profile, &root, store.refuge(), &stop)?;
            if Path::new(&header.cwd) != root {
                let origin = store.origin(&path, &header);
                resumed.warnings.push(origin::stays(origin, &header.cwd, &root));
            }
            Ok(resumed)
        });
        let resumed = opened.await.map_err(|error| Error::failed("cannot resume", error))??;
        let turns = resumed.session.state.turn;
        for warning in resumed.warnings {
            self.show(Update::Warning(warning));
        }
        self.take_session(resumed.session);
        self.opened(Some(turns));
        self.finish_rewind();
        let last = self.session.state.model.as_ref();
        let last = last
            .filter(|last| (&last.provider, &last.model) != (&self.mind.provider, &self.mind.name));
        if let Some(last) = last {
            let text = format!(
                "{} ({}) answered here last; {} goes on",
                last.model, last.provider, self.mind.name
            );
            self.show(Update::Note(text));
        }
        Ok(())
    }

    /// The last chance to write what could not be written when it happened. An error says how much
    /// is lost with the end of the program.
    pub fn save_rest(&mut self) -> Result<(), Error> {
        if !self.session.has_backlog() {
            return Ok(());
        }
        let saved = self.session.flush().and_then(|()| self.session.sync());
        self.tell_notices();
        saved.map_err(|error| {
            let lost = figures_of(self.session.waiting());
            Error::failed(format!("{lost} could not be saved"), error)
        })
    }

    /// Goes on with this session, as the model in use reads it. The jobs of the one before end.
    pub(crate) fn take_session(&mut self, session: Session) {
        self.leave_jobs();
        self.clear_away();
        self.session = session;
        self.retune();
    }

    /// Makes sure that nothing of the present session is lost before it is left.
    fn settle(&mut self) -> Result<(), Error> {
        let saved = self.session.flush().and_then(|()| self.session.sync());
        self.tell_notices();
        saved.map_err(|error| log_error(&error))?;
        self.rules.end_session();
        self.apply_rules();
        self.prompt_is_fresh = false;
        Ok(())
    }

    /// Tells that a session begins or goes on.
    pub fn opened(&self, resumed_turns: Option<u32>) {
        let built = (self.build_prompt)(&self.mind.name);
        for warning in built.warnings {
            self.show(Update::Warning(warning));
        }
        let strength = &self.options.sandbox.strength;
        if *strength != Strength::Full {
            self.show(Update::Warning(format!(
                "the sandbox of commands is {}",
                strength.describe()
            )));
        }
        self.show(Update::SessionOpened(SessionOpened {
            id: self.session.header.id.clone(),
            path: self.session.path().map(|path| path.display().to_string()),
            cwd: self.workspace.root.display().to_string(),
            provider: self.mind.provider.clone(),
            model: self.mind.name.clone(),
            tools: self.registry.names().into_iter().map(str::to_owned).collect(),
            permission_mode: self.options.mode.name().to_owned(),
            sandbox: strength.name().to_owned(),
            instructions: built.sources,
            resumed_turns,
            scripted: self.options.scripted,
        }));
    }

    /// Records today's system prompt where it differs from the one in force.
    pub(crate) fn refresh_system_prompt(&mut self) -> Result<(), LogError> {
        if self.prompt_is_fresh {
            return Ok(());
        }
        let mut content = (self.build_prompt)(&self.mind.name).text;
        self.options.masks.apply_to(&mut content);
        if content != self.session.state.system {
            self.session.propose(Event::SystemPrompt(SystemPrompt { content }))?;
        }
        self.prompt_is_fresh = true;
        Ok(())
    }

    /// The room in the window; none when the window is unknown.
    pub(crate) fn budget(&self) -> Option<Budget> {
        let window = self.mind.window.tokens?;
        Some(Budget { window, tools_bytes: self.envelope.tools.len() })
    }

    /// Tells what has happened to the log.
    pub(crate) fn tell_notices(&mut self) {
        for notice in self.session.take_notices() {
            self.show(Update::Warning(notice));
        }
    }

    /// Sends an update. A screen that is gone is no reason to stop working.
    pub(crate) fn show(&self, update: Update) {
        let _ = self.updates.send(update);
    }

    /// The box for what a call runs; none for what runs free because the mode or the user says so, or
    /// because there is none.
    pub(crate) fn sandbox_for(&self, effect: &Effect) -> Option<Confinement> {
        let free = self.options.mode == Mode::Full
            || matches!(effect, Effect::Exec { leave: Some(_), .. });
        if free {
            // What runs free may make repositories.
            if matches!(effect, Effect::Exec { .. }) {
                self.repositories.forget();
            }
            return None;
        }
        let (roots, tmp) = (self.roots(), self.temporary_folder());
        self.options.sandbox.around(roots, tmp, &self.repositories, self.updates.clone())
    }

    /// Looks for what has to be protected of repositories, while the model thinks.
    pub(crate) fn look_for_repositories(&self) {
        if self.options.mode != Mode::Full {
            self.repositories.begin(self.roots());
        }
    }

    /// Where whole outputs go that were cut for the model.
    pub(crate) fn output_folder(&self) -> PathBuf {
        self.side_folder().join("outputs")
    }

    /// Where contents go that a change replaces; none when nothing is saved.
    pub(crate) fn blob_folder(&self) -> Option<PathBuf> {
        self.saved_folder().map(|folder| folder.join("blobs"))
    }

    /// The folder beside the session; none when nothing is saved.
    pub(crate) fn saved_folder(&self) -> Option<PathBuf> {
        self.session.path().map(|_| self.side_folder())
    }

    /// Where commands in the sandbox have their temporary files, as long as the program runs.
    fn temporary_folder(&self) -> PathBuf {
        self.side_folder().join("tmp")
    }

    /// Removes what does not outlast the session: all of an unsaved one, the temporary files of the
    /// commands of a saved one. There may be nothing.
    fn clear_away(&self) {
        let saved = self.session.path().is_some();
        let passing = if saved { self.temporary_folder() } else { self.side_folder() };
        let _ = std::fs::remove_dir_all(passing);
    }

    fn side_folder(&self) -> PathBuf {
        match self.session.path() {
            Some(path) => path.with_extension("files"),
            None => self.options.temporary.join(format!("xsh-{}", self.session.header.id)),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.clear_away();
    }
}

fn figures_of(events: usize) -> String {
    if events == 1 { "1 event".to_owned() } else { format!("{events} events") }
}

fn same_file(a: &Path, b: &Path) -> bool {
    a == b || std::fs::canonicalize(a).is_ok_and(|a| std::fs::canonicalize(b).is_ok_and(|b| a == b))
}

type Belongs = fn(&Message) -> bool;

/// The kinds of message that `/context` tells apart.
const KINDS: [(&str, Belongs); 4] = [
    ("user messages", |message| matches!(message, Message::User(_))),
    ("summary", |message| matches!(message, Message::Summary(_))),
    ("answers and calls", |message| matches!(message, Message::Assistant(_))),
    ("tool results", |message| matches!(message, Message::Tool { .. })),
];

pub(crate) fn log_error(error: &LogError) -> Error {
    Error::failed(log_failed(error), "")
        .help("free some space or make the session folder writable, or use --no-session")
}
