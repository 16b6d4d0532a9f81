//! A provider played from data: what it demands, how it refuses, and how it words its answers.
//!
//! A [`Persona`] is one row of [`super::personas`]. Its server checks each request by the rules that
//! all providers share and then by its own demands; what it refuses it notes by rule, so that a test
//! can say that no rule was broken, or only once.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::demand::{Demand, foreign_reasoning};
use super::http::Request;
use super::provider::Provider;
use super::reply::{Call, DONE, Reply, delta, event};

/// One provider.
pub struct Persona {
    /// The preset that is meant for it.
    pub name: &'static str,
    pub model: &'static str,
    pub body: Body,
    pub demands: &'static [Demand],
    pub thinks: Thinks,
    pub deltas: Deltas,
    /// What its call ids look like; `#` stands for a number, nothing for none.
    pub ids: &'static str,
    pub usage: Usage,
    /// The finish reason beside calls; empty for none at all.
    pub finish: &'static str,
    /// A comment that keeps the connection alive.
    pub keep_alive: Option<&'static str>,
    /// Status and words for too long a prompt; the window is 30,000 tokens.
    pub overflow: (u16, &'static str),
    /// Status and words for a fault that passes.
    pub transient: (u16, &'static str),
    /// Demands that its preset does not know of: broken once, then never again.
    pub learned: &'static [&'static str],
}

/// The shape of its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `{error:{message,type,param,code}}`.
    OpenAi,
    /// `[{error:{code,message,status}}]`.
    Google,
    /// `{code:"a sentence",error:"text"}`.
    XAi,
    /// `{object:"error",message,type,code}`.
    Flat,
    /// As `Flat`, with places as lists.
    Mistral,
    /// `{base_resp:{status_code,status_msg}}`, status 200.
    MiniMax,
    /// `{error:{message:"litellm.…"}}`.
    LiteLlm,
    /// `{error:{message,metadata:{raw}}}`.
    OpenRouter,
}

/// Where its reasoning comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinks {
    Nowhere,
    Field(&'static str),
    /// `reasoning` and `reasoning_details`.
    Details,
    /// `reasoning_content` and `reasoning_details`.
    SplitDetails,
    /// `<think>` in the content.
    Tags,
    /// Parts of the content.
    Parts,
}

/// How its tool calls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deltas {
    /// By index, arguments in pieces.
    Pieces,
    /// All whole calls in one chunk.
    Whole,
    /// Whole calls, each with index 0 and no id; the first is signed.
    Signed,
    /// In pieces without an index.
    NoIndex,
    /// In pieces, id and name repeated or null.
    Repeated,
}

/// Where its usage comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// In a chunk of its own, when asked for.
    Asked,
    /// In a chunk of its own.
    Trailing,
    /// Beside the finish reason.
    OnFinish,
    /// Inside the choice.
    InChoice,
    /// In `x_groq`.
    XGroq,
}

/// What is to be said; the persona says it in its way.
#[derive(Clone, Debug)]
pub enum Say {
    Text(&'static str),
    Calls(Vec<Call>),
    Transient,
    Overflow,
}

/// A persona that serves.
pub struct Stage {
    pub provider: Provider,
    refusals: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    /// Serves with this script. `wishes` count as demands too.
    pub fn open(
        persona: &'static Persona,
        wishes: bool,
        mut script: impl FnMut(&Request) -> Say + Send + 'static,
    ) -> Self {
        let refusals = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&refusals);
        let mut calls = 0;
        let provider = Provider::lenient(move |request| {
            let refused = persona.refusal(request, wishes);
            if let Some((rule, reply)) = refused {
                notes.lock().unwrap_or_else(PoisonError::into_inner).push(rule);
                return reply;
            }
            persona.say(script(request), request, &mut calls)
        });
        Self { provider, refusals }
    }

