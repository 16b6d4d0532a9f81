//! Which endpoint, model and key come of what was said. `KEY` values are the variables' names.

use std::path::Path;

use crate::cli::{Args, Parsed, parse};
use crate::config::Config;
use crate::config::environment::Environment;
use crate::config::file::{self, Scope};
use crate::config::resolve::{World, resolve};

fn args(line: &str) -> Args {
    match parse(std::iter::once("xsh").chain(line.split_whitespace())) {
        Ok(Parsed::Run(args)) => *args,
        other => panic!("{line}: {other:?}"),
    }
}

/// Resolves a command line, `NAME=VALUE` words, a user file and a project file.
fn resolved(line: &str, env: &str, user: &str, project: &str) -> Result<Config, String> {
    resolved_as(Scope::Project, line, env, user, project)
}

/// The same, where the project may be trusted.
fn resolved_as(
    scope: Scope,
    line: &str,
    env: &str,
    user: &str,
    project: &str,
) -> Result<Config, String> {
    let pairs = env.split_whitespace().filter_map(|pair| pair.split_once('='));
    let file = |path: &str, text: &str, scope| {
        (!text.is_empty()).then(|| file::parse(Path::new(path), text, scope).unwrap())
    };
    let world = World {
        environment: Environment::from_pairs(pairs),
        user: file("/u/config.toml", user, Scope::User),
        project: file("/p/.xsh/config.toml", project, scope),
        ..World::default()
    };
    resolve(&args(line), &world).map_err(|e| e.to_string())
}

/// `provider base_url model key`, with `-` for what is not there.
fn target(line: &str, env: &str, user: &str, project: &str) -> String {
    let config = resolved(line, env, user, project).unwrap();
    let model = config.model.map_or("-".to_owned(), |model| model.value);
    let Some(endpoint) = config.endpoint else { return format!("- - {model} -") };
    let key = endpoint.key.map_or("-".to_owned(), |key| key.value.expose().to_owned());
    let url = endpoint.base_url.value;
    format!("{} {url} {model} {key}", endpoint.provider.value)
}

const BOTH: &str = "DEEPSEEK_API_KEY=ds OPENAI_API_KEY=oa";
const FILE: &str = "base_url = 'https://u.example/v1'\napi_key_env = 'MY'";

/// Command line, environment, user file, and what comes of them.
const ENDPOINTS: &[(&str, &str, &str, &str)] = &[
    ("", "", "", "- - - -"),
    ("-m x", "", "", "- - x -"),
    ("", "DEEPSEEK_API_KEY=ds", "", "deepseek https://api.deepseek.com deepseek-flash ds"),
    ("-m other", "DEEPSEEK_API_KEY=ds", "", "deepseek https://api.deepseek.com other ds"),
    (
        "",
        "OPENROUTER_API_KEY=or DEEPSEEK_API_KEY=ds",
        "",
        "deepseek https://api.deepseek.com deepseek-flash ds",
    ),
    (
        "-m gpt-6-sol",
        "OPENAI_API_KEY=oa DEEPSEEK_API_KEY=ds",
        "",
        "openai https://api.openai.com/v1 gpt-6-sol oa",
    ),
    (
        "",
        "DEEPSEEK_API_KEY= OPENAI_API_KEY=oa",
        "",
        "openai https://api.openai.com/v1 gpt-6-luna oa",
    ),
    ("", "OPENAI_BASE_URL=http://gw/v1 OPENAI_API_KEY=oa", "", "openai http://gw/v1 - oa"),
    ("-m x", "OPENAI_BASE_URL=http://localhost:9/v1", "", "openai http://localhost:9/v1 x -"),
    ("--provider deepseek", "", "", "deepseek https://api.deepseek.com deepseek-flash -"),
    (
        "--provider kimi",
        "MOONSHOT_API_KEY=ms",
        "",
        "moonshot https://api.moonshot.ai/v1 kimi-k3 ms",
    ),
    ("--base-url http://127.0.0.1:7/v1 -m x", "", "", "generic http://127.0.0.1:7/v1 x -"),
    ("-m x", "XSH_BASE_URL=http://127.0.0.1:7 XSH_API_KEY=k", "", "generic http://127.0.0.1:7 x k"),
    (
        "--provider deepseek -m x",
        "XSH_BASE_URL=http://127.0.0.1:7 XSH_API_KEY=k DEEPSEEK_API_KEY=ds",
        "",
        "deepseek http://127.0.0.1:7 x k",
    ),
    (
        "--base-url http://f -m x",
        "XSH_BASE_URL=http://e",
        "base_url = 'http://u'",
        "generic http://f x -",
    ),
    ("-m x", "XSH_BASE_URL=http://e", "base_url = 'http://u'", "generic http://e x -"),
    ("-m x", "DEEPSEEK_API_KEY=ds", "base_url = 'http://u'", "generic http://u x -"),
    (
        "",
        "OPENAI_API_KEY=oa DEEPSEEK_API_KEY=ds",
        "provider = 'openai'",
        "openai https://api.openai.com/v1 gpt-6-luna oa",
    ),
    (
        "--provider deepseek",
        "DEEPSEEK_API_KEY=ds",
        "base_url = 'http://u'",
        "deepseek https://api.deepseek.com deepseek-flash ds",
    ),
    ("--provider ollama -m q", "OLLAMA_HOST=:99", "", "ollama http://127.0.0.1:99/v1 q -"),
    ("--base-url http://localhost:11434 -m q", "", "", "ollama http://localhost:11434/v1 q -"),
    ("", "GITHUB_TOKEN=gh", "", "- - - -"),
    (
        "--provider github-models -m a/b",
        "GITHUB_TOKEN=gh",
        "",
        "github-models https://models.github.ai/inference a/b gh",
    ),
];

