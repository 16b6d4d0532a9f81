//! The table of tools: what the model is offered, and the way from a call to something that runs.

use super::{Effect, Outcome, ToolContext};

/// The registered tools in table order, which is also their order on the wire.
#[derive(Default)]
pub struct Registry {}

/// A call that passed name and argument checks and is ready to run.
pub struct Prepared {
    /// The tool, from the table.
    pub name: &'static str,
    /// What it would do.
    pub effect: Effect,
    /// What it is about, for the screen.
    pub subject: String,
    /// A note for the model that its arguments were repaired, and how; goes before the result.
    pub repaired: Option<String>,
    /// Does it.
    pub run: RunTool,
}

/// The erased body of a tool.
pub type RunTool = Box<dyn FnOnce(&ToolContext<'_>) -> Outcome + Send>;

impl Registry {
    /// The six built-in tools.
    pub fn builtin() -> Self {
        Self {}
    }

    /// Names in table order.
    pub fn names(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Finds the tool and checks the arguments. The error is the result for the model: an unknown
    /// name lists the real tools, bad arguments name the place.
    pub fn prepare(&self, name: &str, arguments: &str) -> Result<Prepared, Outcome> {
        Err(Outcome::error(format!("{name} {arguments}")))
    }

    /// The `tools` array of a request, as JSON text. The same bytes on every call.
    pub fn wire(&self) -> String {
        "[]".to_owned()
    }
}
