//! From a configuration to a model that can be asked. No connection is made here.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::agent::{Mind, Probe, Window};
use crate::cli::Args;
use crate::client::discover::listing::{self, Listed};
use crate::client::http::{self, HttpModel, Link, WireLog};
use crate::client::learned::Learned;
use crate::client::profile::Auth;
use crate::client::think::ThinkTags;
use crate::client::windows;
use crate::config::{Config, Endpoint, Origin};
use crate::error::Error;
use crate::session::clock;

/// How long a command waits for what a server tells of a model.
const ASK_WITHIN: Duration = Duration::from_secs(3);

/// The model that a configuration leads to, or what is missing and how to get it.
pub fn mind(config: &Config, args: &Args) -> Result<Mind, Error> {
    let (endpoint, model) = config.ready()?;
    let log = args.output.debug_log.as_deref();
    let log = log.map(|path| open_wire_log(path, config)).transpose()?;
    let link = Link::new(http_endpoint(endpoint, config));
    Ok(Mind {
        probe: Some(probe(&link, endpoint, &model.value)),
        model: Box::new(HttpModel::new(link, log)),
        name: model.value.clone(),
        provider: endpoint.provider.value.clone(),
        profile: endpoint.profile,
        base_url: endpoint.base_url.value.clone(),
        extra_body: endpoint.extra_body.clone(),
        window: window(config, endpoint, &model.value),
        price: config.price.as_ref().map(|price| price.value),
        loopback: endpoint.loopback,
        hidden_env: Arc::new(config.hidden_env.clone()),
        masks: config.masks.clone(),
    })
}

/// What the user said, else what an overflow at this endpoint once stated, else what is built in.
fn window(config: &Config, endpoint: &Endpoint, model: &str) -> Window {
    let said = config.window.as_ref();
    let is_guess = said.is_none_or(|said| {
        matches!(said.origin, Origin::Preset(_) | Origin::Discovered | Origin::Default)
    });
    let learned = Learned::open(config.state_dir.as_deref(), clock::timestamp());
    let learned = learned.facts(&endpoint.base_url.value, model).window;
    if let Some(tokens) = learned.filter(|_| is_guess) {
        return Window { tokens: Some(tokens), origin: "an earlier overflow error".to_owned() };
    }
    Window {
        tokens: said.map(|window| window.value),
        origin: said.map_or_else(|| "unknown".to_owned(), |window| window.origin.to_string()),
    }
}

/// A local server has further paths that tell windows; a hosted one is not bothered with them.
fn probe(link: &Link, endpoint: &Endpoint, model: &str) -> Probe {
    let local = endpoint.loopback || endpoint.profile.is_local();
    let details = if local { endpoint.profile.details } else { &[] };
    let (link, model) = (link.clone(), model.to_owned());
    Box::new(move || {
        let (link, model) = (link.clone(), model.clone());
        Box::pin(async move { windows::ask(&link, details, &model).await })
    })
}

/// Asks the server for the model's window, for a short while.
pub async fn learn_window(config: &mut Config, args: &Args) {
    let Some(probe) = mind(config, args).ok().and_then(|mind| mind.probe) else { return };
    if let Ok(Some(told)) = tokio::time::timeout(ASK_WITHIN, probe()).await
        && let Some(window) = told.window
    {
        config.learn_window(window);
    }
}

/// What an endpoint lists.
pub async fn list(endpoint: &Endpoint, config: &Config) -> Result<Vec<Listed>, Error> {
    let link = Link::new(http_endpoint(endpoint, config));
    let answer = link.get(&format!("{}/models", link.base_url())).await;
    let answer =
        answer.map_err(|error| Error::failed("cannot list models", &error).help(error.help()))?;
    listing::parse(&answer)
}

/// The same with a bound on the time it may take.
pub async fn list_within(
    limit: Duration,
    endpoint: &Endpoint,
    config: &Config,
) -> Result<Vec<Listed>, Error> {
    let late =
        |_| Err(Error::failed("cannot list models", format!("no answer in {} s", limit.as_secs())));
    tokio::time::timeout(limit, list(endpoint, config)).await.unwrap_or_else(late)
}

fn http_endpoint(endpoint: &Endpoint, config: &Config) -> http::Endpoint {
    let key = endpoint.key.as_ref().map(|key| key.value.expose());
    let header = key.map(|key| match endpoint.profile.auth {
        Auth::Bearer => ("authorization".to_owned(), format!("Bearer {key}")),
        Auth::ApiKeyHeader => ("api-key".to_owned(), key.to_owned()),
    });
    http::Endpoint {
        base_url: endpoint.base_url.value.clone(),
        headers: header.into_iter().chain(endpoint.headers.clone()).collect(),
        timeouts: http::Timeouts {
            connect: config.timeouts.connect.value,
            first_byte: config.timeouts.first_byte.value,
            idle: config.timeouts.idle.value,
        },
        think_tags: ThinkTags::Start,
        loopback: endpoint.loopback,
    }
}

fn open_wire_log(path: &Path, config: &Config) -> Result<WireLog, Error> {
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).mode(0o600).open(path);
    let file = file.map_err(|error| {
        Error::usage(format!("cannot write the debug log {}", path.display()), error)
    })?;
    Ok(WireLog::new(file, config.masks.clone()))
}
