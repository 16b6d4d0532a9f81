//! Tools that users define, from end to end.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, call};

/// Puts a file into the user's folder of tools.
fn own_tool(env: &Env, name: &str, content: &str) {
    let folder = env.home().join("config/xsh/tools");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), content).expect("a tool");
    if content.starts_with("#!") {
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join(name), mode).expect("a mode");
    }
}

#[test]
fn the_examples_are_added_offered_and_answer() {
    let calls = [
        call("c1", "calculator", json!({"expression": "(1.5 + 2) * 3 ^ 2"})),
        call("c2", "calculator", json!({"expression": "$(touch hacked); 1/0"})),
        call("c3", "clock", json!({"zone": "UTC"})),
        call("c4", "text_stats", json!({"text": "hello wörld\nhello", "top": "1"})),
        call("c5", "calculator", json!({"expr": 1, "precision": 3})),
        call("c6", "text_stats", json!({"text": "x", "top": 51})),
    ];
    let provider = Provider::start([Reply::calls(calls), Reply::text("Done.")]);
    let env = Env::new(&provider);
    let added = env.run(&["tools", "add", "--all"]).expect_code(0);
    assert_says(&added.stdout, &["added calculator", "added clock", "added text_stats"]);
    let listed = env.run(&["tools"]).expect_code(0);
    assert_says(&listed.stdout, &["calculator  ", "xsh/tools/calculator", "text_stats  "]);
    // The home of a test lies in /tmp, of which commands in the sandbox have one of their own.
    let _ = env.run(&["-p", "--permission-mode", "full", "reckon"]).expect_code(0);
    let first = provider.request(0);
    let names = first.tool_names();
    let expected = ["glob", "grep", "read", "write", "edit", "shell"];
    let expected: Vec<_> =
        expected.into_iter().chain(["calculator", "clock", "text_stats"]).collect();
    assert_eq!(names, expected);
    assert_says(first.system(), &["Works out an arithmetic expression"]);
    let last = provider.last_request();
    assert!(last.result("c1").starts_with("31.5\n[exit code 0"), "{}", last.result("c1"));
    assert_says(last.result("c2"), &["error: a number should come here", "exit code 1"]);
    assert_says(last.result("c3"), &["UTC+0000", "exit code 0"]);
    assert_says(
        last.result("c4"),
        &["lines: 2", "words: 3", "characters: 17", "bytes: 18", "hello (2)", "repaired"],
    );
    assert_says(
        last.result("c5"),
        &["Nothing was run", "no argument `expr`", "\"expression\": string"],
    );
    assert_says(last.result("c6"), &["at most 50"]);
    assert!(!env.exists("hacked"));
}

#[test]
fn a_faulty_tool_file_is_one_warning_and_leaves_the_others() {
    let provider = Provider::answering(|_| Reply::text("Hello."));
    let env = Env::new(&provider);
    own_tool(&env, "a.toml", "name = 'good'\ndescription = 'Good.'\ncommand = ['true']\n");
    own_tool(&env, "b.toml", "name = 'shell'\ndescription = 'x'\ncommand = ['true']\n");
    let schema = "[parameters]\ntype = 'object'\n[parameters.properties.x]\nanyOf = []\n";
    let tool = format!("name = 'c'\ndescription = 'x'\ncommand = ['true']\n{schema}");
    own_tool(&env, "c.toml", &tool);
    let output = env.ask("hi");
    assert_says(&output.stderr, &["b.toml, line 1: `shell` is a tool of xsh itself"]);
    assert_says(&output.stderr, &["c.toml, line 6: parameters.properties.x: `type` is missing"]);
    assert_eq!(provider.last_request().tool_names().last(), Some(&"good"));
    // The same tools in the same order, or the beginning of the requests would not stay.
    let _ = env.go_on("again");
    let tools = |index: usize| provider.request(index).json["tools"].to_string();
    assert_eq!(tools(0), tools(1));
}

