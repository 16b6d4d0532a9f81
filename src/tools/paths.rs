//! Which paths tools may touch, and what a path means.
//!
//! A path is followed here component by component, links included, and the result is judged, not
//! the text: a link in the middle, a dangling link and `/proc/self/root` all end where the kernel
//! would end. Tools then open the *result*, never the text they were given.
//!
//! Between the judgement and the opening somebody else may swap a folder for a link. That is why the
//! result, which has no link in it, is opened without following any (see [`super::beneath`]).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use icu_normalizer::ComposingNormalizerBorrowed;
use rustix::fs::FileType;

use super::beneath::{Entry, Folder, told};

use crate::policy::rules::PathRules;

mod near;

/// As many links as Linux follows in one path.
const MAX_LINKS: u32 = 40;
/// Entries of a folder that are looked at for a name.
const MAX_ENTRIES: usize = 10_000;
/// The program's own folder, which tools leave alone wherever it lies.
const OWN_FOLDER: &str = ".xsh";

/// The folders that file tools may work in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workspace {
    /// The workspace, absolute, links resolved.
    pub root: PathBuf,
    /// Further folders from `--add-dir`, absolute, links resolved.
    pub extra: Vec<PathBuf>,
    /// What the user's rules keep closed in them.
    pub rules: PathRules,
}

/// A path that passed the guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Absolute, links resolved (for a file that does not exist yet: its folder's links).
    pub real: PathBuf,
    /// What is shown to the model: relative to the workspace where it lies inside it.
    pub shown: String,
}

impl Resolved {
    /// The real path as it stands in logs and in the list of known file versions.
    pub fn key(&self) -> String {
        self.real.to_string_lossy().into_owned()
    }
}

impl Workspace {
    /// A workspace at `root`, with further folders; all must exist. Links in them are resolved.
    pub fn new(root: &Path, extra: &[PathBuf]) -> io::Result<Self> {
        let extra = extra.iter().map(fs::canonicalize).collect::<io::Result<_>>()?;
        Ok(Self { root: fs::canonicalize(root)?, extra, rules: PathRules::default() })
    }

    /// Resolves a path as a model gives it (relative to the root, or absolute), following links,
    /// and refuses what lies outside or in an `.xsh` folder. What does not exist yet is fine; its
    /// nearest existing folder must lie inside. The error tells the model what to do.
    pub fn resolve(&self, given: &str) -> Result<Resolved, String> {
        let path = self.locate(given)?;
        match self.rules.denying(&path.real) {
            None => Ok(path),
            Some(rule) => Err(format!(
                "`{given}` is closed by the user's rule `{rule}`. Do not try another way to it."
            )),
        }
    }

    /// The same before the user's rules are asked.
    pub fn locate(&self, given: &str) -> Result<Resolved, String> {
        let real = self.follow(given)?;
        match self.judge(&real) {
            Verdict::Inside => Ok(self.resolved(real)),
            Verdict::Own => Err(format!(
                "`{given}` lies in a `{OWN_FOLDER}` folder, which belongs to xsh itself (sessions, \
                 settings). Tools leave it alone; work with other files."
            )),
            Verdict::Outside => Err(self.outside(given, &real)),
        }
    }

    /// Like [`Workspace::resolve`], and also allows what lies in `outputs`, the folder of whole
    /// outputs that were cut for the model. For reading only.
    pub fn resolve_readable(&self, given: &str, outputs: &Path) -> Result<Resolved, String> {
        let real = self.follow(given)?;
        let allowed = fs::canonicalize(outputs).is_ok_and(|outputs| real.starts_with(outputs));
        if allowed { Ok(self.resolved(real)) } else { self.resolve(given) }
    }

    fn follow(&self, given: &str) -> Result<PathBuf, String> {
        check_text(given)?;
        let found = follow(&self.root, Path::new(given)).map_err(|stop| stop.explain(given))?;
        if given.ends_with('/') && !found.is_folder {
            return Err(format!(
                "`{given}` ends in `/` but is not an existing folder. Give the path of the file."
            ));
        }
        Ok(found.real)
    }

    /// [`Workspace::resolve`] without an explanation, which itself asks for other paths.
    fn existing(&self, given: &str) -> Option<Resolved> {
        let real = self.follow(given).ok()?;
        let inside =
            matches!(self.judge(&real), Verdict::Inside) && self.rules.denying(&real).is_none();
        (inside && real.exists()).then(|| self.resolved(real))
    }

