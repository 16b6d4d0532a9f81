//! The table of tools: what the model is offered, and the way from a call to something that runs.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::Value;

use super::schema::Schema;
use super::{Effect, Outcome, Tool, ToolContext, arguments};
use super::{edit::Edit, glob::Glob, grep::Grep, read::Read, shell::Shell, write::Write};

/// The registered tools in table order, which is also their order on the wire.
pub struct Registry {
    entries: Vec<Entry>,
    wire: String,
}

/// A tool with its argument type erased.
struct Entry {
    name: &'static str,
    description: String,
    schema: Schema,
    prepare: fn(Value) -> Result<Prepared, String>,
}

/// A call that passed name and argument checks and is ready to run.
pub struct Prepared {
    /// The tool, from the table.
    pub name: &'static str,
    /// What it would do.
    pub effect: Effect,
    /// What it is about, for the screen.
    pub subject: String,
    /// What a question about it shows beside the subject.
    pub preview: Option<String>,
    /// A note for the model that its arguments were repaired, and how; goes before the result.
    pub repaired: Option<String>,
    /// Does it.
    pub run: RunTool,
}

/// The erased body of a tool.
pub type RunTool = Box<dyn FnOnce(&ToolContext<'_>) -> Outcome + Send>;

impl Registry {
    /// The built-in tools. Adding one is one line here.
    pub fn builtin() -> Self {
        Self::of(vec![
            entry::<Glob>(),
            entry::<Grep>(),
            entry::<Read>(),
            entry::<Write>(),
            entry::<Edit>(),
            entry::<Shell>(),
        ])
    }

    fn of(entries: Vec<Entry>) -> Self {
        let offers: Vec<Offer<'_>> = entries.iter().map(Entry::offer).collect();
        // Strings and flat schemas: there is nothing in them that JSON cannot hold.
        let wire = serde_json::to_string(&offers).unwrap_or_default();
        Self { wire, entries }
    }

    /// Names in table order.
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.name).collect()
    }

    /// Names and descriptions in table order.
    pub fn describe(&self) -> Vec<(&str, &str)> {
        self.entries.iter().map(|entry| (entry.name, entry.description.as_str())).collect()
    }

    /// The `tools` array of a request, as JSON text. The same bytes on every call.
    pub fn wire(&self) -> String {
        self.wire.clone()
    }

    /// Finds the tool and checks the arguments. The error is the result for the model: an unknown
    /// name lists the real tools, bad arguments name the place.
    pub fn prepare(&self, name: &str, arguments: &str) -> Result<Prepared, Outcome> {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.name == name)
            .ok_or_else(|| Outcome::error(format!("There is no tool {name}. The tools are: {}.", self.names().join(", "))))?;
        let parsed = arguments::parse(arguments, &entry.schema).map_err(Outcome::error)?;
        let mut prepared = (entry.prepare)(parsed.value).map_err(Outcome::error)?;
        if !parsed.repairs.is_empty() {
            prepared.repaired = Some(format!("[arguments repaired: {}]", parsed.repairs.join("; ")));
        }
        Ok(prepared)
    }
}

/// A tool as a request offers it.
#[derive(Serialize)]
struct Offer<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Schema,
}

impl Entry {
    fn offer(&self) -> Offer<'_> {
        let Self { name, description, schema: parameters, .. } = self;
        Offer { r#type: "function", function: Function { name, description, parameters } }
    }
}

fn entry<T: Tool + 'static>() -> Entry {
    Entry {
        name: T::NAME,
        description: T::DESCRIPTION.to_owned(),
        schema: Schema::of::<T::Args>(),
        prepare: prepare::<T>,
    }
}

fn prepare<T: Tool + 'static>(value: Value) -> Result<Prepared, String> {
    let args: T::Args = serde_json::from_value(value).map_err(|error| format!("Wrong arguments: {error}."))?;
    Ok(Prepared {
        name: T::NAME,
        effect: T::effect(&args),
        subject: T::subject(&args),
        preview: None,
        repaired: None,
        run: Box::new(move |context| T::run(args, context)),
    })
}

/// Runs a tool; a panic in it becomes its outcome.
pub fn run_guarded(prepared: Prepared, context: &ToolContext<'_>) -> Outcome {
    let Prepared { run, repaired, .. } = prepared;
    let mut outcome = catch_unwind(AssertUnwindSafe(|| run(context)))
        .unwrap_or_else(|_| Outcome::error("The tool failed inside xsh; that is a bug in xsh. Try another way."));
    if let Some(note) = repaired {
        outcome.content = format!("{note}\n{}", outcome.content);
    }
    outcome
}
