//! Wiring: what was typed, then a command, one headless turn or the REPL, then the exit code.

use std::process::ExitCode;

use xsh::cli::{self, Parsed};
use xsh::error::Exit;
use xsh::process;
use xsh::run;
use xsh::ui::out;

fn main() -> ExitCode {
    process::shield();
    let exit = match cli::parse(std::env::args_os()) {
        Ok(Parsed::Print(text)) => {
            out::print_bytes(text.as_bytes());
            Exit::Done
        }
        Ok(Parsed::Run(args)) => run::run(&args),
        Err(error) => {
            out::print_error(&error);
            error.exit
        }
    };
    ExitCode::from(exit.code())
}
