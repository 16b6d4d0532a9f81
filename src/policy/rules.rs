//! The user's rules: `tool` or `tool(pattern)`, in a list that denies, asks or allows.
//!
//! For `shell` the pattern is a command, word by word, with a `*` at its end for any further
//! arguments; for the file tools it is a path in the form of `.gitignore`, from the workspace, or
//! from the root of the file system if it begins with `//`. A rule that can never match is an
//! error: it would be believed to protect. A user-defined tool has no patterns, only its name.

use std::fmt;
use std::path::{Path, PathBuf};

use super::command::{self, Part};
use super::loose::Found;
use super::path::{PathPattern, Target};
use super::{Action, Kind, loose};
use crate::error::Error;
use crate::suggest;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum List {
    /// Never.
    Deny,
    /// Only if the user says yes, each time.
    Ask,
    /// Without asking.
    Allow,
}

impl List {
    /// Its key in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the user's configuration, at this line.
    File(PathBuf, usize),
    /// On the command line.
    Flag(&'static str),
    /// Answered to a question in this session.
    Session,
    /// The same, and kept in the user's configuration.
    Kept,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path, line) => write!(f, "{}, line {line}", path.display()),
            Self::Flag(name) => f.write_str(name),
            Self::Session => f.write_str("this session"),
            Self::Kept => f.write_str("your configuration, just now"),
        }
    }
}

/// A rule as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// What it does.
    pub list: List,
    /// `tool` or `tool(pattern)`.
    pub text: String,
    /// Where it stands.
    pub place: Place,
}

/// A rule that was understood.
#[derive(Clone, Debug)]
pub struct Rule {
    /// As it was written.
    pub written: Written,
    tool: String,
    pattern: Pattern,
}

#[derive(Clone, Debug)]
enum Pattern {
    /// Every call of the tool.
    Any,
    Command(CommandPattern),
    Path(Box<PathPattern>),
}

/// The words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CommandPattern {
    words: Vec<String>,
    /// Any further arguments may follow.
    more: bool,
}

/// Tools that change files.
const CHANGE: &[&str] = &["write", "edit"];
/// Tools that look at files.
const LOOK: &[&str] = &["read", "glob", "grep"];
/// The tool that runs commands.
pub(super) const SHELL: &str = "shell";

/// The rules in force.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    list: Vec<Rule>,
    /// Commands that may leave the sandbox until the session ends, word for word.
    leaving: Vec<String>,
}

/// What rules are held against.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// The tools there are.
    pub tools: &'a [&'a str],
    /// The workspace and further folders, links resolved.
    pub roots: &'a [PathBuf],
}

impl Rules {
    /// Understands rules. The error names the place of the first that can never match, as far as the
    /// place itself decides: a flag may overrule the configuration.
    pub fn load(written: &[Written], ground: Ground<'_>) -> Result<Self, Error> {
        let mut rules = Self::default();
        for one in written {
            let rule = Rule::parse(one.clone(), ground).map_err(|why| refusal(one, why))?;
            rules.list.extend(rule);
        }
        for rule in &rules.list {
            if let Some(over) = rules.list.iter().find(|over| over.hides(rule)) {
                let by = format!("`{}` in `{}`", over.written.text, over.written.list.name());
                let why = Refusal::new(format!("{by} goes before it, so it never counts"));
                return Err(refusal(&rule.written, why));
            }
        }
        Ok(rules)
    }

    /// Adds a rule that came of a question.
    pub fn add(&mut self, written: Written, ground: Ground<'_>) -> Result<(), Error> {
        let place = written.clone();
        let rule = Rule::parse(written, ground).map_err(|why| refusal(&place, why))?;
        self.list.extend(rule);
        Ok(())
    }

    /// Lets a command leave the sandbox until the session ends.
    pub fn let_leave(&mut self, command: &str) {
        self.leaving.push(command.to_owned());
    }

    /// Whether it may.
    pub fn may_leave(&self, command: &str) -> bool {
        self.leaving.iter().any(|allowed| allowed == command)
    }

