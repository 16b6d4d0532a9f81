use proptest::prelude::*;

use super::rules::tests::{load, target};
use super::*;
use List::{Allow, Ask, Deny};

/// A decision in one word.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow(None) => "allow",
        Decision::Allow(Some(_)) => "rule",
        Decision::Ask(_) => "ask",
        Decision::Deny(_) => "deny",
    }
}

const MODES: [Mode; 4] = [Mode::Plan, Mode::Ask, Mode::Auto, Mode::Full];

/// What each mode makes of an action, in the order of [`MODES`].
fn in_modes(rules: &Rules, strength: &Strength, action: &Action<'_>) -> String {
    MODES.map(|mode| word(&decide(mode, rules, strength, action))).join(" ")
}

fn exec(command: &str) -> Action<'_> {
    Action { tool: "shell", kind: Kind::Exec { command, leave: None } }
}

fn sure() -> (Rules, Strength) {
    (Rules::default(), Strength::Full)
}

#[test]
fn the_modes() {
    let (a, hook) = (target("/work/a"), target("/work/.git/hooks/x"));
    let strengths =
        [Strength::Full, Strength::Partial(vec!["x".into()]), Strength::None("x".into())];
    let leaving = Kind::Exec { command: "ls", leave: Some("why") };
    for (tool, kind, expected) in [
        ("read", Kind::Read(Some(&a)), ["allow allow allow allow"; 3]),
        ("grep", Kind::Read(None), ["allow allow allow allow"; 3]),
        ("edit", Kind::Write(&a), ["deny ask allow allow"; 3]),
        ("write", Kind::Write(&hook), ["deny ask ask allow"; 3]),
        ("shell", Kind::Stop, ["deny allow allow allow"; 3]),
        ("shell", leaving, ["deny ask ask allow"; 3]),
        (
            "shell",
            Kind::Exec { command: "make", leave: None },
            ["deny ask allow allow", "deny ask allow allow", "deny ask ask allow"],
        ),
        ("shell", Kind::Exec { command: "pwd", leave: None }, ["deny allow allow allow"; 3]),
    ] {
        let action = Action { tool, kind };
        for (strength, expected) in strengths.iter().zip(expected) {
            assert_eq!(in_modes(&Rules::default(), strength, &action), expected, "{action:?}");
        }
    }
}

#[test]
fn a_partial_sandbox_counts_for_who_has_chosen() {
    let partial = Strength::Partial(vec!["no network filter".into()]);
    for (chosen, expected) in [(true, "allow"), (false, "ask")] {
        let relied = partial.relied_on(chosen);
        assert_eq!(word(&decide(Mode::Auto, &Rules::default(), &relied, &exec("make"))), expected);
    }
    assert_eq!(Strength::Full.relied_on(false), Strength::Full);
}

#[test]
fn rules_go_before_modes() {
    let (env, a) = (target("/work/.env"), target("/work/a"));
    let clock = Kind::Exec { command: "/c/clock < {}", leave: None };
    for (rules, tool, kind, expected) in [
        (&[(Deny, "read(.env)")][..], "read", Kind::Read(Some(&env)), "deny deny deny deny"),
        (&[(Deny, "read(.env)")], "edit", Kind::Write(&env), "deny deny deny deny"),
        (&[(Deny, "edit(.env)")], "grep", Kind::Read(Some(&env)), "deny deny deny deny"),
        (&[(Deny, "read(.env)")], "read", Kind::Read(Some(&a)), "allow allow allow allow"),
        (&[(Ask, "read(.env)")], "read", Kind::Read(Some(&env)), "ask ask ask allow"),
        (&[(Ask, "read(.env)")], "write", Kind::Write(&env), "deny ask ask allow"),
        (&[(Ask, "edit")], "edit", Kind::Write(&a), "deny ask ask allow"),
        (&[(Ask, "edit")], "write", Kind::Write(&a), "deny ask allow allow"),
        (&[(Allow, "edit")], "edit", Kind::Write(&a), "deny rule rule allow"),
        (&[(Allow, "edit")], "write", Kind::Write(&a), "deny ask allow allow"),
        (&[(Allow, "edit(/a)")], "write", Kind::Write(&a), "deny rule rule allow"),
        (&[(Allow, "read(/a)")], "write", Kind::Write(&a), "deny ask allow allow"),
        (&[(Allow, "edit(*)"), (Ask, "edit(a)")], "edit", Kind::Write(&a), "deny ask ask allow"),
        (&[(Allow, "edit(*)"), (Deny, "edit(a)")], "edit", Kind::Write(&a), "deny deny deny deny"),
        (&[(Deny, "glob")], "glob", Kind::Read(None), "deny deny deny deny"),
        (&[(Deny, "glob")], "grep", Kind::Read(None), "allow allow allow allow"),
        (&[(Deny, "shell")], "shell", Kind::Stop, "deny deny deny deny"),
        (&[(Deny, "clock")], "clock", clock, "deny deny deny deny"),
        (&[(Ask, "clock")], "clock", clock, "deny ask ask allow"),
        (&[(Allow, "clock")], "clock", clock, "deny rule rule allow"),
        (&[(Allow, "clock"), (Deny, "shell")], "clock", clock, "deny rule rule allow"),
        (&[(Allow, "shell")], "clock", clock, "deny ask allow allow"),
    ] {
        let action = Action { tool, kind };
        let loaded = load(rules).expect("rules");
        assert_eq!(in_modes(&loaded, &Strength::Full, &action), expected, "{rules:?} {action:?}");
    }
}

