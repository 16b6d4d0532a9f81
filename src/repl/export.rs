//! `/export`: the session so far as a file of the user's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::cli::ExportFormat;
use crate::commands::export::Export;
use crate::error::Error;

/// Writes the session to a file, which is seen from the workspace; the ending of its name tells the
/// kind of document. Says where it is.
pub(super) async fn export(
    agent: &Agent,
    file: Option<String>,
    cancel: &CancellationToken,
) -> Result<String, Error> {
    let (id, log) = agent.session();
    let log = log.filter(|log| log.exists()).ok_or_else(|| {
        Error::usage("nothing to export", "nothing of this session is saved (yet)")
    })?;
    let file = PathBuf::from(file.unwrap_or_else(|| format!("xsh-{id}.md")));
    let export = Export { format: format(&file)?, masks: agent.masks().clone() };
    let (to, stop) = (agent.root().join(&file), cancel.clone());
    let work = spawn_blocking(move || export.write_file(&log, &stop, &to));
    work.await.map_err(|error| Error::failed("cannot export", error))??;
    Ok(format!("exported to {}", file.display()))
}

fn format(file: &Path) -> Result<ExportFormat, Error> {
    let ending = file.extension().and_then(OsStr::to_str).unwrap_or_default();
    ExportFormat::from_str(ending, true).map_err(|_| {
        Error::usage(format!("cannot tell what {} is to be", file.display()), "")
            .help("end the name in .md, .html or .json")
    })
}
