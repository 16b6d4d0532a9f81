use serde_json::{Value, json};

use super::super::profile::by_name;
use super::*;

fn reply() -> Reply {
    let call = |id: &str, signature: Option<Value>| ToolCall {
        id: id.to_owned(),
        name: "read".to_owned(),
        arguments: "{}".to_owned(),
        extra_content: signature,
        incomplete: false,
    };
    Reply {
        reasoning: "hm".to_owned(),
        reasoning_field: Some("reasoning_content".to_owned()),
        tool_calls: vec![call("call_1", None), call("call_2", None)],
        ..Reply::default()
    }
}

fn encoded(provider: &str, reply: Reply) -> Value {
    encoded_by(by_name(provider).unwrap(), reply)
}

fn encoded_by(profile: &Profile, reply: Reply) -> Value {
    let mut bytes = Vec::new();
    encode(&Message::Assistant(Box::new(reply)), profile, &mut bytes);
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn reasoning_goes_back_as_each_provider_wants_it() {
    let details = json!([{"type": "reasoning.encrypted", "data": "abc", "index": 0}]);
    let fields = |provider: &str, field: Option<&str>, details: Option<Value>| {
        let mut reply = reply();
        reply.reasoning_field = field.map(str::to_owned);
        reply.reasoning_details = details;
        if field.is_none() {
            reply.reasoning.clear();
        }
        let message = encoded(provider, reply);
        ["reasoning_content", "reasoning", "reasoning_details"]
            .map(|name| message.get(name).map_or("-".to_owned(), Value::to_string))
            .join(" ")
    };
    let some = |name| Some(name);
    let encrypted = details.to_string();
    let cases = [
        ("deepseek", some("reasoning_content"), r#""hm" - -"#.to_owned()),
        ("deepseek", None, r#""" - -"#.to_owned()),
        ("moonshot", some("think"), r#""hm" - -"#.to_owned()),
        ("zai", some("reasoning_content"), r#""hm" - -"#.to_owned()),
        ("zai", None, "- - -".to_owned()),
        ("groq", some("reasoning"), r#"- "hm" -"#.to_owned()),
        ("vllm", some("reasoning"), r#"- "hm" -"#.to_owned()),
        ("openai", some("reasoning_content"), "- - -".to_owned()),
        ("xai", some("reasoning_content"), "- - -".to_owned()),
        ("mistral", some("reasoning_content"), "- - -".to_owned()),
        ("openrouter", some("reasoning"), format!(r#"- "hm" {encrypted}"#)),
        ("openrouter", some("reasoning_details"), format!("- - {encrypted}")),
        ("minimax", some("reasoning_content"), format!(r#""hm" - {encrypted}"#)),
    ];
    for (provider, field, expected) in cases {
        assert_eq!(
            fields(provider, field, Some(details.clone())),
            expected,
            "{provider} {field:?}"
        );
    }
}

#[test]
fn reasoning_that_came_as_a_part_goes_back_as_one() {
    let mut with_part = Reply { reasoning_field: Some("content".to_owned()), ..reply() };
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    assert_eq!(encoded("mistral", with_part.clone())["content"], json!([thinking]));
    with_part.content = "So:".to_owned();
    let text = json!({"type": "text", "text": "So:"});
    assert_eq!(encoded("mistral", with_part.clone())["content"], json!([thinking, text]));
    assert_eq!(encoded("generic", with_part)["content"], "So:");
}

#[test]
fn reasoning_split_off_the_text_goes_back_where_it_is_wanted() {
    let tagged =
        Reply { reasoning_field: Some("think".to_owned()), content: "Hello".to_owned(), ..reply() };
    let generic = by_name("generic").unwrap();
    assert_eq!(encoded_by(generic, tagged.clone())["content"], "Hello");
    let wanted = Profile { think_back: true, ..*generic };
    assert_eq!(encoded_by(&wanted, tagged)["content"], "<think>hm</think>Hello");
}

#[test]
fn signatures_go_back_or_are_made_up_where_they_are_demanded() {
    let signature = json!({"google": {"thought_signature": "S1"}});
    let passing = json!({"google": {"thought_signature": "skip_thought_signature_validator"}});
    let mut own = reply();
    own.tool_calls[0].extra_content = Some(signature.clone());
    let extra = |message: &Value| {
        [0, 1].map(|i| message["tool_calls"][i].get("extra_content").cloned().unwrap_or_default())
    };
    assert_eq!(extra(&encoded("gemini", own.clone())), [signature.clone(), Value::Null]);
    assert_eq!(extra(&encoded("gemini", reply())), [passing, Value::Null]);
    assert_eq!(extra(&encoded("litellm", own.clone())), [signature, Value::Null]);
    let mut strict = *by_name("generic").unwrap();
    strict.without.insert(Field::ExtraContent);
    assert_eq!(extra(&encoded_by(&strict, own)), [Value::Null, Value::Null]);
}

#[test]
fn ids_fit_their_rule_and_stay_together() {
    let long = format!("fc|{}", "x".repeat(450));
    for (provider, most) in [("mistral", 9), ("openai", 40), ("anthropic", 64), ("generic", 64)] {
        let profile = by_name(provider).unwrap();
        for id in [long.as_str(), "functions.read:0", "call_1", "日本", ""] {
            let mut with_id = reply();
            with_id.tool_calls.truncate(1);
            id.clone_into(&mut with_id.tool_calls[0].id);
            let sent = encoded(provider, with_id)["tool_calls"][0]["id"].clone();
            let mut bytes = Vec::new();
            let (call_id, name) = (id.to_owned(), "read".to_owned());
            let content = "ok".to_owned();
            encode(&Message::Tool { call_id, name, content }, profile, &mut bytes);
            let answered: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(answered["tool_call_id"], sent, "{provider} {id}");
            let sent = sent.as_str().unwrap();
            assert!(!sent.is_empty() && sent.len() <= most, "{provider} {sent}");
            assert_eq!(answered.get("name").is_some(), profile.tool_name, "{provider}");
        }
    }
}

#[test]
fn empty_and_trailing_text_as_each_provider_takes_it() {
    assert_eq!(encoded("deepseek", reply())["content"], "");
    let null = Profile { null_content: true, ..*by_name("generic").unwrap() };
    assert_eq!(encoded_by(&null, reply())["content"], Value::Null);
    let trailing = Reply { content: "Done. \n".to_owned(), ..reply() };
    assert_eq!(encoded("anthropic", trailing.clone())["content"], "Done.");
    assert_eq!(encoded("generic", trailing)["content"], "Done. \n");
}

#[test]
fn further_fields_in_their_order_of_strength() {
    let user = |json: Value| json.as_object().cloned().unwrap();
    let extras = |profile: &Profile, user: &Map<String, Value>| {
        let effort = [("reasoning_effort", json!("high"))];
        extra(profile, &Extras { effort: &effort, session: "S", user })
    };
    let none = Map::new();
    let generic = by_name("generic").unwrap();
    let usage = r#""stream_options":{"include_usage":true}"#;
    assert_eq!(extras(generic, &none), format!(r#"{usage},"reasoning_effort":"high""#));
    assert_eq!(
        extras(by_name("openai").unwrap(), &none),
        format!(r#"{usage},"reasoning_effort":"high","prompt_cache_key":"S""#)
    );
    assert_eq!(extras(by_name("mistral").unwrap(), &none), r#""reasoning_effort":"high""#);
    let mut strict = *generic;
    strict.without.insert(Field::StreamOptions);
    strict.without.insert(Field::ReasoningEffort);
    assert_eq!(extras(&strict, &none), "");
    // The user's word is the last, also about what was left out.
    let own = user(json!({"reasoning_effort": "odd", "top_k": 5, "max_tokens": 9}));
    assert_eq!(extras(&strict, &own), r#""max_tokens":9,"reasoning_effort":"odd","top_k":5"#);
    let renamed = extras(by_name("openai").unwrap(), &user(json!({"max_tokens": 9})));
    assert!(renamed.ends_with(r#""max_completion_tokens":9"#), "{renamed}");
}

#[test]
fn a_body_is_what_it_is_made_of() {
    let envelope = Envelope {
        model: "models/gemini-x".to_owned(),
        tools: "[1]".to_owned(),
        model_prefix: "models/",
        no_calls: true,
        ..Envelope::default()
    };
    let body = |envelope: &Envelope, kind| String::from_utf8(envelope.body(b"{}", kind)).unwrap();
    assert_eq!(
        body(&envelope, Kind::Step),
        r#"{"model":"gemini-x","stream":true,"tools":[1],"messages":[{}]}"#
    );
    assert!(body(&envelope, Kind::Summary).contains(r#""tool_choice":"none""#));
    let without = Envelope { no_calls: false, model_prefix: "", ..envelope };
    assert!(!body(&without, Kind::Summary).contains("tool_choice"));
    assert!(body(&without, Kind::Step).contains("models/gemini-x"));
}
