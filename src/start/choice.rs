//! The first start with nothing configured: which provider it is to be.
//!
//! Keys for several providers may be in the environment, or several servers may run here. At the
//! keyboard the user picks; elsewhere the first one is taken, in the order of the table of
//! providers and of the usual ports, and that is said.

use super::Start;
use crate::client::discover::{self, Server};
use crate::config::{Choice, Config, Here, keep, resolve};
use crate::error::Error;

/// The ways there are.
#[derive(Debug, Default)]
pub struct Ways {
    servers: Vec<Server>,
    /// To choose from; empty where there is no choice.
    pub choices: Vec<Choice>,
}

/// Looks for model servers on this machine where nothing is configured, and for what there is to
/// choose.
pub async fn find(start: &Start) -> Ways {
    let config = &start.config;
    let servers = match config.endpoint {
        Some(_) => Vec::new(),
        None => discover::find(config.ollama_host.as_deref()).await,
    };
    let choices = match servers.len() {
        // A session or a model that is named decides.
        _ if start.resume.is_some() => Vec::new(),
        0 => config.choices.clone(),
        1 => Vec::new(),
        _ if config.model.is_some() => Vec::new(),
        _ => servers.iter().map(of_server).collect(),
    };
    Ways { servers, choices }
}

fn of_server(server: &Server) -> Choice {
    Choice {
        provider: server.provider.to_owned(),
        model: server.usual_model().map(|model| model.id.clone()),
        sign: server.base_url.clone(),
    }
}

/// Goes the way that the user has picked.
pub fn take(start: &mut Start, ways: &Ways, index: usize) -> Result<(), Error> {
    if let Some(server) = ways.servers.get(index) {
        start.config.adopt(server);
    } else if let Some(choice) = ways.choices.get(index) {
        let here = Here { home: None, now: None, offered: &[] };
        start.config = resolve::switch(&start.args, &start.world, &here, &choice.provider)?;
    }
    Ok(())
}

/// Goes the usual way, and says so where there were others.
pub fn take_usual(start: &mut Start, ways: &Ways) {
    adopt_usual(&mut start.config, &ways.servers);
    let [first, others @ ..] = &ways.choices[..] else { return };
    let others: Vec<&str> = others.iter().map(|choice| choice.provider.as_str()).collect();
    start.warnings.push(format!(
        "using {}; {} could be used too (--provider NAME, or `provider` in the configuration)",
        first.provider,
        others.join(", ")
    ));
}

/// Writes the provider and the model in use into the user's configuration. Says where.
pub fn keep(config: &Config) -> Result<String, Error> {
    let missing = || Error::failed("cannot keep this", "there is no usable home folder");
    let folder = config.user_dir.as_ref().ok_or_else(missing)?;
    let Some(endpoint) = &config.endpoint else { return Ok(String::new()) };
    // Without a name of its own a server is known by its address.
    let place = match endpoint.provider.value.as_str() {
        "generic" => ("base_url", endpoint.base_url.value.as_str()),
        provider => ("provider", provider),
    };
    let model = config.model.as_ref().map(|model| ("model", model.value.as_str()));
    let values: Vec<_> = std::iter::once(place).chain(model).collect();
    let path = keep::keep(folder, &values)?;
    Ok(format!("kept in {}", path.display()))
}

/// Takes the server that has the wanted model, else the first.
pub fn adopt_usual(config: &mut Config, servers: &[Server]) {
    let wanted = config.model.as_ref().map(|model| model.value.clone());
    if let Some(server) = discover::choose(servers, wanted.as_deref()) {
        config.adopt(server);
    }
}
