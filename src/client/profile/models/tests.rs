use super::*;

#[test]
fn every_line_is_a_comment_or_a_row() {
    let lines = TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    for line in lines.clone() {
        let model = row(line).unwrap_or_else(|| panic!("not a row: {line}"));
        assert!(crate::client::profile::by_name(model.provider).is_some(), "{line}");
        assert!(model.max_output <= model.window, "{line}");
        assert!(model.price.cached <= model.price.input, "{line}");
    }
    assert_eq!(all().count(), lines.count());
    let names: std::collections::BTreeSet<_> = all().map(|m| (m.provider, m.id)).collect();
    assert_eq!(names.len(), all().count(), "a model twice");
}

#[test]
fn numbers_of_tokens() {
    for (text, expected) in [
        ("8192", Some(8192)),
        ("131k", Some(131_000)),
        ("1M", Some(1_000_000)),
        ("k", None),
        ("1.5M", None),
        ("99999999999999999999", None),
        ("99999999999999999M", None),
    ] {
        assert_eq!(tokens(text), expected, "{text}");
    }
}
