use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use super::{EditorOptions, Line, Reader, goes_on, plain_read, private_file};
use crate::repl::tty::Tty;

/// All lines of an input that is not a terminal.
fn lines(input: &[u8]) -> Vec<Line> {
    let mut input = input;
    let mut lines = Vec::new();
    loop {
        let line = plain_read(&mut input, goes_on);
        if line == Line::Eof {
            return lines;
        }
        lines.push(line);
    }
}

#[test]
fn lines_of_a_pipe() {
    for (input, expected) in [
        (&b""[..], &[][..]),
        (b"a\nb\r\n\nc", &["a", "b", "", "c"]),
        (b"a \\\nb\nc\n", &["a \nb", "c"]),
        (b"```\ncode\n```\nnext\n", &["```\ncode\n```", "next"]),
        (b"```\nnever closed", &["```\nnever closed"]),
        (b"bad \xff byte\n", &["bad \u{fffd} byte"]),
    ] {
        let expected: Vec<_> = expected.iter().map(|text| Line::Text((*text).into())).collect();
        assert_eq!(lines(input), expected);
    }
}

#[test]
fn the_history_is_private_and_selective() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state/history");
    let options =
        EditorOptions { history: Some(path.clone()), rich: true, ..EditorOptions::default() };
    let mut reader = Reader::new(options, (Arc::new(Tty::new()), super::Names::default()));
    for message in ["first", " secret", "two\nlines \\ here", "  ", &"x".repeat(20_000), "last"] {
        reader.remember(message);
    }
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let again =
        Reader::new(reader.options.clone(), (Arc::new(Tty::new()), super::Names::default()));
    let kept: Vec<_> = again.editor.unwrap().history().iter().cloned().collect();
    assert_eq!(kept, ["first", "two\nlines \\ here", "last"]);
}

#[test]
fn an_existing_history_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history");
    fs::write(&path, "kept\n").unwrap();
    private_file(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "kept\n");
}
