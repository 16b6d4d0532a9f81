//! What is known about single models: window, longest reply, prices.
//!
//! Figures of the makers' own endpoints, from the table in `models.txt`. They age, so the user's
//! settings and what an endpoint itself reports come first; other hosts of a model may differ and are
//! never looked up here.

use crate::message::Usage;

/// US dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Price {
    /// Tokens sent.
    pub input: f64,
    /// Tokens received.
    pub output: f64,
    /// Tokens sent that came from the provider's cache.
    pub cached: f64,
}

impl Price {
    /// What a request cost, in US dollars.
    #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
    pub fn cost(&self, usage: &Usage) -> f64 {
        let cached = usage.cached.min(usage.prompt);
        let fresh = usage.prompt - cached;
        (fresh as f64 * self.input
            + cached as f64 * self.cached
            + usage.completion as f64 * self.output)
            / 1e6
    }
}

/// One model of one provider.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The preset whose own model it is.
    pub provider: &'static str,
    /// Its id there.
    pub id: &'static str,
    /// The context window, in tokens.
    pub window: u64,
    /// The longest reply, in tokens; the window where it is not known.
    pub max_output: u64,
    /// What it costs.
    pub price: Price,
}

/// The model of this id at this provider; letter case does not matter.
pub fn find(provider: &str, id: &str) -> Option<Model> {
    of(provider).find(|model| model.id.eq_ignore_ascii_case(id))
}

/// All known models of a provider.
pub fn of(provider: &str) -> impl Iterator<Item = Model> {
    let provider = MAKERS.iter().find(|(row, _)| *row == provider).map_or(provider, |(_, m)| *m);
    all().filter(move |model| model.provider == provider)
}

/// Presets that serve the very models of another one.
const MAKERS: &[(&str, &str)] = &[("zhipu", "zai"), ("kimi-code", "moonshot")];

/// The table; `models.txt` says what its columns are.
const TABLE: &str = include_str!("models.txt");

/// Every row; what is no row is passed over.
fn all() -> impl Iterator<Item = Model> {
    TABLE.lines().filter_map(row)
}

fn row(line: &'static str) -> Option<Model> {
    let mut cells = line.split_ascii_whitespace();
    let (provider, id) = (cells.next()?, cells.next()?);
    let (window, max_output) = (tokens(cells.next()?)?, tokens(cells.next()?)?);
    let mut dollars = || cells.next()?.parse().ok();
    let price = Price { input: dollars()?, output: dollars()?, cached: dollars()? };
    (!provider.starts_with('#')).then_some(Model { provider, id, window, max_output, price })
}

/// A number of tokens as the table writes it: `8192`, `131k`, `1M`.
fn tokens(text: &str) -> Option<u64> {
    let units = [("k", 1_000), ("M", 1_000_000)];
    let cut = units.iter().find_map(|(unit, by)| Some((text.strip_suffix(unit)?, *by)));
    let (number, by) = cut.unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(by)
}

#[cfg(test)]
mod tests;
