//! The table of tools: what the model is offered, and the way from a call to something that runs.
//!
//! A tool is typed for its author and erased here. Whatever a model sends ends in one of two ways:
//! a [`Prepared`] call, or an outcome that tells the model what to do next. Only an exact name runs:
//! permission is given to names, so a name that is nearly right is answered with the right one.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::Value;

use super::custom::{self, Definition};
use super::output::{NO_OUTPUT, RESULT_BYTES, cut_middle};
use super::schema::Schema;
use super::{Effect, Outcome, Tool, ToolContext, arguments};
use super::{edit::Edit, glob::Glob, grep::Grep, read::Read, shell::Shell, write::Write};
use crate::brief::brief;
use crate::suggest::NICKNAMES;

/// How much of an invented tool name is quoted back, in characters.
const QUOTED: usize = 60;

/// The registered tools in table order, which is also their order on the wire.
pub struct Registry {
    entries: Vec<Entry>,
    wire: String,
}

/// A tool without its types.
struct Entry {
    name: String,
    description: String,
    schema: Schema,
    /// The file that defines it; none for what is built in.
    file: Option<PathBuf>,
    build: Build,
}

/// From checked arguments to what would be done.
type Build = Box<dyn Fn(Value) -> Result<Built, serde_json::Error> + Send + Sync>;

/// What a tool makes of its arguments.
pub(super) struct Built {
    pub(super) effect: Effect,
    pub(super) path: Option<String>,
    pub(super) subject: String,
    pub(super) preview: Option<String>,
    pub(super) run: RunTool,
}

/// A call that passed name and argument checks and is ready to run.
pub struct Prepared {
    /// The tool, from the table.
    pub name: String,
    /// What it would do.
    pub effect: Effect,
    /// The file or folder that it is about, as the model gave it.
    pub path: Option<String>,
    /// What it is about, for the screen.
    pub subject: String,
    /// What a question about it shows beside the subject.
    pub preview: Option<String>,
    /// Where its change goes, once that has been decided on.
    pub target: Option<PathBuf>,
    /// A note for the model that its arguments were repaired, and how; goes before the result.
    pub repaired: Option<String>,
    /// Does it.
    pub run: RunTool,
}

/// The erased body of a tool.
pub type RunTool = Box<dyn FnOnce(&ToolContext<'_>) -> Outcome + Send>;

impl Default for Registry {
    /// An empty table.
    fn default() -> Self {
        Self { entries: Vec::new(), wire: encode(&[]) }
    }
}

impl Registry {
    /// The six built-in tools.
    pub fn builtin() -> Self {
        Self::default()
            .with::<Glob>()
            .with::<Grep>()
            .with::<Read>()
            .with::<Write>()
            .with::<Edit>()
            .with::<Shell>()
    }

    /// The table with one more tool at its end.
    #[must_use]
    pub fn with<T: Tool>(mut self) -> Self {
        self.entries.push(Entry {
            name: T::NAME.to_owned(),
            description: T::description(),
            schema: Schema::of::<T::Args>(),
            file: None,
            build: Box::new(build::<T>),
        });
        self.wire = encode(&self.entries);
        self
    }

    /// The table with the user's own tools at its end, in their order. Their names are not taken.
    #[must_use]
    pub fn with_custom(mut self, tools: &[Definition]) -> Self {
        self.entries.extend(tools.iter().map(|tool| {
            let own = Arc::new(tool.clone());
            Entry {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema: tool.schema.clone(),
                file: Some(tool.file.clone()),
                build: Box::new(move |arguments| Ok(custom::build(&own, &arguments))),
            }
        }));
        self.wire = encode(&self.entries);
        self
    }

    /// The file that defines a tool; none for what is built in.
    pub fn file(&self, name: &str) -> Option<&Path> {
        self.entries.iter().find(|entry| entry.name == name)?.file.as_deref()
    }

    /// Names in table order.
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| entry.name.as_str()).collect()
    }

    /// Names and descriptions in table order, for the system prompt and for `/tools`.
    pub fn describe(&self) -> Vec<(&str, &str)> {
        self.entries.iter().map(|entry| (entry.name.as_str(), entry.description.as_str())).collect()
    }

    /// Finds the tool and checks the arguments. The error is the result for the model: an unknown
    /// name lists the real tools, bad arguments name the place.
    pub fn prepare(&self, name: &str, arguments: &str) -> Result<Prepared, Outcome> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == name) else {
            return Err(Outcome::error(self.unknown(name)));
        };
        let parsed = arguments::parse(arguments, &entry.schema).map_err(Outcome::error)?;
        let built = (entry.build)(parsed.value).map_err(|error| {
            Outcome::error(arguments::refusal(&error.to_string(), &entry.schema))
        })?;
        let repaired = (!parsed.repairs.is_empty())
            .then(|| format!("[The arguments were repaired: {}.]", parsed.repairs.join("; ")));
        let Built { effect, path, subject, preview, run } = built;
        Ok(Prepared {
            name: entry.name.clone(),
            effect,
            path,
            subject,
            preview,
            target: None,
            repaired,
            run,
        })
    }

    /// The `tools` array of a request, as JSON text. The same bytes on every call.
    pub fn wire(&self) -> String {
        self.wire.clone()
    }

    fn unknown(&self, name: &str) -> String {
        let shown = brief(name, QUOTED);
        let hint = match self.meant(name) {
            Some(meant) => format!(" Did you mean `{meant}`? Call it by exactly this name."),
            None => String::new(),
        };
        let names = self.names().join(", ");
        format!("There is no tool `{shown}`; nothing was run.{hint} The tools are: {names}.")
    }

    /// The tool that an unknown name most likely stands for: the name without a prefix
    /// (`functions.read`), without a template's tokens (`read<|channel|>commentary`), in other
    /// spelling, or what another agent calls it.
    fn meant(&self, name: &str) -> Option<&str> {
        let bare = name.split("<|").next().unwrap_or_default();
        let bare = bare.rsplit(['.', ':', '/']).next().unwrap_or_default();
        let bare = arguments::normal(bare);
        let same = |known: &str| {
            let nicknames = NICKNAMES.iter().find(|(tool, _)| *tool == known);
            known == bare
                || nicknames.is_some_and(|(_, names)| names.contains(&bare.as_str()))
                || bare.strip_suffix("tool") == Some(known)
        };
        self.entries.iter().map(|entry| entry.name.as_str()).find(|known| same(known))
    }
}

