//! From a configuration to an agent that is ready to take its first turn.
//!
//! Which session it is comes first: a resumed one brings its own working directory, and with it
//! the project's configuration.

pub mod choice;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::{
    Agent, BuildPrompt, BuiltPrompt, KeepRules, Mind, Options, Question, Window, Windows,
};
use crate::cli::Args;
use crate::client::learned::Learned;
use crate::client::profile::{GENERIC, Profile};
use crate::client::request::Envelope;
use crate::client::retry::RetryPolicy;
use crate::config::environment::Environment;
use crate::config::project::Trust;
use crate::config::resolve::{World, resolve};
use crate::config::{Config, Origin, instructions, keep, load};
use crate::demo;
use crate::desk::Desk;
use crate::error::Error;
use crate::policy::rules::{Ground, PathRules, Rules};
use crate::prompt::{self, Parts};
use crate::sandbox::inner::Repositories;
use crate::sandbox::{Attempt, Sandbox};
use crate::session::origin;
use crate::session::store::Store;
use crate::session::{Session, clock, log, resume};
use crate::tools::custom::{self, Folder, Owner};
use crate::tools::paths::Workspace;
use crate::tools::registry::Registry;
use crate::ui::out;
use crate::update::Update;

/// Everything that is known before there is an agent.
pub struct Start {
    /// The configuration, of the resumed session's folder where there is one.
    pub config: Config,
    /// What it was made from.
    pub world: World,
    /// What was typed, with the folder of the resumed session.
    pub args: Args,
    /// The sessions of the workspace.
    pub store: Store,
    /// The log to go on with.
    pub resume: Option<PathBuf>,
    /// Its id, where somebody else wrote it: it must not be gone on with unasked.
    pub foreign: Option<String>,
    /// The user's rules.
    pub rules: Rules,
    /// What confines commands on this machine.
    pub sandbox: Sandbox,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What was chosen for the user, in words.
    pub notes: Vec<String>,
}

/// The same for a command that runs no turn and needs nothing of the project's settings: a fault of
/// theirs is a warning, told here.
pub fn prepare_plain(args: &Args) -> Result<Start, Error> {
    let mut world = load::world(args, Environment::read())?;
    if let Some(Error { what, why, .. }) = world.set_fault_aside() {
        out::print_warning(&format!("{what}: {why}; the file is ignored here"));
    }
    prepare_in(args, world, None)
}

/// Loads the configuration and finds the session that is asked for. Commands run in the sandbox that
/// an attempt is under way at.
pub fn prepare(args: &Args, attempt: Attempt) -> Result<Start, Error> {
    prepare_in(args, load::world(args, Environment::read())?, Some(attempt))
}

fn prepare_in(args: &Args, mut world: World, attempt: Option<Attempt>) -> Result<Start, Error> {
    let mut args = args.clone();
    let mut config = resolve(&args, &world)?;
    let (mut store, mut warning) = open_store(&config, &args);
    let mut warnings = Vec::new();
    let wanted = match (&args.resume, args.continue_latest) {
        (None, false) => None,
        (id, _) => {
            let path = store.find(id.as_ref().and_then(|id| id.as_deref()), None)?;
            let header = log::read_header(&path).map_err(|error| resume::cannot_resume(&error))?;
            Some((path, header))
        }
    };
    let mut foreign = None;
    if let Some((path, header)) = &wanted {
        let home = store.home(path, header, &config.workspace);
        if home != Path::new(&header.cwd) {
            warnings.push(origin::stays(store.origin(path, header), &header.cwd, &home));
        } else if home != config.workspace {
            args = elsewhere(&args, &home)?;
            world = load::world(&args, Environment::read())?;
            config = resolve(&args, &world)?;
            (store, warning) = open_store(&config, &args);
            warnings.push(format!("working in the session's folder: {}", home.display()));
        }
    }
    let untried = || Sandbox::none("it was not tried out");
    let sandbox = attempt.map_or_else(untried, Attempt::outcome);
    let mut sandbox = sandbox.with([&config.workspace].into_iter().chain(&config.add_dirs));
    sandbox.state.clone_from(&config.state_dir);
    world.strength = sandbox.strength.clone();
    config = resolve(&args, &world)?;
    if let Some((path, header)) = &wanted {
        match store.origin(path, header) {
            origin::Origin::Own => {}
            origin::Origin::Unknown => warnings.push(
                "nothing shows who wrote this session: your xsh has written none here yet"
                    .to_owned(),
            ),
            origin::Origin::Foreign => foreign = Some(header.id.clone()),
        }
    }
    warnings.extend(warning);
    warnings.append(&mut config.warnings);
    let rules = rules(&config, &world)?;
    let (resume, notes) = (wanted.map(|(path, _)| path), Vec::new());
    Ok(Start { config, world, args, store, resume, foreign, rules, sandbox, warnings, notes })
}

