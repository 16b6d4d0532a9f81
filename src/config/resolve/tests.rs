use std::path::Path;

use super::*;
use crate::cli::{Parsed, parse};
use crate::client::discover::listing::Listed;
use crate::client::profile::Effort;
use crate::config::file::{self, Scope};

fn world(env: &[(&str, &str)], project: &str, user: &str) -> World {
    let project = file::parse(Path::new("/p/.xsh/config.toml"), project, Scope::Project).unwrap();
    let user = file::parse(Path::new("/u/config.toml"), user, Scope::User).unwrap();
    World {
        environment: Environment::from_pairs(env.iter().copied()),
        project: Some(project),
        user: Some(user),
        ..World::default()
    }
}

fn config(line: &str, world: &World) -> Config {
    match parse(std::iter::once("xsh").chain(line.split_whitespace())) {
        Ok(Parsed::Run(args)) => resolve(&args, world).unwrap(),
        other => panic!("{line}: {other:?}"),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "calls read better with plain values")]
fn check<T: std::fmt::Debug + PartialEq>(found: Option<&Setting<T>>, value: T, origin: &str) {
    let found = found.map(|setting| (&setting.value, setting.origin.to_string()));
    assert_eq!(found, Some((&value, origin.to_owned())));
}

const PROJECT: &str = "model = 'p'\neffort = 'low'\ncontext_window = 2\nmax_steps = 2";
const USER: &str = "model = 'u'\neffort = 'high'\ncontext_window = 3\nmax_steps = 3";

#[test]
fn the_model_by_flag_environment_project_user_and_preset() {
    let key = ("DEEPSEEK_API_KEY", "k");
    let env = [key, ("XSH_MODEL", "e")];
    let model = |line, env: &[_], project, user| config(line, &world(env, project, user)).model;
    let owned = |text: &str| text.to_owned();
    check(model("-m f", &env, PROJECT, USER).as_ref(), owned("f"), "flag --model");
    check(model("", &env, PROJECT, USER).as_ref(), owned("e"), "environment XSH_MODEL");
    check(model("", &[key], PROJECT, USER).as_ref(), owned("p"), "project /p/.xsh/config.toml");
    check(model("", &[key], "", USER).as_ref(), owned("u"), "user /u/config.toml");
    check(model("", &[key], "", "").as_ref(), owned("deepseek-flash"), "preset deepseek");
    assert_eq!(model("", &[], "", ""), None);
}

#[test]
fn the_rest_by_flag_project_and_user() {
    let line = "--effort max --context-window 1 --max-steps 1";
    let by_flag = config(line, &world(&[], PROJECT, USER));
    check(by_flag.effort.as_ref(), Effort::Max, "flag --effort");
    check(by_flag.window.as_ref(), 1, "flag --context-window");
    check(by_flag.max_steps.as_ref(), 1, "flag --max-steps");
    let by_project = config("", &world(&[], PROJECT, USER));
    check(by_project.effort.as_ref(), Effort::Low, "project /p/.xsh/config.toml");
    check(by_project.window.as_ref(), 2, "project /p/.xsh/config.toml");
    check(by_project.max_steps.as_ref(), 2, "project /p/.xsh/config.toml");
    let by_user = config("", &world(&[], "", USER));
    check(by_user.effort.as_ref(), Effort::High, "user /u/config.toml");
    check(by_user.window.as_ref(), 3, "user /u/config.toml");
    check(by_user.max_steps.as_ref(), 3, "user /u/config.toml");
    let unsaid = config("", &world(&[], "", ""));
    assert_eq!((unsaid.effort, unsaid.window, unsaid.max_steps), (None, None, None));
}

#[test]
fn limits_and_modes_differ_without_a_person() {
    let bare = world(&[], "", "");
    let mode = |line, world: &World| {
        let setting = config(line, world).permission_mode;
        (setting.value, setting.origin.to_string())
    };
    assert_eq!(mode("", &bare), (Mode::Ask, "default".to_owned()));
    assert_eq!(mode("-p hi", &bare), (Mode::Auto, "default".to_owned()));
    let user = world(&[], "permission_mode = 'full'", "permission_mode = 'plan'");
    assert_eq!(mode("-p hi", &user), (Mode::Plan, "user /u/config.toml".to_owned()));
    let flag = "--dangerously-skip-permissions";
    assert_eq!(mode(flag, &user), (Mode::Full, format!("flag {flag}")));
    check(config("-p hi", &bare).max_steps.as_ref(), HEADLESS_MAX_STEPS, "default");
}

