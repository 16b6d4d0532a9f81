use schemars::JsonSchema;
use serde::Deserialize;

use super::{Prepared, Registry};
use crate::tools::output::RESULT_BYTES;
use crate::tools::shell::tests::Bench;
use crate::tools::{Effect, Outcome, Tool, ToolContext};

/// A tool that does what its arguments say.
struct Puppet;

#[derive(Deserialize, JsonSchema)]
struct Strings {
    /// What happens.
    act: String,
    times: Option<u8>,
}

impl Tool for Puppet {
    const NAME: &'static str = "puppet";
    const DESCRIPTION: &'static str = "Does as told.";
    type Args = Strings;

    fn effect(args: &Strings) -> Effect {
        Effect::Write(args.act.clone())
    }
    fn subject(args: &Strings) -> String {
        format!("act {}", args.act)
    }
    fn run(args: Strings, _: &ToolContext<'_>) -> Outcome {
        assert_ne!(args.act, "panic", "strings are cut");
        Outcome::ok(args.act.repeat(args.times.unwrap_or(1).into()), "done")
    }
}

struct Named<const N: usize>;

impl<const N: usize> Tool for Named<N> {
    const NAME: &'static str = ["glob", "grep", "read", "write", "edit"][N];
    const DESCRIPTION: &'static str = "";
    type Args = Strings;

    fn effect(_: &Strings) -> Effect {
        Effect::Read
    }
    fn subject(_: &Strings) -> String {
        String::new()
    }
    fn run(_: Strings, _: &ToolContext<'_>) -> Outcome {
        Outcome::default()
    }
}

fn puppet(arguments: &str) -> Result<Prepared, Outcome> {
    Registry::default().with::<Puppet>().prepare("puppet", arguments)
}

fn run(arguments: &str) -> Outcome {
    let prepared = puppet(arguments).map_err(|outcome| outcome.content).unwrap();
    Bench::new().run(move |context| prepared.run_guarded(context).0)
}

#[test]
fn a_right_call_is_prepared_and_run() {
    let prepared = puppet(r#"{"act":"x","times":3}"#).map_err(|o| o.content).unwrap();
    assert_eq!(prepared.name, "puppet");
    assert_eq!(prepared.effect, Effect::Write("x".to_owned()));
    assert_eq!(prepared.subject, "act x");
    assert_eq!(prepared.repaired, None);
    assert_eq!(run(r#"{"act":"x","times":3}"#), Outcome::ok("xxx", "done"));
}

#[test]
fn repaired_arguments_are_said_before_the_result() {
    let outcome = run("{'act':'x','times':'2'}");
    let (note, result) = outcome.content.split_once('\n').unwrap();
    assert!(note.contains("single quotes") && note.contains("`times` was the string"), "{note}");
    assert_eq!(result, "xx");
}

#[test]
fn wrong_arguments_are_an_outcome() {
    for (arguments, expected) in [
        ("{}", "missing the required argument `act`"),
        ("{\"act\":\"x", "cut off"),
        (r#"{"act":"x","times":-1}"#, "`times` must be at least 0"),
        (r#"{"act":"x","times":1000}"#, "expected u8"),
    ] {
        let outcome = puppet(arguments).err().unwrap();
        assert!(outcome.is_error && outcome.content.contains(expected), "{}", outcome.content);
        assert!(outcome.content.ends_with("{\"act\": string, \"times\": integer (optional)}"));
    }
}

#[test]
fn an_unknown_tool_is_answered_with_the_real_ones() {
    let registry = Registry::default()
        .with::<Named<0>>()
        .with::<Named<1>>()
        .with::<Named<2>>()
        .with::<Named<3>>()
        .with::<Named<4>>()
        .with::<crate::tools::shell::Shell>();
    for (name, meant) in [
        ("functions.read", "read"),
        ("read<|channel|>commentary", "read"),
        ("functions.grep<|constrain|>json", "grep"),
        ("Read", "read"),
        ("read_file", "read"),
        ("readTool", "read"),
        ("default_api:write", "write"),
        ("str_replace", "edit"),
        ("bash", "shell"),
        ("list_files", "glob"),
    ] {
        let outcome = registry.prepare(name, r#"{"act":"x"}"#).err().unwrap();
        assert!(outcome.is_error);
        assert_eq!(
            outcome.content,
            format!(
                "There is no tool `{name}`; nothing was run. Did you mean `{meant}`? Call it by \
                 exactly this name. The tools are: glob, grep, read, write, edit, shell."
            )
        );
    }
    for name in ["", "search_web", "functions.", &"x".repeat(9_999)] {
        let content = registry.prepare(name, "{}").err().unwrap().content;
        assert!(content.ends_with("The tools are: glob, grep, read, write, edit, shell."));
        assert!(!content.contains("Did you mean") && content.len() < 300, "{content}");
    }
}

#[test]
fn a_panic_is_an_outcome() {
    let outcome = run(r#"{"act":"panic"}"#);
    assert!(outcome.is_error);
    assert!(outcome.content.contains("`puppet` broke off"), "{}", outcome.content);
    assert!(outcome.content.contains("strings are cut"), "{}", outcome.content);
}

#[test]
fn content_is_never_empty_and_never_too_long() {
    assert_eq!(run(r#"{"act":" \n"}"#).content, "(no output)");
    let long = format!(r"{{'act':'{}','times':200}}", "é\\n".repeat(100));
    let content = run(&long).content;
    assert!(content.len() <= RESULT_BYTES && content.contains("left out; ask for less at once"));
    assert!(content.starts_with("[The arguments were repaired: single quotes"), "{content}");
}

#[test]
fn the_wire_form_is_fixed() {
    let registry = Registry::default().with::<Puppet>().with::<Named<2>>();
    let parameters = concat!(
        r#"{"type":"object","properties":{"act":{"type":"string","description":"What happens."},"#,
        r#""times":{"type":"integer"}},"required":["act"]}"#
    );
    let expected = [("puppet", "Does as told."), ("read", "")].map(|(name, description)| {
        format!(
            r#"{{"type":"function","function":{{"name":"{name}","description":"{description}","parameters":{parameters}}}}}"#
        )
    });
    assert_eq!(registry.wire(), format!("[{}]", expected.join(",")));
    assert_eq!(registry.names(), ["puppet", "read"]);
    assert_eq!(registry.describe(), [("puppet", "Does as told."), ("read", "")]);
    assert_eq!(Registry::default().wire(), "[]");
}
