//! `xsh models`: what the provider offers.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use crate::client::discover::Server;
use crate::client::discover::listing::Listed;
use crate::client::profile::models;
use crate::config::Config;

/// The models of one endpoint. A star marks the one in use.
pub struct Offer<'a> {
    /// The preset.
    pub provider: &'a str,
    /// The endpoint.
    pub base_url: &'a str,
    /// What it lists.
    pub models: &'a [Listed],
    /// The model in use, if it is one of these.
    pub current: Option<&'a str>,
}

impl<'a> Offer<'a> {
    /// The offer of a server on this machine.
    pub fn of_server(server: &'a Server, config: &'a Config) -> Self {
        let endpoint = config.endpoint.as_ref();
        let in_use = endpoint.is_some_and(|e| e.base_url.value == server.base_url);
        let model = config.model.as_ref().filter(|_| in_use);
        Self {
            provider: server.provider,
            base_url: &server.base_url,
            models: &server.models,
            current: model.map(|model| model.value.as_str()),
        }
    }

    fn window(&self, listed: &Listed) -> Option<u64> {
        listed.window.or_else(|| Some(models::find(self.provider, &listed.id)?.window))
    }
}

/// The list as a table, sorted by id.
pub fn table(offer: &Offer<'_>) -> String {
    let mut text = format!("{} at {}\n", offer.provider, offer.base_url);
    let mut listed: Vec<&Listed> = offer.models.iter().collect();
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    let width = listed.iter().map(|model| model.id.width()).max().unwrap_or(0);
    for model in listed {
        let mark = if offer.current == Some(model.id.as_str()) { '*' } else { ' ' };
        let pad = " ".repeat(width - model.id.width());
        let window = offer.window(model).map_or_else(|| "?".to_owned(), tokens);
        let loaded = if model.loaded { "  loaded" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{mark} {}{pad}  {window:>6}{loaded}", model.id);
    }
    if offer.models.is_empty() {
        text.push_str("  it lists no models\n");
    }
    text
}

/// A number of tokens in a few characters: `8192`, `131k`, `1M`, `1.05M`.
pub fn tokens(count: u64) -> String {
    match count {
        0..10_000 => count.to_string(),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => {
            let hundredths = count / 10_000;
            let text = format!("{}.{:02}", hundredths / 100, hundredths % 100);
            format!("{}M", text.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests;