/// The user's rules, from the configuration and the command line.
fn rules(config: &Config, world: &World) -> Result<Rules, Error> {
    let registry = Registry::builtin();
    // A rule may name a tool that the user has yet to trust.
    let offered = world.offered.tools.clone();
    let folders: Vec<Folder> = own_tools(world).into_iter().chain(offered).collect();
    let (custom, _) = custom::load(&folders, &registry.names());
    let custom = custom.iter().map(|tool| tool.name.as_str());
    let tools: Vec<&str> = registry.names().into_iter().chain(custom).collect();
    let roots: Vec<PathBuf> =
        std::iter::once(&config.workspace).chain(&config.add_dirs).cloned().collect();
    Rules::load(&config.rules, Ground { tools: &tools, roots: &roots })
}

fn open_store(config: &Config, args: &Args) -> (Store, Option<String>) {
    Store::open(&config.workspace, config.state_dir.as_deref(), !args.no_session)
}

fn elsewhere(args: &Args, folder: &Path) -> Result<Args, Error> {
    if !folder.is_dir() {
        return Err(Error::usage(
            "cannot resume",
            format!("its folder {} is gone", folder.display()),
        )
        .help("bring the folder back, or begin a new session"));
    }
    let mut args = args.clone();
    args.work.directory = Some(folder.to_owned());
    Ok(args)
}

/// Where an agent's news and questions go.
pub struct Wires {
    /// To the screen.
    pub updates: mpsc::UnboundedSender<Update>,
    /// To the user; none where nobody can be asked.
    pub questions: Option<mpsc::UnboundedSender<Question>>,
}

/// An agent with a provider, and the desk where it finds others. Reads the log where a session is
/// resumed; makes no connection.
pub fn agent(mut start: Start, wires: Wires) -> Result<(Agent, Desk), Error> {
    let registry = registry(&mut start);
    tell(&mut start, &wires);
    let mut desk = Desk::new(start.args.clone(), start.world.clone(), start.config.clone());
    let profile = start.config.endpoint.as_ref().map_or(&GENERIC, |endpoint| endpoint.profile);
    let (session, resumed) = open_session(&start, profile, &wires)?;
    let (mind, note) = match session.state.model.as_ref().filter(|_| resumed.is_some()) {
        Some(recorded) => desk.mind_for(recorded)?,
        None => (desk.home()?, None),
    };
    let mut agent = assemble(&start, (mind, registry), session, wires);
    if let Some(effort) = desk.recorded_effort(agent.session.state.model.as_ref()) {
        agent.restore_effort(Some(effort));
    }
    agent.opened(resumed);
    agent.finish_rewind();
    if start.config.window.is_some_and(|window| window.origin == Origin::Discovered) {
        agent.warn_if_little();
    }
    if let Some(note) = note {
        agent.show(note);
    }
    Ok((agent, desk))
}

/// An agent whose replies come from the script in the program.
pub fn demo_agent(mut start: Start, wires: Wires) -> Result<Agent, Error> {
    tell(&mut start, &wires);
    let mind = Mind {
        model: Box::new(demo::ScriptedModel::default()),
        name: demo::MODEL.to_owned(),
        provider: "demo".to_owned(),
        profile: &GENERIC,
        base_url: String::new(),
        extra_body: serde_json::Map::new(),
        window: Window { tokens: Some(128_000), origin: "the demo".to_owned() },
        price: None,
        loopback: true,
        probe: None,
        hidden_env: Arc::new(start.config.hidden_env.clone()),
        masks: start.config.masks.clone(),
    };
    let (session, resumed) = open_session(&start, mind.profile, &wires)?;
    let agent = assemble(&start, (mind, Registry::builtin()), session, wires);
    agent.opened(resumed);
    Ok(agent)
}

impl Start {
    /// The warning that what the project brings along is not trusted, where that is so.
    pub fn warn_untrusted(&mut self) {
        if matches!(self.world.trust, Trust::Refused | Trust::Unasked) {
            self.warnings.push(self.world.offered.ignored(&self.world.workspace));
        }
    }

    /// Takes the user's answer about what the project brings along.
    pub fn answer_trust(&mut self, yes: bool) -> Result<(), Error> {
        self.warnings.extend(self.world.answer_trust(yes));
        self.config = resolve(&self.args, &self.world)?;
        let warnings = std::mem::take(&mut self.config.warnings);
        let new: Vec<_> = warnings.into_iter().filter(|w| !self.warnings.contains(w)).collect();
        self.warnings.extend(new);
        Ok(())
    }
}

