//! `/model` and `/effort` at the keyboard.

use tokio_util::sync::CancellationToken;

use super::drive::{Driven, drive};
use super::{Shell, lists};
use crate::agent::Agent;
use crate::client::profile::Effort;
use crate::desk::Desk;
use crate::error::Error;

/// `/model`: the model in use, and what can be switched to.
pub(super) async fn list(
    agent: &Agent,
    desk: &mut Desk,
    shell: &mut Shell,
) -> Driven<Result<String, Error>> {
    let now = agent.model();
    let cancel = CancellationToken::new();
    let work = async {
        tokio::select! {
            biased;
            () = cancel.cancelled() => Ok("interrupted".to_owned()),
            listing = desk.list(&now.0) => Ok(lists::models(&listing, &now)),
        }
    };
    let done = drive(shell, &cancel, work).await;
    shell.editor.complete_models(desk.names(&now.0));
    done
}

/// `/model NAME`.
pub(super) async fn switch(
    agent: &mut Agent,
    desk: &mut Desk,
    shell: &mut Shell,
    name: &str,
) -> Driven<Result<String, Error>> {
    let mind = match desk.find(&agent.model().0, name) {
        Ok(mind) => mind,
        Err(error) => return Driven::Done(Err(error)),
    };
    let cancel = CancellationToken::new();
    let done = drive(shell, &cancel, agent.switch(mind, &cancel)).await;
    shell.editor.complete_models(desk.names(&agent.model().0));
    done
}

/// `/effort [LEVEL]`.
pub(super) fn effort(agent: &mut Agent, level: Option<&str>) -> Result<String, Error> {
    let Some(level) = level else {
        return Ok(format!("{}\nlevels: {}", agent.effort(), levels().join(", ")));
    };
    let effort = match (level, Effort::parse(level)) {
        (DEFAULT, _) => None,
        (_, Some(effort)) => Some(effort),
        (_, None) => {
            return Err(Error::usage(format!("there is no level {level}"), "")
                .help(format!("the levels are {}", levels().join(", "))));
        }
    };
    agent.set_effort(effort)
}

/// The level that leaves it to the provider.
const DEFAULT: &str = "default";

/// What can be typed behind `/effort`.
pub(super) fn levels() -> Vec<&'static str> {
    Effort::ALL.iter().map(|level| level.name()).chain([DEFAULT]).collect()
}
