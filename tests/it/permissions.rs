//! What may happen: modes, rules, and questions at the keyboard.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on, count};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::{Pty, key};
use crate::support::reply::{Call, Reply, call, edit, read, shell, write};

/// A provider that makes these calls, each in a reply of its own, and then ends.
fn calling(calls: Vec<Call>) -> Provider {
    let replies = calls.into_iter().map(|call| Reply::calls([call]));
    Provider::start(replies.chain([Reply::text("That was all.")]).collect::<Vec<_>>())
}

/// Runs each command in mode ask with these rules; every one must be denied and leave no `p`.
#[track_caller]
fn all_denied(rules: &str, commands: &[&str]) {
    let calls = (0..).zip(commands).map(|(n, text)| shell(&format!("c{n}"), text)).collect();
    let provider = calling(calls);
    let env = Env::new(&provider);
    env.config(rules);
    env.write("f", "b\na\n");
    let output = env.run(&["--permission-mode", "ask", "-p", "go"]).expect_code(4);
    assert_eq!(output.stdout, "That was all.\n");
    let request = provider.last_request();
    for (n, command) in commands.iter().enumerate() {
        let result = request.result(&format!("c{n}"));
        assert!(result.starts_with("Denied:"), "{command}: {result}");
    }
    assert!(!env.exists("p"));
}

#[test]
fn a_rule_for_one_command_does_not_carry_others() {
    all_denied(
        "[permissions]\nallow = [\"shell(git status)\"]\n",
        &[
            "git status && touch p",
            "git status; touch p",
            "git status | tee p",
            "git status || touch p",
            "git status & touch p",
        ],
    );
}

#[test]
fn only_exact_commands_are_known_to_be_harmless() {
    all_denied(
        "",
        &[
            "git -c core.pager='touch p' -p status",
            "git diff --output=p",
            "git grep --open-files-in-pager=./p x",
            "find . -exec touch p ;",
            "rg --pre ./p x",
            "sort -o p f",
            "GIT_EXTERNAL_DIFF=./p git diff",
            "./git status",
        ],
    );
    let provider = calling(vec![shell("c1", "pwd && ls -la")]);
    let env = Env::new(&provider);
    let _ = env.run(&["--permission-mode", "ask", "-p", "go"]).expect_code(0);
    assert_says(provider.last_request().result("c1"), &["exit code 0"]);
}

#[test]
fn rules_let_run_and_deny_in_every_mode() {
    for (mode, flags, code) in [
        ("ask", &["--allowed-tools", "read,shell(touch *)"][..], 0),
        ("ask", &["--allowed-tools", "shell(touch a)", "--allowed-tools", "shell(touch p)"], 0),
        ("ask", &["--allowed-tools", "shell(touch a)"], 4),
        ("auto", &["--disallowed-tools", "shell(touch *)"], 4),
        ("full", &["--disallowed-tools", "shell(touch *)"], 4),
        ("full", &["--disallowed-tools", "shell"], 4),
        ("full", &[], 0),
    ] {
        let provider = calling(vec![shell("c1", "touch p")]);
        let env = Env::new(&provider);
        let args = [flags, &["--permission-mode", mode, "-p", "go"]].concat();
        let _ = env.run(&args).expect_code(code);
        assert_eq!(env.exists("p"), code == 0, "{args:?}");
    }
}

#[test]
fn a_rule_that_can_never_match_stops_the_start() {
    for (config, flags, says) in [
        (
            "\n[permissions]\nallow = [\n  \"read\",\n  \"bash(ls)\",\n]\n",
            &[][..],
            &["config.toml, line 5", "bash", "shell"][..],
        ),
        ("[permissions]\ndeny = [\"read(../x)\"]\n", &[], &["config.toml, line 2", ".."]),
        ("[permissions]\ndeny = [1]\n", &[], &["config.toml, line 2"]),
        ("[permissions]\nnever = []\n", &[], &["config.toml, line 2", "never"]),
        (
            "[permissions]\nallow = [\"shell(a *)\"]\ndeny = [\"shell(a *)\"]\n",
            &[],
            &["line 2", "goes before"],
        ),
        ("", &["--allowed-tools", "shell()"], &["--allowed-tools", "empty"]),
        ("", &["--disallowed-tools", "shell(a*b c)"], &["--disallowed-tools"]),
        ("", &["--disallowed-tools", "nonsense"], &["nonsense", "the tools are"]),
    ] {
        let provider = Provider::start([]);
        let env = Env::new(&provider);
        env.config(config);
        let output = env.run(&[flags, &["-p", "go"]].concat()).expect_code(2);
        assert_says(&output.stderr, &["error:"]);
        assert_says(&output.stderr, says);
        assert!(provider.requests().is_empty() && !env.exists(".xsh"));
    }
}

