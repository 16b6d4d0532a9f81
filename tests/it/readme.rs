//! The README, held against the program.

use std::fs;
use std::path::Path;

fn file(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect(name)
}

/// First cells of the table whose header begins with this word.
fn cells(text: &str, header: &str) -> Vec<String> {
    let start = format!("| {header} |");
    let table = text.lines().skip_while(|line| !line.starts_with(&start)).skip(2);
    let rows = table.take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| Some(row.split('|').nth(1)?.trim().to_owned())).collect()
}

#[test]
fn its_first_block_runs_the_demo_and_then_the_tests() {
    let readme = file("README.md");
    let block = readme.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next());
    let commands: Vec<&str> = block
        .expect("a first block")
        .lines()
        .filter_map(|line| Some(line.split('#').next()?.trim()))
        .collect();
    assert_eq!(commands, ["cargo run --release -- --demo", "cargo test --locked"]);
}

#[test]
fn it_lists_the_exit_codes() {
    use xsh::error::Exit;
    let all = [Exit::Done, Exit::Failed, Exit::Usage, Exit::Limit, Exit::Denied, Exit::Interrupted];
    let codes: Vec<String> = all.iter().map(|exit| exit.code().to_string()).collect();
    assert_eq!(cells(&file("README.md"), "code"), codes);
}

#[test]
fn it_lists_the_kinds_of_event() {
    let source = file("src/event.rs");
    let kinds = source.split("pub fn kind(&self)").nth(1).expect("Event::kind");
    let mut known: Vec<&str> =
        kinds.lines().filter_map(|line| line.split_once("=> \"")?.1.split('"').next()).collect();
    let mut told: Vec<String> = cells(&file("README.md"), "type");
    for cell in &mut told {
        *cell = cell.trim_matches('`').to_owned();
    }
    known.sort_unstable();
    told.sort_unstable();
    assert_eq!(told, known);
}

#[test]
fn it_lists_the_slash_commands() {
    let readme = file("README.md");
    for xsh::repl::commands::Entry { name, .. } in xsh::repl::commands::TABLE {
        assert!(readme.contains(&format!("`{name}")), "{name} is not in the README");
    }
}