    fn resolved(&self, real: PathBuf) -> Resolved {
        let shown = match real.strip_prefix(&self.root) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".to_owned(),
            Ok(rest) => one_line(rest),
            Err(_) => one_line(&real),
        };
        Resolved { real, shown }
    }

    fn judge(&self, real: &Path) -> Verdict {
        let bases = std::iter::once(&self.root).chain(&self.extra);
        let mut rests = bases.filter_map(|base| real.strip_prefix(base).ok()).peekable();
        if rests.peek().is_none() {
            return Verdict::Outside;
        }
        let own = |rest: &Path| rest.iter().any(is_own);
        if rests.all(own) { Verdict::Own } else { Verdict::Inside }
    }

    fn outside(&self, given: &str, real: &Path) -> String {
        let meant = near::without_first_parts(self, given)
            .map_or_else(String::new, |meant| format!(" Did you mean `{meant}`?"));
        format!(
            "`{given}` is outside the workspace: it leads to `{}`, and the workspace is `{}`.{meant} \
             Use a path inside it; only the user can open another folder (`--add-dir`).",
            one_line(real),
            one_line(&self.root),
        )
    }

    /// The error for a path that does not exist, with the names that may have been meant.
    pub fn missing(&self, given: &str, path: &Resolved) -> String {
        let near = near::names(self, given, &path.real);
        let advice = if near.is_empty() {
            "Use `glob` to find it.".to_owned()
        } else {
            format!("Did you mean {}?", near.join(" or "))
        };
        format!("`{}` does not exist. {advice}", path.shown)
    }
}

/// Whether a name is that of the program's own folder, or one that some file system takes for it:
/// capitals, letters that fold to its letters, characters that are ignored in names.
pub(super) fn is_own(name: &OsStr) -> bool {
    if name.as_encoded_bytes().is_ascii() {
        return name.eq_ignore_ascii_case(OWN_FOLDER);
    }
    let ignored = |c: &char| {
        matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}')
            || *c == '\u{feff}'
    };
    let name = name.to_string_lossy();
    let seen = name.chars().filter(|c| !ignored(c)).flat_map(char::to_uppercase);
    seen.eq(OWN_FOLDER.chars().flat_map(char::to_uppercase))
}

/// Where a real path lies.
enum Verdict {
    Inside,
    Own,
    Outside,
}

fn one_line(path: &Path) -> String {
    let text = path.to_string_lossy();
    if !text.contains(char::is_control) {
        return text.into_owned();
    }
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(escaped).collect()
}

/// Refuses what cannot be a path, or would be taken for another one.
fn check_text(given: &str) -> Result<(), String> {
    if given.trim().is_empty() {
        return Err("The path is empty. Give a file, relative to the workspace or absolute.".into());
    }
    if given.contains('\0') {
        return Err("The path holds a NUL character. Give the plain path.".into());
    }
    if given == "~" || given.starts_with("~/") {
        return Err(format!(
            "`{given}`: `~` is not expanded here. Give a path relative to the workspace, or an \
             absolute one."
        ));
    }
    if let Some(rest) = given.strip_prefix("file://") {
        return Err(format!("`{given}` is a URL. Give the plain path: `{rest}`."));
    }
    Ok(())
}

/// Where a path leads.
struct Found {
    real: PathBuf,
    is_folder: bool,
}

/// Why a path leads nowhere.
enum Stop {
    Loop,
    NotAFolder(PathBuf),
    UpFromMissing(PathBuf),
    Io(PathBuf, io::Error),
}

impl Stop {
    fn explain(self, given: &str) -> String {
        match self {
            Self::Loop => format!("`{given}` runs through a loop of links. Use another path."),
            Self::NotAFolder(path) => format!(
                "`{given}` goes through `{}`, which is not a folder. Use `glob` to find the path.",
                one_line(&path)
            ),
            Self::UpFromMissing(path) => format!(
                "`{given}` goes up (`..`) from `{}`, which does not exist. Leave that part out.",
                one_line(&path)
            ),
            Self::Io(path, error) => {
                format!("`{given}` cannot be followed: `{}`: {error}.", one_line(&path))
            }
        }
    }
}

