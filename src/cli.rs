//! The command line: what was typed.
//!
//! One definition gives parsing, help text, shell completions and the manual page. Parsing checks
//! the form of every value and touches nothing: no file, no environment, no terminal. What the
//! values mean together with files and environment is [`crate::config`]'s business.

use std::ffi::OsString;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand, ValueEnum, ValueHint};

use crate::client::profile::Effort;
use crate::error::Error;
use crate::policy::Mode;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

const AFTER_HELP: &str = "\
Examples:
  xsh                             start in this folder
  xsh \"fix the failing test\"      start with a first message
  xsh -p \"what does main do?\"     answer once, for scripts
  git diff | xsh -p \"review\"      with a pipe as context
  xsh -c                          go on with the latest session

Text after -- is never an option. Settings: `xsh doctor` shows each with its origin.";

/// An interactive terminal coding agent
///
/// Reads, searches and edits the code of the current folder and runs commands in it, with any
/// model behind an OpenAI-compatible endpoint. Without -p it starts an interactive session.
#[derive(Clone, Debug, Default, Parser)]
#[command(
    name = "xsh",
    version,
    styles = STYLES,
    after_help = AFTER_HELP,
    override_usage = "xsh [OPTIONS] [PROMPT]\n       xsh [OPTIONS] <COMMAND>",
    subcommand_help_heading = "Commands",
    disable_help_subcommand = true
)]
pub struct Args {
    /// The first message
    #[arg(value_name = "PROMPT")]
    pub message: Option<String>,

    /// Answer once and exit: the answer on stdout, everything else on stderr
    ///
    /// A piped stdin is added to the prompt as context; `-p -` reads the prompt from stdin.
    #[arg(short = 'p', long, visible_alias = "prompt", value_name = "PROMPT", num_args = 0..=1)]
    pub print: Option<Option<String>>,

    /// Show the whole loop offline, with a scripted model on a sample project
    #[arg(long, conflicts_with_all = ["resume", "continue_latest", "print"])]
    pub demo: bool,

    /// Go on with a session: an id, the beginning of one, or a file; none = the latest here
    #[arg(
        short, long, value_name = "ID|PATH", num_args = 0..=1, value_parser = non_empty,
        conflicts_with = "continue_latest", help_heading = "Session"
    )]
    pub resume: Option<Option<String>>,

    /// Go on with the latest session of this folder
    #[arg(short = 'c', long = "continue", help_heading = "Session")]
    pub continue_latest: bool,

    /// Keep no session file
    #[arg(long, conflicts_with_all = ["resume", "continue_latest"], help_heading = "Session")]
    pub no_session: bool,

    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
    pub model: ModelArgs,

    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
    pub work: WorkArgs,

    #[command(flatten)]
    #[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
    pub output: OutputArgs,

    #[command(subcommand)]
    #[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
    pub command: Option<Command>,
}

// Which model answers and how hard it thinks.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Model")]
#[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
pub struct ModelArgs {
    /// The model; `PROVIDER/MODEL` also chooses the provider
    #[arg(short, long, value_name = "NAME", global = true, value_parser = non_empty)]
    pub model: Option<String>,

    /// The endpoint, up to and without /chat/completions
    #[arg(long, value_name = "URL", global = true, value_hint = ValueHint::Url)]
    pub base_url: Option<String>,

    /// The provider's preset, or a name from the user configuration
    #[arg(long, value_name = "NAME", global = true, value_parser = non_empty)]
    pub provider: Option<String>,

    /// How hard the model thinks
    #[arg(long, value_name = "LEVEL", global = true)]
    pub effort: Option<Effort>,

    /// The model's context window, in tokens
    #[arg(long, value_name = "TOKENS", global = true)]
    pub context_window: Option<NonZeroU64>,
}

// What the agent works on and what it may do.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Work and permissions")]
#[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
pub struct WorkArgs {
    /// Work in this folder instead of the current one
    #[arg(short = 'C', long = "cd", value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub directory: Option<PathBuf>,

    /// A further folder that file tools may use; can be repeated
    #[arg(long, value_name = "DIR", global = true, value_hint = ValueHint::DirPath)]
    pub add_dir: Vec<PathBuf>,

    /// Stop a turn after this many model replies [default: 200 with -p, else no limit]
    #[arg(long, value_name = "N", global = true)]
    pub max_steps: Option<NonZeroU32>,