#[test]
fn a_window_is_known_only_from_who_can_know_it() {
    let key = [("DEEPSEEK_API_KEY", "k")];
    let bare = world(&key, "", "");
    check(config("", &bare).window.as_ref(), 1_000_000, "preset deepseek");
    assert_eq!(config("-m deepseek-next", &bare).window, None);
    assert_eq!(config("--base-url http://gw -m deepseek-flash", &bare).window, None);
    let mut learned = config("-m deepseek-next", &bare);
    learned.learn_window(5);
    check(learned.window.as_ref(), 5, "discovered");
    learned.learn_window(6);
    check(learned.window.as_ref(), 5, "discovered");
}

#[test]
fn patience_is_greater_with_a_server_on_this_machine() {
    let millis = |config: &Config| {
        let times = &config.timeouts;
        [&times.connect, &times.first_byte, &times.idle].map(|time| time.value.as_millis())
    };
    let hosted = config("--base-url https://gw -m x", &world(&[], "", ""));
    assert_eq!(millis(&hosted), [15_000, 300_000, 120_000]);
    let local = "--base-url http://127.0.0.1:9 -m x";
    assert_eq!(millis(&config(local, &world(&[], "", ""))), [15_000, 900_000, 300_000]);
    let user = "[timeouts]\nconnect = 0.2\nfirst_byte = 1\nidle = 2\n[retry]\nmax_attempts = 2\nmax_wait = 3";
    let said = config(local, &world(&[], "[timeouts]\nidle = 9", user));
    assert_eq!(millis(&said), [200, 1_000, 2_000]);
    check(Some(&said.retry.max_attempts), 2, "user /u/config.toml");
    check(Some(&said.retry.max_wait), Duration::from_secs(3), "user /u/config.toml");
}

#[test]
fn colours_can_be_forbidden() {
    let colour = |line, env: &[_]| {
        let setting = config(line, &world(env, "", "")).color;
        (setting.value, setting.origin.to_string())
    };
    assert_eq!(colour("", &[("TERM", "xterm")]), (true, "default".to_owned()));
    assert_eq!(colour("--no-color", &[]), (false, "flag --no-color".to_owned()));
    assert_eq!(colour("", &[("NO_COLOR", "1")]), (false, "environment NO_COLOR".to_owned()));
    assert_eq!(colour("", &[("NO_COLOR", "")]), (true, "default".to_owned()));
    assert_eq!(colour("", &[("TERM", "dumb")]), (false, "environment TERM".to_owned()));
}

#[test]
fn children_do_not_see_keys() {
    let user = "api_key_env = 'MINE'\n[providers.w]\nbase_url = 'http://w'\napi_key_env = 'WORK'";
    let hidden = config("", &world(&[("GITHUB_TOKEN", "t")], "", user)).hidden_env;
    for name in
        ["XSH_API_KEY", "DEEPSEEK_API_KEY", "GOOGLE_API_KEY", "LM_API_TOKEN", "MINE", "WORK"]
    {
        assert!(hidden.iter().any(|hidden| hidden == name), "{name}");
    }
    assert!(!hidden.iter().any(|name| name == "GITHUB_TOKEN"), "git and gh need it");
    let line = "--provider github-models -m a/b";
    let in_use = config(line, &world(&[("GITHUB_TOKEN", "t")], "", "")).hidden_env;
    assert!(in_use.iter().any(|name| name == "GITHUB_TOKEN"));
}

#[test]
fn what_a_project_may_not_say_is_one_warning() {
    let project = "hooks = ['http://evil']\npermission_mode = 'full'\nmodel = 'x'";
    let warnings = config("", &world(&[], project, "")).warnings;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["/p/.xsh/config.toml", "hooks", "permission_mode"] {
        assert!(warnings[0].contains(part), "{warnings:?}");
    }
}

#[test]
fn a_found_server_fills_the_gaps() {
    let listed = |id: &str, window| Listed { id: id.to_owned(), window, ..Listed::default() };
    let server = Server {
        provider: "ollama",
        base_url: "http://127.0.0.1:11434/v1".to_owned(),
        models: vec![listed("qwen", Some(32_768)), listed("tiny", None)],
    };
    let bare = world(&[], "", "[timeouts]\nidle = 2");
    let mut found = config("", &bare);
    found.adopt(&server);
    check(found.model.as_ref(), "qwen".to_owned(), "discovered");
    check(found.window.as_ref(), 32_768, "discovered");
    let (endpoint, _) = found.ready().unwrap();
    assert_eq!((endpoint.profile.name, endpoint.loopback), ("ollama", true));
    assert_eq!(found.timeouts.first_byte.value, Duration::from_mins(15));
    assert_eq!(found.timeouts.idle.value, Duration::from_secs(2));

    let mut named = config("-m tiny", &bare);
    named.adopt(&server);
    check(named.model.as_ref(), "tiny".to_owned(), "flag --model");
    assert_eq!(named.window, None);
}
