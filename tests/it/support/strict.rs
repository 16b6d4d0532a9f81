//! What a strict provider refuses: one pure function from a request body to its faults.
//!
//! Each rule is one that some real chat-completions server enforces with a 400. A client whose
//! histories pass all of them is accepted everywhere.

use std::collections::BTreeSet;

use serde_json::Value;

const PARAMETERS: &[&str] = &[
    "model",
    "messages",
    "tools",
    "tool_choice",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
    "parallel_tool_calls",
    "prompt_cache_key",
    "response_format",
    "temperature",
    "top_p",
];
const MAX_ID: usize = 64;

/// Every fault of a request body, in words; empty for a body that a strict provider accepts.
pub fn faults(body: &Value) -> Vec<String> {
    check(body, Checker::default())
}

/// The faults of a body that may have further fields, and parts in an assistant's content.
pub fn structural_faults(body: &Value) -> Vec<String> {
    check(body, Checker { lenient: true, ..Checker::default() })
}

fn check(body: &Value, mut checker: Checker) -> Vec<String> {
    checker.parameters(body);
    checker.tools(body);
    checker.messages(body);
    checker.faults
}

/// The keys a message of this role may have; `None` for a role that does not exist.
fn message_keys(role: &str) -> Option<&'static [&'static str]> {
    match role {
        "system" | "developer" | "user" => Some(&["role", "content", "name"]),
        "assistant" => Some(&[
            "role",
            "content",
            "tool_calls",
            "reasoning_content",
            "reasoning",
            "reasoning_details",
        ]),
        "tool" => Some(&["role", "content", "tool_call_id", "name"]),
        _ => None,
    }
}

#[derive(Default)]
struct Checker {
    faults: Vec<String>,
    lenient: bool,
    /// Ids of the calls of the latest assistant message that have no result yet.
    open: Vec<String>,
}

impl Checker {
    fn fault(&mut self, text: impl Into<String>) {
        self.faults.push(text.into());
    }

    fn parameters(&mut self, body: &Value) {
        let Some(object) = body.as_object() else {
            return self.fault("the body is not a JSON object");
        };
        let known = |key: &&String| self.lenient || PARAMETERS.contains(&key.as_str());
        let unknown: Vec<&String> = object.keys().filter(|key| !known(key)).collect();
        for key in unknown {
            self.fault(format!("unknown parameter `{key}`"));
        }
        if text(&body["model"]).is_empty() {
            self.fault("`model` is missing or empty");
        }
        if body.get("tools").is_none() && body.get("tool_choice").is_some() {
            self.fault("`tool_choice` without `tools`");
        }
    }

    fn tools(&mut self, body: &Value) {
        let Some(tools) = body.get("tools") else { return };
        let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
            return self.fault("`tools` is not an array or empty");
        };
        let mut names = BTreeSet::new();
        for tool in tools {
            let function = &tool["function"];
            let name = text(&function["name"]);
            if tool["type"] != "function" || !is_tool_name(name) {
                self.fault(format!("tool `{name}` has no type `function` or no valid name"));
            }
            if function["parameters"]["type"] != "object" {
                self.fault(format!("the parameters of tool `{name}` are not an object schema"));
            }
            if !names.insert(name) {
                self.fault(format!("tool `{name}` is listed twice"));
            }
        }
    }

    fn messages(&mut self, body: &Value) {
        let Some(messages) = body["messages"].as_array().filter(|list| !list.is_empty()) else {
            return self.fault("`messages` is missing or empty");
        };
        for (index, message) in messages.iter().enumerate() {
            self.message(index, message);
        }
        self.close_block("at the end");
        let last = messages.last().map_or("", |message| text(&message["role"]));
        if !matches!(last, "user" | "tool") {
            self.fault(format!("the last message is of role `{last}`, not user or tool"));
        }
    }

    fn message(&mut self, index: usize, message: &Value) {
        let role = text(&message["role"]);
        let Some(keys) = message_keys(role) else {
            return self.fault(format!("messages[{index}]: unknown role `{role}`"));
        };
        for key in message.as_object().into_iter().flat_map(|object| object.keys()) {
            if !self.lenient && !keys.contains(&key.as_str()) {
                self.fault(format!("messages[{index}]: unknown field `{key}`"));
            }
        }
        if role != "tool" {
            self.close_block(&format!("before messages[{index}]"));
        }
        match role {
            "assistant" => self.assistant(index, message),
            "tool" => self.tool_result(index, message),
            _ => self.plain(index, role, message),
        }
    }

    /// No call may be open when another block begins.
    fn close_block(&mut self, place: &str) {
        for id in std::mem::take(&mut self.open) {
            self.fault(format!("call `{id}` has no tool message directly after it ({place})"));
        }
    }

    fn plain(&mut self, index: usize, role: &str, message: &Value) {
        if text(&message["content"]).is_empty() {
            self.fault(format!("messages[{index}]: {role} content is not a non-empty string"));
        }
        let first = matches!(role, "system" | "developer");
        if first != (index == 0) {
            self.fault(format!("messages[{index}]: the system message must come first, once"));
        }
    }

    fn assistant(&mut self, index: usize, message: &Value) {
        let content = &message["content"];
        let parts = self.lenient && content.as_array().is_some_and(|parts| !parts.is_empty());
        if !content.is_null() && !content.is_string() && !parts {
            self.fault(format!("messages[{index}]: assistant content is not a string"));
        }
        let Some(calls) = message.get("tool_calls") else {
            if text(content).is_empty() && !parts {
                self.fault(format!("messages[{index}]: neither content nor tool calls"));
            }
            return;
        };
        let Some(calls) = calls.as_array().filter(|calls| !calls.is_empty()) else {
            return self.fault(format!("messages[{index}]: `tool_calls` is not an array or empty"));
        };
        for call in calls {
            self.call(index, call);
        }
    }

    fn call(&mut self, index: usize, call: &Value) {
        let id = text(&call["id"]);
        if id.is_empty() || id.chars().count() > MAX_ID {
            self.fault(format!("messages[{index}]: call id `{id}` is empty or over {MAX_ID} long"));
        }
        if self.open.iter().any(|open| open == id) {
            self.fault(format!("messages[{index}]: call id `{id}` occurs twice"));
        }
        let name = text(&call["function"]["name"]);
        if call["type"] != "function" || !is_tool_name(name) {
            self.fault(format!("messages[{index}]: call `{id}` has no valid type or tool name"));
        }
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        let parsed: Result<Value, _> = serde_json::from_str(arguments);
        if !parsed.is_ok_and(|value| value.is_object()) {
            self.fault(format!(
                "messages[{index}]: arguments of `{id}` are not a string holding a JSON object"
            ));
        }
        self.open.push(id.to_owned());
    }

    fn tool_result(&mut self, index: usize, message: &Value) {
        let id = text(&message["tool_call_id"]);
        match self.open.iter().position(|open| open == id) {
            Some(place) => drop(self.open.remove(place)),
            None => self.fault(format!("messages[{index}]: no open call `{id}` before it")),
        }
        if message["content"].as_str().is_none_or(str::is_empty) {
            self.fault(format!("messages[{index}]: tool content is not a non-empty string"));
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().map_or("", str::trim)
}

fn is_tool_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= 64 && name.chars().all(allowed)
}

#[cfg(test)]
#[path = "strict_tests.rs"]
mod tests;