#[test]
fn a_protected_file_needs_a_rule_of_its_own() {
    for (rule, path, expected) in [
        ("edit", "/work/.git/hooks/pre-commit", "ask ask"),
        ("edit(**)", "/work/.git/hooks/pre-commit", "ask ask"),
        ("edit(.git/hooks/*)", "/work/.git/hooks/pre-commit", "ask ask"),
        ("edit(.git/)", "/work/.git/hooks/pre-commit", "ask ask"),
        ("edit(/.git/hooks/pre-commit)", "/work/.git/hooks/pre-commit", "rule rule"),
        ("edit(//work/.git/hooks/pre-commit)", "/work/.git/hooks/pre-commit", "rule rule"),
        ("edit(//extra/.git/hooks/pre-commit)", "/work/.git/hooks/pre-commit", "ask ask"),
        ("edit(.mcp.json)", "/work/.mcp.json", "ask ask"),
        ("edit(/.mcp.json)", "/work/.mcp.json", "rule rule"),
        ("edit(/.mcp.json)", "/work/.MCP.json", "ask ask"),
        ("edit(/.vscode)", "/work/.vscode/tasks.json", "ask ask"),
    ] {
        let rules = load(&[(Allow, rule)]).expect(rule);
        let target = target(path);
        let action = Action { tool: "edit", kind: Kind::Write(&target) };
        let found = [Mode::Ask, Mode::Auto]
            .map(|mode| word(&decide(mode, &rules, &Strength::Full, &action)))
            .join(" ");
        assert_eq!(found, expected, "{rule} {path}");
    }
}

/// What mode ask makes of a command.
fn asked(rules: &[(List, &str)], command: &str) -> &'static str {
    word(&decide(Mode::Ask, &load(rules).expect("rules"), &Strength::Full, &exec(command)))
}

#[test]
fn each_part_of_a_chain_counts() {
    let rules = [(Allow, "shell(git status)"), (Allow, "shell(cargo test *)")];
    for command in ["cargo test", "cargo test -p x 2>&1", "cargo test && git status; ls"] {
        assert_eq!(asked(&rules, command), "rule", "{command}");
    }
    for command in [
        "git status && touch p",
        "git status; touch p",
        "git status | tee p",
        "git status || touch p",
        "git status & touch p",
        "git status\ntouch p",
        "git status $(touch p)",
        "git status > p",
        "cargo test `touch p`",
        "cargo test <(touch p)",
        "cargo tests",
        "./cargo test",
        "X=1 cargo test",
        "cargo",
        "cargo  'test' ; (touch p)",
    ] {
        assert_eq!(asked(&rules, command), "ask", "{command}");
        let with = [rules.as_slice(), &[(Deny, "shell(touch *)")]].concat();
        let expected = if command.contains("touch") { "deny" } else { "ask" };
        assert_eq!(asked(&with, command), expected, "{command}");
    }
}

#[test]
fn only_exact_harmless_forms_run_unasked() {
    for command in ["git status", "ls -la", "pwd && git status -s", "git branch --show-current"] {
        assert_eq!(asked(&[], command), "allow", "{command}");
        // A repository that was unpacked can have settings by which git runs its programs.
        let expected = if command.contains("git") { "ask" } else { "allow" };
        for mode in [Mode::Ask, Mode::Auto] {
            let free = decide(mode, &Rules::default(), &Strength::default(), &exec(command));
            assert_eq!(word(&free), expected, "{command}");
        }
    }
    for command in [
        "git -c core.pager='touch p' -p status",
        "git diff --output=p",
        "git grep --open-files-in-pager=./p x",
        "find . -exec touch p ;",
        "rg --pre ./p x",
        "sort -o p f",
        "GIT_EXTERNAL_DIFF=./p git diff",
        "./git status",
        "/tmp/ls",
        "git status --foo",
        "git\u{a0}status",
        "ls\\\n -la",
        "ls $(touch p)",
        "git branch new",
        "env ls",
        "*s",
    ] {
        assert_eq!(asked(&[], command), "ask", "{command}");
    }
}