    /// Forgets what was answered for one session.
    pub fn end_session(&mut self) {
        self.list.retain(|rule| rule.written.place != Place::Session);
        self.leaving.clear();
    }

    /// The rules as they were written, the stronger lists first.
    pub fn written(&self) -> Vec<&Written> {
        let mut all: Vec<&Written> = self.list.iter().map(|rule| &rule.written).collect();
        all.sort_by_key(|written| written.list);
        all
    }

    /// Commands that may leave the sandbox in this session.
    pub fn leaving(&self) -> &[String] {
        &self.leaving
    }

    /// Patterns of the rules about paths in a list.
    pub fn paths(&self, list: List) -> impl Iterator<Item = (&PathPattern, &str)> {
        self.of(list).filter_map(|rule| match &rule.pattern {
            Pattern::Path(pattern) => Some((pattern.as_ref(), rule.written.text.as_str())),
            Pattern::Any | Pattern::Command(_) => None,
        })
    }

    fn of(&self, list: List) -> impl Iterator<Item = &Rule> {
        self.list.iter().filter(move |rule| rule.written.list == list)
    }

    /// The first rule of a forbidding list (deny or ask) that is about this action. A command is
    /// looked into as far as it can be recognised.
    pub fn forbidding(&self, list: List, action: &Action<'_>) -> Option<&Rule> {
        self.of(list).next()?;
        let found = match action.kind {
            Kind::Exec { command, .. } => loose::find(command),
            Kind::Read(_) | Kind::Write(_) | Kind::Stop => Found::default(),
        };
        self.of(list).find(|rule| rule.forbids(action, &found))
    }

    /// The rule about paths, denied or asked, whose file a command may name.
    pub fn named_by(&self, command: &str) -> Option<&str> {
        let mut rules = self.paths(List::Deny).chain(self.paths(List::Ask)).peekable();
        rules.peek()?;
        let found = loose::find(command);
        let names = |pattern: &PathPattern| {
            found.cut || found.names.iter().any(|name| pattern.may_be_named(name))
        };
        rules.find(|(pattern, _)| names(pattern)).map(|(_, text)| text)
    }

    /// The rule that allows a change of this file. A protected file needs one that names it and
    /// nothing else.
    pub fn allowing(&self, tool: &str, target: &Target, by_name: bool) -> Option<&Rule> {
        self.of(List::Allow).find(|rule| match &rule.pattern {
            Pattern::Any => rule.tool == tool && !by_name,
            Pattern::Path(path) if by_name => rule.changes() && path.names_only(target),
            Pattern::Path(path) => rule.changes() && path.matches(target, false),
            Pattern::Command(_) => false,
        })
    }

    /// The rule that allows every call of a tool.
    pub fn allowing_tool(&self, tool: &str) -> Option<&Rule> {
        let mut any = self.of(List::Allow).filter(|rule| matches!(rule.pattern, Pattern::Any));
        any.find(|rule| rule.tool == tool)
    }

    /// The rule that allows this simple command.
    pub fn allowing_part(&self, part: &Part) -> Option<&Rule> {
        self.of(List::Allow).find(|rule| match &rule.pattern {
            Pattern::Command(pattern) => pattern.allows(part),
            Pattern::Any | Pattern::Path(_) => false,
        })
    }
}

/// Why a rule is none.
struct Refusal {
    why: String,
    help: String,
}

impl Refusal {
    fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), help: String::new() }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { help: help.into(), ..self }
    }
}

fn refusal(written: &Written, refusal: Refusal) -> Error {
    let Written { list, text, place } = written;
    let what = match place {
        Place::File(path, line) => {
            format!("configuration {}, line {line}: permissions.{}", path.display(), list.name())
        }
        Place::Flag(_) | Place::Session | Place::Kept => place.to_string(),
    };
    let error = Error::usage(what, format!("`{text}` can never match: {}", refusal.why));
    if refusal.help.is_empty() { error } else { error.help(refusal.help) }
}