#[test]
fn endpoints_from_flags_environment_and_the_users_file() {
    for (line, env, user, expected) in ENDPOINTS {
        assert_eq!(target(line, env, user, ""), *expected, "`{line}` `{env}` `{user}`");
    }
}

#[test]
fn a_prefix_of_the_model_that_is_a_provider() {
    let cases = [
        ("-m openai/gpt-5-mini", BOTH, "", "openai https://api.openai.com/v1 gpt-5-mini oa"),
        (
            "",
            "DEEPSEEK_API_KEY=ds OPENAI_API_KEY=oa XSH_MODEL=openai/x",
            "",
            "openai https://api.openai.com/v1 x oa",
        ),
        ("-m deepseek/x", "DEEPSEEK_API_KEY=ds", "", "deepseek https://api.deepseek.com x ds"),
        ("-m openai/x", "DEEPSEEK_API_KEY=ds", "", "openai https://api.openai.com/v1 x -"),
        (
            "-m openai/x",
            "OPENROUTER_API_KEY=or",
            "",
            "openrouter https://openrouter.ai/api/v1 openai/x or",
        ),
        (
            "-m openrouter/openai/x",
            "OPENROUTER_API_KEY=or",
            "",
            "openrouter https://openrouter.ai/api/v1 openai/x or",
        ),
        (
            "-m openrouter/auto",
            "OPENROUTER_API_KEY=or",
            "",
            "openrouter https://openrouter.ai/api/v1 openrouter/auto or",
        ),
        ("-m groq/llama", "GROQ_API_KEY=gq", "", "groq https://api.groq.com/openai/v1 llama gq"),
        ("-m ollama/qwen", "", "", "ollama http://127.0.0.1:11434/v1 qwen -"),
        (
            "-m unknown/x",
            "DEEPSEEK_API_KEY=ds",
            "",
            "deepseek https://api.deepseek.com unknown/x ds",
        ),
        ("-m openai/", "DEEPSEEK_API_KEY=ds", "", "deepseek https://api.deepseek.com openai/ ds"),
        ("--base-url http://gw/v1 -m openai/x", BOTH, "", "generic http://gw/v1 openai/x -"),
        (
            "--provider openrouter -m deepseek/x",
            "DEEPSEEK_API_KEY=ds OPENROUTER_API_KEY=or",
            "",
            "openrouter https://openrouter.ai/api/v1 deepseek/x or",
        ),
        ("-m openai/x", BOTH, "provider = 'deepseek'", "openai https://api.openai.com/v1 x oa"),
        (
            "-m deepseek/x",
            "OPENROUTER_API_KEY=or DEEPSEEK_API_KEY=ds",
            "provider = 'openrouter'",
            "openrouter https://openrouter.ai/api/v1 deepseek/x or",
        ),
        ("--provider deepseek -m deepseek/x", BOTH, "", "deepseek https://api.deepseek.com x ds"),
    ];
    for (line, env, user, expected) in cases {
        assert_eq!(target(line, env, user, ""), expected, "`{line}` `{env}` `{user}`");
    }
}

