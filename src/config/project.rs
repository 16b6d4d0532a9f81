//! What a project brings along in `.xsh`, and whether the user has trusted it.
//!
//! A cloned repository must neither choose an endpoint nor start a program unasked. So what would is
//! without effect until the user has said yes to exactly this content, which is known by its hash. It
//! is read once: what is hashed, shown and used are the same bytes. Links are not followed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::file::{self, Scope};
use crate::hash;
use crate::mask::Masks;
use crate::tools::beneath;
use crate::tools::custom::{self, Folder, Owner};
use crate::ui::sanitize::visible;

/// The largest configuration file that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;
/// Characters of a value or command that are shown.
const MAX_SHOWN: usize = 500;

/// What lies in a project's `.xsh`, as it was read.
#[derive(Clone, Debug, Default)]
pub struct Project {
    /// `config.toml`: where it lies, and its text.
    pub config: Option<(PathBuf, String)>,
    /// `tools`.
    pub tools: Option<Folder>,
}

/// What the user has said about it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Nothing in it needs trust.
    #[default]
    NotNeeded,
    /// Yes to exactly this content.
    Granted,
    /// No to exactly this content.
    Refused,
    /// Nothing yet.
    Unasked,
}

/// Reads it, with a warning for each part that cannot be used.
pub fn read(workspace: &Path) -> (Project, Vec<String>) {
    let path = workspace.join(".xsh/config.toml");
    let mut warnings = Vec::new();
    let text = beneath::open_file(&path)
        .and_then(|file| custom::read_small(file, MAX_CONFIG))
        .and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| std::io::Error::other("it is not UTF-8 text"))
        });
    let config = match text {
        Ok(text) => Some((path, text)),
        Err(_) if beneath::is_absent(&path) => None,
        Err(e) => {
            warnings.push(format!("{} is not used: {}", path.display(), beneath::told(&e)));
            None
        }
    };
    let tools = custom::read_folder(&workspace.join(".xsh/tools"), Owner::Project);
    (Project { config, tools }, warnings)
}

impl Project {
    /// What it would do if it were trusted, a line each; nothing where no trust is needed.
    pub fn demands(&self, masks: &Masks) -> Vec<String> {
        let settings = self.settings().into_iter().map(|(key, value)| format!("{key} = {value}"));
        let (tools, _) = custom::load(self.tools.as_slice(), &[]);
        let tools = tools.iter().map(|tool| format!("tool {}: {}", tool.name, tool.shown()));
        settings.chain(tools).map(|line| shown(&line, masks)).collect()
    }

    /// The same in a few words.
    fn summary(&self) -> Vec<String> {
        let settings = self.settings().into_iter().map(|(key, _)| key);
        let (tools, _) = custom::load(self.tools.as_slice(), &[]);
        settings.chain(tools.into_iter().map(|tool| format!("tool {}", tool.name))).collect()
    }

    fn settings(&self) -> Vec<(String, String)> {
        let config = self.config.as_ref();
        let parsed = config.and_then(|(path, text)| file::parse(path, text, Scope::Trusted).ok());
        parsed.map(|file| file.asks).unwrap_or_default()
    }

    /// The name of exactly this content in this workspace: every file that would have a say, with its
    /// name. Lengths stand before the parts, so that no two contents make the same text.
    pub fn digest(&self, workspace: &Path) -> String {
        let mut parts = BTreeMap::new();
        if let Some((_, text)) = self.config.as_ref().filter(|_| !self.settings().is_empty()) {
            parts.insert("config.toml".to_owned(), text.as_bytes());
        }
        for (name, content) in self.tools.iter().flat_map(|folder| &folder.files) {
            parts.insert(format!("tools/{name}"), content.as_slice());
        }
        let mut framed = b"xsh trust 1\n".to_vec();
        let mut add = |part: &[u8]| {
            framed.extend((part.len() as u64).to_le_bytes());
            framed.extend(part);
        };
        add(workspace.as_os_str().as_encoded_bytes());
        for (name, content) in &parts {
            add(name.as_bytes());
            add(content);
        }
        hash::sha256(&framed)
    }

    /// The warning that it is not trusted, in one line.
    pub fn ignored(&self, workspace: &Path) -> String {
        let what = self.summary().join(", ");
        format!(
            "{} is not trusted, so this in it is ignored: {} (`xsh trust` shows it and asks)",
            workspace.join(".xsh").display(),
            shown(&what, &Masks::default()),
        )
    }
}

/// A text on one line, whatever is in it.
fn shown(text: &str, masks: &Masks) -> String {
    let text = visible(&masks.apply(text)).replace('\n', "\\n");
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => {
            let more = text.chars().count() - MAX_SHOWN;
            format!("{}… ({more} more characters)", text.get(..end).unwrap_or_default())
        }
        None => text,
    }
}

#[cfg(test)]
mod tests;