impl Rule {
    /// None for a rule of a file that is about another workspace.
    fn parse(written: Written, ground: Ground<'_>) -> Result<Option<Self>, Refusal> {
        let text = written.text.trim();
        let (tool, pattern) = match text.split_once('(') {
            None => (text, None),
            Some((tool, rest)) => {
                let inside = rest.strip_suffix(')');
                let inside = inside.ok_or_else(|| Refusal::new("its bracket is not closed"))?;
                (tool.trim_end(), Some(inside.trim()))
            }
        };
        if !ground.tools.contains(&tool) {
            check_unknown(tool, &written.place, ground)?;
        }
        let pattern = match pattern {
            None => Pattern::Any,
            Some("") => {
                let help = format!("`{tool}` alone stands for every call of it");
                return Err(Refusal::new("its pattern is empty").help(help));
            }
            Some(pattern) if tool == SHELL => Pattern::Command(CommandPattern::parse(pattern)?),
            Some(pattern) if is_file_tool(tool) => {
                let path = PathPattern::parse(pattern).map_err(Refusal::new)?;
                if !path.reaches(ground.roots) {
                    if matches!(written.place, Place::File(..)) {
                        return Ok(None);
                    }
                    return Err(Refusal::new("it is outside of every folder that is open"));
                }
                Pattern::Path(Box::new(path))
            }
            Some(_) => {
                let help = format!("`{tool}` alone stands for every call of it");
                let why = "a tool that is not built in takes no pattern";
                return Err(Refusal::new(why).help(help));
            }
        };
        let tool = tool.to_owned();
        Ok(Some(Self { written, tool, pattern }))
    }

    fn changes(&self) -> bool {
        CHANGE.contains(&self.tool.as_str())
    }

    /// Is this a rule about this action, read so that it forbids more rather than less?
    fn forbids(&self, action: &Action<'_>, found: &Found) -> bool {
        match &self.pattern {
            Pattern::Any => self.tool == action.tool,
            Pattern::Command(pattern) => {
                // What was not looked at to its end may hold what is to be asked about.
                found.commands.iter().any(|command| pattern.forbids(command))
                    || (found.cut && self.written.list == List::Ask)
            }
            // One rule about a path holds for every tool that works on files.
            Pattern::Path(path) => action.target().is_some_and(|target| path.matches(target, true)),
        }
    }

    /// Is everything that `other` matches decided by this rule before?
    fn hides(&self, other: &Self) -> bool {
        let (over, under) = (&self.written, &other.written);
        // A flag may overrule for one run what the configuration says.
        let is_flag = |written: &Written| matches!(written.place, Place::Flag(_));
        if over.list >= under.list || is_flag(over) != is_flag(under) {
            return false;
        }
        match (&self.pattern, &other.pattern) {
            (Pattern::Any, Pattern::Any | Pattern::Command(_)) => self.tool == other.tool,
            (Pattern::Command(over), Pattern::Command(under)) => over.covers(under),
            (Pattern::Path(over), Pattern::Path(under)) => over.covers(under),
            _ => false,
        }
    }
}

/// Refuses a name that no tool here has, but for one in the configuration that can be a tool of another
/// project's. A slip of the pen must not pass for that, so it may not be like a built-in tool's.
fn check_unknown(tool: &str, place: &Place, ground: Ground<'_>) -> Result<(), Refusal> {
    let builtin: Vec<&str> = [CHANGE, LOOK, &[SHELL]].concat();
    let near = suggest::tool(tool, &builtin);
    let could_be = !tool.is_empty()
        && tool.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if could_be && near.is_none() && matches!(place, Place::File(..)) {
        return Ok(());
    }
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the tools are {}", ground.tools.join(", ")),
    };
    Err(Refusal::new(format!("there is no tool `{tool}`")).help(help))
}

fn is_file_tool(tool: &str) -> bool {
    CHANGE.contains(&tool) || LOOK.contains(&tool)
}

