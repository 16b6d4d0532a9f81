use super::{Command, TABLE, help, is_command, parse};

#[test]
fn what_counts_as_a_command() {
    for (line, expected) in [
        ("/help", true),
        ("/?", true),
        ("/nonsense", true),
        ("/compact keep the plan", true),
        ("/usr/bin/x is broken", false),
        ("/etc", true),
        ("/", false),
        ("/ help", false),
        (" /help", false),
        ("/Users", false),
        ("/file.txt", false),
        ("help", false),
        ("", false),
    ] {
        assert_eq!(is_command(line), expected, "{line}");
    }
}

#[test]
fn parsing() {
    let err = |text: &str| Err(text.to_owned());
    for (line, expected) in [
        ("/help", Ok(Command::Help)),
        ("/? ", Ok(Command::Help)),
        ("/q", Ok(Command::Quit)),
        ("/exit", Ok(Command::Quit)),
        ("/model", Ok(Command::Model(None))),
        ("/model  gpt-5 ", Ok(Command::Model(Some("gpt-5".into())))),
        ("/compact keep\nthe plan", Ok(Command::Compact(Some("keep\nthe plan".into())))),
        ("/resume 2026", Ok(Command::Resume(Some("2026".into())))),
        ("/new x", err("/new takes no argument")),
        ("/hepl", err("there is no /hepl; did you mean /help?")),
        ("/comp", err("there is no /comp; did you mean /compact?")),
        ("/session", err("there is no /session; did you mean /sessions?")),
        ("/frobnicate", err("there is no /frobnicate; /help lists the commands")),
    ] {
        assert_eq!(parse(line), expected, "{line}");
    }
}

#[test]
fn every_row_is_a_command_and_in_the_help() {
    let help = help();
    for entry in TABLE {
        for name in entry.aliases.iter().chain([&entry.name]) {
            assert!(is_command(name) && parse(name).is_ok(), "{name}");
            assert!(help.contains(name), "{name}");
        }
    }
    assert!(help.lines().all(|line| line.len() <= 80), "{help}");
}