    /// What may be done without asking
    #[arg(long, value_name = "MODE", global = true)]
    pub permission_mode: Option<Mode>,

    /// The same as --permission-mode full
    #[arg(long, global = true, conflicts_with = "permission_mode")]
    pub dangerously_skip_permissions: bool,

    /// Rules for what needs no question: `tool` or `tool(pattern)`, with commas, or repeated
    #[arg(long, value_name = "RULES", global = true, value_parser = non_empty)]
    pub allowed_tools: Vec<String>,

    /// Rules for what is denied, in the same form
    #[arg(long, value_name = "RULES", global = true, value_parser = non_empty)]
    pub disallowed_tools: Vec<String>,

    /// A file whose text replaces the built-in rules of the system prompt
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub system_prompt_file: Option<PathBuf>,

    /// Text that is added to the system prompt
    #[arg(long, value_name = "TEXT", global = true)]
    pub append_system_prompt: Option<String>,
}

// What is shown, and in which form.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Output")]
#[expect(missing_docs, reason = "a doc comment would replace the help text of the command")]
pub struct OutputArgs {
    /// The form of the answer with -p [default: text]
    #[arg(long, value_name = "FORMAT", requires = "print")]
    pub output_format: Option<OutputFormat>,

    /// No colours; also with `NO_COLOR` set
    #[arg(long, global = true)]
    pub no_color: bool,

    /// Show more of what happens
    #[arg(short, long, global = true)]
    pub verbose: bool,

    /// Write all traffic with the provider to this file, keys masked
    #[arg(long, value_name = "FILE", global = true, value_hint = ValueHint::FilePath)]
    pub debug_log: Option<PathBuf>,
}

/// What is done instead of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// List, search, show and export sessions
    Sessions {
        /// Those of all folders, not only of this one
        #[arg(long, global = true)]
        all: bool,
        #[command(subcommand)]
        #[expect(missing_docs, reason = "a doc comment would replace the help text")]
        action: Option<SessionsAction>,
    },
    /// List the models that the provider offers
    Models,
    /// List the tools of the model's that are not built in, or add examples
    Tools {
        #[command(subcommand)]
        #[expect(missing_docs, reason = "a doc comment would replace the help text")]
        action: Option<ToolsAction>,
    },
    /// Ask whether this project's settings and tools may be used
    Trust,
    /// Show where each setting comes from and whether all is well
    Doctor,
    /// Print the completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// What `xsh sessions` does; without one it lists.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum SessionsAction {
    /// List sessions, newest first
    List,
    /// Find sessions in which these words were said or shown
    Search {
        /// The words; all of them must stand in one message or result
        #[arg(required = true, value_name = "WORDS")]
        words: Vec<String>,
    },
    /// Show the conversation of one session
    Show {
        /// An id, the beginning of one, or a file
        #[arg(value_name = "ID|PATH")]
        id: String,
    },
    /// Print one session as a document, to keep or to give away
    Export {
        /// An id, the beginning of one, or a file
        #[arg(value_name = "ID|PATH")]
        id: String,
        /// The kind of document
        #[arg(long, value_enum, default_value_t)]
        format: ExportFormat,
    },
}

/// What `xsh tools` does; without one it lists.
#[derive(Clone, Debug, PartialEq, Eq, Subcommand)]
pub enum ToolsAction {
    /// List the tools
    List,
    /// Put examples into your own folder of tools: calculator, clock, `text_stats`
    Add {
        /// Their names
        #[arg(value_name = "NAME", required_unless_present = "all", value_parser = EXAMPLE_NAMES)]
        names: Vec<String>,
        /// All of them
        #[arg(long)]
        all: bool,
    },
}

/// The names of `tools::custom::examples`.
const EXAMPLE_NAMES: [&str; 3] = ["calculator", "clock", "text_stats"];

/// The kind of document that a session is exported as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Markdown.
    #[default]
    Md,
    /// One page that loads nothing and runs nothing.
    Html,
    /// The log as one array.
    Json,
}

/// The form of a headless answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer's text.
    #[default]
    Text,
    /// One JSON object at the end.
    Json,
    /// One JSON object per event.
    StreamJson,
}

/// Where the first message comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// None was given.
    None,
    /// `-p -`: all of stdin is the prompt.
    Stdin,
    /// This text.
    Text(String),
}