#[test]
fn a_tool_stands_behind_the_gate_of_commands() {
    let calls = || [call("c1", "touch", json!({}))];
    for (mode, runs) in [("plan", false), ("ask", false), ("full", true)] {
        let provider = Provider::start([Reply::calls(calls()), Reply::text("Done.")]);
        let env = Env::new(&provider);
        own_tool(&env, "t.toml", "name = 'touch'\ndescription = 'x'\ncommand = ['./t', 'made']\n");
        own_tool(&env, "t", "#!/bin/sh\ntouch \"$1\"\n");
        let _ = env.run(&["-p", "--permission-mode", mode, "go"]);
        assert_eq!(env.exists("made"), runs, "{mode}");
        if !runs {
            assert_says(provider.last_request().result("c1"), &["Denied"]);
        }
    }
}

#[test]
fn the_question_shows_the_program_and_its_input() {
    let arguments = json!({"text": "a\u{202e}b"});
    let provider =
        Provider::start([Reply::calls([call("c1", "echo", arguments)]), Reply::text("Done.")]);
    let env = Env::new(&provider);
    let schema = "[parameters]\ntype = 'object'\n[parameters.properties.text]\ntype = 'string'\n";
    let tool = format!("name = 'echo'\ndescription = 'Says it.'\ncommand = ['cat', '-']\n{schema}");
    own_tool(&env, "echo.toml", &tool);
    let pty = Pty::xsh(&env, &["--permission-mode", "ask"]);
    pty.settle();
    pty.line("/tools");
    pty.wait_for_screen("the tools", |s| s.contains("Says it.") && s.contains("echo.toml"));
    pty.line("go");
    let screen = pty.wait_for("y yes, n no");
    assert_says(&screen, &["cat - < {\"text\":\"a\\u{202e}b\"}"]);
    assert_silent_on(&screen, &["\u{202e}"]);
    pty.line("y");
    pty.wait_for("Done.");
    assert!(
        provider.last_request().result("c1").starts_with("{\"text\":\"a\u{202e}b\"}\n[exit code 0")
    );
}

#[test]
fn rules_name_a_tool_that_a_user_defines() {
    for (config, flags, runs) in [
        ("", &["--allowed-tools", "touch"][..], true),
        ("", &["--disallowed-tools", "touch", "--permission-mode", "full"], false),
        ("allow = ['touch']", &[], true),
        ("allow = ['touch']\ndeny = ['shell']", &[], true),
        ("allow = ['shell']", &[], false),
        ("ask = ['touch']", &["--permission-mode", "auto"], false),
        ("deny = ['touch']", &["--permission-mode", "full"], false),
        ("allow = ['touch', 'not_installed_here']", &[], true),
    ] {
        let replies = [Reply::calls([call("c1", "touch", json!({}))]), Reply::text("Done.")];
        let provider = Provider::start(replies);
        let env = Env::new(&provider);
        env.config(&format!("permission_mode = 'ask'\n[permissions]\n{config}\n"));
        // On a path that the sandbox has too.
        env.write("t", "#!/bin/sh\ntouch made\n");
        let command = format!("command = ['sh', '{}']", env.path("t").display());
        own_tool(&env, "t.toml", &format!("name = 'touch'\ndescription = 'x'\n{command}\n"));
        let _ = env.run(&[flags, &["-p", "go"]].concat()).expect_code(if runs { 0 } else { 4 });
        assert_eq!(env.exists("made"), runs, "{config} {flags:?}");
    }
}

#[test]
fn always_lets_a_tool_run_for_the_session() {
    let calls = ["c1", "c2"].map(|id| Reply::calls([call(id, "hello", json!({}))]));
    let provider = Provider::start(calls.into_iter().chain([Reply::text("Done.")]));
    let env = Env::new(&provider);
    own_tool(&env, "t.toml", "name = 'hello'\ndescription = 'x'\ncommand = ['echo', 'hi']\n");
    let pty = Pty::xsh(&env, &["--permission-mode", "ask"]);
    pty.settle();
    pty.line("go");
    pty.wait_for("in this session only: hello");
    assert_says(&pty.screen(), &["mode ask asks before this"]);
    pty.settle();
    pty.line("a");
    pty.wait_for("Done.");
    assert_says(provider.last_request().result("c2"), &["hi"]);
}
