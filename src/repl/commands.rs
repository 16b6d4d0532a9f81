//! The slash commands: one table that parsing, completion and `/help` read.
//!
//! A message may well begin with a slash (`/usr/bin/x is broken`); only a first word of the form
//! `/name` is taken for a command.

use clap::ValueEnum;

use crate::agent::Scope;
use crate::error::Error;
use crate::policy::Mode;
use crate::suggest;

/// What a slash command asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// List the commands.
    Help,
    /// Begin another session.
    New,
    /// Go on with another session; none = the latest other one.
    Resume(Option<String>),
    /// List the sessions, or those that hold these words.
    Sessions(Option<String>),
    /// Write the session to a file, this one.
    Export(Option<String>),
    /// Replace old history by a summary, with this focus.
    Compact(Option<String>),
    /// Show what fills the context window.
    Context,
    /// List the models, or switch to this one.
    Model(Option<String>),
    /// Show how hard the model thinks, or set it.
    Effort(Option<String>),
    /// Show mode and rules, or switch to this mode.
    Permissions(Option<String>),
    /// List the tools.
    Tools,
    /// Take back the last turn: messages and files.
    Undo,
    /// Show what one can go back to, or go back.
    Rewind(Option<String>),
    /// Go on in a new session from here, or from an earlier message.
    Fork(Option<String>),
    /// List the background jobs, or stop one.
    Jobs(Option<String>),
    /// End the program.
    Quit,
}

/// A row of the table.
pub struct Entry {
    /// The name, with its slash.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// The argument for the help text; empty for a command that takes none.
    pub argument: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    build: fn(Option<String>) -> Command,
}

const fn entry(
    name: &'static str,
    aliases: &'static [&'static str],
    argument: &'static str,
    help: &'static str,
    build: fn(Option<String>) -> Command,
) -> Entry {
    Entry { name, aliases, argument, help, build }
}

/// All commands, in the order of the help text.
pub const TABLE: &[Entry] = &[
    entry("/help", &["/?"], "", "list the commands and keys", |_| Command::Help),
    entry("/new", &[], "", "begin a new session", |_| Command::New),
    entry("/resume", &[], "[ID]", "go on with another session", Command::Resume),
    entry("/sessions", &[], "[WORDS]", "list the sessions, or search them", Command::Sessions),
    entry("/export", &[], "[FILE]", "write the session to a file", Command::Export),
    entry("/compact", &[], "[FOCUS]", "replace old messages by a summary", Command::Compact),
    entry("/context", &[], "", "show what fills the context window", |_| Command::Context),
    entry("/model", &[], "[NAME|NUMBER]", "list the models, or switch", Command::Model),
    entry("/effort", &[], "[LEVEL]", "how hard the model thinks", Command::Effort),
    entry(
        "/permissions",
        &[],
        "[MODE]",
        "show the rules, or switch the mode",
        Command::Permissions,
    ),
    entry("/undo", &[], "", "take back the last turn, its files too", |_| Command::Undo),
    entry("/rewind", &[], "[N [conversation|files]]", "go back before message N", Command::Rewind),
    entry("/fork", &[], "[N]", "go on in a new session", Command::Fork),
    entry("/jobs", &[], "[stop N]", "list the background jobs, or stop one", Command::Jobs),
    entry("/tools", &[], "", "list the tools of the model", |_| Command::Tools),
    entry("/quit", &["/exit", "/q"], "", "end the program", |_| Command::Quit),
];

/// True for a line that is meant as a command, known or not.
pub fn is_command(line: &str) -> bool {
    let word = line.split_whitespace().next().unwrap_or_default();
    let Some(name) = word.strip_prefix('/').filter(|_| line.starts_with('/')) else { return false };
    name == "?" || (!name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()))
}

/// Reads a line for which [`is_command`] holds. The error says what to type instead.
pub fn parse(line: &str) -> Result<Command, String> {
    let (word, rest) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
    let argument = Some(rest.trim().to_owned()).filter(|rest| !rest.is_empty());
    let Some(entry) = TABLE.iter().find(|e| e.name == word || e.aliases.contains(&word)) else {
        return Err(unknown(word));
    };
    if entry.argument.is_empty() && argument.is_some() {
        return Err(format!("{} takes no argument", entry.name));
    }
    Ok((entry.build)(argument))
}

fn unknown(word: &str) -> String {
    let names: Vec<&str> =
        TABLE.iter().flat_map(|e| e.aliases.iter().copied().chain([e.name])).collect();
    let begun = names.iter().copied().find(|name| name.starts_with(word));
    match begun.or_else(|| suggest::names(word, &names, 1).first().copied()) {
        Some(name) => format!("there is no {word}; did you mean {name}?"),
        None => format!("there is no {word}; /help lists the commands"),
    }
}

/// A message's number, as `/rewind` lists them.
pub fn number(text: &str) -> Result<usize, Error> {
    text.parse().map_err(|_| {
        Error::usage(format!("{text} is no message number"), "").help("/rewind lists the messages")
    })
}

/// The argument of `/permissions`: a mode, by the names that the flag takes.
pub fn mode(text: &str) -> Result<Mode, Error> {
    Mode::from_str(text, true)
        .map_err(|_| Error::usage(format!("{text} is no mode"), "").help("plan, ask, auto or full"))
}

/// The argument of `/jobs`: which one to stop.
pub fn job_to_stop(text: &str) -> Result<u32, Error> {
    let number = text.strip_prefix("stop").map(|rest| rest.trim().trim_start_matches('%'));
    number.and_then(|number| number.parse().ok()).ok_or_else(|| {
        Error::usage(format!("cannot do this with jobs: {text}"), "")
            .help("/jobs lists them, /jobs stop N stops one")
    })
}

/// The argument of `/rewind`: a number, and what goes back.
pub fn rewind_target(text: &str) -> Result<(usize, Scope), Error> {
    let (to, what) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let scope = match what.trim() {
        "" | "both" => Scope::Both,
        "conversation" => Scope::Conversation,
        "files" => Scope::Files,
        other => {
            return Err(Error::usage(format!("cannot rewind {other}"), "")
                .help("/rewind N, /rewind N conversation, or /rewind N files"));
        }
    };
    Ok((number(to)?, scope))
}

/// The text of `/help`.
pub fn help() -> String {
    let mut text = String::from("Commands:\n");
    for entry in TABLE {
        let usage = format!("{} {}", entry.name, entry.argument);
        let aliases = match entry.aliases {
            [] => String::new(),
            names => format!(" (also {})", names.join(", ")),
        };
        text.extend([&format!("  {usage:<33} "), entry.help, &aliases, "\n"]);
    }
    text.push_str(KEYS);
    text
}

const KEYS: &str = "\
Keys:
  Enter              send the message
  Alt-Enter, Ctrl-J  new line; so does \\ at the end of a line
  Tab                complete a /command, a model or an @path
  Ctrl-R             search the history
  Ctrl-C             stop the turn; clear the line; twice on an empty line: quit
  Ctrl-D             quit, on an empty line
A line that begins with a blank stays out of the history.
What is typed while something runs waits until it is done, commands too.";

#[cfg(test)]
mod tests;
