//! From a pattern to a matcher.
//!
//! A search goes line by line, which is fast and what is meant nearly always. It goes over line
//! ends only when the pattern asks for it: by a line break in it, or by one of [`SPANNING`].

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};

/// The most memory for a compiled pattern, and again for its tables, in bytes.
const MAX_PATTERN: usize = 16 << 20;
/// What a pattern contains that means "any character, line breaks too".
const SPANNING: [&str; 7] =
    ["(?s", r"[\s\S]", r"[\S\s]", r"[\d\D]", r"[\D\d]", r"[\w\W]", r"[\W\w]"];

/// A compiled pattern.
pub(super) struct Query {
    /// Finds it.
    pub(super) matcher: RegexMatcher,
    /// A match may go over line ends, so files are searched whole.
    pub(super) multi_line: bool,
}

/// Compiles a pattern. The error is for the model.
pub(super) fn compile(pattern: &str, literal: bool, ignore_case: bool) -> Result<Query, String> {
    if pattern.is_empty() {
        return Err("`pattern` is empty: give the text or regular expression to find.".into());
    }
    let regex = if literal { escape(pattern) } else { pattern.to_owned() };
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(ignore_case)
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN)
        .crlf(true);
    let spanning = !literal && SPANNING.iter().any(|mark| pattern.contains(mark));
    if !spanning {
        match builder.build(&regex) {
            Ok(matcher) => return Ok(Query { matcher, multi_line: false }),
            Err(error) if matches!(error.kind(), ErrorKind::NotAllowed(_)) => {}
            Err(error) => return Err(explain(pattern, &error)),
        }
    }
    let matcher = builder.line_terminator(None).build(&regex);
    let matcher = matcher.map_err(|error| explain(pattern, &error))?;
    Ok(Query { matcher, multi_line: true })
}

/// A text as a pattern; a line break in it also finds the other kind.
fn escape(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(regex::escape).collect();
    match lines.as_slice() {
        [only] => only.clone(),
        lines => {
            lines.iter().map(|line| line.trim_end_matches('\r')).collect::<Vec<_>>().join(r"\r?\n")
        }
    }
}

fn explain(pattern: &str, error: &Error) -> String {
    let error = error.to_string();
    let place = place(&error).map(|at| format!(" at character {at}")).unwrap_or_default();
    format!(
        "The regular expression `{pattern}` is invalid{place}:\n{error}\n\
         To search for it as plain text, set `literal` to true."
    )
}

/// Where the error's own drawing points, counted in characters from 1. The drawing shows the
/// pattern indented by four spaces, and a caret below the place.
fn place(error: &str) -> Option<usize> {
    let caret = error.lines().find(|line| line.trim_start().starts_with('^'))?;
    caret.chars().position(|c| c == '^').map(|at| at.saturating_sub(3))
}
