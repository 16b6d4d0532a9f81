use super::Secret;

#[test]
fn keys_that_cannot_be_sent_are_refused_with_the_reason() {
    let cases = [
        ("sk-abc_123.~", Ok(())),
        ("", Err("it is empty")),
        ("sk abc", Err("it contains a space at character 3")),
        ("sk-abc\n", Err("it contains a line break at character 7")),
        ("sk-abc\r\n", Err("it contains a line break at character 7")),
        (" sk", Err("it contains a space at character 1")),
        ("sk\u{a0}", Err("it contains a space at character 3")),
        ("schlüssel", Err("it contains a character that is not ASCII at character 5")),
        ("“sk”", Err("it contains a character that is not ASCII at character 1")),
        ("sk\0", Err("it contains a control character at character 3")),
    ];
    for (text, expected) in cases {
        assert_eq!(
            Secret::parse(text).map(|_| ()).map_err(|e| e.clone()),
            expected.map_err(String::from),
            "{text:?}"
        );
    }
}

#[test]
fn a_key_is_never_printed() {
    let key = Secret::parse("sk-very-secret").unwrap();
    assert_eq!(format!("{key} {key:?}"), "*** ***");
    assert_eq!(key.expose(), "sk-very-secret");
}
