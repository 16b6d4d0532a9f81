//! `xsh sessions export` and `/export`: a session as a document, to keep or to give to somebody.
//!
//! Who gets it opens it in a browser or in whatever shows Markdown, so text from outside stays what it
//! is there: controls, and characters that hide or reorder text, are dropped or shown, and nothing in
//! it can end the place that it stands in. Secrets that are known by now are masked again. The mark
//! that tells the user's own sessions from others stays out.

mod html;
mod json;
mod markdown;

use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::conversation::{Part, cannot_read, parts};
use crate::cli::ExportFormat;
use crate::error::Error;
use crate::event::{Header, Record};
use crate::mask::Masks;
use crate::session::log::{self, Damage};
use crate::ui::sanitize;

/// How a session is exported.
#[derive(Clone, Debug)]
pub struct Export {
    /// The kind of document.
    pub format: ExportFormat,
    /// What must not stand in it.
    pub masks: Masks,
}

impl Export {
    /// Writes the document of the session at `path`. The outer error is that the session cannot be
    /// read, or that `stop` came; the inner one that `out` cannot be written.
    pub fn write(
        &self,
        path: &Path,
        stop: &CancellationToken,
        out: &mut impl Write,
    ) -> Result<io::Result<()>, Error> {
        let header = log::read_header(path).map_err(|error| cannot_read(&error))?;
        let header = Header { mark: None, ..header };
        // What cannot be written any more need not be read either.
        let full = stop.child_token();
        let mut written = out.write_all(self.begin(&header).as_bytes());
        let read = log::read(path, &full, |record| {
            if written.is_ok() {
                written = out.write_all(self.record(&record).as_bytes());
            }
            if written.is_err() {
                full.cancel();
            }
        });
        if written.is_err() {
            return Ok(written);
        }
        let (_, damage, _) = read.map_err(|error| {
            if stop.is_cancelled() { Error::interrupted() } else { cannot_read(&error) }
        })?;
        Ok(out.write_all(self.end(&damage).as_bytes()).and_then(|()| out.flush()))
    }

    /// The same into a new file that only its owner can read. It has its name only once it is whole,
    /// and never takes the place of another.
    pub fn write_file(
        &self,
        path: &Path,
        stop: &CancellationToken,
        to: &Path,
    ) -> Result<(), Error> {
        let cannot = |error: io::Error| {
            let help = if error.kind() == io::ErrorKind::AlreadyExists {
                "name another file; none is overwritten"
            } else {
                "name a file in a folder that exists and can be written"
            };
            Error::failed(format!("cannot export to {}", to.display()), error).help(help)
        };
        if to.symlink_metadata().is_ok() {
            return Err(cannot(io::ErrorKind::AlreadyExists.into()));
        }
        let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = tempfile::Builder::new()
            .prefix(".xsh-export-")
            .permissions(Permissions::from_mode(0o600))
            .tempfile_in(folder.unwrap_or(Path::new(".")))
            .map_err(cannot)?;
        self.write(path, stop, &mut BufWriter::new(&file))?.map_err(cannot)?;
        file.persist_noclobber(to).map_err(|error| cannot(error.error))?;
        Ok(())
    }

    fn begin(&self, header: &Header) -> String {
        match self.format {
            ExportFormat::Md => markdown::begin(&header.id, &self.origin(header)),
            ExportFormat::Html => html::begin(&header.id, &self.origin(header)),
            ExportFormat::Json => json::begin(header, &self.masks),
        }
    }

    fn record(&self, record: &Record) -> String {
        let parts = || parts(&record.event).into_iter().map(|part| self.clean(&part));
        match self.format {
            ExportFormat::Md => parts().map(|part| markdown::part(&part)).collect(),
            ExportFormat::Html => parts().map(|part| html::part(&part)).collect(),
            ExportFormat::Json => json::record(record, &self.masks),
        }
    }

    fn end(&self, damage: &Damage) -> String {
        let warning = damage.warning();
        match self.format {
            ExportFormat::Md => {
                warning.map(|warning| markdown::part(&Said::Note(warning))).unwrap_or_default()
            }
            ExportFormat::Html => html::end(warning),
            ExportFormat::Json => json::end(warning),
        }
    }

    fn origin(&self, header: &Header) -> String {
        let Header { created_at, cwd, xsh, .. } = header;
        self.text(&format!("Begun {created_at} in {cwd}, with xsh {xsh}."))
    }

    /// What is masked is what a reader will see: a secret with something invisible in its middle too.
    fn text(&self, text: &str) -> String {
        self.masks.apply(&sanitize::text(text)).into_owned()
    }

    fn clean(&self, part: &Part<'_>) -> Said {
        match part {
            Part::User(text) => Said::User(self.text(text)),
            Part::Xsh(text) => Said::Aside("xsh, in the user's place", self.text(text)),
            Part::Reasoning(text) => Said::Aside("reasoning", self.text(text)),
            Part::Summary(text) => Said::Aside("summary of what was before", self.text(text)),
            Part::Answer(text) => Said::Answer(self.text(text)),
            Part::Call(call) => {
                let name = sanitize::line(&self.text(&call.name));
                Said::Tool(name, self.text(&call.arguments))
            }
            Part::Result { text, is_error } => {
                let name = if *is_error { "error" } else { "result" };
                Said::Tool(name.to_owned(), self.text(text))
            }
            Part::Note(note) => Said::Note(sanitize::line(&self.text(note))),
        }
    }
}

/// A [`Part`] as documents have it: clean, and by how it looks.
enum Said {
    User(String),
    Answer(String),
    /// Something with a name that is not part of the conversation proper.
    Aside(&'static str, String),
    /// A call or a result, with its name.
    Tool(String, String),
    Note(String),
}

#[cfg(test)]
mod tests;
