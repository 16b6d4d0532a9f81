//! What a command line leads to: a plain command, one headless turn, the demo, or the REPL.

use std::io::{self, BufWriter, IsTerminal};
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::cli::{Args, Command, OutputFormat, Prompt, SessionsAction, ToolsAction};
use crate::client::discover;
use crate::commands::export::Export;
use crate::commands::{conversation, doctor, generate, models, sessions, tools};
use crate::config::file::History;
use crate::config::project::Trust;
use crate::config::{Config, instructions, load};
use crate::demo;
use crate::desk::Desk;
use crate::desk::connect;
use crate::error::{Error, Exit};
use crate::headless;
use crate::policy::{Mode, Strength};
use crate::repl::editor::{Editor, EditorOptions};
use crate::repl::pick::{Picked, confirm, pick};
use crate::repl::signals::Signals;
use crate::repl::trust;
use crate::repl::{self, Shell};
use crate::sandbox::Attempt;
use crate::session::origin;
use crate::start::choice::{self, Ways};
use crate::start::{self, Start, Wires};
use crate::ui::json::{self, Format, Json};
use crate::ui::plain::{Plain, PlainOptions};
use crate::ui::terminal::{Terminal, TerminalOptions};
use crate::ui::{self, Handle, out};
use crate::update::Update;

/// How long the process waits, when it ends, for tools that were told to stop.
const SHUTDOWN_WITHIN: Duration = Duration::from_millis(500);
/// Columns where the terminal does not tell.
const USUAL_WIDTH: usize = 80;

/// Does what the command line says; errors are told here.
pub fn run(args: &Args) -> Exit {
    let done = match &args.command {
        Some(command) => self::command(command, args),
        None => with_sandbox(|attempt| converse(args, attempt)),
    };
    done.unwrap_or_else(|error| {
        if matches!(args.output.output_format, Some(OutputFormat::Json | OutputFormat::StreamJson))
        {
            // Where stdout is what failed, stderr still tells.
            let _ = out::print_bytes(json::error_result(&error).as_bytes());
        }
        out::print_error(&error);
        error.exit
    })
}

/// Runs a future on this thread; tools run on threads of their own.
fn with_runtime(work: impl Future<Output = Result<Exit, Error>>) -> Result<Exit, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::failed("cannot start", error))?;
    let done = runtime.block_on(work);
    // A tool that has not ended by now is cut off, wherever it waits; that it panics there is of no
    // interest to anybody.
    std::panic::set_hook(Box::new(|_| {}));
    runtime.shutdown_timeout(SHUTDOWN_WITHIN);
    done
}

/// The same for work that needs a sandbox, which is tried out before there is another thread.
fn with_sandbox<F: Future<Output = Result<Exit, Error>>>(
    work: impl FnOnce(Attempt) -> F,
) -> Result<Exit, Error> {
    let attempt = Attempt::start();
    with_runtime(work(attempt))
}

fn command(command: &Command, args: &Args) -> Result<Exit, Error> {
    match command {
        Command::Sessions { all, action } => {
            let Start { store, config, .. } = start::prepare_plain(args)?;
            let text = match action {
                Some(SessionsAction::Show { id }) => {
                    conversation::show(&store.find(Some(id), None)?)?
                }
                Some(SessionsAction::Export { id, format }) => {
                    let export = Export { format: *format, masks: config.masks };
                    let path = store.find(Some(id), None)?;
                    let mut stdout = BufWriter::new(io::stdout().lock());
                    let done = export.write(&path, &CancellationToken::new(), &mut stdout)?;
                    return out::written(done).map(|()| Exit::Done);
                }
                Some(SessionsAction::Search { words }) => {
                    let (words, stop) = (words.join(" "), CancellationToken::new());
                    sessions::search(&store, *all, &words, sessions::MOST, &stop)
                }
                Some(SessionsAction::List) | None => sessions::list(&store, *all),
            };
            out::print(&text).map(|()| Exit::Done)
        }
        Command::Models => with_runtime(list_models(args)),
        Command::Tools { action } => manage_tools(args, action.as_ref()),
        Command::Trust => with_runtime(ask_trust(args)),
        Command::Doctor => with_sandbox(|attempt| examine(args, attempt)),
        Command::Completions { shell } => {
            out::print_bytes(&generate::completions(*shell)).map(|()| Exit::Done)
        }
        Command::Man => out::print_bytes(&generate::man()?).map(|()| Exit::Done),
    }
}