    /// Rules that were broken, one entry per refused request.
    pub fn refusals(&self) -> Vec<String> {
        self.refusals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Persona {
    fn refusal(&self, request: &Request, wishes: bool) -> Option<(String, Reply)> {
        let (rule, words) = self.fault(request, wishes)?;
        let status = match self.body {
            Body::Mistral => 422,
            Body::MiniMax => 200,
            Body::OpenAi
            | Body::Google
            | Body::XAi
            | Body::Flat
            | Body::LiteLlm
            | Body::OpenRouter => 400,
        };
        Some((format!("{rule}: {words}"), self.error(status, &words)))
    }

    /// The first broken rule, with the provider's words for it.
    fn fault(&self, request: &Request, wishes: bool) -> Option<(String, String)> {
        let foreign = foreign_reasoning(self, request);
        let foreign = foreign.map(|words| ("foreign reasoning".to_owned(), words));
        foreign.or_else(|| {
            self.demands.iter().find_map(|demand| {
                let name = format!("{demand:?}");
                let name = name.split('(').next().unwrap_or_default().to_owned();
                let words =
                    if demand.is_wish() && !wishes { None } else { demand.fault(self, request) };
                Some((name, words?))
            })
        })
    }

    fn error(&self, status: u16, words: &str) -> Reply {
        let body = match self.body {
            Body::OpenAi => json!({"error": {"message": words, "type": "invalid_request_error",
                "param": null, "code": null}}),
            Body::Google => json!([{"error": {"code": status, "message": words,
                "status": "INVALID_ARGUMENT"}}]),
            Body::XAi => json!({"code": "Client specified an invalid argument", "error": words}),
            Body::Flat => json!({"object": "error", "message": words, "type": "BadRequestError",
                "param": null, "code": status}),
            Body::Mistral => mistral(words),
            Body::MiniMax => json!({"base_resp": {"status_code": 2013, "status_msg": words}}),
            Body::LiteLlm => json!({"error": {"message":
                format!("litellm.BadRequestError: OpenAIException - {words}"), "type": null,
                "param": null, "code": status.to_string()}}),
            Body::OpenRouter => json!({"error": {"message": "Provider returned error",
                "code": status, "metadata": {"raw": json!({"error": {"message": words}}).to_string(),
                "provider_name": "Somebody"}}}),
        };
        Reply::json(status, body)
    }

    /// The words for a field that it does not know; `place` is empty or names a message.
    pub fn unknown(&self, place: &str, field: &str) -> String {
        match self.body {
            Body::Google if place.is_empty() => {
                format!(
                    "Invalid JSON payload received. Unknown name \"{field}\": Cannot find field."
                )
            }
            Body::Google => format!("Unknown name \"{field}\" at '{place}': Cannot find field."),
            Body::Mistral => format!("{place}.{field}: Extra inputs are not permitted"),
            Body::XAi => format!("Argument not supported on this model: {field}"),
            Body::Flat => format!("property '{place}.{field}' is unsupported"),
            Body::OpenAi | Body::MiniMax | Body::LiteLlm | Body::OpenRouter => {
                if place.is_empty() {
                    format!("Unrecognized request argument supplied: {field}")
                } else {
                    format!("'{place}' : property '{field}' is unsupported")
                }
            }
        }
    }

    /// What it thinks; only it may see this again.
    pub fn thought(&self) -> String {
        format!("thoughts of {}", self.name)
    }

    fn say(&self, say: Say, request: &Request, count: &mut u32) -> Reply {
        match say {
            Say::Transient => {
                let (status, words) = self.transient;
                let code = if self.body == Body::MiniMax { 1002 } else { 0 };
                if code == 0 { self.error(status, words) } else { busy_minimax(code, words) }
            }
            Say::Overflow => self.error(self.overflow.0, self.overflow.1),
            // It says so without having thought.
            Say::Text(text) => {
                let pieces = text.split_inclusive(' ');
                let events = pieces.map(|piece| delta(json!({"content": piece}))).collect();
                self.close(events, "stop", request)
            }
            Say::Calls(calls) => {
                let mut events = self.opening();
                events.extend(self.calls(&calls, count));
                self.close(events, self.finish, request)
            }
        }
    }

    fn opening(&self) -> Vec<String> {
        let mut events = vec![delta(json!({"role": "assistant", "content": ""}))];
        let thought = self.thought();
        let (a, b) = thought.split_at(9);
        match self.thinks {
            Thinks::Nowhere => {}
            Thinks::Field(field) => {
                events.extend([a, b].map(|piece| delta(json!({"content": null, field: piece}))));
            }
            Thinks::Details | Thinks::SplitDetails => {
                let field =
                    if self.thinks == Thinks::Details { "reasoning" } else { "reasoning_content" };
                events.extend([a, b].map(|piece| {
                    let entry = json!({"type": "reasoning.text", "text": piece, "index": 0});
                    delta(json!({field: piece, "reasoning_details": [entry]}))
                }));
                let sealed = json!({"type": "reasoning.encrypted", "data": "sealed", "index": 1});
                events.push(delta(json!({"reasoning_details": [sealed]})));
            }
            Thinks::Tags => {
                let pieces =
                    ["<thi".to_owned(), format!("nk>{a}"), format!("{b}</th"), "ink>".into()];
                events.extend(pieces.map(|piece| delta(json!({"content": piece}))));
            }
            Thinks::Parts => events.extend([a, b].map(|piece| {
                let text = json!([{"type": "text", "text": piece}]);
                delta(json!({"content": [{"type": "thinking", "thinking": text}]}))
            })),
        }
        events
    }

    fn calls(&self, calls: &[Call], count: &mut u32) -> Vec<String> {
        let ids = calls.iter().map(|_| {
            *count += 1;
            self.ids.replace('#', &count.to_string())
        });
        let ids: Vec<String> = ids.collect();
        let function = |call: &Call| json!({"name": call.name, "arguments": call.arguments});
        let whole = |(index, (call, id)): (usize, (&Call, &String))| json!({"index": index, "id": id, "type": "function", "function": function(call)});
        let mut events = Vec::new();
        for (index, (call, id)) in calls.iter().zip(&ids).enumerate() {
            let (first, second) = call.arguments.split_at(call.arguments.len() / 2);
            let pieces = match self.deltas {
                Deltas::Whole => break,
                Deltas::Signed => {
                    let mut whole = json!({"index": 0, "id": "", "type": "function",
                        "function": function(call)});
                    if index == 0 {
                        whole["extra_content"] = json!({"google": {"thought_signature": "sealed"}});
                    }
                    vec![whole]
                }
                Deltas::Pieces => vec![
                    json!({"index": index, "id": id, "type": "function",
                        "function": {"name": call.name, "arguments": ""}}),
                    json!({"index": index, "function": {"arguments": first}}),
                    json!({"index": index, "function": {"arguments": second}}),
                ],
                Deltas::NoIndex => vec![
                    json!({"id": id, "type": "function",
                        "function": {"name": call.name, "arguments": first}}),
                    json!({"function": {"arguments": second}}),
                ],
                Deltas::Repeated => vec![
                    json!({"index": index, "id": id, "type": "function",
                        "function": {"name": call.name, "arguments": first}}),
                    json!({"index": index, "id": null, "type": "function",
                        "function": {"name": null, "arguments": second}}),
                ],
            };
            events.extend(pieces.into_iter().map(|piece| delta(json!({"tool_calls": [piece]}))));
        }
        if self.deltas == Deltas::Whole {
            let all: Vec<Value> = calls.iter().zip(&ids).enumerate().map(whole).collect();
            events.push(delta(json!({ "tool_calls": all })));
        }
        events
    }

    fn close(&self, mut events: Vec<String>, reason: &str, request: &Request) -> Reply {
        let prompt = request.body.len() / 4;
        let usage = json!({"prompt_tokens": prompt, "completion_tokens": 7,
            "total_tokens": prompt + 7});
        let reason = if reason.is_empty() { Value::Null } else { reason.into() };
        let mut last = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
        match self.usage {
            Usage::OnFinish => last["usage"] = usage.clone(),
            Usage::InChoice => last["choices"][0]["usage"] = usage.clone(),
            Usage::XGroq => last["x_groq"] = json!({"usage": usage}),
            Usage::Asked | Usage::Trailing => {}
        }
        events.push(event(last));
        let asked = request.json["stream_options"]["include_usage"] == true;
        if self.usage == Usage::Trailing || (self.usage == Usage::Asked && asked) {
            events.push(event(json!({"choices": [], "usage": usage})));
        }
        events.push(DONE.to_owned());
        let reply = Reply::events(events);
        match self.keep_alive {
            Some(comment) => reply.comments(comment),
            None => reply,
        }
    }
}

fn busy_minimax(code: u16, words: &str) -> Reply {
    Reply::json(200, json!({"base_resp": {"status_code": code, "status_msg": words}}))
}

/// Mistral names a place as a list.
fn mistral(words: &str) -> Value {
    let split = words.split_once(": Extra inputs");
    let Some((place, _)) = split else {
        return json!({"object": "error", "message": words, "type": "invalid_request_error",
            "param": null, "code": "3230"});
    };
    let path = place.trim_start_matches('.').split('.');
    let place: Vec<&str> = std::iter::once("body").chain(path).collect();
    let detail = json!([{"type": "extra_forbidden", "loc": place,
        "msg": "Extra inputs are not permitted", "input": "x"}]);
    json!({"object": "error", "message": {"detail": detail}, "type": "invalid_request_error",
        "param": null, "code": null})
}
