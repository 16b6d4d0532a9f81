//! What endpoints were seen to accept, kept between runs: `learned.json` in the state folder.
//!
//! A few facts per base URL and model: [`Adjustment`]s that led to an answer, and the window that an
//! overflow stated. Nothing depends on the file: a damaged or missing one costs some requests to
//! learn it all again, and facts that are too old are forgotten, because servers change.

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::NamedTempFile;

use super::profile::adjust::Adjustment;

/// Places that are remembered; the oldest go first.
const MAX_PLACES: usize = 200;
/// Facts about one place.
const MAX_FACTS: usize = 24;
/// A larger file is not one of ours.
const MAX_BYTES: u64 = 1 << 20;
/// Facts older than this, in seconds, are learned anew.
const FORGET_AFTER: i64 = 30 * 24 * 3600;

/// What is known about one model at one base URL.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Changes that led to an answer, in the order they were made.
    pub adjustments: Vec<Adjustment>,
    /// The context window in tokens, as an overflow stated it.
    pub window: Option<u64>,
}

/// The store. Without a folder it lasts as long as the program.
#[derive(Clone, Debug, Default)]
pub struct Learned {
    path: Option<PathBuf>,
    places: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Place {
    base_url: String,
    model: String,
    /// When the last fact was learned, in seconds since 1970.
    at: i64,
    /// Kept as they are, so that a newer version's facts survive an older one.
    #[serde(default)]
    adjustments: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<u64>,
}

#[derive(Default, Serialize, Deserialize)]
struct File {
    places: Vec<Value>,
}

impl Learned {
    /// Reads what is known; a file that cannot be read is as good as none.
    pub fn open(state_dir: Option<&Path>, now: Timestamp) -> Self {
        let path = state_dir.map(|folder| folder.join("learned.json"));
        let places = path.as_deref().map(|path| read(path, now)).unwrap_or_default();
        Self { path, places }
    }

    /// What is known about a model at a base URL.
    pub fn facts(&self, base_url: &str, model: &str) -> Facts {
        let Some(place) = self.places.iter().find(|place| place.is(base_url, model)) else {
            return Facts::default();
        };
        let known = place.adjustments.iter().take(MAX_FACTS);
        Facts {
            adjustments: known.filter_map(|fact| Adjustment::deserialize(fact).ok()).collect(),
            window: place.window,
        }
    }

    /// Keeps facts; those that are known already cost nothing. The error says why the file could
    /// not be written; the facts hold for this run all the same.
    pub fn learn(
        &mut self,
        base_url: &str,
        model: &str,
        facts: &Facts,
        now: Timestamp,
    ) -> io::Result<()> {
        if let Some(path) = self.path.clone() {
            // Another xsh may have learned something since.
            self.places = merge(std::mem::take(&mut self.places), read(&path, now));
        }
        let place = self.place(base_url, model, now);
        let before = place.clone();
        for fact in &facts.adjustments {
            // The newest stands last, because a later one overrules an earlier one.
            let fact = serde_json::to_value(fact)?;
            place.adjustments.retain(|known| *known != fact);
            place.adjustments.push(fact);
        }
        let excess = place.adjustments.len().saturating_sub(MAX_FACTS);
        place.adjustments.drain(..excess);
        place.window = facts.window.or(place.window);
        if *place == before {
            return Ok(());
        }
        place.at = now.as_second();
        self.write()
    }

    fn place(&mut self, base_url: &str, model: &str, now: Timestamp) -> &mut Place {
        let at = self.places.iter().position(|place| place.is(base_url, model));
        let place = at.map_or_else(
            || Place {
                base_url: base_url.to_owned(),
                model: model.to_owned(),
                at: now.as_second(),
                adjustments: Vec::new(),
                window: None,
            },
            |at| self.places.remove(at),
        );
        self.places.insert(0, place);
        self.places.truncate(MAX_PLACES);
        &mut self.places[0]
    }

    fn write(&self) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let folder = path.parent().ok_or(io::ErrorKind::NotFound)?;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let places = self.places.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        let text = serde_json::to_vec_pretty(&File { places })?;
        // Made with mode 0600.
        let mut file = NamedTempFile::new_in(folder)?;
        file.write_all(&text)?;
        file.persist(path)?;
        Ok(())
    }
}

impl Place {
    fn is(&self, base_url: &str, model: &str) -> bool {
        self.base_url == base_url && self.model == model
    }
}

/// Ours, then what only the file knows.
fn merge(mut ours: Vec<Place>, file: Vec<Place>) -> Vec<Place> {
    let others: Vec<Place> = file
        .into_iter()
        .filter(|other| !ours.iter().any(|own| own.is(&other.base_url, &other.model)))
        .collect();
    ours.extend(others);
    ours
}

fn read(path: &Path, now: Timestamp) -> Vec<Place> {
    let mut text = Vec::new();
    let opened = fs::File::open(path).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut text));
    let file: File = match opened {
        Ok(_) => serde_json::from_slice(&text).unwrap_or_default(),
        Err(_) => File::default(),
    };
    let places = file.places.into_iter().filter_map(|place| Place::deserialize(place).ok());
    let fresh = places.filter(|place| now.as_second() - FORGET_AFTER < place.at);
    fresh.take(MAX_PLACES).collect()
}

#[cfg(test)]
mod tests;
