//! How hard a model thinks, and how that is asked for.

use clap::ValueEnum;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{EffortStyle, Profile};

/// The common scale. Each provider has its own names for a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No thinking where it can be switched off.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as there is.
    Max,
}

impl Effort {
    /// All levels, the lowest first.
    pub const ALL: [Self; 5] = [Self::Off, Self::Low, Self::Medium, Self::High, Self::Max];

    /// The level of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Its name in flags, files and on screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Max => "max",
        }
    }
}

/// What a family of models demands while tools are offered, whatever the user asked for.
enum WithTools {
    /// An explicit `none`: leaving it out means the default, which is refused.
    ExplicitNone,
    /// No effort parameter at all.
    Omit,
}

/// Families of `OpenAI`'s models; the first prefix of the model's name decides.
const WITH_TOOLS: &[(&str, WithTools)] = &[
    ("gpt-6", WithTools::ExplicitNone),
    ("gpt-5.6", WithTools::ExplicitNone),
    ("gpt-5.5", WithTools::Omit),
    ("gpt-5.4-mini", WithTools::ExplicitNone),
    ("gpt-5.4", WithTools::Omit),
];

/// The request fields that ask `model` for this level, in a fixed order. Tools are taken to be in
/// the request. They replace fields of the same name in the profile's `extra_body`. No level: only
/// what the provider demands anyway.
pub fn fields(
    profile: &Profile,
    model: &str,
    effort: Option<Effort>,
) -> Vec<(&'static str, Value)> {
    if let Some(rule) = rule_with_tools(profile, model) {
        return match rule {
            WithTools::ExplicitNone => vec![("reasoning_effort", json!("none"))],
            WithTools::Omit => Vec::new(),
        };
    }
    let Some(effort) = effort else { return Vec::new() };
    let level = nearest(profile.levels, effort).map(|name| profile.only_levels.nearest(name));
    match profile.effort {
        EffortStyle::None => Vec::new(),
        EffortStyle::ReasoningEffort => with_level(Vec::new(), level),
        EffortStyle::Reasoning if effort == Effort::Off => {
            vec![("reasoning", json!({ "enabled": false }))]
        }
        EffortStyle::Reasoning => {
            level.map(|name| ("reasoning", json!({ "effort": name }))).into_iter().collect()
        }
        EffortStyle::Thinking if effort == Effort::Off => {
            vec![("thinking", json!({ "type": "disabled" }))]
        }
        EffortStyle::Thinking => with_level(thinking(profile), level),
        EffortStyle::EnableThinking if effort == Effort::Off => {
            vec![("enable_thinking", json!(false))]
        }
        EffortStyle::EnableThinking => with_level(vec![("enable_thinking", json!(true))], level),
    }
}

fn with_level(
    mut fields: Vec<(&'static str, Value)>,
    level: Option<&'static str>,
) -> Vec<(&'static str, Value)> {
    fields.extend(level.map(|name| ("reasoning_effort", json!(name))));
    fields
}

/// Thinking is on by default in a row that names levels; one without (`adaptive`) needs the word.
fn thinking(profile: &Profile) -> Vec<(&'static str, Value)> {
    if profile.extra_body.iter().any(|(name, _)| *name == "thinking") {
        return Vec::new();
    }
    let kind = if profile.levels.is_empty() { "adaptive" } else { "enabled" };
    vec![("thinking", json!({ "type": kind }))]
}

fn rule_with_tools(profile: &Profile, model: &str) -> Option<&'static WithTools> {
    if profile.no_effort_with_tools {
        return Some(&WithTools::ExplicitNone);
    }
    if !matches!(profile.name, "openai" | "azure") {
        return None;
    }
    WITH_TOOLS.iter().find(|(prefix, _)| model.starts_with(prefix)).map(|(_, rule)| rule)
}

/// The provider's name of the nearest level; of two equally near ones the higher.
fn nearest(levels: &[(Effort, &'static str)], wanted: Effort) -> Option<&'static str> {
    let distance = |level: Effort| (level as i8 - wanted as i8).unsigned_abs();
    levels
        .iter()
        .min_by_key(|(level, _)| (distance(*level), std::cmp::Reverse(*level)))
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests;
