use super::*;

const GOOD: &str = r#"name = "hello"
description = "Says hello."
command = ["./hello", "-x", "it's"]

[parameters]
type = "object"

[parameters.properties.who]
type = "string"
"#;

fn read(text: &str) -> Result<Definition, Fault> {
    let files = [("p.json", r#"{"type": "object"}"#), ("bad.json", "{"), ("list.json", "[]")];
    let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    parse(Path::new("/tools/hello.toml"), text, &files.into())
}

#[test]
fn a_tool_file_says_what_runs() {
    let tool = read(GOOD).unwrap();
    assert_eq!((tool.name.as_str(), tool.timeout), ("hello", DEFAULT_LIMIT));
    assert_eq!(tool.shown(), r"/tools/hello -x 'it'\''s'");
    assert_eq!(tool.schema.shape(), r#"{"who": string (optional)}"#);
    let other = "name = 'x'\ndescription = 'd'\ncommand = ['awk']\nparameters_file = './p.json'";
    assert_eq!(read(other).unwrap().command, ["awk"]);
    let none = "name = 'x'\ndescription = 'd'\ncommand = ['/bin/true']\ntimeout_seconds = 600";
    assert_eq!(read(none).unwrap().schema.shape(), "{}");
}

#[test]
fn every_fault_has_its_line() {
    for (from, to, line, why) in [
        ("name = \"hello\"", "name = \"Hello\"", 1, "lower-case"),
        ("name = \"hello\"", "name = \"9x\"", 1, "no digit first"),
        ("name = \"hello\"", "name = \"shell-x\"", 1, "lower-case"),
        ("name = \"hello\"", "name = \"\"", 1, "lower-case"),
        ("name = \"hello\"\n", "", 1, "missing field `name`"),
        ("Says hello.", " ", 2, "1 to 2000"),
        ("\"./hello\", ", "\"../hello\", ", 3, "lies beside this file"),
        ("\"./hello\", ", "\"bin/hello\", ", 3, "lies beside this file"),
        ("[\"./hello\", \"-x\", \"it's\"]", "[]", 3, "is a list"),
        ("[\"./hello\", \"-x\", \"it's\"]", "[\" \"]", 3, "is a list"),
        ("[\"./hello\", \"-x\", \"it's\"]", "\"ls\"", 3, "invalid type"),
        ("\"-x\"", "\"a\\u0000b\"", 3, "without NUL"),
        ("\n[parameters]", "timeout_seconds = 0\n[parameters]", 4, "1 to 600"),
        ("\n[parameters]", "timeout_seconds = 601\n[parameters]", 4, "1 to 600"),
        ("\n[parameters]", "timeout = 1\n[parameters]", 4, "unknown field `timeout`"),
        ("\n[parameters]", "parameters_file = 'p.json'\n[parameters]", 4, "two ways"),
        ("type = \"string\"", "type = \"text\"", 9, "parameters.properties.who.type: "),
        ("type = \"string\"", "type = \"string\"\nformat = \"x\"", 10, "`format` is not supported"),
        ("type = \"string\"", "type = 2026-01-01", 9, "must be one of"),
        ("type = \"object\"", "type = \"string\"", 8, "`properties` is not supported"),
        ("[parameters]\n", "[parameters\n", 5, ""),
    ] {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from}");
        let fault = read(&text).unwrap_err();
        assert_eq!(fault.line, line, "{to}: {}", fault.why);
        assert!(fault.why.contains(why), "{to}: {}", fault.why);
    }
    for (name, why) in [
        ("none.json", "no readable file"),
        ("../p.json", "no readable file"),
        ("bad.json", "bad.json: EOF"),
        ("list.json", "no schema"),
    ] {
        let text =
            format!("name = 'x'\ndescription = 'd'\ncommand = ['awk']\nparameters_file = '{name}'");
        let fault = read(&text).unwrap_err();
        assert_eq!(fault.line, 4);
        assert!(fault.why.contains(why), "{}", fault.why);
    }
}
