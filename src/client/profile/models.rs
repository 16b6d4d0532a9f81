//! What is known about single models: window, longest reply, prices.
//!
//! Figures of the makers' own endpoints. They age, so the user's settings and what an endpoint
//! itself reports come first; other hosts of a model may differ and are never looked up here.

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
    /// What it costs, where known.
    pub price: Option<Price>,
}

/// The model of this id at this provider; letter case does not matter.
pub fn find(provider: &str, id: &str) -> Option<&'static Model> {
    let provider = MAKERS.iter().find(|(row, _)| *row == provider).map_or(provider, |(_, m)| *m);
    MODELS.iter().find(|model| model.provider == provider && model.id.eq_ignore_ascii_case(id))
}

/// Presets that serve the very models of another one.
const MAKERS: &[(&str, &str)] = &[("zhipu", "zai"), ("kimi-code", "moonshot")];

const K: u64 = 1_000;
const M: u64 = 1_000_000;

const fn row(
    provider: &'static str,
    id: &'static str,
    (window, max_output): (u64, u64),
    (input, output, cached): (f64, f64, f64),
) -> Model {
    Model { provider, id, window, max_output, price: Some(Price { input, output, cached }) }
}

const MODELS: &[Model] = &[
    row("deepseek", "deepseek-flash", (M, 384 * K), (0.3, 1.2, 0.006)),
    row("deepseek", "deepseek-v4-pro", (M, 384 * K), (1.32, 3.96, 0.044)),
    row("moonshot", "kimi-k3", (1_048 * K, 1_048 * K), (3.0, 15.0, 0.3)),
    row("moonshot", "kimi-k3.1-pro", (1_048 * K, 1_048 * K), (2.0, 10.0, 0.2)),
    row("moonshot", "kimi-k2.7-code", (262 * K, 262 * K), (0.95, 4.0, 0.19)),
    row("moonshot", "kimi-k2.6", (262 * K, 262 * K), (0.95, 4.0, 0.16)),
    row("zai", "glm-5.3", (M, 131 * K), (1.4, 4.4, 0.26)),
    row("zai", "glm-5.3-flash", (M, 131 * K), (0.15, 0.5, 0.03)),
    row("zai", "glm-5.2", (M, 131 * K), (1.4, 4.4, 0.26)),
    row("zai", "glm-4.7", (205 * K, 131 * K), (0.6, 2.2, 0.11)),
    row("dashscope", "qwen3.8-max", (M, 131 * K), (2.0, 6.0, 0.25)),
    row("dashscope", "qwen3.8-flash", (M, 131 * K), (0.15, 0.47, 0.016)),
    row("minimax", "MiniMax-M3", (M, 524 * K), (0.3, 1.2, 0.06)),
    row("minimax", "MiniMax-M3.1-Flash", (M, 524 * K), (0.15, 0.6, 0.015)),
    row("openai", "gpt-6-sol", (272 * K, 128 * K), (2.0, 10.0, 0.2)),
    row("openai", "gpt-6-luna", (272 * K, 128 * K), (0.1, 0.5, 0.01)),
    row("openai", "gpt-5.6-sol", (272 * K, 128 * K), (4.0, 20.0, 0.4)),
    row("openai", "gpt-5.6-terra", (272 * K, 128 * K), (2.0, 12.0, 0.2)),
    row("openai", "gpt-5.6-luna", (272 * K, 128 * K), (0.2, 1.2, 0.02)),
    row("openai", "gpt-5.5", (272 * K, 128 * K), (5.0, 30.0, 0.5)),
    row("openai", "gpt-5-mini", (400 * K, 128 * K), (0.25, 2.0, 0.025)),
    row("openai", "gpt-5-nano", (400 * K, 128 * K), (0.05, 0.4, 0.005)),
    row("openai", "gpt-4.1", (1_048 * K, 32 * K), (2.0, 8.0, 0.5)),
    row("groq", "openai/gpt-oss-120b", (131 * K, 32 * K), (0.15, 0.6, 0.15)),
    row("groq", "openai/gpt-oss-20b", (131 * K, 32 * K), (0.075, 0.3, 0.075)),
    row("groq", "llama-3.3-70b-versatile", (131 * K, 32 * K), (0.59, 0.79, 0.59)),
    row("cerebras", "gpt-oss-120b", (131 * K, 32 * K), (0.35, 0.75, 0.35)),
    row("anthropic", "claude-fable-5-2", (M, 128 * K), (8.0, 40.0, 0.2)),
    row("anthropic", "claude-opus-5-5", (M, 128 * K), (4.0, 20.0, 0.2)),
    row("anthropic", "claude-sonnet-5-5", (M, 128 * K), (2.0, 10.0, 0.1)),
    row("anthropic", "claude-haiku-5-5", (M, 128 * K), (0.1, 0.5, 0.01)),
    row("gemini", "gemini-4-neon", (1_048 * K, 65 * K), (3.0, 15.0, 0.15)),
    row("gemini", "gemini-4-hydrogen", (1_048 * K, 65 * K), (1.5, 7.5, 0.075)),
    row("gemini", "gemini-4-argon", (1_048 * K, 32 * K), (2.0, 10.0, 0.1)),
    row("gemini", "gemini-3.8-flash", (1_048 * K, 65 * K), (0.75, 3.75, 0.075)),
    row("xai", "grok-4.7", (500 * K, 500 * K), (2.0, 6.0, 0.5)),
    row("xai", "grok-4.3", (M, M), (1.25, 2.5, 0.2)),
    row("mistral", "mistral-large-4", (1_048 * K, 262 * K), (0.7, 2.1, 0.07)),
    row("mistral", "mistral-medium-3.5", (262 * K, 262 * K), (1.5, 7.5, 0.15)),
    row("mistral", "devstral-2512", (262 * K, 262 * K), (0.4, 2.0, 0.04)),
    row("mistral", "mistral-small-2603", (262 * K, 262 * K), (0.15, 0.6, 0.015)),
];
