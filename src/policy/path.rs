//! Patterns for paths, in the form of `.gitignore`.

use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::overlap::{self, Piece};

/// A path that an action is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// Absolute, links resolved.
    pub real: PathBuf,
    /// The same, seen from each open folder that holds it.
    pub relative: Vec<PathBuf>,
    /// Git does what it says.
    pub obeyed: bool,
}

impl Target {
    /// The path, seen from these folders.
    pub fn new(real: &Path, roots: &[PathBuf]) -> Self {
        let relative = roots.iter().filter_map(|root| real.strip_prefix(root).ok());
        let relative = relative.map(Path::to_owned).collect();
        Self { relative, real: real.to_owned(), obeyed: false }
    }
}

/// A pattern that was understood.
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: String,
    exact: Gitignore,
    /// Upper and lower case are the same.
    folded: Gitignore,
    /// It begins at the root of the file system.
    absolute: bool,
    /// What it names, where it names one path and nothing else.
    literal: Option<PathBuf>,
    key: Vec<Piece>,
}

impl PathPattern {
    /// Reads a pattern. The error says why it can match nothing.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.starts_with('!') || text.starts_with('#') {
            return Err("a pattern that begins with `!` or `#` names no file".to_owned());
        }
        if text == "~" || text.starts_with("~/") {
            return Err("`~` is not expanded; an absolute path begins with `//`".to_owned());
        }
        if text.split('/').any(|part| part == "..") {
            return Err("`..` leads out of the workspace".to_owned());
        }
        let absolute = text.starts_with("//");
        let anchored = text.trim_start_matches("./");
        let pattern = if absolute {
            format!("/{}", text.trim_start_matches('/'))
        } else if anchored.len() < text.len() {
            format!("/{anchored}")
        } else {
            text.to_owned()
        };
        let first = pattern.split('/').find(|part| !part.is_empty());
        if first.is_none() || first == Some(".") {
            return Err("it names no file".to_owned());
        }
        if first.is_some_and(|name| name.eq_ignore_ascii_case(".xsh")) && !absolute {
            return Err("`.xsh` belongs to xsh itself, where no tool works".to_owned());
        }
        Ok(Self {
            exact: compile(&pattern, false)?,
            folded: compile(&pattern, true)?,
            absolute,
            literal: literal(&pattern),
            key: overlap::key(&pattern),
            text: pattern,
        })
    }

    /// Is this path meant, or a folder above it? Generously: in any case of letters, and a pattern
    /// for folders means a file too.
    pub fn matches(&self, target: &Target, generously: bool) -> bool {
        let pattern = if generously { &self.folded } else { &self.exact };
        let hits = |path: &Path| {
            // The crate panics at an absolute path.
            !path.has_root()
                && !path.as_os_str().is_empty()
                && pattern.matched_path_or_any_parents(path, generously).is_ignore()
        };
        if self.absolute {
            return target.real.strip_prefix("/").is_ok_and(hits);
        }
        target.relative.iter().any(|path| hits(path))
    }

    /// Does it name exactly this path, and no other?
    pub fn names_only(&self, target: &Target) -> bool {
        let Some(literal) = &self.literal else { return false };
        if self.absolute {
            return target.real.strip_prefix("/").is_ok_and(|path| path == literal);
        }
        target.relative.first() == Some(literal)
    }

    /// Could a name in a command mean what this is about?
    pub fn may_be_named(&self, name: &[Piece]) -> bool {
        overlap::overlap(name, &self.key)
    }

    /// Does it hold for something in these folders?
    pub fn reaches(&self, roots: &[PathBuf]) -> bool {
        let fixed = self.text.split('/').take_while(|part| !part.contains(WILD));
        let fixed: PathBuf = std::iter::once("/").chain(fixed).collect();
        !self.absolute
            || roots.iter().any(|root| root.starts_with(&fixed) || fixed.starts_with(root))
    }

    /// Does it match all that the other one matches?
    pub fn covers(&self, other: &Self) -> bool {
        if self.absolute != other.absolute {
            return false;
        }
        let is_within =
            |path: &PathBuf| self.folded.matched_path_or_any_parents(path, false).is_ignore();
        self.text == other.text || other.literal.as_ref().is_some_and(is_within)
    }
}

/// What makes a pattern more than a path.
const WILD: [char; 6] = ['*', '?', '[', '{', '\\', '}'];

fn compile(pattern: &str, fold: bool) -> Result<Gitignore, String> {
    let mut builder = GitignoreBuilder::new("");
    let wrong = |error: ignore::Error| format!("it is no pattern for paths ({error})");
    builder.case_insensitive(fold).map_err(wrong)?;
    builder.add_line(None, pattern).map_err(wrong)?;
    let built = builder.build().map_err(wrong)?;
    if built.num_ignores() == 1 { Ok(built) } else { Err("it names no file".to_owned()) }
}

/// The one path that an anchored pattern without wildcards names.
fn literal(pattern: &str) -> Option<PathBuf> {
    let path = pattern.strip_prefix('/')?;
    let mut plain = String::new();
    let mut rest = path.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => plain.push(rest.next()?),
            _ if WILD.contains(&c) => return None,
            _ => plain.push(c),
        }
    }
    (!plain.ends_with('/')).then(|| PathBuf::from(plain))
}

/// The pattern that names exactly this absolute path; none for a name that cannot be written down.
pub fn naming(real: &Path) -> Option<String> {
    let text = real.to_str().filter(|text| !text.contains(char::is_control))?;
    if text.ends_with(' ') {
        return None;
    }
    let mut pattern = String::from("/");
    for c in text.chars() {
        if WILD.contains(&c) || c == ']' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    Some(pattern)
}