impl CommandPattern {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let help = "write one command as it would be typed; only a `*` as its last word stands for \
                    more";
        let refuse = |why: &str| Refusal::new(why.to_owned()).help(help);
        let unclear = |why: &str| refuse(&format!("it is not one simple command ({why})"));
        let mut parts = command::read(text).map_err(unclear)?;
        let (Some(mut part), true) = (parts.pop(), parts.is_empty()) else {
            return Err(unclear("several"));
        };
        let more = part.len() > 1 && part.last().is_some_and(|word| word.wild && word.text == "*");
        if more {
            part.pop();
        }
        if part.iter().any(|word| word.wild) {
            return Err(refuse("a `*` counts only as its last word"));
        }
        let words = part.into_iter().map(|word| word.text).collect();
        Ok(Self { words, more })
    }

    /// Word for word; what the shell would expand is only covered by the `*`.
    fn allows(&self, part: &Part) -> bool {
        let Some((own, rest)) = part.split_at_checked(self.words.len()) else { return false };
        own.iter().map(|word| &word.text).eq(&self.words)
            && own.iter().all(|word| !word.wild)
            && (self.more || rest.is_empty())
    }

    /// Also in another folder (`/bin/rm`), and behind options (`git -C x push`).
    fn forbids(&self, command: &[String]) -> bool {
        let (Some((name, arguments)), Some((own_name, own))) =
            (command.split_first(), self.words.split_first())
        else {
            return false;
        };
        if name != own_name && loose::base(name) != own_name {
            return false;
        }
        let fits =
            |rest: &[String]| rest.starts_with(own) && (self.more || rest.len() == own.len());
        if own.first().is_none_or(|word| word.starts_with('-')) {
            return fits(arguments);
        }
        let mut behind_option = false;
        for at in 0..=arguments.len() {
            let rest = arguments.get(at..).unwrap_or_default();
            if fits(rest) {
                return true;
            }
            let is_option = rest.first().is_some_and(|word| word.starts_with('-'));
            if !is_option && !behind_option {
                return false;
            }
            behind_option = is_option;
        }
        false
    }

    fn covers(&self, other: &Self) -> bool {
        let same = if self.more { other.words.starts_with(&self.words) } else { self == other };
        same && (self.more || !other.more)
    }
}

/// What the file tools are kept from; with what they may look at only when it is named and the user
/// agrees.
#[derive(Clone, Debug, Default)]
pub struct PathRules {
    deny: Vec<(PathPattern, String)>,
    ask: Vec<(PathPattern, String)>,
    roots: Vec<PathBuf>,
}

impl PathRules {
    /// The rules about paths among all rules; `asks` tells whether those in `ask` count.
    pub fn of(rules: &Rules, roots: &[PathBuf], asks: bool) -> Self {
        let list = |list| {
            rules.paths(list).map(|(pattern, text)| (pattern.clone(), text.to_owned())).collect()
        };
        let ask = if asks { list(List::Ask) } else { Vec::new() };
        Self { deny: list(List::Deny), ask, roots: roots.to_vec() }
    }

    /// The rule that closes this path, links resolved.
    pub fn denying(&self, real: &Path) -> Option<&str> {
        self.first(&self.deny, real)
    }

    /// The rule that has the user asked about this path.
    pub fn asking(&self, real: &Path) -> Option<&str> {
        self.first(&self.ask, real)
    }

    fn first<'a>(&self, list: &'a [(PathPattern, String)], real: &Path) -> Option<&'a str> {
        if list.is_empty() {
            return None;
        }
        let target = Target::new(real, &self.roots);
        list.iter().find(|(path, _)| path.matches(&target, true)).map(|(_, text)| text.as_str())
    }
}

impl PartialEq for PathRules {
    fn eq(&self, other: &Self) -> bool {
        let texts = |rules: &Self| -> Vec<String> {
            rules.deny.iter().chain(&rules.ask).map(|(_, text)| text.clone()).collect()
        };
        self.deny.len() == other.deny.len() && texts(self) == texts(other)
    }
}

impl Eq for PathRules {}

#[cfg(test)]
pub(in crate::policy) mod tests;
