//! Where a typed name leads, and which key goes there. `KEY` values are the variables' names.

use std::path::Path;

use super::Here;
use crate::cli::{Args, Parsed, parse};
use crate::config::environment::Environment;
use crate::config::file::{self, Scope};
use crate::config::resolve::{World, resolve, switch};

fn args(line: &str) -> Args {
    match parse(std::iter::once("xsh").chain(line.split_whitespace())) {
        Ok(Parsed::Run(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

fn world(env: &str) -> World {
    let pairs = env.split_whitespace().filter_map(|pair| pair.split_once('='));
    World {
        environment: Environment::from_pairs(pairs),
        user: Some(file::parse(Path::new("/u/config.toml"), USER, Scope::User).unwrap()),
        ..World::default()
    }
}

const USER: &str = "
[providers.mine]
base_url = 'https://mine.example/v1'
api_key_env = 'MINE'
model = 'm1'
[models.'mine/m1']
context_window = 9000
price = { input = 1, output = 2.5 }
";

/// `provider base_url model key` after this was typed; the model listed by the provider in use is
/// `offered/one`, where anything is listed.
fn switched(line: &str, env: &str, offered: bool, typed: &str) -> String {
    let (args, world) = (args(line), world(env));
    let home = resolve(&args, &world).unwrap();
    let place = home.endpoint.as_ref();
    let offered = if offered { vec!["offered/one".to_owned()] } else { Vec::new() };
    let here = Here { home: place, now: place, offered: &offered };
    let config = match switch(&args, &world, &here, typed) {
        Ok(config) => config,
        Err(error) => return error.to_string(),
    };
    let endpoint = config.endpoint.unwrap();
    let model = config.model.map_or("-".to_owned(), |model| model.value);
    let key = endpoint.key.map_or("-".to_owned(), |key| key.value.expose().to_owned());
    format!("{} {} {model} {key}", endpoint.provider.value, endpoint.base_url.value)
}

const ALL: &str = "DEEPSEEK_API_KEY=ds OPENAI_API_KEY=oa OPENROUTER_API_KEY=or MINE=mi";

#[test]
fn names_lead_to_models_here_and_elsewhere() {
    let deepseek = "https://api.deepseek.com";
    for (line, typed, expected) in [
        ("", "deepseek-v4-pro", "deepseek https://api.deepseek.com deepseek-v4-pro ds"),
        ("", "deepseek/deepseek-v4-pro", "deepseek https://api.deepseek.com deepseek-v4-pro ds"),
        ("", "openai/gpt-6-sol", "openai https://api.openai.com/v1 gpt-6-sol oa"),
        ("", "openai", "openai https://api.openai.com/v1 gpt-6-luna oa"),
        ("", "mine/other", "mine https://mine.example/v1 other mi"),
        ("", "mine", "mine https://mine.example/v1 m1 mi"),
        ("", "deepseek", "deepseek https://api.deepseek.com deepseek-flash ds"),
        (
            "",
            "openrouter/x-ai/grok-4.7",
            "openrouter https://openrouter.ai/api/v1 x-ai/grok-4.7 or",
        ),
        ("", "unheard/of", "deepseek https://api.deepseek.com unheard/of ds"),
        ("", "mistral/devstral-2512", "mistral https://api.mistral.ai/v1 devstral-2512 -"),
        ("", "mistral", "deepseek https://api.deepseek.com mistral ds"),
        ("", "ollama/qwen", "ollama http://127.0.0.1:11434/v1 qwen -"),
        // A provider that offers `maker/model` keeps such names.
        (
            "--provider openrouter",
            "openai/gpt-6-sol",
            "openrouter https://openrouter.ai/api/v1 openai/gpt-6-sol or",
        ),
        ("--provider openrouter", "ollama/qwen", "ollama http://127.0.0.1:11434/v1 qwen -"),
        ("--provider openrouter", "mine/x", "mine https://mine.example/v1 x mi"),
    ] {
        assert_eq!(switched(line, ALL, false, typed), expected, "{line} {typed} {deepseek}");
    }
}

#[test]
fn what_is_offered_here_goes_before_what_is_elsewhere() {
    let at = "--provider openrouter";
    let here = "openrouter https://openrouter.ai/api/v1 offered/one or";
    assert_eq!(switched(at, ALL, true, "offered/one"), here);
    let away = "openai https://api.openai.com/v1 gpt-6-sol oa";
    assert_eq!(switched(at, ALL, true, "openai/gpt-6-sol"), away);
    let gateway = "XSH_BASE_URL=http://gw/v1 XSH_MODEL=x XSH_API_KEY=gk";
    let stays = "generic http://gw/v1 openai/gpt-6-sol gk";
    assert_eq!(switched("", gateway, true, "openai/gpt-6-sol"), stays, "no key for openai");
    let both = format!("{gateway} OPENAI_API_KEY=oa");
    assert_eq!(switched("", &both, true, "openai/gpt-6-sol"), away);
}

#[test]
fn a_key_of_the_start_does_not_follow() {
    for (line, env) in [
        ("--provider mistral", "XSH_API_KEY=secret"),
        ("-m x", "XSH_BASE_URL=http://gw/v1 XSH_API_KEY=secret"),
        ("--base-url http://gw/v1 -m x", "XSH_API_KEY=secret"),
    ] {
        for typed in ["deepseek/deepseek-flash", "mine/m1", "ollama/x", "openai/gpt-6-sol"] {
            let led = switched(line, env, true, typed);
            let away = !led.starts_with("generic") && !led.starts_with("mistral");
            assert!(!away || led.ends_with(" -"), "{line} {env} {typed}: {led}");
        }
        assert!(switched(line, env, false, "another").ends_with(" another secret"), "{line}");
    }
}

#[test]
fn names_that_are_none() {
    for typed in ["", "  ", "two words", "bell\u{7}"] {
        let said = switched("", ALL, false, typed);
        assert!(said.starts_with("error: unusable model name"), "{said}");
    }
}

#[test]
fn window_and_price_are_those_of_the_model() {
    let (args, world) = (args("--context-window 5000"), world(ALL));
    let home = resolve(&args, &world).unwrap();
    assert_eq!(home.window.as_ref().unwrap().value, 5_000, "the flag is for the start");
    let here = Here { home: None, now: home.endpoint.as_ref(), offered: &[] };
    let told = |typed: &str| {
        let config = switch(&args, &world, &here, typed).unwrap();
        let price = config.price.map(|price| price.value);
        (config.window.map(|w| w.value), price.map(|p| (p.input, p.output, p.cached)))
    };
    assert_eq!(told("mine/m1"), (Some(9_000), Some((1.0, 2.5, 1.0))));
    assert_eq!(told("openai/gpt-6-luna"), (Some(272_000), Some((0.1, 0.5, 0.01))));
    assert_eq!(told("unheard"), (None, None));
}