const KEYS: &[(&str, &str, &str, &str)] = &[
    // a provider's own key and other hosts
    ("--base-url https://evil.example/v1 -m x", BOTH, "", "generic https://evil.example/v1 x -"),
    (
        "--provider deepseek --base-url https://evil.example -m x",
        BOTH,
        "",
        "deepseek https://evil.example x -",
    ),
    (
        "--base-url https://api.deepseek.com.evil.example -m x",
        BOTH,
        "",
        "generic https://api.deepseek.com.evil.example x -",
    ),
    (
        "--base-url https://api.deepseek.com/v1",
        BOTH,
        "",
        "deepseek https://api.deepseek.com/v1 deepseek-flash ds",
    ),
    (
        "--provider openai --base-url https://api.deepseek.com -m x",
        BOTH,
        "",
        "openai https://api.deepseek.com x ds",
    ),
    (
        "-m x",
        "OPENAI_BASE_URL=http://gw OPENAI_API_KEY=oa DEEPSEEK_API_KEY=ds XSH_BASE_URL=http://e",
        "",
        "generic http://e x -",
    ),
    (
        "--provider azure --base-url https://r.openai.azure.com/openai/v1 -m d",
        "AZURE_OPENAI_API_KEY=az OPENAI_API_KEY=oa",
        "",
        "azure https://r.openai.azure.com/openai/v1 d az",
    ),
    ("--provider vllm -m x", "VLLM_API_KEY=vl", "", "vllm http://127.0.0.1:8000/v1 x vl"),
    (
        "--provider vllm --base-url http://10.0.0.1:8000/v1 -m x",
        "VLLM_API_KEY=vl",
        "",
        "vllm http://10.0.0.1:8000/v1 x -",
    ),
    // the general key
    ("--base-url http://f.example -m x", "XSH_API_KEY=k", "", "generic http://f.example x k"),
    (
        "--base-url http://f.example -m x",
        "XSH_BASE_URL=http://e.example XSH_API_KEY=k",
        "",
        "generic http://f.example x -",
    ),
    (
        "--base-url http://e.example/v2 -m x",
        "XSH_BASE_URL=http://e.example XSH_API_KEY=k",
        "",
        "generic http://e.example/v2 x k",
    ),
    ("-m x", "XSH_API_KEY=k", "base_url = 'http://u'", "generic http://u x k"),
    (
        "--provider deepseek",
        "XSH_API_KEY=k",
        "",
        "deepseek https://api.deepseek.com deepseek-flash k",
    ),
    (
        "--base-url https://api.deepseek.com",
        "XSH_API_KEY=k DEEPSEEK_API_KEY=ds",
        "",
        "deepseek https://api.deepseek.com deepseek-flash k",
    ),
    (
        "",
        "XSH_API_KEY=k DEEPSEEK_API_KEY=ds",
        "",
        "deepseek https://api.deepseek.com deepseek-flash ds",
    ),
    // the variable that the user's file names
    ("-m x", "MY=my", FILE, "generic https://u.example/v1 x my"),
    ("-m x", "MY=my XSH_API_KEY=k", FILE, "generic https://u.example/v1 x k"),
    ("--base-url http://f.example -m x", "MY=my", FILE, "generic http://f.example x -"),
    ("-m x", "MY=my XSH_BASE_URL=http://e", FILE, "generic http://e x -"),
    ("--provider deepseek", "MY=my", FILE, "deepseek https://api.deepseek.com deepseek-flash -"),
    (
        "",
        "MY=my",
        "provider = 'deepseek'\napi_key_env = 'MY'",
        "deepseek https://api.deepseek.com deepseek-flash my",
    ),
    (
        "--provider openai",
        "MY=my",
        "provider = 'deepseek'\napi_key_env = 'MY'",
        "openai https://api.openai.com/v1 gpt-6-luna -",
    ),
    ("-m x --base-url http://f", "MY=my", "api_key_env = 'MY'", "generic http://f x my"),
];

#[test]
fn a_key_goes_only_to_its_own_host() {
    for (line, env, user, expected) in KEYS {
        assert_eq!(target(line, env, user, ""), *expected, "`{line}` `{env}` `{user}`");
    }
}

