use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::json;

use super::*;
use crate::tools::fixture::Fixture;
use crate::tools::registry::Registry;

fn tool(name: &str, command: &str) -> String {
    format!("name = '{name}'\ndescription = 'd'\ncommand = {command}\n")
}

fn put(fixture: &Fixture, name: &str, text: &str) {
    fixture.put(name, text);
    fs::set_permissions(fixture.path(name), fs::Permissions::from_mode(0o755)).unwrap();
}

fn read(fixture: &Fixture, owner: Owner) -> Folder {
    read_folder(&fixture.path("tools"), owner).unwrap()
}

#[test]
fn tools_are_found_in_a_stable_order_and_faults_leave_only_themselves_out() {
    let fixture = Fixture::new();
    assert!(read_folder(&fixture.path("tools"), Owner::User).is_none());
    fixture.put("tools/z.toml", tool("alpha", "['true']"));
    fixture.put("tools/a.toml", tool("beta", "['true']"));
    fixture.put("tools/b.toml", tool("beta", "['false']"));
    fixture.put("tools/c.toml", tool("shell", "['true']"));
    fixture.put("tools/d.toml", "name = 1");
    fixture.put("tools/e.toml", tool("gone", "['./gone']"));
    fixture.put("tools/f.toml", tool("plain", "['./notes.txt']"));
    fixture.put("tools/g.toml", b"\xff\xfe");
    fixture.put("tools/notes.txt", "no tool\n");
    fixture.put("tools/.hidden.toml", "name = 1");
    fixture.put("tools/deeper/x.toml", "name = 1");
    let (tools, warnings) = load(&[read(&fixture, Owner::User)], &["read", "shell"]);
    let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names, ["alpha", "beta"]);
    let warned = |file: &str, why: &str| {
        let start = format!("{}, line ", fixture.path("tools").join(file).display());
        let of_file = warnings.iter().filter(|warning| warning.starts_with(&start));
        let of_file: Vec<_> = of_file.collect();
        assert!(of_file.len() == 1 && of_file[0].contains(why), "{file}: {warnings:?}");
    };
    warned("b.toml", "there is a tool `beta` in");
    warned("c.toml", "is a tool of xsh itself");
    warned("d.toml", "invalid type");
    warned("e.toml", "No such file");
    warned("f.toml", "not an executable file");
    warned("g.toml", "not UTF-8");
    assert_eq!(warnings.len(), 6);
}