fn manage_tools(args: &Args, action: Option<&ToolsAction>) -> Result<Exit, Error> {
    let start = start::prepare_plain(args)?;
    let text = match action {
        Some(ToolsAction::Add { names, all }) => {
            tools::add(start.config.user_dir.as_deref(), names, *all)?
        }
        Some(ToolsAction::List) | None => tools::list(&start.world),
    };
    out::print(&text).map(|()| Exit::Done)
}

async fn list_models(args: &Args) -> Result<Exit, Error> {
    let config = load::load(args)?;
    let servers = discover::find(config.ollama_host.as_deref()).await;
    let configured = config.endpoint.is_some();
    if configured {
        let endpoint = config.reachable()?;
        let listed = connect::list(endpoint, &config).await?;
        let model = config.model.as_ref().map(|model| model.value.as_str());
        out::print(&models::table(&models::Offer {
            provider: &endpoint.provider.value,
            base_url: &endpoint.base_url.value,
            models: &listed,
            current: model,
        }))?;
    }
    for server in &servers {
        let known = config.endpoint.as_ref().map(|endpoint| &endpoint.base_url.value);
        if known != Some(&server.base_url) {
            out::print(&models::table(&models::Offer::of_server(server, &config)))?;
        }
    }
    if !configured && servers.is_empty() {
        config.ready()?;
    }
    Ok(Exit::Done)
}

async fn examine(args: &Args, attempt: Attempt) -> Result<Exit, Error> {
    let mut start = start::prepare(args, attempt)?;
    start.warn_untrusted();
    let Start { mut config, store, warnings, sandbox, .. } = start;
    let unsaved = "neither the workspace nor the state folder is writable".to_owned();
    let session_folder = store.folder().map(std::path::Path::to_owned).ok_or(unsaved);
    let found = instructions::find(&config.workspace, config.user_dir.as_deref());
    let mut facts = doctor::Facts {
        servers: Vec::new(),
        session_folder,
        sandbox: sandbox.strength.describe(),
        instructions: found.files.into_iter().map(|file| file.path).collect(),
        columns: columns(),
    };
    if config.endpoint.is_none() {
        facts.servers = discover::find(config.ollama_host.as_deref()).await;
        choice::adopt_usual(&mut config, &facts.servers);
    }
    if config.window.is_none() {
        connect::learn_window(&mut config, args).await;
    }
    config.warnings = warnings;
    let (text, exit) = doctor::report(&config, &facts);
    out::print(&text).map(|()| exit)
}

async fn converse(args: &Args, attempt: Attempt) -> Result<Exit, Error> {
    let mut signals = Signals::listen()?;
    if args.demo {
        return demonstrate(args, attempt, &mut signals).await;
    }
    if args.headless() {
        return once(args, attempt, &mut signals).await;
    }
    interact(args, attempt, signals).await
}

/// One turn, with the answer on stdout.
async fn once(args: &Args, attempt: Attempt, signals: &mut Signals) -> Result<Exit, Error> {
    let mut start = start::prepare(args, attempt)?;
    accept_named(&mut start)?;
    let (prompt, warning) = headless::prompt(args, signals).await?;
    start.warnings.extend(warning);
    start.warn_untrusted();
    let ways = choice::find(&start).await;
    choice::take_usual(&mut start, &ways);
    let screen = headless_screen(args)?;
    let (mut agent, _) = open(start, wires(&screen, None), signals).await?;
    let done = headless::run(&mut agent, &prompt, signals, &screen).await;
    if let Some(ended) = agent.close().await {
        screen.show(Update::Warning(ended));
    }
    done
}

/// Without anybody to ask: a session that somebody else wrote is gone on with only where it was named.
fn accept_named(start: &mut Start) -> Result<(), Error> {
    let Some(id) = start.foreign.take() else { return Ok(()) };
    if matches!(start.args.resume, Some(Some(_))) {
        start.warnings.push(origin::WARNING.to_owned());
        return Ok(());
    }
    Err(Error::usage(format!("cannot go on with {id}"), origin::WARNING).help(origin::advice(&id)))
}

