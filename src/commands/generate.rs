//! `xsh completions SHELL` and `xsh man`, from the definition of the command line.

use crate::cli;
use crate::error::Error;

/// The completion script for a shell.
pub fn completions(shell: clap_complete::Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut cli::definition(), "xsh", &mut script);
    script
}

/// The manual page, in roff, subcommands included.
pub fn man() -> Result<Vec<u8>, Error> {
    let mut page = Vec::new();
    clap_mangen::Man::new(cli::definition())
        .render(&mut page)
        .map_err(|e| Error::failed("manual page", e))?;
    Ok(page)
}

#[cfg(test)]
mod tests;
