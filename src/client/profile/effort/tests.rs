use super::super::by_name;
use super::*;

fn check(provider: &str, model: &str, effort: Option<Effort>, expected: &str) {
    let fields = fields(by_name(provider).unwrap(), model, effort);
    let shown: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(shown.join(" "), expected, "{provider} {model} {effort:?}");
}

#[test]
fn levels_in_each_providers_own_words() {
    use Effort::{High, Low, Max, Medium, Off};
    let cases = [
        ("generic", None, ""),
        ("generic", Some(Off), r#"reasoning_effort="none""#),
        ("generic", Some(Max), r#"reasoning_effort="max""#),
        ("deepseek", None, ""),
        ("deepseek", Some(Off), r#"thinking={"type":"disabled"}"#),
        ("deepseek", Some(Medium), r#"thinking={"type":"enabled"} reasoning_effort="high""#),
        ("moonshot", Some(Off), r#"reasoning_effort="low""#),
        ("moonshot", Some(Medium), r#"reasoning_effort="high""#),
        ("zai", Some(Low), r#"reasoning_effort="low""#),
        ("zai", Some(Off), r#"thinking={"type":"disabled"}"#),
        ("dashscope", Some(Off), "enable_thinking=false"),
        ("dashscope", Some(High), r#"enable_thinking=true reasoning_effort="xhigh""#),
        ("minimax", Some(High), r#"thinking={"type":"adaptive"}"#),
        ("minimax", Some(Off), r#"thinking={"type":"disabled"}"#),
        ("openrouter", Some(Off), r#"reasoning={"enabled":false}"#),
        ("openrouter", Some(High), r#"reasoning={"effort":"high"}"#),
        ("mistral", Some(Low), r#"reasoning_effort="none""#),
        ("mistral", Some(Medium), r#"reasoning_effort="high""#),
        ("xai", Some(Max), r#"reasoning_effort="xhigh""#),
        ("anthropic", Some(High), ""),
    ];
    for (provider, effort, expected) in cases {
        check(provider, "any", effort, expected);
    }
}

#[test]
fn what_openai_demands_beside_tools() {
    let none = r#"reasoning_effort="none""#;
    for (model, unset, high) in [
        ("gpt-6-sol", none, none),
        ("gpt-5.6-luna", none, none),
        ("gpt-5.5", "", ""),
        ("gpt-5.4-mini", none, none),
        ("gpt-5.4", "", ""),
        ("gpt-5-mini", "", r#"reasoning_effort="high""#),
    ] {
        check("openai", model, None, unset);
        check("azure", model, Some(Effort::High), high);
    }
    check("openrouter", "gpt-6-sol", None, "");
}

#[test]
fn names_are_those_of_the_flag() {
    for level in Effort::value_variants() {
        assert_eq!(Effort::from_str(level.name(), false), Ok(*level));
    }
}