#[test]
fn a_flag_overrules_a_kept_answer() {
    let provider = calling(vec![shell("c1", "touch p")]);
    let env = Env::new(&provider);
    env.config("[permissions]\nallow = [\"shell(touch p)\"]\n");
    let _ = env.run(&["--disallowed-tools", "shell", "-p", "go"]).expect_code(4);
    assert!(!env.exists("p"));
}

#[test]
fn a_project_makes_no_rules() {
    let provider = calling(vec![shell("c1", "touch p")]);
    let env = Env::new(&provider);
    env.write(".xsh/config.toml", "[permissions]\nallow = [\"shell\"]\n");
    let output = env.run(&["--permission-mode", "ask", "-p", "go"]).expect_code(4);
    assert_says(&output.stderr, &["permissions"]);
    assert!(!env.exists("p"));
}

#[test]
fn a_forbidden_file_has_no_other_door() {
    let commands = [
        "cat .env",
        "grep K .e*",
        "git show HEAD:.env",
        "cat < .env",
        "cat .e''nv",
        "cat \"$PWD\"/.env",
        "ln .env other && cat other",
    ];
    for mode in ["auto", "full"] {
        let mut calls = vec![
            read("r1", ".env"),
            read("r2", "link"),
            read("r3", "sub/.env"),
            edit("e1", ".env", "KEY", "NO"),
            write("w1", ".env", "x"),
            write("w2", "new/.env", "x"),
            call("g1", "grep", json!({"pattern": "KEY"})),
            call("g2", "grep", json!({"pattern": "KEY", "path": ".env"})),
            call("g3", "grep", json!({"pattern": "KEY", "path": "sub", "mode": "files"})),
            call("g4", "glob", json!({"pattern": "**/.env"})),
            call("g5", "glob", json!({"pattern": "*", "path": "sub"})),
        ];
        if mode == "auto" {
            calls.extend((0..).zip(commands).map(|(n, text)| shell(&format!("s{n}"), text)));
        }
        let provider = calling(calls);
        let env = Env::new(&provider);
        env.config("[permissions]\ndeny = [\"read(.env)\"]\n");
        env.write(".env", "KEY=topsecret\n");
        env.write("sub/.env", "KEY=topsecret\n");
        env.write("sub/a.txt", "KEY=harmless\n");
        symlink(".env", env.path("link")).expect("a link");
        let _ = env.run(&["--permission-mode", mode, "-p", "go"]).expect_code(4);
        let request = provider.last_request();
        for id in ["r1", "r2", "r3", "e1", "w1", "w2", "g2"] {
            assert_says(request.result(id), &["read(.env)"]);
        }
        assert_says(request.result("g1"), &["a.txt"]);
        for id in ["g1", "g3", "g4", "g5"] {
            let result = request.result(id);
            assert_says(result, &["closed by the user's rules"]);
            let closed = |line: &str| Path::new(line).file_name() == Some(OsStr::new(".env"));
            assert!(!result.lines().any(closed), "{result}");
        }
        if mode == "auto" {
            for n in 0..commands.len() {
                assert_says(request.result(&format!("s{n}")), &["Denied:"]);
            }
        }
        assert_eq!(request.mentions("topsecret"), 0, "{mode}");
        assert_eq!(env.text(".env"), "KEY=topsecret\n");
        assert!(!env.exists("new/.env"));
    }
}

#[test]
fn what_is_to_be_asked_about_stays_out_of_searches() {
    let calls = || {
        vec![
            read("r1", "secrets/a"),
            call("g1", "grep", json!({"pattern": "KEY"})),
            call("g2", "glob", json!({"pattern": "secrets/*"})),
        ]
    };
    for (mode, code) in [("auto", 4), ("full", 0)] {
        let provider = calling(calls());
        let env = Env::new(&provider);
        env.config("[permissions]\nask = [\"read(secrets/**)\"]\n");
        env.write("secrets/a", "KEY=topsecret\n");
        let _ = env.run(&["--permission-mode", mode, "-p", "go"]).expect_code(code);
        let request = provider.last_request();
        assert_eq!(request.mentions("topsecret") == 0, mode == "auto");
        assert_eq!(request.result("g1").contains("closed"), mode == "auto");
        assert_eq!(request.result("g2").contains("closed"), mode == "auto");
    }
}

