//! Pages where an API answer was expected: what to show of them.

use super::clean;

/// How much of a page is looked at, in characters.
const LOOKED_AT: usize = 64 * 1024;

/// True for HTML or XML.
pub(super) fn is_markup(text: &str) -> bool {
    text.starts_with('<')
}

/// The readable text of a page, its title first, in one short line.
pub(super) fn extract(page: &str) -> String {
    let mut out = String::new();
    let mut rest: String = page.chars().take(LOOKED_AT).collect();
    for hidden in ["script", "style", "svg"] {
        rest = without(&rest, hidden);
    }
    let mut text = rest.as_str();
    while let Some((before, tag)) = text.split_once('<') {
        out.push_str(before);
        out.push(' ');
        text = tag.split_once('>').map_or("", |(_, after)| after);
    }
    out.push_str(text);
    let words: Vec<&str> = out.split_whitespace().collect();
    let line = unescape(&words.join(" "));
    if line.is_empty() { "(no text)".to_owned() } else { clean(&line, 200) }
}

/// The page without the elements of this name. ASCII case does not matter, and lower-casing ASCII
/// keeps every offset.
fn without(page: &str, name: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let (open, close) = (format!("<{name}"), format!("</{name}"));
    let mut out = String::new();
    let mut at = 0;
    while let Some(start) = find_from(&lower, &open, at) {
        out.push_str(page.get(at..start).unwrap_or_default());
        let Some(end) = find_from(&lower, &close, start) else { return out };
        at = end;
    }
    out.push_str(page.get(at..).unwrap_or_default());
    out
}

fn find_from(text: &str, needle: &str, from: usize) -> Option<usize> {
    text.get(from..)?.find(needle).map(|at| from + at)
}

fn unescape(text: &str) -> String {
    let known = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")];
    let text = known.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    text.replace("&amp;", "&")
}

/// An address without the parts that may hold secrets: the query and the user.
pub(super) fn shown_url(url: &str) -> String {
    let plain = url.split(['?', '#']).next().unwrap_or_default();
    if plain.is_empty() {
        return "the server".to_owned();
    }
    let Some((scheme, rest)) = plain.split_once("://") else { return clean(plain, 200) };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit('@').next().unwrap_or(host);
    clean(&format!("{scheme}://{host}/{path}"), 200)
}