/// Follows a path as the kernel does, and on into what does not exist yet.
fn follow(start: &Path, given: &Path) -> Result<Found, Stop> {
    let mut real = start.to_owned();
    let (mut is_folder, mut missing, mut links) = (true, false, 0);
    let mut todo: Vec<OsString> = Vec::new();
    push_parts(&mut todo, given);
    while let Some(part) = todo.pop() {
        if part == "/" {
            real = PathBuf::from("/");
        } else if part == ".." {
            if missing {
                return Err(Stop::UpFromMissing(real));
            }
            real.pop();
        } else if missing {
            real.push(part);
        } else {
            match look(&real, &part)? {
                Step::Link(target) => {
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(Stop::Loop);
                    }
                    push_parts(&mut todo, &target);
                    continue;
                }
                Step::OtherForm(name) => {
                    todo.push(name);
                    continue;
                }
                Step::Missing => (missing, is_folder) = (true, false),
                Step::Folder => is_folder = true,
                Step::Other if todo.is_empty() => is_folder = false,
                Step::Other => return Err(Stop::NotAFolder(real.join(part))),
            }
            real.push(part);
        }
    }
    Ok(Found { real, is_folder })
}

/// Puts the components on the stack, the first on top.
fn push_parts(todo: &mut Vec<OsString>, path: &Path) {
    let parts = path.components().filter(|part| *part != Component::CurDir);
    todo.extend(parts.map(|part| part.as_os_str().to_owned()).rev());
}

/// What a name in a real folder is.
enum Step {
    Folder,
    Link(PathBuf),
    Other,
    Missing,
    /// The same name in another Unicode normalisation.
    OtherForm(OsString),
}

fn look(folder: &Path, name: &OsStr) -> Result<Step, Stop> {
    let path = folder.join(name);
    match fs::symlink_metadata(&path) {
        Ok(meta) if meta.is_symlink() => match fs::read_link(&path) {
            Ok(target) => Ok(Step::Link(target)),
            Err(error) => Err(Stop::Io(path, error)),
        },
        Ok(meta) if meta.is_dir() => Ok(Step::Folder),
        Ok(_) => Ok(Step::Other),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(other_form(folder, name).map_or(Step::Missing, Step::OtherForm))
        }
        Err(error) => Err(Stop::Io(path, error)),
    }
}

/// An entry whose name is the same text in another Unicode normalisation (`é` as one or as two
/// code points). Nobody can see or type the difference, so it is the file that is meant.
fn other_form(folder: &Path, name: &OsStr) -> Option<OsString> {
    let name = name.to_str().filter(|name| !name.is_ascii())?;
    let nfc = ComposingNormalizerBorrowed::new_nfc();
    let wanted = nfc.normalize(name);
    let entries = fs::read_dir(folder).ok()?.take(MAX_ENTRIES).flatten();
    let mut same = entries
        .map(|entry| entry.file_name())
        .filter(|entry| entry.to_str().is_some_and(|entry| nfc.normalize(entry) == wanted));
    let found = same.next()?;
    same.next().is_none().then_some(found)
}

/// Opens a regular file for reading; `None` when it does not exist. Anything else is told by its
/// kind before it is opened, and once more after: a pipe that was swapped in can neither block
/// nor be read.
pub fn open_regular(path: &Resolved) -> Result<Option<(File, Entry)>, String> {
    let failed = |error: io::Error| format!("`{}` cannot be read: {}.", path.shown, told(&error));
    let (folder, name) = match Folder::of(&path.real) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if path.real.parent().is_some() => return Err(failed(error)),
        Err(_) => return refuse_irregular(path, FileType::Directory).map(|()| None),
    };
    let Some(entry) = folder.entry(name).map_err(failed)? else { return Ok(None) };
    refuse_irregular(path, entry.kind())?;
    let file = folder.read(name).map_err(failed)?;
    let entry = Entry::of(&file).map_err(failed)?;
    refuse_irregular(path, entry.kind())?;
    Ok(Some((file, entry)))
}

fn refuse_irregular(path: &Resolved, kind: FileType) -> Result<(), String> {
    let name = match kind {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => {
            let shown = &path.shown;
            return Err(format!(
                "`{shown}` is a folder. Use `glob` with the pattern `{shown}/*` to list it."
            ));
        }
        FileType::Symlink => "a link",
        FileType::Fifo => "a named pipe (FIFO)",
        FileType::Socket => "a socket",
        FileType::CharacterDevice => "a character device",
        FileType::BlockDevice => "a block device",
        FileType::Unknown => "something unknown",
    };
    Err(format!("`{}` is {name}, not a regular file. It cannot be read or changed.", path.shown))
}

#[cfg(test)]
mod tests;
