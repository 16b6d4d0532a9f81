//! Asks a provider how large a model's context window is, and what it costs.
//!
//! The listing of models tells it at about half of the hosted providers. A local server's listing
//! often tells what the model could do, not what is loaded, so its own paths are asked as well.

use serde_json::Value;

use super::discover::listing::{self, Listed};
use super::http::Link;

/// What the endpoint tells of this model. `details` are further paths, see
/// [`Profile::details`](super::profile::Profile::details). Silence and errors mean that nothing is
/// told.
pub async fn ask(link: &Link, details: &[&str], model: &str) -> Option<Listed> {
    let base = link.base_url();
    let list = link.get(&format!("{base}/models")).await.ok();
    let mut models = list.and_then(|list| listing::parse(&list).ok()).unwrap_or_default();
    if models.is_empty() {
        models.push(Listed { id: model.to_owned(), ..Listed::default() });
    }
    for path in details {
        let answer = link.get(&format!("{}{path}", root(base))).await;
        if let Ok(details) = answer.map(|answer| serde_json::from_slice::<Value>(&answer))
            && let Ok(details) = details
        {
            listing::refine(&mut models, &details);
        }
    }
    pick(&models, model, !details.is_empty()).cloned()
}

/// The server of an endpoint.
fn root(base_url: &str) -> &str {
    let base = base_url.strip_suffix("/v1").unwrap_or(base_url);
    base.strip_suffix("/engines").unwrap_or(base)
}

/// A local server with one model serves it under any name.
fn pick<'a>(models: &'a [Listed], model: &str, local: bool) -> Option<&'a Listed> {
    let named = models.iter().find(|listed| listing::is_same(&listed.id, model));
    let only = models.first().filter(|_| local && models.len() == 1);
    named.or(only)
}

#[cfg(test)]
mod tests;
