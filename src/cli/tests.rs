use super::*;

fn args(line: &[&str]) -> Args {
    match parse(std::iter::once("xsh").chain(line.iter().copied())) {
        Ok(Parsed::Run(args)) => *args,
        other => panic!("{line:?}: {other:?}"),
    }
}

fn error(line: &[&str]) -> String {
    match parse(std::iter::once("xsh").chain(line.iter().copied())) {
        Err(e) => {
            assert_eq!(e.exit.code(), 2);
            e.to_string()
        }
        other => panic!("{line:?}: {other:?}"),
    }
}

fn printed(line: &[&str]) -> String {
    match parse(std::iter::once("xsh").chain(line.iter().copied())) {
        Ok(Parsed::Print(text)) => text,
        other => panic!("{line:?}: {other:?}"),
    }
}

#[test]
fn the_definition_is_sound() {
    definition().debug_assert();
}

#[test]
fn where_the_prompt_comes_from() {
    let text = |text: &str| Prompt::Text(text.to_owned());
    let cases: &[(&[&str], bool, Prompt)] = &[
        (&[], false, Prompt::None),
        (&["fix it"], false, text("fix it")),
        (&["doctor is broken"], false, text("doctor is broken")),
        (&["docter"], false, text("docter")),
        (&["--", "doctor"], false, text("doctor")),
        (&["--", "--help"], false, text("--help")),
        (&["--", "-p"], false, text("-p")),
        (&["-p", "say hi"], true, text("say hi")),
        (&["-p", "doctor"], true, text("doctor")),
        (&["--print", "say hi"], true, text("say hi")),
        (&["--prompt", "say hi"], true, text("say hi")),
        (&["--prompt=say hi"], true, text("say hi")),
        (&["say hi", "-p"], true, text("say hi")),
        (&["-p", "-m", "x", "say hi"], true, text("say hi")),
        (&["-p", "-c", "go on"], true, text("go on")),
        (&["-p", "--", "--weird"], true, text("--weird")),
        (&["-p", "--", "models"], true, text("models")),
        (&["-p"], true, Prompt::None),
        (&["-p", ""], true, Prompt::None),
        (&["-p", " \n"], true, Prompt::None),
        (&["-p", "-"], true, Prompt::Stdin),
        (&["-"], false, text("-")),
        (&["-c", "go on"], false, text("go on")),
        (&["-r", "abc", "go on"], false, text("go on")),
    ];
    for (line, headless, prompt) in cases {
        let args = args(line);
        assert_eq!((args.headless(), args.prompt()), (*headless, prompt.clone()), "{line:?}");
        assert_eq!(args.command, None, "{line:?}");
    }
}

#[test]
fn commands_with_flags_before_and_after() {
    let sessions = |all, action| Command::Sessions { all, action };
    let id = || "abc".to_owned();
    let show = SessionsAction::Show { id: id() };
    let export = |format| sessions(false, Some(SessionsAction::Export { id: id(), format }));
    let cases: &[(&[&str], Command)] = &[
        (&["doctor"], Command::Doctor),
        (&["-m", "x", "doctor"], Command::Doctor),
        (&["doctor", "-m", "x"], Command::Doctor),
        (&["models", "--base-url", "http://127.0.0.1:1/v1"], Command::Models),
        (&["man"], Command::Man),
        (&["completions", "zsh"], Command::Completions { shell: clap_complete::Shell::Zsh }),
        (&["sessions"], sessions(false, None)),
        (&["sessions", "--all"], sessions(true, None)),
        (&["sessions", "list", "--all"], sessions(true, Some(SessionsAction::List))),
        (&["sessions", "show", "abc"], sessions(false, Some(show))),
        (&["sessions", "export", "abc"], export(ExportFormat::Md)),
        (&["sessions", "export", "abc", "--format", "json"], export(ExportFormat::Json)),
    ];
    for (line, command) in cases {
        assert_eq!(args(line).command.as_ref(), Some(command), "{line:?}");
    }
    assert_eq!(args(&["doctor", "-m", "x"]).model.model.as_deref(), Some("x"));
    assert_eq!(args(&["-m", "x", "doctor"]).model.model.as_deref(), Some("x"));
}

