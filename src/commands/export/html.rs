//! The HTML document: one file that loads nothing and runs nothing, light or dark as its reader is.

use super::Said;
use crate::brief::brief;

/// Nothing in the page may load or run anything, whatever a browser finds in it.
const BEGIN: &str = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
    <meta name=\"viewport\" content=\"width=device-width\">\n";

pub(super) fn begin(id: &str, origin: &str) -> String {
    let (id, origin, style) = (escaped(id), escaped(origin), include_str!("page.css"));
    format!(
        "{BEGIN}<title>Session {id}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         <h1>Session {id}</h1>\n<p>{origin}</p>\n"
    )
}

pub(super) fn part(said: &Said) -> String {
    match said {
        Said::User(text) => {
            format!("<h2>User</h2>\n<pre class=\"user\">\n{}</pre>\n", escaped(text))
        }
        Said::Answer(text) => format!("<pre>\n{}</pre>\n", escaped(text)),
        Said::Aside(name, text) => folded(name, text),
        Said::Tool(name, text) => folded(name, text),
        Said::Note(text) => format!("<p class=\"note\">— {}</p>\n", escaped(text)),
    }
}

pub(super) fn end(warning: Option<String>) -> String {
    let warning = warning.map(|warning| part(&Said::Note(warning))).unwrap_or_default();
    warning + "</body>\n</html>\n"
}

/// A text that shows its first words, and the rest when one asks for it.
fn folded(name: &str, text: &str) -> String {
    let first = brief(text.lines().next().unwrap_or_default(), 80);
    let (name, first, text) = (escaped(name), escaped(&first), escaped(text));
    format!("<details><summary><b>{name}</b> {first}</summary>\n<pre>\n{text}</pre>\n</details>\n")
}

/// Text that cannot end the element or the attribute that it stands in.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            _ => out.push(c),
        }
    }
    out
}
