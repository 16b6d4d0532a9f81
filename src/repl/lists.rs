//! The texts that slash commands show.

use unicode_width::UnicodeWidthStr;

use crate::agent::ContextReport;
use crate::desk::{Listing, Offer};
use crate::session::origin::Origin;
use crate::session::store;
use crate::ui::figures::tokens;
use crate::ui::sanitize;

/// The text of `/sessions`; the current one is marked.
pub(super) fn sessions(listing: &store::Listing, current: &str) -> String {
    let sessions = &listing.sessions;
    if sessions.is_empty() {
        return "No sessions are saved in this workspace.".to_owned();
    }
    let line = |session: &store::Listed| {
        let mark = if session.id == current { '*' } else { ' ' };
        let (id, title) = (sanitize::line(&session.id), sanitize::line(&session.title));
        let foreign = if session.origin == Origin::Foreign { "  [not written here]" } else { "" };
        format!("{mark} {id}  {}  {title}{foreign}", sanitize::line(&session.created_at))
    };
    let older = match listing.older {
        0 => None,
        1 => Some("(1 older session not shown)".to_owned()),
        more => Some(format!("({more} older sessions not shown)")),
    };
    sessions.iter().map(line).chain(older).collect::<Vec<_>>().join("\n")
}

/// The text of `/rewind`.
pub(super) fn points(points: &[(usize, String)]) -> String {
    if points.is_empty() {
        return "Nothing has been said yet.".to_owned();
    }
    let lines = points.iter().map(|(number, text)| format!("{number:>4}  {text}"));
    let how = "/rewind N goes back before message N: messages and files; add `conversation` or \
               `files` for one of them";
    lines.chain([how.to_owned()]).collect::<Vec<_>>().join("\n")
}

/// The text of `/model`: the numbered list, with the model in use marked.
pub(super) fn models(listing: &Listing, (provider, model): &(String, String)) -> String {
    let name = |offer: &Offer| {
        if offer.provider == *provider { offer.model.clone() } else { offer.full_name() }
    };
    let widest = listing.offers.iter().map(|offer| name(offer).width()).max().unwrap_or(0);
    let mut lines = vec![format!("{model} ({provider})")];
    for (index, offer) in listing.offers.iter().enumerate() {
        let name = name(offer);
        let mark = if name == *model { '*' } else { ' ' };
        let pad = " ".repeat(widest.saturating_sub(name.width()));
        let window = offer.window.map_or_else(|| "?".to_owned(), tokens);
        let price = offer.price.map(|p| format!("  ${} in, ${} out", p.input, p.output));
        let loaded = if offer.loaded { "  loaded" } else { "" };
        let price = price.unwrap_or_default();
        lines.push(format!("{:>3} {mark} {name}{pad}  {window:>5}{price}{loaded}", index + 1));
    }
    lines.extend(listing.notes.iter().cloned());
    lines.push("/model NUMBER or /model NAME switches; prices are per million tokens".to_owned());
    lines.join("\n")
}

/// The text of `/tools`.
pub(super) fn tools(tools: &[(String, String)]) -> String {
    let widest = tools.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = tools.iter().map(|(name, about)| format!("{name:widest$}  {about}"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The text of `/context`.
pub(super) fn context(report: &ContextReport) -> String {
    let used = tokens(report.tokens);
    let mut lines = vec![match report.window.tokens {
        Some(window) => {
            let share = report.tokens.saturating_mul(100).checked_div(window).unwrap_or(0);
            let origin = match report.window.origin.as_str() {
                "" => String::new(),
                origin => format!(" ({origin})"),
            };
            format!("{used} of {} tokens in use, {share} %{origin}", tokens(window))
        }
        None => format!(
            "{used} tokens in use; the model's window is not known (assumed {}; set it with \
             --context-window)",
            tokens(report.assumed)
        ),
    }];
    if let Some(at) = report.compact_at {
        lines.push(format!("older messages are summarised at {}", tokens(at)));
    }
    let widest = report.parts.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let parts =
        report.parts.iter().map(|(name, size)| format!("  {name:widest$}  {}", tokens(*size)));
    lines.extend(parts);
    lines.join("\n")
}

#[cfg(test)]
mod tests;
