//! What a provider's `/models` says, whatever shape it says it in.

use serde_json::Value;

use crate::client::profile::models::Price;
use crate::error::Error;

/// The most models that are taken from one answer.
const MAX_MODELS: usize = 10_000;

/// One model as its provider lists it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    /// Its id in requests.
    pub id: String,
    /// The context window in tokens, where told.
    pub window: Option<u64>,
    /// The longest reply in tokens, where told.
    pub max_output: Option<u64>,
    /// What it costs, where told.
    pub price: Option<Price>,
    /// It is in memory already.
    pub loaded: bool,
    /// The provider's word for what it is for (`embeddings`, `llm`); empty where untold.
    pub kind: String,
}

impl Listed {
    /// False for models that are known not to hold conversations.
    pub fn is_chat(&self) -> bool {
        let is_embedding = |text: &str| text.to_ascii_lowercase().contains("embed");
        !is_embedding(&self.kind) && !is_embedding(&self.id)
    }
}

/// Where a window may stand, first choice first. A loaded server's real window comes before what
/// the model could do.
const WINDOWS: &[&str] = &[
    "/loaded_context_length",
    "/context_length",
    "/context_window",
    "/max_model_len",
    "/max_context_length",
    "/max_input_tokens",
    "/limit/context",
    "/limits/max_input_tokens",
    "/meta/n_ctx",
    "/top_provider/context_length",
    "/capabilities/limits/max_context_window_tokens",
    "/model_info/max_input_tokens",
];

const OUTPUTS: &[&str] = &[
    "/max_completion_tokens",
    "/max_output_tokens",
    "/limit/output",
    "/limits/max_output_tokens",
    "/top_provider/max_completion_tokens",
    "/capabilities/limits/max_output_tokens",
    "/model_info/max_output_tokens",
];

/// Where prices stand, and by what to multiply them for dollars per million tokens.
struct PricePlaces {
    input: &'static str,
    output: &'static str,
    cached: &'static str,
    by: f64,
}

const PRICES: &[PricePlaces] = &[
    PricePlaces {
        input: "/pricing/prompt",
        output: "/pricing/completion",
        cached: "/pricing/input_cache_read",
        by: 1e6,
    },
    PricePlaces {
        input: "/model_info/input_cost_per_token",
        output: "/model_info/output_cost_per_token",
        cached: "/model_info/cache_read_input_token_cost",
        by: 1e6,
    },
    PricePlaces {
        input: "/pricing/input",
        output: "/pricing/output",
        cached: "/pricing/cached_input",
        by: 1.0,
    },
];

/// Reads an answer: an object with `data` or `models`, or a bare array. The order is the
/// provider's. The error shows the provider's own words where it sent some.
pub fn parse(body: &[u8]) -> Result<Vec<Listed>, Error> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|_| Error::failed("the list of models cannot be read", "it is not JSON"))?;
    let entries = ["data", "models"].iter().find_map(|key| value.get(key)?.as_array());
    let Some(entries) = entries.or(value.as_array()) else {
        return Err(Error::failed("no list of models", words(&value)));
    };
    let mut models: Vec<Listed> = Vec::new();
    for listed in entries.iter().take(MAX_MODELS).filter_map(entry) {
        models.push(listed);
    }
    let mut seen = std::collections::BTreeSet::new();
    models.retain(|model| seen.insert(model.id.clone()));
    Ok(models)
}

/// The window of the one model that a server serves: llama.cpp's, TGI's.
const THE_ONE: &[&str] =
    &["/default_generation_settings/n_ctx", "/max_total_tokens", "/max_input_tokens"];

/// Adds what a local server tells elsewhere: the window of what is loaded (Ollama, LM Studio), or
/// of the one model there is (llama.cpp).
pub fn refine(models: &mut [Listed], details: &Value) {
    if let Some(window) = number(details, THE_ONE) {
        for model in models {
            model.window = Some(window);
            model.loaded = true;
        }
        return;
    }
    let running = details.get("models").and_then(Value::as_array);
    let known = details.get("data").and_then(Value::as_array);
    // Ollama's list of running models holds nothing else.
    let entries = running.into_iter().flatten().map(|e| (e, true));
    let entries = entries.chain(known.into_iter().flatten().map(|e| (e, is_loaded(e))));
    for (value, loaded) in entries {
        let Some(told) = entry(value) else { continue };
        for model in models.iter_mut().filter(|model| is_same(&model.id, &told.id)) {
            model.window = told.window.or(model.window);
            model.price = told.price.or(model.price);
            model.loaded |= loaded;
            if !told.kind.is_empty() {
                model.kind.clone_from(&told.kind);
            }
        }
    }
}

/// True for two ids of one model. Ollama leaves out the tag `latest`.
pub fn is_same(id: &str, other: &str) -> bool {
    let plain = |id: &'_ str| id.strip_suffix(":latest").unwrap_or(id).to_owned();
    id == other || plain(id) == plain(other)
}

fn entry(value: &Value) -> Option<Listed> {
    let name = ["id", "model", "name", "key", "model_name"]
        .iter()
        .find_map(|key| value.get(key)?.as_str());
    let id = value.as_str().or(name)?;
    let id = id.strip_prefix("models/").unwrap_or(id);
    let kind = ["type", "model_type"].iter().find_map(|key| value.get(key)?.as_str());
    (!id.is_empty()).then(|| Listed {
        id: id.to_owned(),
        window: number(value, WINDOWS),
        max_output: number(value, OUTPUTS),
        price: PRICES.iter().find_map(|places| price(value, places)),
        loaded: is_loaded(value),
        kind: kind.unwrap_or_default().to_owned(),
    })
}

fn is_loaded(value: &Value) -> bool {
    value.get("state").and_then(Value::as_str) == Some("loaded")
}

/// The first of these places that holds a positive number, also as text.
fn number(value: &Value, places: &[&str]) -> Option<u64> {
    let read = |found: &Value| found.as_u64().or_else(|| found.as_str()?.parse().ok());
    places.iter().filter_map(|place| value.pointer(place).and_then(read)).find(|n| *n > 0)
}

/// The prices at these places. Without one for the cache its tokens cost what others do.
fn price(value: &Value, places: &PricePlaces) -> Option<Price> {
    let read = |place: &str| {
        let found = value.pointer(place)?;
        let dollars = found.as_f64().or_else(|| found.as_str()?.parse().ok())? * places.by;
        // Routers write -1 where it depends.
        (dollars.is_finite() && dollars >= 0.0).then_some(dollars)
    };
    let input = read(places.input)?;
    let cached = read(places.cached).unwrap_or(input);
    Some(Price { input, output: read(places.output)?, cached })
}

/// What the provider said instead of a list.
fn words(value: &Value) -> String {
    let places = ["/error/message", "/message", "/error", "/detail", "/base_resp/status_msg"];
    let text = places.iter().find_map(|place| value.pointer(place)?.as_str());
    text.unwrap_or("the answer holds neither `data` nor `models`").to_owned()
}

#[cfg(test)]
mod tests;
