use super::*;

#[test]
fn keys_are_set_and_the_rest_stays() {
    let set = [("provider", "openai"), ("model", "gpt-6-luna")];
    for (before, after) in [
        ("", "provider = \"openai\"\nmodel = \"gpt-6-luna\"\n"),
        (
            "# mine\n[retry]\nmax_attempts = 2\n",
            "provider = \"openai\"\nmodel = \"gpt-6-luna\"\n# mine\n[retry]\nmax_attempts = 2\n",
        ),
        (
            "model = 'old'   # why\nmax_steps = 3\n",
            "provider = \"openai\"\nmodel = \"gpt-6-luna\"   # why\nmax_steps = 3\n",
        ),
        (
            "\"provider\"=\"\"\"\na\"\"\"\nmodel=\"b\"\n[providers.model]\nbase_url='x'",
            "\"provider\"=\"openai\"\nmodel=\"gpt-6-luna\"\n[providers.model]\nbase_url='x'",
        ),
        (
            "\u{feff}effort = 'low'",
            "\u{feff}provider = \"openai\"\nmodel = \"gpt-6-luna\"\neffort = 'low'",
        ),
    ] {
        assert_eq!(edited(before, &set).as_deref(), Ok(after), "{before}");
        assert_eq!(edited(after, &set).as_deref(), Ok(after), "twice: {before}");
    }
    assert!(edited("not = = toml", &set).is_err());
    let odd = edited("", &[("model", "a\"b\\c\n")]).unwrap();
    assert_eq!(toml::from_str::<toml::Table>(&odd).unwrap()["model"].as_str(), Some("a\"b\\c\n"));
}

#[test]
fn the_file_is_made_and_a_link_stays_one() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("new/xsh");
    let path = keep(&dir, &[("model", "a")]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "model = \"a\"\n");
    let real = folder.path().join("real.toml");
    fs::rename(&path, &real).unwrap();
    std::os::unix::fs::symlink(&real, &path).unwrap();
    keep(&dir, &[("model", "b")]).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "model = \"b\"\n");
    assert!(path.is_symlink());
    fs::write(&real, "broken [").unwrap();
    assert!(keep(&dir, &[("model", "c")]).is_err());
    assert_eq!(fs::read_to_string(&real).unwrap(), "broken [", "left alone");
}

#[test]
fn a_rule_is_added_however_the_section_is_written() {
    let rule = "shell(git commit -m 'a \"b\"')";
    for (before, after) in [
        ("", "[permissions]\nallow = [RULE]\n"),
        ("a = 1", "a = 1\n\n[permissions]\nallow = [RULE]\n"),
        ("# mine\na = 1\n", "# mine\na = 1\n\n[permissions]\nallow = [RULE]\n"),
        ("[permissions]\nallow = [\"x\"] # why\n", "[permissions]\nallow = [RULE, \"x\"] # why\n"),
        ("[permissions]\nallow = []\nb = 1\n", "[permissions]\nallow = [RULE, ]\nb = 1\n"),
        (
            "[permissions]\nallow = [\n  \"x\", # why\n  'y'\n]\n",
            "[permissions]\nallow = [\n  RULE, \n  \"x\", # why\n  'y'\n]\n",
        ),
        (
            "[permissions] # mine\ndeny = [\"x\"]\n[retry]\nmax_wait = 1\n",
            "[permissions] # mine\nallow = [RULE]\ndeny = [\"x\"]\n[retry]\nmax_wait = 1\n",
        ),
        ("[permissions]", "[permissions]\nallow = [RULE]\n"),
        ("permissions = { deny = ['x'] }\n", "permissions = { allow = [RULE], deny = ['x'] }\n"),
        ("permissions.deny = ['x']\n", "permissions.allow = [RULE]\npermissions.deny = ['x']\n"),
        (
            "t = '''\n[permissions]\n'''\n",
            "t = '''\n[permissions]\n'''\n\n[permissions]\nallow = [RULE]\n",
        ),
        ("\u{feff}a = 1\n", "\u{feff}a = 1\n\n[permissions]\nallow = [RULE]\n"),
    ] {
        let value = toml::Value::String(rule.to_owned()).to_string();
        let after = after.replace("RULE", &value);
        assert_eq!(allowing(before, rule).as_deref(), Ok(after.as_str()), "{before}");
        assert_eq!(allowing(&after, rule).as_deref(), Ok(after.as_str()), "twice: {before}");
    }
    for broken in ["not = = toml", "permissions = 1", "[permissions]\nallow = 'x'\n"] {
        assert!(allowing(broken, rule).is_err(), "{broken}");
    }
}

#[test]
fn a_kept_rule_is_readable_by_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = allow(&folder.path().join("xsh"), &["read".to_owned(), "edit".to_owned()]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, "[permissions]\nallow = [\"edit\", \"read\"]\n");
}