#[test]
fn files_that_others_run_are_asked_about() {
    let provider = calling(vec![
        write("c1", ".git/hooks/pre-commit", "x"),
        write("c2", ".vscode/tasks.json", "x"),
        write("c3", ".MCP.json", "x"),
        write("c4", "plain.txt", "x"),
    ]);
    let env = Env::new(&provider);
    let _ = env.run(&["--allowed-tools", "write", "-p", "go"]).expect_code(4);
    let request = provider.last_request();
    for id in ["c1", "c2", "c3"] {
        assert_says(request.result(id), &["other programs run"]);
    }
    assert!(env.exists("plain.txt") && !env.exists(".git") && !env.exists(".vscode"));
}

#[test]
fn leaving_the_sandbox_takes_a_person() {
    let arguments = json!({"command": "touch p", "outside_sandbox": "I need the network"});
    let provider = calling(vec![call("c1", "shell", arguments)]);
    let env = Env::new(&provider);
    let _ = env.run(&["--allowed-tools", "shell(touch p)", "-p", "go"]).expect_code(4);
    assert_says(provider.last_request().result("c1"), &["outside the sandbox"]);
    assert!(!env.exists("p"));
}

#[test]
fn a_denied_write_is_answered_at_once_and_not_for_ever() {
    let provider = Provider::answering(|request| {
        let step = request.messages().len();
        Reply::calls([write(&format!("c{step}"), &format!("new{step}.txt"), "x")])
    });
    let env = Env::new(&provider);
    let output = env.run(&["--permission-mode", "ask", "-p", "write a file"]);
    assert_eq!(output.code, 3, "{output:?}");
    assert!(provider.requests().len() <= 20);
    assert_says(provider.request(1).result("c2"), &["nobody can be asked", "Do not try it again"]);
}

/// A REPL in mode ask, waiting for its first line.
fn asking(provider: &Provider) -> (Env, Pty) {
    let env = Env::new(provider);
    let pty = Pty::xsh(&env, &["--permission-mode", "ask"]);
    pty.settle();
    (env, pty)
}

#[test]
fn a_question_says_what_and_where_and_why() {
    let arguments = json!({
        "command": "touch p",
        "outside_sandbox": "trust me\n\u{1b}[2J? Allow nothing"
    });
    let provider =
        calling(vec![call("c1", "shell", arguments), write("c2", "n.txt", "new line\n")]);
    let (env, pty) = asking(&provider);
    pty.line("go");
    pty.wait_for("y yes");
    let work = env.workspace().display().to_string();
    let screen = pty.screen().replace('\n', "");
    let says = ["touch p", work.as_str(), "outside the sandbox", "the model says: \"trust me"];
    for text in says {
        assert!(screen.contains(text), "{text}: {screen}");
    }
    assert_silent_on(&pty.raw_text(), &["\u{1b}[2J?"]);
    pty.line("n");
    pty.wait_for("n.txt");
    pty.wait_for("new line");
    pty.settle();
    // The end of the input is a no as well.
    pty.send(key::CTRL_D);
    pty.wait_for("That was all.");
    assert!(!env.exists("p") && !env.exists("n.txt"));
}

#[test]
fn no_can_have_a_reason() {
    let provider =
        calling(vec![shell("c1", "touch p"), shell("c2", "touch p"), shell("c3", "touch p")]);
    let (env, pty) = asking(&provider);
    pty.line("go");
    for (number, answer) in [(1, "c"), (2, "c use make"), (3, "not like that")] {
        pty.wait_for_screen("a question", |screen| count(screen, "y yes") == number);
        pty.settle();
        pty.line(answer);
        if answer == "c" {
            pty.wait_for("why not >");
            pty.settle();
            pty.line("y");
        }
    }
    pty.wait_for("That was all.");
    let request = provider.last_request();
    for (id, comment) in
        [("c1", "said no: y"), ("c2", "said no: use make"), ("c3", "not like that")]
    {
        assert_says(request.result(id), &[comment]);
    }
    assert!(!env.exists("p"));
}

#[test]
fn keys_from_before_the_question_do_not_answer_it() {
    let slow = Reply::calls([shell("c1", "touch p")]);
    let provider = Provider::start([
        Reply { delay: std::time::Duration::from_millis(700), ..slow },
        Reply::text("That was all."),
    ]);
    let (env, pty) = asking(&provider);
    pty.line("go");
    provider.wait_for_requests(1);
    pty.send("y\ra\ry");
    pty.wait_for("y yes");
    pty.settle();
    assert!(!env.exists("p"));
    pty.send(key::ENTER);
    pty.wait_for("That was all.");
    assert!(!env.exists("p"));
}

