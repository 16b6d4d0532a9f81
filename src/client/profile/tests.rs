use std::collections::BTreeSet;

use super::*;

#[test]
fn hosts_and_ports_find_their_row() {
    let cases = [
        ("https://api.deepseek.com/v1", None, "deepseek"),
        ("https://api.moonshot.cn/v1", None, "moonshot"),
        ("https://my-resource.openai.azure.com/openai/v1", None, "azure"),
        ("https://openai.azure.com/openai/v1", None, "generic"),
        ("https://evil-openai.azure.com.evil.example/", None, "generic"),
        ("https://api.deepseek.com.evil.example", None, "generic"),
        ("https://xapi.deepseek.com", None, "generic"),
        ("http://127.0.0.1:11434/v1", None, "ollama"),
        ("http://[::1]:1234/v1", None, "lmstudio"),
        ("http://10.0.0.1:11434/v1", None, "generic"),
        ("http://127.0.0.1:9999/v1", None, "generic"),
        ("http://127.0.0.1:9999/v1", Some("deepseek"), "deepseek"),
        ("http://127.0.0.1:9999/v1", Some("Kimi"), "moonshot"),
        ("http://127.0.0.1:9999/v1", Some("my own"), "generic"),
        ("nonsense", None, "generic"),
    ];
    for (url, provider, expected) in cases {
        assert_eq!(profile_for(url, provider).name, expected, "{url} {provider:?}");
    }
}

#[test]
fn the_table_is_sound() {
    let mut names = BTreeSet::new();
    let mut hosts = BTreeSet::new();
    for row in PROFILES.iter().chain([&GENERIC]) {
        let name = row.name;
        for name in std::iter::once(&row.name).chain(row.aliases) {
            assert!(names.insert(*name), "{name} twice");
            assert_eq!(by_name(name).unwrap().name, row.name);
        }
        assert!(row.hosts.iter().all(|host| hosts.insert(*host)), "{name}: a host twice");
        if let Some(url) = row.base_url {
            assert_eq!(profile_for(url, None).name, name, "the row's own endpoint leads to it");
            assert!(
                !url.ends_with('/') && (url.starts_with("https://") || row.is_local()),
                "{name}"
            );
        }
        for (field, json) in row.extra_body {
            assert!(serde_json::from_str::<serde_json::Value>(json).is_ok(), "{name} {field}");
        }
        assert!(row.levels.is_sorted_by_key(|(level, _)| *level), "{name}");
        assert!(!row.automatic || row.base_url.is_some() || name == "generic", "{name}");
        let is_maker = row.model_ids == ModelIds::Plain && row.automatic && row.name != "kimi-code";
        if let Some(model) = row.default_model.filter(|_| is_maker) {
            assert!(models::find(name, model).is_some(), "{name}: {model} is not in the table");
        }
    }
}

#[test]
fn rows_that_earlier_faults_were_about() {
    let row = |name| by_name(name).unwrap();
    assert_eq!(row("openai").out_limit.name(), "max_completion_tokens");
    assert_eq!(row("ollama").out_limit.name(), "max_tokens");
    assert_eq!(row("deepseek").replay, Replay::Always);
    assert_eq!(row("kimi-code").replay, Replay::Always);
    assert_eq!(row("openrouter").replay, Replay::Details);
    assert_eq!(row("mistral").id_rule, IdRule::Mistral9);
    assert_eq!(
        (row("mistral").turns, row("mistral").replay),
        (Turns::NoUserAfterTool, Replay::Parts)
    );
    assert!(!row("mistral").include_usage);
    assert!(row("gemini").tool_name);
    assert_eq!(row("azure").auth, Auth::ApiKeyHeader);
}

#[test]
fn what_models_cost_and_hold() {
    let flash = models::find("deepseek", "DeepSeek-Flash").unwrap();
    assert_eq!(flash.window, 1_000_000);
    assert_eq!(models::find("zhipu", "glm-4.7").unwrap().window, 205_000);
    assert_eq!(models::find("generic", "deepseek-flash"), None);
    let usage = crate::message::Usage {
        prompt: 2_000_000,
        cached: 1_000_000,
        completion: 500_000,
        ..Default::default()
    };
    let cost = flash.price.cost(&usage);
    assert!((cost - (0.3 + 0.006 + 0.6)).abs() < 1e-9, "{cost}");
    let odd = crate::message::Usage { prompt: 1, cached: 5, ..Default::default() };
    assert!(flash.price.cost(&odd) < 1e-6, "more cached than sent");
}