#[test]
fn modes_under_their_names_and_those_of_other_agents() {
    use Mode::{Ask, Auto, Full, Plan};
    let flag = "--permission-mode";
    let cases: &[(&[&str], _)] = &[
        (&[], None),
        (&["--permission-mode", "plan"], Some((Plan, flag))),
        (&["--permission-mode", "ask"], Some((Ask, flag))),
        (&["--permission-mode", "default"], Some((Ask, flag))),
        (&["--permission-mode", "auto"], Some((Auto, flag))),
        (&["--permission-mode", "acceptEdits"], Some((Auto, flag))),
        (&["--permission-mode=full"], Some((Full, flag))),
        (&["--permission-mode", "bypassPermissions"], Some((Full, flag))),
        (&["--dangerously-skip-permissions"], Some((Full, "--dangerously-skip-permissions"))),
    ];
    for (line, expected) in cases {
        assert_eq!(args(line).permission_mode(), *expected, "{line:?}");
    }
}

#[test]
fn sessions_to_go_on_with() {
    assert_eq!(args(&[]).resume, None);
    assert_eq!(args(&["--resume"]).resume, Some(None));
    assert_eq!(args(&["-r", "2026"]).resume, Some(Some("2026".to_owned())));
    assert_eq!(args(&["--resume=a/b.jsonl"]).resume, Some(Some("a/b.jsonl".to_owned())));
    assert!(args(&["-c"]).continue_latest);
    assert!(args(&["--continue"]).continue_latest);
}

#[test]
fn wrong_usage_says_what_and_what_to_do() {
    let cases: &[(&[&str], &str)] = &[
        (
            &["--effort", "huge"],
            "error: invalid value 'huge' for '--effort <LEVEL>': possible values: off, low, medium, high, max\nhelp: ",
        ),
        (&["--permission-mode", "yolo"], "possible values: plan, ask, auto, full"),
        (&["--output-format", "xml", "-p", "x"], "possible values: text, json, stream-json"),
        (&["--context-window", "0"], "'0' for '--context-window <TOKENS>'"),
        (&["--context-window", "many"], "'many' for '--context-window <TOKENS>'"),
        (&["--max-steps", "-1"], "error: "),
        (&["--model", ""], "it is empty"),
        (&["completions", "cmd.com"], "possible values: bash"),
        (&["--modle", "x"], "help: a similar argument exists: '--model'"),
        (
            &["--what"],
            "error: unexpected argument '--what' found\nhelp: see `xsh --help`; a prompt that begins with a dash goes after --",
        ),
        (&["-p", "- one\n- two"], "a prompt that begins with a dash goes after --"),
        (&["fix", "the", "test"], "help: put the whole prompt in one pair of quotes"),
        (&["-p", "fix", "the"], "help: put the whole prompt in one pair of quotes"),
        (&["-p", "fix", "the", "test"], "help: put the whole prompt in one pair of quotes"),
        (&["-p", "fix", "doctor"], "error: a prompt and a command were given together"),
        (&["fix", "doctor"], "error: a prompt and a command were given together"),
        (&["-r", "-c"], "cannot be used with"),
        (&["--demo", "-c"], "cannot be used with"),
        (&["--no-session", "-c"], "cannot be used with"),
        (&["--dangerously-skip-permissions", "--permission-mode", "ask"], "cannot be used with"),
        (&["--output-format", "json"], "--print"),
        (&["sessions", "show"], "<ID|PATH>"),
        (&["-C"], "a value is required for '--cd <DIR>'"),
    ];
    for (line, part) in cases {
        let text = error(line);
        assert!(text.contains(part), "{line:?}: {text}");
        assert!(text.starts_with("error: ") && text.contains("\nhelp: "), "{line:?}: {text}");
        assert!(!text.contains("Usage:"), "{line:?}: {text}");
    }
}

#[test]
fn help_and_version_are_for_stdout() {
    assert_eq!(printed(&["--version"]), format!("xsh {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(printed(&["-V"]), printed(&["--version"]));
    let short = printed(&["-h"]);
    assert!(short.starts_with("An interactive terminal coding agent\n"), "{short}");
    for part in ["Session:", "Model:", "Work and permissions:", "Output:", "Commands:", "Examples:"]
    {
        assert!(short.contains(part), "{part} in {short}");
    }
    assert!(printed(&["--help"]).contains("OpenAI-compatible endpoint"));
    assert!(printed(&["doctor", "--help"]).contains("where each setting comes from"));
}
