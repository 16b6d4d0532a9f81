//! From a pattern to a matcher.
//!
//! A search goes line by line, which is fast and what is meant nearly always. It goes over line
//! ends only when the pattern asks for it: by a line break, or by a place for any character
//! at all, as in `(?s).` and `[\s\S]`.

use grep_regex::{Error, ErrorKind, RegexMatcher, RegexMatcherBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

/// The most memory for a compiled pattern, and again for its tables, in bytes.
const MAX_PATTERN: usize = 16 << 20;

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
    // The matcher's builder puts the pattern into a group, which moves the place of an error and
    // makes `a)(b` valid, so the pattern is checked alone.
    let mut parser = ParserBuilder::new().utf8(false).build();
    let parsed = parser.parse(&regex).map_err(|error| invalid(pattern, &error))?;
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(ignore_case)
        .size_limit(MAX_PATTERN)
        .dfa_size_limit(MAX_PATTERN)
        .crlf(true);
    if !spans_lines(&parsed) {
        match builder.build(&regex) {
            Ok(matcher) => return Ok(Query { matcher, multi_line: false }),
            Err(error) if has_line_break(&error) => {}
            Err(error) => return Err(refused(&error)),
        }
    }
    let matcher = builder.line_terminator(None).build(&regex);
    let matcher = matcher.map_err(|error| refused(&error))?;
    Ok(Query { matcher, multi_line: true })
}

/// Whether a pattern has a place that takes any character, line breaks included.
fn spans_lines(pattern: &Hir) -> bool {
    match pattern.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            class.ranges().first().is_some_and(|all| all.start() == '\0' && all.end() == char::MAX)
        }
        HirKind::Repetition(repeated) => spans_lines(&repeated.sub),
        HirKind::Capture(group) => spans_lines(&group.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().any(spans_lines),
        HirKind::Class(Class::Bytes(_))
        | HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Look(_) => false,
    }
}

/// Whether a pattern was refused for a line break in it.
fn has_line_break(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotAllowed(_))
}

/// A text as a pattern. A line break in it finds those of either kind.
fn escape(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    let last = lines.len() - 1;
    let line = |(index, line): (usize, &&str)| {
        let cut = if index < last { line.strip_suffix('\r') } else { None };
        regex_syntax::escape(cut.unwrap_or(line))
    };
    lines.iter().enumerate().map(line).collect::<Vec<_>>().join(r"\r?\n")
}

/// A pattern that is no regular expression, with the place counted in characters from 1.
fn invalid(pattern: &str, error: &regex_syntax::Error) -> String {
    let (at, why) = match error {
        regex_syntax::Error::Parse(error) => (error.span().start.offset, error.kind().to_string()),
        regex_syntax::Error::Translate(error) => {
            (error.span().start.offset, error.kind().to_string())
        }
        other => (0, other.to_string()),
    };
    let at = pattern.get(..at).unwrap_or_default().chars().count() + 1;
    format!("The regular expression `{pattern}` is invalid at character {at}: {why}.\n{LITERAL}")
}

/// A pattern that is refused as a whole.
fn refused(error: &Error) -> String {
    format!("The regular expression cannot be used: {error}.\n{LITERAL}")
}

const LITERAL: &str = "To search for it as plain text, set `literal` to true.";