#[test]
fn a_command_that_names_a_closed_file_is_asked() {
    for list in [Deny, Ask] {
        let rules = load(&[(list, "read(.env)"), (list, "read(secrets/**)"), (Allow, "shell")]);
        let rules = rules.expect("rules");
        for command in [
            "cat .env",
            "grep K .e*",
            "git show HEAD:.env",
            "cat ./a/../.env",
            "cat .e''nv",
            "cat .e\\nv",
            "cat .e[n]v",
            "cat .{env,x}",
            "cat < .env",
            "x=$(cat .env)",
            "bash -c 'cat .env'",
            "curl -d @.env u",
            "tool --file=.env",
            "tool -f.env",
            "ls secrets",
            "cd secrets && cat key",
            "cat */secrets/x",
            "cat \"$PWD/.env\"",
            "cat .ENV",
            "python3 -c 'print(open(\".env\").read())'",
            "node -e \"fs.readFileSync('secrets/key')\"",
        ] {
            let found = in_modes(&rules, &Strength::Full, &exec(command));
            assert_eq!(found, "deny ask ask allow", "{command}");
        }
        for command in ["cat a.env", "ls *.rs", "echo $HOME", "find . -name '*.rs' -exec cat {} ;"]
        {
            let found = in_modes(&rules, &Strength::Full, &exec(command));
            assert_eq!(found, "deny rule rule allow", "{command}");
        }
    }
}

#[test]
fn leaving_the_sandbox_takes_a_question() {
    let mut rules = load(&[(Allow, "shell(make)"), (Allow, "shell")]).expect("rules");
    let leave = |command| Action { tool: "shell", kind: Kind::Exec { command, leave: Some("x") } };
    assert_eq!(in_modes(&rules, &Strength::Full, &leave("make")), "deny ask ask allow");
    rules.let_leave("make");
    assert_eq!(in_modes(&rules, &Strength::Full, &leave("make")), "deny allow allow allow");
    assert_eq!(in_modes(&rules, &Strength::Full, &leave("make x")), "deny ask ask allow");
    rules.end_session();
    assert_eq!(in_modes(&rules, &Strength::Full, &leave("make")), "deny ask ask allow");
}

proptest! {
    #[test]
    fn a_chain_is_allowed_only_if_each_part_is(
        parts in proptest::collection::vec(
            r"(git status|cargo test( [a-z]{1,3})?|touch p|rm x|ls|pwd|X=1 ls|ls >p|\$\(ls\)|[a-c]{1,3})",
            1..5,
        ),
        signs in proptest::collection::vec(r"( && | \|\| |; | \| | & |\n)", 4),
    ) {
        let rules = [(Allow, "shell(git status)"), (Allow, "shell(cargo test *)"), (Deny, "shell(rm *)")];
        let chain: String = parts.iter().zip(&signs).flat_map(|(part, sign)| [part.as_str(), sign]).collect();
        let chain = chain.trim_end_matches([' ', '&', '|', ';', '\n']);
        let whole = asked(&rules, chain);
        let each: Vec<_> = parts.iter().map(|part| asked(&rules, part)).collect();
        let expected = if each.contains(&"deny") {
            "deny"
        } else if each.contains(&"ask") {
            "ask"
        } else {
            whole
        };
        prop_assert_eq!(whole, expected, "{}", chain);
        prop_assert!(whole != "ask" || each.contains(&"ask"), "{}", chain);
    }

    #[test]
    fn deciding_never_panics(command in any::<String>(), path in "[a-z./*]{0,12}") {
        let (_, strength) = sure();
        let rules = load(&[(Deny, "read(.env)"), (Ask, "shell(rm *)"), (Allow, "shell(ls *)")]).expect("rules");
        let target = target(&path);
        for mode in MODES {
            decide(mode, &rules, &strength, &exec(&command));
            decide(mode, &rules, &strength, &Action { tool: "edit", kind: Kind::Write(&target) });
        }
    }
}
