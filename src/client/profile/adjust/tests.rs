use super::super::by_name;
use super::*;

fn of(provider: &str, model: &str) -> Profile {
    effective(by_name(provider).unwrap(), model, &[])
}

#[test]
fn families_want_the_same_wherever_they_are_served() {
    assert_eq!(of("generic", "org/DeepSeek-V4-Pro").replay, Replay::Always);
    assert_eq!(of("vllm", "moonshotai/Kimi-K3").replay, Replay::Always);
    assert_eq!(of("together", "mistralai/Mistral-Small").id_rule, IdRule::Mistral9);
    assert_eq!(of("llama.cpp", "magistral-small").turns, Turns::NoUserAfterTool);
    assert!(of("litellm", "gemini-4-argon").tool_name);
    assert_eq!(of("litellm", "gemini-4-argon").schemas, SchemaLevel::Bare);
    assert_eq!(of("generic", "claude-haiku").id_rule, IdRule::Plain);
    assert_eq!(of("fireworks", "gpt-oss-120b").only_levels, Names::UP_TO_HIGH);
    assert!(of("ollama", "minimax-m2:latest").think_back);
    for model in ["qwen3.8-27b", "glm-5.3", "llama-3.3", "my-gemini-like"] {
        assert_eq!(of("generic", model), *by_name("generic").unwrap(), "{model}");
    }
}

#[test]
fn a_rows_own_rule_is_stronger_than_a_familys_wish() {
    assert_eq!(of("openrouter", "moonshotai/kimi-k3").replay, Replay::Details);
    assert_eq!(of("moonshot", "kimi-k3"), *by_name("moonshot").unwrap());
    assert_eq!(of("mistral", "devstral-2512"), *by_name("mistral").unwrap());
    assert_eq!(of("cerebras", "gpt-oss-120b"), *by_name("cerebras").unwrap());
}

#[test]
fn what_was_learned_is_stronger_than_both() {
    let learned = [
        Adjustment::Drop(Field::Replay),
        Adjustment::Drop(Field::StreamOptions),
        Adjustment::Turns(Turns::Alternate),
        Adjustment::Turns(Turns::NoUserAfterTool),
        Adjustment::BelowV1,
    ];
    let profile = effective(by_name("deepseek").unwrap(), "deepseek-flash", &learned);
    assert_eq!(profile.replay, Replay::Never);
    assert!(!profile.sends(Field::StreamOptions) && profile.sends(Field::ToolChoice));
    assert_eq!(profile.turns, Turns::Alternate, "a demand is not taken back by a weaker one");
    assert_eq!(profile.path(), "/v1/chat/completions");
}

#[test]
fn family_members_understand_each_other() {
    let cases = [
        ("kimi-k3", "moonshotai/Kimi-K2.6", true),
        ("glm-5.3", "glm-4.7", true),
        ("gpt-6-sol", "gpt-6-sol", true),
        ("gpt-6-sol", "gpt-6-luna", false),
        ("kimi-k3", "glm-5.3", false),
    ];
    for (a, b, same) in cases {
        assert_eq!(same_family(a, b), same, "{a} {b}");
    }
}

#[test]
fn every_change_survives_its_file_format_and_says_what_it_is() {
    let changes = [
        Adjustment::BelowV1,
        Adjustment::Drop(Field::StreamOptions),
        Adjustment::OutLimit(OutLimit::MaxCompletionTokens),
        Adjustment::Levels(Names::UP_TO_HIGH),
        Adjustment::NoEffortWithTools,
        Adjustment::System(SystemRole::User),
        Adjustment::ReasoningEverywhere,
        Adjustment::ThinkBack,
        Adjustment::Signatures,
        Adjustment::ToolNames,
        Adjustment::Ids(IdRule::Mistral9),
        Adjustment::Turns(Turns::Alternate),
        Adjustment::NullContent(true),
        Adjustment::NullContent(false),
        Adjustment::Schemas(SchemaLevel::Bare),
    ];
    for change in changes {
        let text = serde_json::to_string(&change).unwrap();
        assert_eq!(serde_json::from_str::<Adjustment>(&text).unwrap(), change, "{text}");
        assert!(change.describe().len() > 8, "{change:?}");
    }
    assert_eq!(serde_json::to_string(&changes[1]).unwrap(), r#"{"drop":"stream_options"}"#);
}