#[test]
fn always_keeps_the_very_command_for_good() {
    let calls = || vec![shell("c1", "touch p"), shell("c2", "touch p"), write("c3", "n.txt", "x")];
    let provider = calling(calls());
    let (env, pty) = asking(&provider);
    env.config("# mine\nmax_steps = 50   # enough\n");
    pty.line("go");
    pty.wait_for("in every session: shell(touch p)");
    pty.settle();
    pty.line("a");
    pty.wait_for("n.txt");
    pty.settle();
    pty.line("a");
    pty.wait_for("That was all.");
    assert!(env.exists("p") && env.exists("n.txt"));
    let file = env.home().join("config/xsh/config.toml");
    let kept = fs::read_to_string(&file).expect("the configuration");
    let path = env.path("n.txt");
    let expected = format!(
        "# mine\nmax_steps = 50   # enough\n\n[permissions]\nallow = [\"edit(/{})\", \"shell(touch p)\"]\n",
        path.display()
    );
    assert_eq!(kept, expected);
    drop(pty);
    fs::remove_file(env.path("p")).expect("it was made");
    let again = calling(vec![shell("c1", "touch p"), shell("c2", "touch p2")]);
    let mut env = env;
    env.set("XSH_BASE_URL", &again.base_url());
    let _ = env.run(&["--permission-mode", "ask", "-p", "go"]).expect_code(4);
    assert!(env.exists("p") && !env.exists("p2"));
}

#[test]
fn a_secret_is_never_kept() {
    let provider = calling(vec![
        shell("c1", "TOKEN=s3cr3t touch p"),
        shell("c2", "env TOKEN=s3cr3t touch q"),
        shell("c3", "env TOKEN=s3cr3t touch q"),
    ]);
    let (env, pty) = asking(&provider);
    pty.line("go");
    pty.wait_for("y yes");
    pty.settle();
    assert_silent_on(&pty.screen(), &["a always"]);
    pty.line("a");
    pty.wait_for("always is no answer here: y yes, n no, c no and why");
    pty.settle();
    pty.line("n");
    pty.wait_for("in this session only");
    pty.settle();
    pty.line("a");
    pty.wait_for("That was all.");
    assert!(!env.exists("p") && env.exists("q"));
    assert!(!env.home().join("config/xsh/config.toml").exists());
}

#[test]
fn what_cannot_be_kept_holds_for_the_session() {
    let provider = calling(vec![shell("c1", "touch p"), shell("c2", "touch p")]);
    let (env, pty) = asking(&provider);
    fs::create_dir_all(env.home().join("config")).expect("a folder");
    fs::write(env.home().join("config/xsh"), "in the way").expect("a file");
    pty.line("go");
    pty.wait_for("y yes");
    pty.settle();
    pty.line("a");
    pty.wait_for("this session only");
    pty.wait_for("That was all.");
    assert!(env.exists("p"));
}

#[test]
fn the_mode_can_be_switched_in_the_session() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch p")]),
        Reply::text("First."),
        Reply::calls([shell("c2", "touch q")]),
        Reply::text("Second."),
    ]);
    let (env, pty) = asking(&provider);
    env.config("[permissions]\ndeny = [\"read(.env)\"]\n");
    drop(pty);
    let pty = Pty::xsh(&env, &["--permission-mode", "plan", "--allowed-tools", "shell(ls *)"]);
    pty.wait_for("plan>");
    pty.settle();
    pty.line("/permissions");
    pty.wait_for("mode     plan");
    let screen = pty.screen();
    assert_says(
        &screen,
        &["sandbox", "deny     read(.env)", "line 2", "allow    shell(ls *)", "--allowed-tools"],
    );
    pty.settle();
    pty.line("go");
    pty.wait_for("First.");
    pty.settle();
    pty.line("/permissions nonsense");
    pty.wait_for("no mode");
    pty.settle();
    pty.line("/permissions bypassPermissions");
    pty.wait_for("full>");
    pty.settle();
    pty.line("go on");
    pty.wait_for("Second.");
    assert!(!env.exists("p") && env.exists("q"));
    let (first, last) = (provider.request(0), provider.last_request());
    let same = first.messages().len();
    assert_eq!(first.messages(), &last.messages()[..same], "the mode is no part of a request");
    let log = env.log();
    assert_eq!(log.last("permission")["mode"], "full");
}

#[test]
fn rules_that_cannot_be_read_stop_the_start() {
    let provider = Provider::start([]);
    let env = Env::new(&provider);
    env.config("[permissions]\ndeny = [\"shell\"]\n");
    let config = env.home().join("config/xsh/config.toml");
    let mut bytes = fs::read(&config).expect("the file");
    bytes.extend(b"# caf\xe9\n");
    fs::write(&config, bytes).expect("the file");
    let output = env.run(&["-p", "go"]).expect_code(2);
    assert_says(&output.stderr, &["error: configuration", "config.toml", "UTF-8", "help:"]);
    assert!(provider.requests().is_empty());
}
