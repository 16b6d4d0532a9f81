//! From a configuration to an agent that is ready to take its first turn.
//!
//! Which session it is comes first: a resumed one brings its own working directory, and with it
//! the project's configuration.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::agent::{Agent, BuildPrompt, BuiltPrompt, Options, Question, Window};
use crate::cli::Args;
use crate::client::Model;
use crate::client::discover;
use crate::client::http::{self, HttpModel, WireLog};
use crate::client::profile::{Auth, GENERIC, Profile, effort};
use crate::client::request::{self, Envelope};
use crate::client::retry::RetryPolicy;
use crate::client::think::ThinkTags;
use crate::config::{Config, Endpoint, instructions, load};
use crate::demo;
use crate::error::Error;
use crate::prompt::{self, Parts};
use crate::session::store::Store;
use crate::session::{Session, log, resume};
use crate::tools::paths::Workspace;
use crate::tools::registry::Registry;
use crate::update::Update;

/// Everything that is known before there is an agent.
pub struct Start {
    /// The configuration, of the resumed session's folder where there is one.
    pub config: Config,
    /// The sessions of the workspace.
    pub store: Store,
    /// The log to go on with.
    pub resume: Option<PathBuf>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

/// Loads the configuration and finds the session that is asked for.
pub fn prepare(args: &Args) -> Result<Start, Error> {
    let mut config = load::load(args)?;
    let (mut store, mut warning) = open_store(&config, args);
    let mut warnings = Vec::new();
    let wanted = match (&args.resume, args.continue_latest) {
        (None, false) => None,
        (id, _) => Some(store.find(id.as_ref().and_then(|id| id.as_deref()), None)?),
    };
    if let Some(path) = &wanted {
        let header = log::read_header(path).map_err(|error| resume::cannot_resume(&error))?;
        let home = store.home(path, &header.cwd, &config.workspace);
        if home != Path::new(&header.cwd) {
            let (recorded, home) = (&header.cwd, home.display());
            warnings.push(format!("the session's folder {recorded} is gone; working in {home}"));
        } else if home != config.workspace {
            config = load::load(&elsewhere(args, &home)?)?;
            (store, warning) = open_store(&config, args);
            warnings.push(format!("working in the session's folder: {}", home.display()));
        }
    }
    warnings.extend(warning);
    warnings.append(&mut config.warnings);
    Ok(Start { config, store, resume: wanted, warnings })
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

/// Looks for a model server on this machine where nothing is configured.
pub async fn discover(config: &mut Config) {
    if config.endpoint.is_none() {
        let servers = discover::find(config.ollama_host.as_deref()).await;
        let wanted = config.model.as_ref().map(|model| model.value.clone());
        if let Some(server) = discover::choose(&servers, wanted.as_deref()) {
            config.adopt(server);
        }
    }
}

/// Where an agent's news and questions go.
pub struct Wires {
    /// To the screen.
    pub updates: mpsc::UnboundedSender<Update>,
    /// To the user; none where nobody can be asked.
    pub questions: Option<mpsc::UnboundedSender<Question>>,
}

/// What answers an agent's requests.
struct Mind {
    model: Box<dyn Model>,
    name: String,
    provider: String,
    profile: &'static Profile,
    window: Window,
}

/// An agent with a provider. Reads the log where a session is resumed; makes no connection.
pub fn agent(start: Start, args: &Args, wires: Wires) -> Result<Agent, Error> {
    let (endpoint, model) = start.config.ready()?;
    let log = args.output.debug_log.as_deref();
    let log = log.map(|path| open_wire_log(path, &start.config)).transpose()?;
    let window = start.config.window.as_ref();
    let mind = Mind {
        model: Box::new(HttpModel::new(http_endpoint(endpoint, &start.config), log)),
        name: model.value.clone(),
        provider: endpoint.provider.value.clone(),
        profile: endpoint.profile,
        window: Window {
            tokens: window.map(|window| window.value),
            origin: window.map_or_else(|| "unknown".to_owned(), |w| w.origin.to_string()),
        },
    };
    assemble(start, mind, wires)
}

/// An agent whose replies come from the script in the program.
pub fn demo_agent(start: Start, wires: Wires) -> Result<Agent, Error> {
    let mind = Mind {
        model: Box::new(demo::ScriptedModel::default()),
        name: demo::MODEL.to_owned(),
        provider: "demo".to_owned(),
        profile: &GENERIC,
        window: Window { tokens: Some(128_000), origin: "the demo".to_owned() },
    };
    assemble(start, mind, wires)
}

fn assemble(start: Start, mind: Mind, wires: Wires) -> Result<Agent, Error> {
    let Start { config, store, resume, warnings } = start;
    for warning in warnings {
        // A screen that is gone is no reason to stop.
        let _ = wires.updates.send(Update::Warning(warning));
    }
    let (session, resumed) = open_session(&store, &config, resume.as_deref(), &mind, &wires)?;
    let registry = Arc::new(Registry::builtin());
    let effort = config.effort.as_ref().map(|effort| effort.value);
    let envelope = Envelope {
        tools: registry.wire(),
        include_usage: mind.profile.include_usage,
        extra: request::extra(mind.profile, &effort::fields(mind.profile, &mind.name, effort)),
        model: mind.name,
    };
    let options = Options {
        max_steps: config.max_steps.as_ref().map(|steps| steps.value),
        mode: config.permission_mode.value,
        retry: RetryPolicy {
            max_attempts: config.retry.max_attempts.value.saturating_sub(1),
            max_wait: config.retry.max_wait.value,
        },
        effort,
        hidden_env: Arc::new(config.hidden_env.clone()),
        masks: config.masks.clone(),
        temporary: std::env::temp_dir(),
        scripted: mind.provider == "demo",
    };
    let agent = Agent {
        session,
        model: mind.model,
        envelope,
        provider: mind.provider,
        profile: mind.profile,
        window: mind.window,
        workspace: Arc::new(Workspace {
            root: config.workspace.clone(),
            extra: config.add_dirs.clone(),
        }),
        build_prompt: prompt_builder(&config, &registry),
        registry,
        store,
        options,
        always: BTreeSet::new(),
        updates: wires.updates,
        questions: wires.questions,
        warned_of_cut: false,
        prompt_is_fresh: false,
    };
    agent.opened(resumed);
    Ok(agent)
}

fn open_session(
    store: &Store,
    config: &Config,
    resume: Option<&Path>,
    mind: &Mind,
    wires: &Wires,
) -> Result<(Session, Option<u32>), Error> {
    let Some(path) = resume else {
        return Ok((store.create(&config.workspace, mind.profile), None));
    };
    let resumed = resume::open(path, mind.profile, store.refuge())?;
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

fn http_endpoint(endpoint: &Endpoint, config: &Config) -> http::Endpoint {
    let key = endpoint.key.as_ref().map(|key| key.value.expose());
    let header = key.map(|key| match endpoint.profile.auth {
        Auth::Bearer => ("authorization".to_owned(), format!("Bearer {key}")),
        Auth::ApiKeyHeader => ("api-key".to_owned(), key.to_owned()),
    });
    http::Endpoint {
        base_url: endpoint.base_url.value.clone(),
        headers: header.into_iter().collect(),
        timeouts: http::Timeouts {
            connect: config.timeouts.connect.value,
            first_byte: config.timeouts.first_byte.value,
            idle: config.timeouts.idle.value,
        },
        think_tags: ThinkTags::Start,
        loopback: endpoint.loopback,
    }
}

/// The listing of models at the configured endpoint.
pub async fn list_models(config: &Config) -> Result<Vec<u8>, Error> {
    let endpoint = config.endpoint.as_ref().ok_or_else(|| Error::usage("no endpoint", ""))?;
    http::get(&http_endpoint(endpoint, config), "/models")
        .await
        .map_err(|error| Error::failed("cannot list models", &error).help(error.help()))
}

fn open_wire_log(path: &Path, config: &Config) -> Result<WireLog, Error> {
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(path);
    let file = file.map_err(|error| {
        Error::usage(format!("cannot write the debug log {}", path.display()), error)
    })?;
    Ok(WireLog::new(file, config.masks.clone()))
}