fn headless_screen(args: &Args) -> Result<Handle, Error> {
    let (out, err) = (io::stdout(), io::stderr());
    match args.output.output_format.unwrap_or_default() {
        OutputFormat::Text => {
            let options =
                PlainOptions { verbose: args.output.verbose, terminal: out.is_terminal() };
            ui::start(Plain::new(out, err, options))
        }
        OutputFormat::Json => ui::start(Json::new(out, err, Format::Result)),
        OutputFormat::StreamJson => ui::start(Json::new(out, err, Format::Stream)),
    }
}

/// The scripted turn on the sample project, for a person to watch.
async fn demonstrate(args: &Args, attempt: Attempt, signals: &mut Signals) -> Result<Exit, Error> {
    let folder = tempfile::Builder::new().prefix("xsh-demo-").tempdir();
    let folder = folder.and_then(|folder| demo::unpack(folder.path()).map(|()| folder.keep()));
    let folder =
        folder.map_err(|error| Error::failed("cannot unpack the sample project", error))?;
    let mut args = args.clone();
    args.work.directory = Some(folder);
    let mut start = start::prepare(&args, attempt)?;
    accept_named(&mut start)?;
    // The script is part of the program; without a sandbox nobody could be asked about it.
    let confined = start.world.strength == Strength::Full;
    start.config.permission_mode.value = if confined { Mode::Auto } else { Mode::Full };
    let screen = person_screen(&args, &start.config)?;
    let mut agent = start::demo_agent(start, wires(&screen, None))?;
    screen.show(Update::Note(format!("> {}", demo::PROMPT)));
    let exit = headless::run(&mut agent, demo::PROMPT, signals, &screen).await?;
    agent.close().await;
    screen.show(Update::Note(demo::farewell(&args.work.directory.unwrap_or_default())));
    Ok(exit)
}

/// The REPL. Nothing that can wait comes before its prompt: no connection, no certificates.
async fn interact(args: &Args, attempt: Attempt, mut signals: Signals) -> Result<Exit, Error> {
    let mut start = start::prepare(args, attempt)?;
    let screen = person_screen(args, &start.config)?;
    let (mut editor, rich) = editor(args, &start)?;
    if !accept(&mut start, &screen, &mut editor, &mut signals).await {
        return Ok(Exit::Done);
    }
    if start.world.trust == Trust::Unasked && io::stdin().is_terminal() {
        decide_trust(&mut start, &screen, &mut editor).await?;
    } else {
        start.warn_untrusted();
    }
    let ways = choice::find(&start).await;
    let (ask, questions) = mpsc::unbounded_channel();
    let store = start.store.clone();
    if ways.choices.is_empty() || !rich {
        choice::take_usual(&mut start, &ways);
    } else if !choose(&mut start, &ways, &screen, &mut editor, &mut signals).await? {
        return Ok(Exit::Interrupted);
    }
    let (mut agent, mut desk) = open(start, wires(&screen, Some(ask)), &mut signals).await?;
    let first = match args.prompt() {
        Prompt::Text(text) => Some(text),
        Prompt::None | Prompt::Stdin => None,
    };
    let mut shell = Shell { questions, screen, editor, signals, store };
    let exit = repl::run(&mut agent, &mut desk, &mut shell, first).await;
    if let Some(ended) = agent.close().await {
        shell.screen.show(Update::Note(ended));
    }
    shell.screen.flush().await;
    shell.screen.fault().map_or(Ok(exit), |error| Err(out::cannot_write(error)))
}

/// Where typed messages are remembered.
fn history_file(start: &Start) -> Option<PathBuf> {
    let folder = start.config.state_dir.as_ref()?;
    match start.config.history {
        History::User => Some(folder.join("history")),
        History::Project => Some(folder.join("histories").join(start.store.refuge()?.file_name()?)),
        History::Off => None,
    }
}