/// What a command line turned out to be.
#[derive(Debug)]
pub enum Parsed {
    /// Something to do.
    Run(Box<Args>),
    /// Help or version text, for stdout; nothing else is to be done.
    Print(String),
}

/// Parses a command line, program name first. The error is a usage error.
pub fn parse<I, S>(line: I) -> Result<Parsed, Error>
where
    I: IntoIterator<Item = S>,
    S: Into<OsString> + Clone,
{
    match Args::try_parse_from(line) {
        Ok(args) => args.check().map(|()| Parsed::Run(Box::new(args))),
        Err(e) if !e.use_stderr() => Ok(Parsed::Print(e.render().to_string())),
        Err(e) => Err(usage_error(&e)),
    }
}

/// The definition, for completions and the manual page.
pub fn definition() -> clap::Command {
    Args::command()
}

impl Args {
    /// True for `-p`: one turn, then exit.
    pub fn headless(&self) -> bool {
        self.print.is_some()
    }

    /// Where the first message comes from; blank text counts as none.
    pub fn prompt(&self) -> Prompt {
        match self.print.as_ref().and_then(Option::as_ref).or(self.message.as_ref()) {
            Some(text) if text == "-" && self.headless() => Prompt::Stdin,
            Some(text) if !text.trim().is_empty() => Prompt::Text(text.clone()),
            Some(_) | None => Prompt::None,
        }
    }

    /// The mode that was asked for, and the flag that did.
    pub fn permission_mode(&self) -> Option<(Mode, &'static str)> {
        match self.work.permission_mode {
            Some(mode) => Some((mode, "--permission-mode")),
            None if self.work.dangerously_skip_permissions => {
                Some((Mode::Full, "--dangerously-skip-permissions"))
            }
            None => None,
        }
    }

    /// What the definition alone cannot rule out.
    fn check(&self) -> Result<(), Error> {
        let prompts =
            usize::from(self.message.is_some()) + usize::from(matches!(self.print, Some(Some(_))));
        if prompts > 1 {
            return Err(Error::usage("two prompts were given", "").help(QUOTE_HELP));
        }
        if self.command.is_some() && (prompts > 0 || self.headless()) {
            return Err(Error::usage("a prompt and a command were given together", "")
                .help("put the prompt in quotes, or after --"));
        }
        Ok(())
    }
}

const DASH_HELP: &str = "see `xsh --help`; a prompt that begins with a dash goes after --";
const QUOTE_HELP: &str = "put the whole prompt in one pair of quotes";

fn non_empty(value: &str) -> Result<String, String> {
    match value.trim() {
        "" => Err("it is empty".to_owned()),
        trimmed => Ok(trimmed.to_owned()),
    }
}

/// The parser's words in the program's own form: one `error:` and one `help:` line.
fn usage_error(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let is_end = |line: &&str| line.starts_with("Usage:") || line.starts_with("For more");
    let mut lines = text.lines().map(str::trim).take_while(|line| !is_end(line));
    let what = lines.next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(what).trim_end_matches(['.', ':']);
    let mut rest = Vec::new();
    let mut tip = None;
    for line in lines.filter(|line| !line.is_empty()) {
        match line.strip_prefix("tip: ") {
            Some(text) if text.starts_with("to pass ") => tip = tip.or(Some(DASH_HELP.to_owned())),
            Some(text) => tip = tip.or(Some(text.to_owned())),
            None => rest.push(line.trim_matches(['[', ']'])),
        }
    }
    // A word too many is taken for a command, which only the command line as a whole tells.
    let is_command = error.kind() == ErrorKind::InvalidSubcommand
        && text.lines().any(|line| line.starts_with("Usage: xsh ["));
    let help = if is_command || is_second_word(error) { Some(QUOTE_HELP.to_owned()) } else { tip };
    Error::usage(what, rest.join(" ")).help(help.unwrap_or_else(|| "see `xsh --help`".to_owned()))
}

/// True for `xsh fix the test`: a prompt whose quotes were forgotten.
fn is_second_word(error: &clap::Error) -> bool {
    error.kind() == ErrorKind::UnknownArgument
        && matches!(
            error.get(ContextKind::InvalidArg),
            Some(ContextValue::String(word)) if !word.starts_with('-')
        )
}

#[cfg(test)]
mod tests;