#[test]
fn providers_of_the_users_own() {
    let user = "[providers.work]\nbase_url = 'https://w.example/v1'\napi_key_env = 'W'\nmodel = 'big'\n\
                [providers.openai]\nbase_url = 'https://o.example/v1'";
    let cases = [
        ("--provider work", "W=w", "work https://w.example/v1 big w"),
        ("--provider work -m small", "W=w", "work https://w.example/v1 small w"),
        ("-m work/small", "W=w DEEPSEEK_API_KEY=ds", "work https://w.example/v1 small w"),
        (
            "--provider work",
            "W=w XSH_BASE_URL=http://e XSH_API_KEY=k",
            "work https://w.example/v1 big w",
        ),
        ("--provider work --base-url http://f", "W=w", "work http://f - -"),
        ("--provider openai -m x", "OPENAI_API_KEY=oa", "openai https://o.example/v1 x -"),
    ];
    for (line, env, expected) in cases {
        assert_eq!(target(line, env, user, ""), *expected, "`{line}` `{env}`");
    }
}

#[test]
fn a_projects_file_never_moves_the_endpoint() {
    let home = "deepseek https://api.deepseek.com";
    let cases = [
        ("base_url = 'http://evil'\nprovider = 'openai'", format!("{home} deepseek-flash ds")),
        ("api_key_env = 'OPENAI_API_KEY'", format!("{home} deepseek-flash ds")),
        ("model = 'gpt-6-sol'", format!("{home} gpt-6-sol ds")),
        ("model = 'openai/x'", format!("{home} openai/x ds")),
        ("model = 'deepseek/x'", format!("{home} x ds")),
    ];
    for (project, expected) in cases {
        assert_eq!(target("", BOTH, "", project), expected, "{project}");
    }
    let trusted = |line: &str, env: &str, user: &str, project: &str| {
        let config = resolved_as(Scope::Trusted, line, env, user, project).unwrap();
        let endpoint = config.endpoint.unwrap();
        let key = endpoint.key.map(|key| key.value.expose().to_owned());
        format!("{} {}", endpoint.base_url.value, key.as_deref().unwrap_or("-"))
    };
    let evil = "base_url = 'http://evil'\nprovider = 'openai'";
    for (line, env, user, project, expected) in [
        ("", "XSH_API_KEY=k OPENAI_API_KEY=oa", "", evil, "http://evil -"),
        ("", "XSH_API_KEY=k OPENAI_API_KEY=oa", "api_key_env = 'K'", evil, "http://evil -"),
        ("", "XSH_API_KEY=k", "", "provider = 'openai'", "https://api.openai.com/v1 -"),
        ("", "OPENAI_API_KEY=oa", "", "provider = 'openai'", "https://api.openai.com/v1 oa"),
        ("--base-url http://f", "XSH_API_KEY=k", "", evil, "http://f k"),
        ("--provider openai", "OPENAI_API_KEY=oa", "", evil, "https://api.openai.com/v1 oa"),
        ("", "XSH_BASE_URL=http://e XSH_API_KEY=k", "", evil, "http://e k"),
        (
            "",
            "OPENAI_API_KEY=oa",
            "base_url = 'http://u'",
            "provider = 'openai'",
            "https://api.openai.com/v1 oa",
        ),
    ] {
        assert_eq!(trusted(line, env, user, project), expected, "{line} {env} {user} {project}");
    }
    let switch = target("", BOTH, "provider = 'deepseek'", "model = 'openai/x'");
    assert_eq!(switch, format!("{home} openai/x ds"));
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let cases = [
        (
            "--provider depseek",
            "",
            "error: unknown provider `depseek`: flag --provider\nhelp: did you mean `deepseek`?",
        ),
        (
            "--provider azure",
            "",
            "error: provider azure has no usual endpoint\nhelp: give it with --base-url",
        ),
        ("--provider generic", "", "has no usual endpoint"),
        ("--base-url foo", "", "error: unusable base URL in flag --base-url: "),
        ("", "XSH_BASE_URL=nope", "error: unusable base URL in environment XSH_BASE_URL: "),
        (
            "",
            "DEEPSEEK_API_KEY=sk\u{e4}secret",
            "error: the key from environment DEEPSEEK_API_KEY cannot be sent: it contains a character that is not ASCII at character 3\nhelp: ",
        ),
    ];
    for (line, env, part) in cases {
        let error = resolved(line, env, "", "").unwrap_err();
        assert!(error.contains(part), "`{line}` `{env}`: {error}");
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn doubtful_uses_of_a_key_are_told() {
    let warnings = |line, env| resolved(line, env, "", "").unwrap().warnings;
    let exposed = warnings("--base-url http://gw.example -m x", "XSH_API_KEY=k");
    assert_eq!(exposed, ["the key goes to http://gw.example unencrypted; use https:// if you can"]);
    let held =
        warnings("--base-url https://f.example", "XSH_API_KEY=k XSH_BASE_URL=https://e.example");
    assert!(
        held.len() == 1 && held[0].starts_with("XSH_API_KEY is not sent to f.example"),
        "{held:?}"
    );
    assert!(warnings("--base-url http://127.0.0.1:1 -m x", "XSH_API_KEY=k").is_empty());
}

#[test]
fn what_is_missing_is_said_with_the_next_step() {
    let missing = |line, env| resolved(line, env, "", "").unwrap().ready().unwrap_err().to_string();
    let nothing = missing("", "");
    for part in
        ["no model to talk to", "DEEPSEEK_API_KEY", "ollama serve", "XSH_BASE_URL", "--demo"]
    {
        assert!(nothing.contains(part), "{nothing}");
    }
    assert!(
        missing("--provider deepseek", "")
            .contains("no key for deepseek: DEEPSEEK_API_KEY is not set")
    );
    assert!(missing("-m openai/x", "").contains("OPENAI_API_KEY is not set"));
    assert!(missing("--base-url http://gw/v1", "").contains("no model is chosen"));
    assert!(
        resolved("--provider deepseek --base-url http://gw -m x", "", "", "")
            .unwrap()
            .ready()
            .is_ok()
    );
}

/// The hosts that may see a key, by its value, in the property below.
fn may_see(key: &str, host: &str, env: &str) -> bool {
    match key {
        "ds" => host == "api.deepseek.com",
        "oa" => host == "api.openai.com" || (host == "gw" && env.contains("OPENAI_BASE_URL")),
        "or" => host == "openrouter.ai",
        "k" => host == "e" || !env.contains("XSH_BASE_URL"),
        "my" => host == "u",
        _ => false,
    }
}

/// Every other word of a list, by the bits of a number.
fn some_of(words: &[&str], bits: u8) -> String {
    let chosen = words.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1);
    chosen.map(|(_, word)| *word).collect::<Vec<_>>().join(" ")
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig {
        cases: 256,
        // Beside this file: the top level has its folders already.
        failure_persistence: Some(Box::new(
            proptest::test_runner::FileFailurePersistence::WithSource("regressions"),
        )),
        ..proptest::prelude::ProptestConfig::default()
    })]
    #[test]
    fn no_combination_gives_a_key_to_a_foreign_host(
        url in proptest::sample::select(vec!["", "--base-url http://evil", "--base-url https://api.openai.com/v1", "--base-url http://e:1"]),
        provider in proptest::sample::select(vec!["", "--provider deepseek", "--provider openai", "--provider mine"]),
        model in proptest::sample::select(vec!["", "-m x", "-m openai/x", "-m openrouter/a/b", "-m mine/x"]),
        bits: u8,
        user in proptest::sample::select(vec!["", "base_url = 'http://u'\napi_key_env = 'MY'", "provider = 'openai'", "provider = 'mine'"]),
    ) {
        let env = some_of(&[
            "DEEPSEEK_API_KEY=ds", "OPENAI_API_KEY=oa", "OPENROUTER_API_KEY=or", "XSH_API_KEY=k",
            "MY=my", "OPENAI_BASE_URL=http://gw/v1", "XSH_BASE_URL=http://e/v1",
        ], bits);
        let user = format!("{user}\n[providers.mine]\nbase_url = 'http://u'\napi_key_env = 'MY'");
        let project = "base_url = 'http://evil'\nprovider = 'openai'\nmodel = 'openai/y'";
        let line = format!("{url} {provider} {model}");
        for (scope, project) in [
            (Scope::Project, project),
            (Scope::Trusted, project),
            (Scope::Trusted, "base_url = 'http://evil'"),
            (Scope::Trusted, "provider = 'openrouter'"),
            (Scope::Trusted, "provider = 'mine'\nbase_url = 'http://evil'"),
        ] {
            let config = resolved_as(scope, &line, &env, &user, project).unwrap();
            if let Some(endpoint) = config.endpoint
                && let Some(key) = endpoint.key
            {
                let host = crate::config::endpoint::host(&endpoint.base_url.value).unwrap();
                let key = key.value.expose().to_owned();
                proptest::prop_assert!(host != "evil" || url.contains("evil"), "{key}: {line} {env} {user} {project}");
                proptest::prop_assert!(may_see(&key, &host, &env), "{key} to {host}: {line} {env} {user}");
            }
        }
    }
}
