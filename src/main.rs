//! Wiring: what was typed, then a command, one headless turn or the REPL, then the exit code.

use std::process::ExitCode;

use xsh::cli::{self, Parsed};
use xsh::error::{Error, Exit};
use xsh::process;
use xsh::run;
use xsh::sandbox;
use xsh::ui::out;

fn main() -> ExitCode {
    let mut words = std::env::args_os();
    if words.next().is_some_and(|name| name == sandbox::ENTRANCE) {
        return ExitCode::from(sandbox::enter(words));
    }
    process::shield();
    let exit = match cli::parse(std::env::args_os()) {
        Ok(Parsed::Print(text)) => told(out::print_bytes(text.as_bytes()).map(|()| Exit::Done)),
        Ok(Parsed::Run(args)) => run::run(&args),
        Err(error) => told(Err(error)),
    };
    ExitCode::from(exit.code())
}

fn told(done: Result<Exit, Error>) -> Exit {
    done.unwrap_or_else(|error| {
        out::print_error(&error);
        error.exit
    })
}
