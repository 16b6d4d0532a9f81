use super::super::profile::by_name;
use super::*;

const BASE: &str = "https://gateway.example/v1";

fn refusal(status: u16, message: &str) -> ProviderError {
    ProviderError { status: Some(status), ..ProviderError::new(ErrorKind::InvalidRequest, message) }
}

#[track_caller]
fn check(provider: &str, message: &str, expected: Option<Adjustment>) {
    let found = negotiate(&refusal(400, message), by_name(provider).unwrap(), BASE);
    assert_eq!(found, expected, "{provider}: {message}");
}

#[test]
fn refused_parameters_are_renamed_or_left_out() {
    use Adjustment::*;
    let cases = [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
          'max_completion_tokens' instead.",
            OutLimit(super::OutLimit::MaxCompletionTokens),
        ),
        (
            "max_completion_tokens: Extra inputs are not permitted",
            OutLimit(super::OutLimit::MaxTokens),
        ),
        ("Unrecognized request argument supplied: stream_options", Drop(Field::StreamOptions)),
        ("body.stream_options: Extra inputs are not permitted", Drop(Field::StreamOptions)),
        ("property 'stream_options' is unsupported", Drop(Field::StreamOptions)),
        ("Unknown name \"reasoning\": Cannot find field.", Drop(Field::Reasoning)),
        ("Unknown parameter: 'prompt_cache_key'.", Drop(Field::CacheKey)),
        ("body.tool_stream: Extra inputs are not permitted", Drop(Field::ToolStream)),
        ("reasoning_format is not supported with this model", Drop(Field::ReasoningFormat)),
        ("Tool choice: `tool_choice` none is not supported", Drop(Field::ToolChoice)),
        (
            "litellm.UnsupportedParamsError: x does not support parameters: ['reasoning_effort']",
            Drop(Field::ReasoningEffort),
        ),
        ("Invalid value for enable_thinking: parameter not supported", Drop(Field::EnableThinking)),
        (
            "body.messages.2.assistant.reasoning_content: Extra inputs are not permitted",
            Drop(Field::Replay),
        ),
        (
            "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : \
          property 'reasoning_content' is unsupported)]",
            Drop(Field::Replay),
        ),
        ("messages.3.tool.name: Extra inputs are not permitted", Drop(Field::ToolName)),
        (
            "messages.1.tool_calls.0.extra_content: Extra inputs are not permitted",
            Drop(Field::ExtraContent),
        ),
    ];
    for (message, expected) in cases {
        check("generic", message, Some(expected));
    }
}

#[test]
fn other_demands_are_met() {
    use Adjustment::*;
    let cases = [
        (
            "The reasoning_content in the thinking mode must be passed back to the API.",
            ReasoningEverywhere,
        ),
        (
            "thinking is enabled but reasoning_content is missing in assistant tool call message at \
          index 2",
            ReasoningEverywhere,
        ),
        (
            "Function tools with reasoning_effort are not supported for gpt-5.6 in \
          /v1/chat/completions. Please use /v1/responses instead.",
            NoEffortWithTools,
        ),
        (
            "Unsupported value: 'reasoning_effort' does not support 'max' with this model. Supported \
          values are: 'low', 'medium', and 'high'.",
            Levels(Names::UP_TO_HIGH),
        ),
        (
            "reasoning_effort must be one of `low`, `high`, `max`",
            Levels(Names::among(["low", "high", "max"])),
        ),
        (
            "Unsupported value: 'messages[0].role' does not support 'developer' with this model.",
            System(SystemRole::System),
        ),
        (
            "unknown variant `developer`, expected one of `system`, `user`: messages[0].role",
            System(SystemRole::System),
        ),
        ("System role not supported", System(SystemRole::User)),
        (
            "Conversation roles must alternate user/assistant/user/assistant/...",
            Turns(super::Turns::Alternate),
        ),
        ("Unexpected role 'user' after role 'tool'", Turns(super::Turns::NoUserAfterTool)),
        (
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got \
          assistant",
            Turns(super::Turns::NoUserAfterTool),
        ),
        ("Failed to initialize samplers: failed to parse grammar", Schemas(SchemaLevel::Bare)),
        (
            "Invalid JSON payload received. Unknown name \"$schema\" at 'tools[0].function_declarations\
          [0].parameters': Cannot find field.",
            Schemas(SchemaLevel::Bare),
        ),
        (
            "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
            Ids(IdRule::Mistral9),
        ),
        (
            "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum \
          length 40, but got a string with length 64 instead.",
            Ids(IdRule::Max40),
        ),
        (
            "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
            Ids(IdRule::Plain),
        ),
        ("Invalid value for 'content': expected a string, got null.", NullContent(false)),
        ("text content is empty", NullContent(true)),
        ("Function call is missing a thought_signature in functionCall parts.", Signatures),
    ];
    for (message, expected) in cases {
        check("generic", message, Some(expected));
    }
}

#[test]
fn what_is_not_about_something_optional_is_left_alone() {
    let cases = [
        "model not found",
        "registry.ollama.ai/library/gemma:2b does not support tools",
        "No endpoints found that support tool use",
        "Invalid 'messages[3]': tool_call_id c1 has no matching call",
        "temperature must be 1",
        "the thing you asked about is a matter of reasoning",
        "An assistant message with 'tool_calls' must be followed by tool messages",
        "",
    ];
    for message in cases {
        check("generic", message, None);
    }
    let field = "body.stream_options: Extra inputs are not permitted";
    for status in [401, 403, 429, 500, 503] {
        assert_eq!(negotiate(&refusal(status, field), by_name("generic").unwrap(), BASE), None);
    }
    let money = ProviderError { kind: ErrorKind::Billing, ..refusal(400, field) };
    assert_eq!(negotiate(&money, by_name("generic").unwrap(), BASE), None);
}

#[test]
fn a_template_that_fails_with_500_is_understood() {
    let row = by_name("llama.cpp").unwrap();
    let said = |text: &str| negotiate(&refusal(500, text), row, BASE);
    let turns = Some(Adjustment::Turns(Turns::Alternate));
    assert_eq!(said("Conversation roles must alternate user/assistant"), turns);
    assert_eq!(said("failed to parse grammar"), Some(Adjustment::Schemas(SchemaLevel::Bare)));
}

#[test]
fn a_missing_path_is_looked_for_below_v1_once() {
    let error = ProviderError { kind: ErrorKind::NotAnApi, ..refusal(404, "HTML instead") };
    let row = by_name("generic").unwrap();
    let cases = [
        ("http://localhost:9999", true),
        ("https://example.com/llm", true),
        ("https://v2.example.com", true),
        ("https://example.com/v1", false),
        ("https://example.com/api/paas/v4", false),
        ("https://example.com/v1beta/openai", false),
    ];
    for (url, tried) in cases {
        let expected = tried.then_some(Adjustment::BelowV1);
        assert_eq!(negotiate(&error, row, url), expected, "{url}");
    }
    let below = Profile { below_v1: true, ..*row };
    assert_eq!(negotiate(&error, &below, "http://localhost:9999"), None);
}
