use proptest::prelude::*;
use serde_json::Value;

use super::*;

const TOOLS: [&str; 3] = ["read", "shell", "write"];
const WHOLE: &str = r#"<tool_call>{"name":"read","arguments":{"path":"a.txt"}}</tool_call>"#;

/// The calls found, as `name arguments`, and the text before them.
#[track_caller]
fn calls(content: &str) -> (String, Vec<String>) {
    match find(content, &TOOLS) {
        Found::Calls { rest, calls } => {
            let said = calls.iter().map(|call| format!("{} {}", call.name, call.arguments));
            (rest, said.collect())
        }
        other @ (Found::Nothing | Found::Broken) => panic!("{other:?} in {content}"),
    }
}

#[test]
fn whole_calls_of_known_tools_are_found() {
    let a = r#"read {"path":"a.txt"}"#;
    let ls = r#"shell {"command":"ls"}"#;
    let cases: &[(&str, &[&str])] = &[
        (WHOLE, &[a]),
        (
            "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\":\"a.txt\"}}\n</tool_call>\n",
            &[a],
        ),
        (r#"<tool_call>{"name":"read","arguments":"{\"path\":\"a.txt\"}"}</tool_call>"#, &[a]),
        (r#"<tool_call>[{"name":"read","parameters":{"path":"a.txt"}}]</tool_call>"#, &[a]),
        (
            "<tool_call>\n<function=read>\n<parameter=path>\na.txt\n</parameter>\n</function>\n</tool_call>",
            &[a],
        ),
        ("<function=read><parameter=path>a.txt</parameter></function>", &[a]),
        (r#"<function=read>{"path":"a.txt"}</function>"#, &[a]),
        ("<function=read>\n</function>", &["read {}"]),
        (
            "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>",
            &[a],
        ),
        (r#"<invoke name="read"><parameter name="path">a.txt</parameter></invoke>"#, &[a]),
        (
            "<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\" string=\"true\">a.txt</parameter>\n\
             </invoke>\n<invoke name=\"shell\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</function_calls>",
            &[a, ls],
        ),
        (
            "<minimax:tool_call>\n<invoke name=\"shell\">\n<parameter name=\"command\">ls</parameter>\n</invoke>\n</minimax:tool_call>",
            &[ls],
        ),
        (r#"[TOOL_CALLS][{"name":"read","arguments":{"path":"a.txt"}}]"#, &[a]),
        (r#"[TOOL_CALLS]read[ARGS]{"path":"a.txt"}[TOOL_CALLS]shell{"command":"ls"}"#, &[a, ls]),
        (
            r#"<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"a.txt"}<|call|>"#,
            &[a],
        ),
        (
            r#"<|start|>assistant<|channel|>commentary to=functions.read<|message|>{"path":"a.txt"}"#,
            &[a],
        ),
        ("```json\n{\"name\": \"read\", \"arguments\": {\"path\":\"a.txt\"}}\n```", &[a]),
        (
            "```\n{\"tool\":\"shell\",\"input\":{\"command\":\"ls\"},\"id\":\"x\",\"type\":\"function\"}\n```\n",
            &[ls],
        ),
        (r#"{"name": "shell", "parameters": {"command":"ls"}}"#, &[ls]),
    ];
    for (content, expected) in cases {
        let (rest, found) = calls(content);
        assert_eq!((rest.as_str(), &found[..]), ("", &expected.map_owned()[..]), "{content}");
    }
    let (rest, found) = calls(&format!("I read it:\n\n{WHOLE}\n{WHOLE}"));
    assert_eq!((rest.as_str(), found.len()), ("I read it:", 2));
}

trait MapOwned {
    fn map_owned(&self) -> Vec<String>;
}

impl MapOwned for &[&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|&text| text.to_owned()).collect()
    }
}

#[test]
fn a_value_may_hold_anything_but_its_own_end() {
    let value = "\n  <parameter=x>1</parameter> ``` <tool_call> \"\\\n";
    for content in [
        format!("<function=write><parameter=content>\n{value}\n</parameter></function>"),
        format!("<invoke name=\"write\"><parameter name=\"content\">{value}</parameter></invoke>"),
    ] {
        let Found::Calls { calls, .. } = find(&content, &TOOLS) else { panic!("{content}") };
        let arguments: Value = serde_json::from_str(&calls[0].arguments).expect("an object");
        assert_eq!(arguments["content"].as_str().map(str::trim), Some(value.trim()), "{content}");
    }
}

#[test]
fn what_was_meant_as_a_call_but_cannot_run_is_broken() {
    let cases = [
        "<tool_call>",
        r#"<tool_call>{"name":"read","arguments":{"path":"a.t"#,
        r#"<tool_call>{"name":"read","arguments":{"path":"a.txt"}}"#,
        r#"<tool_call>{"name":"read","arguments":{"path":"a.txt"}</tool_call>"#,
        r#"<tool_call>{"name":"read","arguments":"a.txt"}</tool_call>"#,
        r#"<tool_call>{"name":"read","arguments":["a.txt"]}</tool_call>"#,
        r#"<tool_call>{"name":"fetch","arguments":{}}</tool_call>"#,
        r#"<tool_call>{"arguments":{}}</tool_call>"#,
        "<tool_call></tool_call>",
        "<function=read><parameter=path>a.t",
        "<function=read><parameter=path>a.txt</function>",
        "<function=read",
        r#"<invoke name="read"><parameter name="path">a.txt</parameter>"#,
        r#"<function_calls><invoke name="fetch"></invoke></function_calls>"#,
        "<function_calls>",
        r#"[TOOL_CALLS][{"name":"read","#,
        r#"<|channel|>commentary to=functions.read <|message|>{"path"#,
        "<|channel|>commentary to=functions.read",
        "<tool_call>read\n<arg_key>path</arg_key>",
    ];
    for content in cases {
        assert_eq!(find(content, &TOOLS), Found::Broken, "{content}");
        assert_eq!(find(&format!("Now I read.\n{content}"), &TOOLS), Found::Broken, "{content}");
    }
    let first = r#"<tool_call>{"name":"fetch","arguments":{}}</tool_call>"#;
    for content in [
        format!("{WHOLE}\n{first}"),
        format!("First\n{WHOLE}\nthen\n{WHOLE}"),
        format!("I read it: {WHOLE}"),
        format!("{WHOLE}\n<tool_response>\nold text\n</tool_response>\nIt says so."),
        format!("    {WHOLE}"),
    ] {
        assert_eq!(find(&content, &TOOLS), Found::Broken, "{content}");
    }
}

#[test]
fn words_about_calls_are_left_alone() {
    let cases = [
        "",
        "An answer.",
        "A list <b>in HTML</b> and [brackets].",
        "Use `<tool_call>` for it.",
        "The tag is called <tool_call>",
        "<tool_call> opens a call, </tool_call> closes it.",
        "<function=name> begins one.",
        "<function_calls> holds them.",
        "[TOOL_CALLS] is a token of Mistral.",
        "<|channel|> is a token of gpt-oss.",
        "<invoke name=…> is another.",
        "<tool_call>{\"name\": <the name>}</tool_call>\nis what it looks like.",
        "{\"name\": \"read\"}",
        "{\"name\": \"xsh\", \"arguments\": {}}",
        "```json\n{\"name\": \"read\", \"arguments\": {}, \"version\": \"1\"}\n```",
        "```json\n{\"name\": \"read\", \"arguments\": {}}\n```\nis such a call.",
        "```python\n{\"name\": \"read\", \"arguments\": {}}\n```",
    ];
    for content in cases {
        assert_eq!(find(content, &TOOLS), Found::Nothing, "{content}");
    }
    for content in [
        format!("```\n{WHOLE}\n```"),
        format!("So it is written:\n\n```xml\n{WHOLE}\n```\n\nThat is all."),
        format!("So it is written:\n~~~~\n~~~\n{WHOLE}\n"),
        format!("Write `{WHOLE}`"),
        format!("Write \"{WHOLE}\""),
        format!("Write\n{WHOLE}\nand wait."),
    ] {
        assert_eq!(find(&content, &TOOLS), Found::Nothing, "{content}");
    }
}

#[test]
fn a_code_block_before_the_call_does_not_hide_it() {
    let (rest, found) = calls(&format!("```\nx <tool_call>\n```\n{WHOLE}"));
    assert_eq!((rest.as_str(), found.len()), ("```\nx <tool_call>\n```", 1));
}

#[test]
fn a_reply_keeps_its_own_words() {
    let content = format!("I read.\n{WHOLE}");
    let mut reply = Reply { content: content.clone(), ..Reply::default() };
    let Found::Calls { rest, calls } = find(&content, &TOOLS) else { panic!() };
    take_over(&mut reply, rest, calls, "call_1_2_");
    assert_eq!((reply.content.as_str(), reply.raw_content), ("I read.", Some(content)));
    assert_eq!(
        (&*reply.tool_calls[0].id, reply.finish_reason),
        ("call_1_2_1", FinishReason::ToolCalls)
    );
}

/// What a screen sees of a text that comes in these pieces: at once, and at the end.
fn shown(pieces: &[&str]) -> (String, String) {
    let mut hold = Hold::default();
    let now = pieces.iter().map(|piece| hold.push(piece)).collect();
    (now, hold.finish())
}

#[test]
fn only_what_could_become_a_call_is_held_back() {
    let cases: &[(&[&str], &str, &str)] = &[
        (&["An", " answer", ".\n"], "An answer.\n", ""),
        (&["a <tool_call>\n"], "a <tool_call>\n", ""),
        (&["Look:\n<tool", "_call>{\n", "}"], "Look:\n", "<tool_call>{\n}"),
        (&["<to", "p>"], "<top>", ""),
        (&["  ", " x"], "   x", ""),
        (
            &["```\n", "<tool_call>\n", "```\n", "<tool_call>"],
            "```\n<tool_call>\n```\n",
            "<tool_call>",
        ),
        (&["`", "``", "\n<tool_call>"], "```\n<tool_call>", ""),
        (&["\n\n<"], "\n\n", "<"),
    ];
    for (pieces, now, held) in cases {
        assert_eq!(shown(pieces), ((*now).to_owned(), (*held).to_owned()), "{pieces:?}");
    }
}

/// Texts that are full of the parts of calls.
fn hostile() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "<tool_call>",
        "</tool_call>",
        "<function=read>",
        "</function>",
        "<parameter=path>",
        "</parameter>",
        "<invoke name=\"read\">",
        "<parameter name=\"path\">",
        "</invoke>",
        "<function_calls>",
        "</function_calls>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "<|channel|>",
        " to=functions.read",
        "<|message|>",
        "<|start|>assistant",
        "{\"path\":\"a\"}",
        "{\"name\":\"read\",\"arguments\":",
        "{",
        "}",
        "[",
        "\"",
        "`",
        "```\n",
        "\n",
        " ",
        "read",
        "<arg_key>",
        "</arg_key>",
        "<arg_value>",
        "那🌍",
        "\u{0}",
        "<",
        "\t",
        "    ",
    ]);
    prop::collection::vec(parts, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in hostile(), noise in any::<String>()) {
        for content in [text.clone(), format!("{noise}\n{text}"), format!("{text}{noise}")] {
            if let Found::Calls { calls, .. } = find(&content, &TOOLS) {
                prop_assert!(!calls.is_empty());
                for call in calls {
                    let arguments: Value = serde_json::from_str(&call.arguments).expect("JSON");
                    prop_assert!(arguments.is_object() && TOOLS.contains(&&*call.name));
                }
            }
        }
    }

    #[test]
    fn a_text_without_an_opener_holds_nothing(text in "[^<\\[{`]{0,200}") {
        prop_assert_eq!(find(&text, &TOOLS), Found::Nothing);
        prop_assert_eq!(find(&format!("x{text}</tool_call>{{}}"), &TOOLS), Found::Nothing);
    }

    /// A call is found whatever words stand before it, and nothing else is ever cut off.
    #[test]
    fn a_call_behind_words_is_found(words in "[a-zA-Z那🌍.,:! \n]{0,60}") {
        let Found::Calls { rest, .. } = find(&format!("{words}\n{WHOLE}\n"), &TOOLS) else {
            return Err(TestCaseError::fail("not found"));
        };
        prop_assert_eq!(rest, words.trim_end());
    }

    #[test]
    fn nothing_of_a_text_is_lost_on_the_way_to_the_screen(
        text in hostile(),
        cuts in prop::collection::vec(1_usize..8, 1..40),
    ) {
        let mut hold = Hold::default();
        let mut seen = String::new();
        let (mut chars, mut cuts) = (text.chars().peekable(), cuts.into_iter().cycle());
        while chars.peek().is_some() {
            let piece: String = chars.by_ref().take(cuts.next().unwrap_or(1)).collect();
            seen.push_str(&hold.push(&piece));
        }
        prop_assert_eq!(seen + &hold.finish(), text);
    }
}