#[test]
fn a_folder_is_bounded_and_what_is_no_file_is_not_read() {
    let fixture = Fixture::new();
    for index in 0..70 {
        fixture.put(&format!("tools/t{index:02}.toml"), tool(&format!("t{index:02}"), "['true']"));
    }
    let folder = read(&fixture, Owner::User);
    assert_eq!(folder.files.len(), MAX_FILES);
    assert!(folder.warnings[0].contains("more than 64 files"));
    assert_eq!(load(&[folder], &[]).0.len(), 64);

    let fixture = Fixture::new();
    fixture.put("tools/big.toml", "#".repeat(70_000));
    fixture.put("elsewhere.toml", tool("linked", "['true']"));
    symlink("../elsewhere.toml", fixture.path("tools/linked.toml")).unwrap();
    symlink("/dev/zero", fixture.path("tools/zero.toml")).unwrap();
    let _socket = UnixListener::bind(fixture.path("tools/socket.toml")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.path("tools/pipe.toml"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    let own = read(&fixture, Owner::User);
    assert_eq!(own.files.keys().collect::<Vec<_>>(), ["linked.toml"]);
    assert_eq!(own.warnings.len(), 4, "{:?}", own.warnings);
    let project = read(&fixture, Owner::Project);
    assert!(project.files.is_empty());
    assert!(project.warnings.iter().any(|warning| warning.contains("linked.toml")));

    symlink("tools", fixture.path("way")).unwrap();
    let way = fixture.path("way");
    assert_eq!(read_folder(&way, Owner::User).unwrap().files.len(), 1);
    assert!(read_folder(&way, Owner::Project).unwrap().warnings[0].contains("a link lies"));
}

#[test]
fn a_program_finds_the_arguments_on_stdin_and_its_end_is_told() {
    let fixture = Fixture::new();
    let schema = "[parameters]\ntype = 'object'\n[parameters.properties.n]\ntype = 'integer'\n";
    for (name, command) in [
        ("echo", "['./echo', 'with blank']"),
        ("fails", "['sh', '-c', 'echo broken >&2; exit 3']"),
        ("slow", "['sleep', '30']"),
    ] {
        let limit = if name == "slow" { "timeout_seconds = 1\n" } else { "" };
        let text = tool(name, command) + limit + schema;
        fixture.put(&format!("tools/{name}.toml"), text);
    }
    put(&fixture, "tools/echo", "#!/bin/sh\necho \"$1\"; cat; pwd; cat\n");
    let (tools, warnings) = load(&[read(&fixture, Owner::Project)], &[]);
    assert_eq!(warnings, Vec::<String>::new());
    let registry = Registry::default().with_custom(&tools);
    assert_eq!(registry.names(), ["echo", "fails", "slow"]);
    let run = |name: &str, arguments: &str| {
        let prepared = registry.prepare(name, arguments).map_err(|outcome| outcome.content)?;
        let effect = prepared.effect.clone();
        let subject = prepared.subject.clone();
        let (outcome, _) = fixture.with_driver(|context| prepared.run_guarded(context));
        Ok::<_, String>((effect, subject, outcome))
    };
    let (effect, subject, outcome) = run("echo", "{\"n\": \"7\"}").unwrap();
    let program = fixture.path("tools/echo").display().to_string();
    let command = format!("{program} 'with blank' < {{\"n\":7}}");
    assert_eq!(subject, command);
    assert_eq!(effect, Effect::Exec { command, leave: None });
    let root = fixture.workspace.root.display();
    let expected = format!("with blank\n{{\"n\":7}}\n{root}\n[exit code 0");
    assert!(outcome.content.contains(&expected), "{}", outcome.content);
    assert!(outcome.content.starts_with("[The arguments were repaired"));
    let (_, _, outcome) = run("fails", "{}").unwrap();
    assert!(outcome.is_error && outcome.content.starts_with("broken\n[exit code 3"));
    let (_, _, outcome) = run("slow", "{}").unwrap();
    assert!(outcome.content.contains("killed after 1 s by the time limit"), "{}", outcome.content);
    assert!(!outcome.content.contains("timeout_seconds"));
    assert!(run("echo", "{\"n\": \"seven\"}").unwrap_err().contains("a whole number"));

    // A project's program that was changed after it was read does not run.
    put(&fixture, "tools/echo", "#!/bin/sh\necho changed\n");
    let (_, _, outcome) = run("echo", "{}").unwrap();
    assert!(outcome.is_error && outcome.content.contains("not what the user has trusted"));
}

/// Puts the examples where a user would have them.
fn examples(fixture: &Fixture) -> Registry {
    for example in &examples::EXAMPLES {
        fixture.put(&format!("tools/{}.toml", example.name), example.definition);
        put(fixture, &format!("tools/{}", example.name), example.program);
    }
    let (tools, warnings) = load(&[read(fixture, Owner::User)], &Registry::builtin().names());
    assert_eq!(warnings, Vec::<String>::new());
    Registry::builtin().with_custom(&tools)
}

fn answer(fixture: &Fixture, tools: &Registry, name: &str, arguments: &Value) -> String {
    match tools.prepare(name, &arguments.to_string()) {
        Err(outcome) => outcome.content,
        Ok(call) => fixture.with_driver(|context| call.run_guarded(context)).0.content,
    }
}

#[test]
fn the_calculator_reckons_and_does_nothing_else() {
    let fixture = Fixture::new();
    let tools = examples(&fixture);
    for (expression, expected) in [
        ("1+1", "2"),
        ("2 ^ 3 ^ 2", "512"),
        ("2**10", "1024"),
        ("-2^2", "-4"),
        ("2^-1", "0.5"),
        ("(1.5 + 2) * 3 ^ 2", "31.5"),
        ("7 % 3 - -.5", "1.5"),
        ("0.1 + 0.2", "0.3"),
        ("1e3/4", "250"),
        ("123456 * 654321", "80779853376"),
        ("-0", "0"),
        ("1\n+\t1", "2"),
        ("1/0", "error: division by zero"),
        ("5 % (2 - 2)", "error: remainder of a division by zero"),
        ("0^-1", "error: division by zero"),
        ("(-8)^(1/3)", "error: a root"),
        ("1e308*10", "error: the result is too large"),
        ("(1", "error: a parenthesis is not closed"),
        ("1)", "error: not understood: )"),
        ("1 +", "error: it ends"),
        ("two", "error: a number should come here: two"),
        ("1, 2", "error: not understood: , 2"),
        ("system(\"touch hacked\")", "error:"),
        ("$(touch hacked)", "error:"),
        ("`touch hacked`", "error:"),
        ("1; touch hacked", "error:"),
        ("'; touch hacked; '", "error:"),
        ("\"}\n; touch hacked", "error:"),
        ("1 | \"touch hacked\"", "error:"),
        ("ENVIRON[\"HOME\"]", "error:"),
        ("getline < \"/etc/passwd\"", "error:"),
        ("1 > \"hacked\"", "error:"),
        ("\u{0}1", "error:"),
        ("１+１", "error:"),
        ("", "have at least 1 characters"),
    ] {
        let told = answer(&fixture, &tools, "calculator", &json!({"expression": expression}));
        let is_number = expected.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let good = told.starts_with(&format!("{expected}\n[exit code 0"));
        let refused = !is_number && told.contains(expected) && !told.contains("[exit code 0");
        assert!(if is_number { good } else { refused }, "{expression}: {told}");
    }
    let deep = "(".repeat(400);
    let told = answer(&fixture, &tools, "calculator", &json!({"expression": deep}));
    assert!(told.contains("nests too deep"), "{told}");
    let long = "1+".repeat(600);
    let told = answer(&fixture, &tools, "calculator", &json!({"expression": long}));
    assert!(told.contains("at most 1000 characters"), "{told}");
    assert!(!fixture.path("hacked").exists());
    assert_eq!(fixture.list("."), ["tools"]);
}

#[test]
fn the_clock_knows_zones() {
    let fixture = Fixture::new();
    let tools = examples(&fixture);
    let told = answer(&fixture, &tools, "clock", &json!({"zone": "UTC"}));
    let (time, rest) = told.split_at(19);
    assert!(jiff::civil::DateTime::strptime("%Y-%m-%d %H:%M:%S", time).is_ok(), "{told}");
    assert!(rest.starts_with(" UTC, ") && rest.contains("UTC+0000\n[exit code 0"), "{told}");
    assert!(answer(&fixture, &tools, "clock", &json!({})).contains("[exit code 0"));
    for (zone, why) in [
        ("Mars/Base", "knows no time zone"),
        ("../../etc/passwd", "match the pattern"),
        ("$(touch hacked)", "match the pattern"),
        ("", "match the pattern"),
    ] {
        let told = answer(&fixture, &tools, "clock", &json!({"zone": zone}));
        assert!(told.contains(why), "{zone}: {told}");
    }
    assert!(!fixture.path("hacked").exists());
}

#[test]
fn text_is_counted_as_it_is() {
    let fixture = Fixture::new();
    let tools = examples(&fixture);
    let cases = [
        "hello world",
        "a\nb\n",
        "x\n\n\n",
        "Grüße, 日本 \"x\" \\ back\ttab\u{7} it's It's. the The THE \u{1F600}",
        "$(touch hacked) `touch hacked` %s \\n '; touch hacked #",
        "no\r\nnewline",
        "\",\"top\":50}",
    ];
    for text in cases {
        let told = answer(&fixture, &tools, "text_stats", &json!({"text": text, "top": 0}));
        let (lines, words) = (text.lines().count(), text.split_ascii_whitespace().count());
        let (characters, bytes) = (text.chars().count(), text.len());
        let expected = format!(
            "lines: {lines}\nwords: {words}\ncharacters: {characters}\nbytes: {bytes}\n[exit code 0"
        );
        assert!(told.starts_with(&expected), "{text:?}: {told}");
    }
    let text = "The cat, the dog. The (cat)";
    let told = answer(&fixture, &tools, "text_stats", &json!({"text": text, "top": 2}));
    assert!(told.contains("most frequent:\n  the (3)\n  cat (2)\n["), "{told}");
    let told = answer(&fixture, &tools, "text_stats", &json!({"text": ""}));
    assert!(told.starts_with("lines: 0\nwords: 0\ncharacters: 0\nbytes: 0\n"), "{told}");
    let told = answer(&fixture, &tools, "text_stats", &json!({"text": "a", "top": 51}));
    assert!(told.contains("at most 50"), "{told}");
    assert!(!fixture.path("hacked").exists());
}