impl Prepared {
    /// Whether it is a command that goes on after the call.
    pub fn in_background(&self) -> bool {
        self.subject.starts_with(super::shell::BACKGROUND)
    }

    /// Runs the call and says how long it took. A panic becomes an outcome, the note about repaired
    /// arguments goes before the result, and the content is never empty and never longer than
    /// [`RESULT_BYTES`].
    pub fn run_guarded(self, context: &ToolContext<'_>) -> (Outcome, Duration) {
        let Self { name, run, repaired, .. } = self;
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| run(context)));
        let took = started.elapsed();
        let mut outcome = result.unwrap_or_else(|panic| panicked(&name, &*panic));
        if outcome.content.trim().is_empty() {
            NO_OUTPUT.clone_into(&mut outcome.content);
        }
        if let Some(note) = repaired {
            outcome.content = format!("{note}\n{}", outcome.content);
        }
        if outcome.content.len() > RESULT_BYTES {
            outcome.content =
                cut_middle(&outcome.content, RESULT_BYTES, "ask for less at once").into_owned();
        }
        (outcome, took)
    }
}

fn build<T: Tool>(arguments: Value) -> Result<Built, serde_json::Error> {
    let arguments: T::Args = serde_json::from_value(arguments)?;
    Ok(Built {
        effect: T::effect(&arguments),
        path: T::path(&arguments),
        subject: T::subject(&arguments),
        preview: T::preview(&arguments),
        run: Box::new(move |context| T::run(arguments, context)),
    })
}

fn panicked(name: &str, panic: &(dyn Any + Send)) -> Outcome {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Outcome::error(format!(
        "The tool `{name}` broke off because of a fault in xsh itself: {}\n\
         It may have done a part of its work: check before you go on, and try another way.",
        message.unwrap_or("no reason given")
    ))
}

/// The wire form, from structs, so that no map's order decides the bytes.
fn encode(entries: &[Entry]) -> String {
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
    let offers: Vec<_> = entries
        .iter()
        .map(|entry| Offer {
            r#type: "function",
            function: Function {
                name: &entry.name,
                description: &entry.description,
                parameters: &entry.schema,
            },
        })
        .collect();
    // Strings and lists alone cannot fail to encode.
    serde_json::to_string(&offers).unwrap_or_else(|_| "[]".to_owned())
}

#[cfg(test)]
mod tests;
