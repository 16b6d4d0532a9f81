//! What "always" would mean: the narrowest rule that lets an action happen next time.
//!
//! Never more than was shown, never a secret, and nothing at all where the user's own rules, a
//! protected file or a command that is not understood are the reason to ask.

use super::rules::{Ground, List, Place, Rules, SHELL, Written};
use super::{Action, Decision, Kind, Mode, Strength, Why, command, covered, decide, path};
use crate::mask::Masks;

/// Rules that one answer may make at most.
const MAX_RULES: usize = 3;
/// A word of this length that mixes letters and digits may be a token.
const TOKEN: usize = 20;

/// What "always" would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Keep these rules in the user's configuration.
    Keep(Vec<String>),
    /// Let these rules hold for the session: they must not be written down.
    Session(Vec<String>),
    /// Let this command leave the sandbox again in this session.
    Leave(String),
}

/// The offer for an action that is asked about, if there can be one. It is sure to work, also where
/// there is no sandbox: with it, the same action would have been allowed.
pub fn offer(
    rules: &Rules,
    ground: Ground<'_>,
    masks: &Masks,
    action: &Action<'_>,
    why: &Why,
) -> Option<Offer> {
    match (why, action.kind) {
        (Why::Leaves, Kind::Exec { command, .. }) => {
            command::read(command).is_ok().then(|| Offer::Leave(command.to_owned()))
        }
        // Another project's tool of the same name may be another program: nothing is written down.
        (Why::Mode | Why::Unconfined(_), Kind::Exec { .. }) if action.tool != SHELL => {
            let made = vec![action.tool.to_owned()];
            works(rules, ground, action, &made).then_some(Offer::Session(made))
        }
        (Why::Mode | Why::Unconfined(_), _) => {
            let made = made(rules, action)?;
            works(rules, ground, action, &made).then_some(())?;
            let secret = made.iter().any(|rule| has_secret(rule, masks));
            Some(if secret { Offer::Session(made) } else { Offer::Keep(made) })
        }
        _ => None,
    }
}

fn made(rules: &Rules, action: &Action<'_>) -> Option<Vec<String>> {
    match action.kind {
        Kind::Write(target) => Some(vec![format!("edit({})", path::naming(&target.real)?)]),
        Kind::Exec { command, .. } => {
            let mut made = Vec::new();
            for part in command::read(command).ok()? {
                let rule = format!("shell({})", command::render(&part)?);
                if covered(rules, &part, false).is_none() && !made.contains(&rule) {
                    made.push(rule);
                }
            }
            (made.len() <= MAX_RULES).then_some(made)
        }
        Kind::Read(_) | Kind::Stop => None,
    }
}

fn works(rules: &Rules, ground: Ground<'_>, action: &Action<'_>, made: &[String]) -> bool {
    let mut with = rules.clone();
    let added = made.iter().all(|text| {
        let written = Written { list: List::Allow, text: text.clone(), place: Place::Session };
        with.add(written, ground).is_ok()
    });
    let decision = decide(Mode::Ask, &with, &Strength::default(), action);
    added && !made.is_empty() && matches!(decision, Decision::Allow(_))
}

/// Words that introduce a secret.
const TELLING: &[&str] = &[
    "token",
    "secret",
    "passw",
    "passwd",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "bearer",
    "authorization",
    "private",
    "cookie",
];

/// How known kinds of token begin.
const PREFIXES: &[&str] = &[
    "sk-",
    "pk-",
    "rk_",
    "sk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "akia",
    "asia",
    "aiza",
    "eyj",
    "npm_",
    "pypi-",
    "hf_",
    "ya29.",
];

/// Whether a rule's text may hold a secret. Rather one too many: it then holds for the session.
fn has_secret(text: &str, masks: &Masks) -> bool {
    let Some(command) = text.strip_prefix("shell(") else { return masks.apply(text) != text };
    let command = command.strip_suffix(')').unwrap_or(command);
    let lower = command.to_lowercase();
    masks.apply(command) != command
        || TELLING.iter().any(|word| lower.contains(word))
        || command.split_whitespace().any(carries_value)
        || has_userinfo(command)
        || lower.split(|c: char| c.is_whitespace() || "'\"=:(,@/".contains(c)).any(is_token)
}

/// `-pPASSWORD`, `-H 'X-Auth: …'`: options by which secrets are given.
fn carries_value(word: &str) -> bool {
    let attached = |flag: &str| word.strip_prefix(flag).is_some_and(|rest| rest.len() >= 4);
    attached("-p") || word.starts_with("-H") || word == "--header" || word == "sshpass"
}

/// `https://name:password@host`, `-u name:password`, `NAME=value`.
fn has_userinfo(text: &str) -> bool {
    let in_url = |rest: &str| rest.split('/').next().is_some_and(|host| host.contains('@'));
    let words: Vec<&str> = text.split_whitespace().collect();
    let names_user = |pair: &[&str]| matches!(pair, [flag, value] if flag.starts_with("-u") && value.contains(':'));
    let sets = |word: &&str| {
        let name = word.trim_start_matches(['\'', '"']).split_once('=');
        name.is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        })
    };
    text.split("://").skip(1).any(in_url)
        || words.windows(2).any(names_user)
        || words.iter().any(sets)
}

fn is_token(word: &str) -> bool {
    let rest = PREFIXES.iter().find_map(|prefix| word.strip_prefix(prefix));
    let mixed = word.chars().any(|c| c.is_ascii_digit()) && word.chars().any(char::is_alphabetic);
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-+.".contains(c));
    rest.is_some_and(|rest| rest.len() >= 8) || (word.len() >= TOKEN && mixed && plain)
}

#[cfg(test)]
mod tests;
