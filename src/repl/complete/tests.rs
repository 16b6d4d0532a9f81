use std::fs;

use super::complete;

#[test]
fn commands_and_paths() {
    let root = tempfile::tempdir().unwrap();
    for folder in ["src", ".git", ".config"] {
        fs::create_dir(root.path().join(folder)).unwrap();
    }
    for file in ["src/main.rs", "src/lib.rs", "setup.py", "a b", "bad\u{1b}[2J", "東京.txt"] {
        fs::write(root.path().join(file), "").unwrap();
    }
    let models = ["deepseek/deepseek-flash", "gpt-6-luna", "gpt-6-sol"].map(str::to_owned);
    for (line, start, expected) in [
        ("/he", 0, vec!["/help"]),
        ("/mo", 0, vec!["/model "]),
        ("/s", 0, vec!["/sessions "]),
        ("say /he", 4, vec![]),
        ("@s", 0, vec!["@setup.py", "@src/"]),
        ("look at @src/m", 8, vec!["@src/main.rs"]),
        ("look\u{3000}@東", 7, vec!["@東京.txt"]),
        ("@.", 0, vec!["@.config/"]),
        ("@b", 0, vec![]),
        ("@nowhere/x", 0, vec![]),
        ("plain", 0, vec![]),
        ("/model gpt", 7, vec!["gpt-6-luna", "gpt-6-sol"]),
        ("/model deepseek/", 7, vec!["deepseek/deepseek-flash"]),
        ("/model x", 7, vec![]),
        ("/effort m", 8, vec!["medium", "max"]),
        ("say /model gpt", 11, vec![]),
    ] {
        let (at, offers) = complete(line, line.len(), root.path(), &models);
        assert_eq!(
            (at, offers),
            (start, expected.into_iter().map(String::from).collect()),
            "{line}"
        );
    }
    assert_eq!(complete("/he me", 3, root.path(), &models).1, ["/help"]);
}
