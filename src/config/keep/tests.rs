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
