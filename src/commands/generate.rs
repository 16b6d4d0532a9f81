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
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_shell_gets_a_script_that_knows_flags_and_commands() {
        for shell in clap_complete::Shell::value_variants() {
            let script = String::from_utf8(completions(*shell)).unwrap();
            for word in ["permission-mode", "doctor", "bypass"] {
                let expected = word != "bypass";
                assert_eq!(script.contains(word), expected, "{word} for {shell}");
            }
        }
    }

    #[test]
    fn the_manual_page_is_roff_and_names_the_flags() {
        let page = String::from_utf8(man().unwrap()).unwrap();
        assert!(page.contains(".TH xsh 1"), "{page}");
        assert!(page.contains("\\-\\-permission\\-mode"), "{page}");
        assert!(page.contains("completions"), "{page}");
    }
}