/// The built-in tools, the user's, and the project's where they are trusted.
fn registry(start: &mut Start) -> Registry {
    let builtin = Registry::builtin();
    let (tools, warnings) = custom::load(&tool_folders(&start.world), &builtin.names());
    start.warnings.extend(warnings);
    builtin.with_custom(&tools)
}

/// The folders whose tools count.
pub fn tool_folders(world: &World) -> Vec<Folder> {
    let project = world.offered.tools.clone().filter(|_| world.trust == Trust::Granted);
    own_tools(world).into_iter().chain(project).collect()
}

fn own_tools(world: &World) -> Option<Folder> {
    custom::read_folder(&world.environment.user_dir()?.join("tools"), Owner::User)
}

fn tell(start: &mut Start, wires: &Wires) {
    let warnings = start.warnings.drain(..).map(Update::Warning);
    for update in warnings.chain(start.notes.drain(..).map(Update::Note)) {
        // A screen that is gone is no reason to stop.
        let _ = wires.updates.send(update);
    }
}

fn assemble(
    start: &Start,
    (mind, registry): (Mind, Registry),
    session: Session,
    wires: Wires,
) -> Agent {
    let config = &start.config;
    let registry = Arc::new(registry);
    let effort = config.effort.as_ref().map(|effort| effort.value);
    let options = Options {
        max_steps: config.max_steps.as_ref().map(|steps| steps.value),
        max_repeats: config.max_repeats.value,
        mode: config.permission_mode.value,
        mode_chosen: config.permission_mode.origin != Origin::Default,
        sandbox: start.sandbox.clone(),
        retry: RetryPolicy {
            max_attempts: config.retry.max_attempts.value.saturating_sub(1),
            max_wait: config.retry.max_wait.value,
        },
        effort,
        hidden_env: mind.hidden_env.clone(),
        masks: mind.masks.clone(),
        temporary: std::env::temp_dir(),
        scripted: mind.provider == "demo",
    };
    let mut agent = Agent {
        session,
        envelope: Envelope::default(),
        profile: *mind.profile,
        mind,
        learned: Learned::open(config.state_dir.as_deref(), clock::timestamp()),
        tried: Vec::new(),
        windows: Windows::default(),
        workspace: Arc::new(Workspace {
            root: config.workspace.clone(),
            extra: config.add_dirs.clone(),
            rules: PathRules::default(),
        }),
        build_prompt: prompt_builder(config, &registry),
        registry,
        store: start.store.clone(),
        jobs: Arc::default(),
        options,
        rules: start.rules.clone(),
        keep_rules: rule_keeper(config.user_dir.clone()),
        repositories: Arc::new(Repositories::new(config.home.clone())),
        watch: Arc::default(),
        updates: wires.updates,
        questions: wires.questions,
        prompt_is_fresh: false,
    };
    agent.retune();
    agent.apply_rules();
    agent
}

fn rule_keeper(user_dir: Option<PathBuf>) -> KeepRules {
    Box::new(move |rules| {
        let folder = user_dir.as_deref().ok_or("there is no usable home folder")?;
        let path = keep::allow(folder, rules).map_err(|error| error.to_string())?;
        Ok(format!("kept in {}: {}", path.display(), rules.join(", ")))
    })
}

fn open_session(
    start: &Start,
    profile: &Profile,
    wires: &Wires,
) -> Result<(Session, Option<u32>), Error> {
    let Some(path) = &start.resume else {
        return Ok((start.store.create(&start.config.workspace, profile), None));
    };
    let (workspace, stop) = (&start.config.workspace, CancellationToken::new());
    let resumed = resume::open(path, profile, workspace, start.store.refuge(), &stop)?;
    for warning in resumed.warnings {
        let _ = wires.updates.send(Update::Warning(warning));
    }
    let turns = resumed.session.state.turn;
    Ok((resumed.session, Some(turns)))
}

fn prompt_builder(config: &Config, registry: &Arc<Registry>) -> BuildPrompt {
    let registry = Arc::clone(registry);
    let workspace = config.workspace.clone();
    let user_dir = config.user_dir.clone();
    let rules = config.system_prompt.clone();
    let append = config.append_system_prompt.clone();
    Box::new(move |model| {
        let found = instructions::find(&workspace, user_dir.as_deref());
        let text = prompt::build(&Parts {
            model,
            rules: rules.as_deref(),
            tools: &registry.describe(),
            workspace: &workspace.display().to_string(),
            platform: &prompt::platform(),
            instructions: &found.files,
            append: append.as_deref(),
        });
        let sources = found.files.into_iter().map(|file| file.path).collect();
        BuiltPrompt { text, sources, warnings: found.warnings }
    })
}