/// The user says whether to go on with a session that somebody else wrote. False: no.
async fn accept(
    start: &mut Start,
    screen: &Handle,
    editor: &mut Editor,
    signals: &mut Signals,
) -> bool {
    let Some(id) = start.foreign.take() else { return true };
    screen.show(Update::Warning(origin::WARNING.to_owned()));
    screen.show(Update::Note(format!("`xsh sessions show {id}` shows it.")));
    let prompt = format!("go on with {id}? y yes, Enter no > ");
    tokio::select! {
        yes = confirm(screen, editor, &prompt) => yes,
        _ = signals.next() => false,
    }
}

/// The line editor, and whether it has a terminal to itself.
fn editor(args: &Args, start: &Start) -> Result<(Editor, bool), Error> {
    let config = &start.config;
    let rich = io::stdin().is_terminal() && io::stdout().is_terminal() && !dumb(config);
    let editor = Editor::start(EditorOptions {
        history: history_file(start),
        masks: config.masks.clone(),
        rich,
        color: colors(args, config),
        root: config.workspace.clone(),
    })?;
    Ok((editor, rich))
}

/// Shows what the project brings along and asks whether it may.
async fn decide_trust(
    start: &mut Start,
    screen: &Handle,
    editor: &mut Editor,
) -> Result<(), Error> {
    let demands = start.world.offered.demands(&start.config.masks);
    let yes = trust::ask(screen, editor, &start.config.workspace, &demands).await;
    start.answer_trust(yes)?;
    screen.show(Update::Note(trust::answered(yes)));
    Ok(())
}

/// `xsh trust`: asks, whatever was said before; without a terminal it is no answer.
async fn ask_trust(args: &Args) -> Result<Exit, Error> {
    let mut start = start::prepare_plain(args)?;
    if start.world.trust == Trust::NotNeeded {
        let workspace = start.config.workspace.display();
        return out::print(&format!("nothing in {workspace}/.xsh needs your trust\n"))
            .map(|()| Exit::Done);
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let why = "it asks only at a terminal; nothing was recorded";
        return Err(
            Error::usage("cannot ask for your trust", why).help("run `xsh trust` at a terminal")
        );
    }
    let screen = person_screen(args, &start.config)?;
    let (mut editor, _) = editor(args, &start)?;
    decide_trust(&mut start, &screen, &mut editor).await?;
    for warning in start.warnings.drain(..) {
        screen.show(Update::Warning(warning));
    }
    screen.pause().await;
    Ok(Exit::Done)
}

/// The user picks a provider, and keeps it for later if they like. False: they want to end.
async fn choose(
    start: &mut Start,
    ways: &Ways,
    screen: &Handle,
    editor: &mut Editor,
    signals: &mut Signals,
) -> Result<bool, Error> {
    let picked = tokio::select! {
        picked = pick(screen, editor, &ways.choices) => picked,
        _ = signals.next() => Picked::Quit,
    };
    let Picked::One { index, keep } = picked else { return Ok(false) };
    choice::take(start, ways, index)?;
    if let Some(text) = keep.then(|| choice::keep(&start.config)).transpose()? {
        start.notes.push(text);
    }
    Ok(true)
}

/// Makes the agent. Reading a large session takes its time; a signal ends the waiting.
async fn open(start: Start, wires: Wires, signals: &mut Signals) -> Result<(Agent, Desk), Error> {
    let opened = tokio::task::spawn_blocking(move || start::agent(start, wires));
    tokio::select! {
        opened = opened => opened.map_err(|error| Error::failed("cannot start", error))?,
        _ = signals.next() => Err(Error::interrupted()),
    }
}

fn wires(
    screen: &Handle,
    questions: Option<mpsc::UnboundedSender<crate::agent::Question>>,
) -> Wires {
    Wires { updates: screen.updates(), questions }
}

fn person_screen(args: &Args, config: &Config) -> Result<Handle, Error> {
    let options = TerminalOptions {
        color: colors(args, config),
        interactive: io::stdout().is_terminal() && !dumb(config),
        verbose: args.output.verbose,
        width: Box::new(|| columns().map_or(USUAL_WIDTH, usize::from)),
    };
    ui::start(Terminal::new(io::stdout(), options))
}

fn colors(args: &Args, config: &Config) -> bool {
    config.color.value && !args.output.no_color && io::stdout().is_terminal() && !dumb(config)
}

fn dumb(config: &Config) -> bool {
    matches!(config.term.as_str(), "" | "dumb")
}

fn columns() -> Option<u16> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
