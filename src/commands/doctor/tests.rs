use std::path::Path;

use super::*;
use crate::cli::{Parsed, parse};
use crate::config::environment::Environment;
use crate::config::file::{self, Scope};
use crate::config::resolve::{World, resolve};

fn shown(line: &str, env: &[(&str, &str)]) -> (String, Exit) {
    let user = "max_steps = 50\n[timeouts]\nidle = 1.5";
    let world = World {
        environment: Environment::from_pairs(env.iter().copied()),
        workspace: "/work".into(),
        user: Some(file::parse(Path::new("/u/config.toml"), user, Scope::User).unwrap()),
        ..World::default()
    };
    let Ok(Parsed::Run(args)) = parse(std::iter::once("xsh").chain(line.split_whitespace())) else {
        panic!("{line}")
    };
    let facts = Facts {
        servers: Vec::new(),
        session_folder: Ok("/work/.xsh/sessions".into()),
        sandbox: "full".to_owned(),
        instructions: vec!["/work/AGENTS.md".to_owned()],
        columns: Some(80),
    };
    report(&resolve(&args, &world).unwrap(), &facts)
}

#[test]
fn every_setting_with_its_origin() {
    let env = [("DEEPSEEK_API_KEY", "sk-secret"), ("TERM", "xterm"), ("HOME", "/h")];
    let (text, exit) = shown("-m deepseek-v4-pro --effort high", &env);
    assert!(!text.contains("sk-secret"));
    assert_eq!(exit, Exit::Done);
    let text = text.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    insta::assert_snapshot!(text, @r"
    version       VERSION
    workspace     /work
    provider      deepseek  [environment DEEPSEEK_API_KEY]
    endpoint      https://api.deepseek.com  [preset deepseek]
    key           present  [environment DEEPSEEK_API_KEY]
    model         deepseek-v4-pro  [flag --model]
    window        1M  [preset deepseek]
    effort        high  [flag --effort]
    permissions   ask  [default]
    sandbox       full
    max steps     50  [user /u/config.toml]
    max repeats   8  [default]
    connect       15 s  [default]
    first byte    300 s  [default]
    idle          1.5 s  [user /u/config.toml]
    retry wait    60 s  [default]
    attempts      6  [default]
    sessions      /work/.xsh/sessions (writable)
    instructions  /work/AGENTS.md
    user files    /h/.config/xsh
    terminal      xterm, 80 columns
    colour        on  [default]

    ready
    ");
}

#[test]
fn what_is_missing_is_said_at_the_end() {
    let (text, exit) = shown("", &[]);
    assert_eq!(exit, Exit::Usage);
    assert!(text.contains("endpoint      none configured or found\n"), "{text}");
    assert!(text.contains("\nerror: no model to talk to"), "{text}");
    let (text, _) = shown("--provider openai", &[]);
    assert!(text.contains("key           missing\n"), "{text}");
    let (text, exit) = shown("--base-url http://127.0.0.1:9/v1 -m x", &[]);
    assert!(text.contains("key           none, none needed\n"), "{text}");
    assert!(text.contains("window        unknown, assumed 32k"), "{text}");
    assert_eq!(exit, Exit::Done);
}
