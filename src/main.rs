//! Wiring: arguments, configuration, then the REPL or one headless turn, then the exit code.

fn main() {}
