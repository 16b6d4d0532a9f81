//! Which kind an error is, from its codes, its words and its status, in this order.

use super::said::Said;
use super::{ErrorKind, ProviderError, overflow};

/// Codes and types, in lower case, whatever the status beside them.
const CODES: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::ContentFilter,
        &[
            "content_filter",
            "content_policy_violation",
            "responsibleaipolicyviolation",
            "data_inspection_failed",
            "datainspectionfailed",
            "moderation_blocked",
            "1301",
        ],
    ),
    (
        ErrorKind::Billing,
        &[
            "insufficient_quota",
            "exceeded_current_quota_error",
            "billing_hard_limit_reached",
            "insufficient_balance",
            "insufficient_credits",
            "billing_error",
            "payment_required",
            "arrearage",
            "credits_exhausted",
            "1113",
            "1308",
        ],
    ),
    (
        ErrorKind::RateLimit,
        &[
            "rate_limit_exceeded",
            "rate_limit_reached_error",
            "rate_limit_error",
            "too_many_requests",
            "ratelimitreached",
            "limit_requests",
            "resource_exhausted",
            "1302",
            "1303",
        ],
    ),
    (
        ErrorKind::Overloaded,
        &[
            "engine_overloaded_error",
            "overloaded_error",
            "server_overloaded",
            "unavailable",
            "1305",
        ],
    ),
    (
        ErrorKind::Auth,
        &[
            "invalid_api_key",
            "api_key_invalid",
            "wrong_api_key",
            "invalidapikey",
            "authentication_error",
            "invalid_authentication_error",
            "incorrect_api_key_error",
            "permission_error",
            "permission_denied",
            "unauthorized",
            "unauthenticated",
            "1000",
            "1001",
            "1002",
            "1003",
            "1004",
        ],
    ),
    (ErrorKind::ToolGeneration, &["tool_use_failed", "malformed_function_call"]),
    (ErrorKind::Timeout, &["timeout", "request_timeout", "deadline_exceeded"]),
];

/// The numbers of `base_resp`, which other providers use otherwise.
const BASE_RESP: &[(ErrorKind, &[&str])] = &[
    (ErrorKind::RateLimit, &["1002"]),
    (ErrorKind::Auth, &["1004", "2049"]),
    (ErrorKind::Billing, &["1008", "2056", "2061"]),
    (ErrorKind::ContentFilter, &["1026", "1027"]),
    (ErrorKind::Overflow, &["1039"]),
    (ErrorKind::InvalidRequest, &["2013"]),
];

/// Phrases in lower case, looked for when no code decides.
const PHRASES: &[(ErrorKind, &[&str])] = &[
    (
        ErrorKind::ContentFilter,
        &[
            "content management policy",
            "content filter",
            "flagged as",
            "was flagged",
            "requires moderation",
        ],
    ),
    (
        ErrorKind::Billing,
        &[
            "insufficient balance",
            "insufficient credit",
            "insufficient funds",
            "insufficient account balance",
            "credit balance is too low",
            "credit used up",
            "credits used up",
            "no credits",
            "out of credits",
            "not enough credit",
            "requires more credits",
            "purchase more credits",
            "used all available credits",
            "exceeded your current quota",
            "exceeded your monthly",
            "spending limit",
            "billing hard limit",
            "payment required",
            "account is in good standing",
            "arrears",
            "usage limit reached",
            "premium request",
        ],
    ),
    (
        ErrorKind::RateLimit,
        &["rate limit", "ratelimit", "too many requests", "throttl", "per minute"],
    ),
    (
        ErrorKind::Overloaded,
        &[
            "overloaded",
            "loading model",
            "at capacity",
            "no available capacity",
            "server busy",
            "server is busy",
        ],
    ),
    (
        ErrorKind::Auth,
        &[
            "invalid api key",
            "incorrect api key",
            "api key not valid",
            "invalid_api_key",
            "api key is invalid",
            "invalid authentication",
            "missing authentication",
            "no auth credentials",
            "invalid token",
            "no api key",
        ],
    ),
    (
        ErrorKind::ToolGeneration,
        &["invalid channel", "failed to parse tool call", "tool_use_failed"],
    ),
];

/// The kind of what a body says under a status; an event inside a stream has none.
pub(super) fn of(said: &Said, status: Option<u16>) -> ErrorKind {
    let text = said.all_text();
    let codes: Vec<String> = said.codes.iter().map(|code| code.to_lowercase()).collect();
    // Inside a stream a status may stand where the code belongs.
    let status = status.filter(|status| *status >= 300).or_else(|| {
        codes.iter().filter_map(|code| code.parse().ok()).find(|code| (400..600).contains(code))
    });
    let by_code = if said.base_resp { find_code(BASE_RESP, &codes) } else { coded(&codes, &text) };
    by_code
        .filter(|kind| *kind != ErrorKind::InvalidRequest)
        .or_else(|| overflows(&codes, &text, status).then_some(ErrorKind::Overflow))
        .or_else(|| worded(&text))
        .or(by_code)
        .or_else(|| status.map(by_status))
        .unwrap_or_else(|| by_type(&codes))
}

fn find_code(table: &[(ErrorKind, &[&str])], codes: &[String]) -> Option<ErrorKind> {
    let known = |(kind, known): &(ErrorKind, &[&str])| {
        codes.iter().any(|code| known.contains(&code.as_str())).then_some(*kind)
    };
    table.iter().find_map(known)
}

fn coded(codes: &[String], text: &str) -> Option<ErrorKind> {
    if codes.iter().any(|code| code.starts_with("throttling")) {
        return Some(ErrorKind::RateLimit);
    }
    let kind = find_code(CODES, codes)?;
    let has = |code: &str| codes.iter().any(|known| known == code);
    // One word for both: the quota's name or the text tells a day's budget from a minute's.
    if has("resource_exhausted") {
        let lasting = text.contains("perday") || text.contains("per day");
        return Some(if lasting { ErrorKind::Billing } else { kind });
    }
    let only_rate = text.contains("token-limit") || text.contains("rate limit");
    let quota = has("insufficient_quota") && only_rate && !text.contains("balance");
    Some(if quota { ErrorKind::RateLimit } else { kind })
}

fn overflows(codes: &[String], text: &str, status: Option<u16>) -> bool {
    // Too fast is never too long, whatever the text says of tokens.
    if status == Some(429) {
        return false;
    }
    let coded = codes.iter().any(|code| overflow::CODES.contains(&code.as_str()) || code == "1261");
    let many = status == Some(400) && text.contains("too many tokens");
    let size = many || status == Some(413);
    coded || overflow::is_said(text) || (size && !overflow::is_vetoed(text))
}

fn worded(text: &str) -> Option<ErrorKind> {
    let said = |(_, phrases): &&(ErrorKind, &[&str])| phrases.iter().any(|p| text.contains(p));
    PHRASES.iter().find(said).map(|(kind, _)| *kind)
}

fn by_status(status: u16) -> ErrorKind {
    match status {
        401 | 403 | 407 => ErrorKind::Auth,
        402 | 412 => ErrorKind::Billing,
        408 => ErrorKind::Timeout,
        429 => ErrorKind::RateLimit,
        425 | 498 | 503 | 529 => ErrorKind::Overloaded,
        504 | 524 => ErrorKind::Timeout,
        300..=399 => ErrorKind::NotAnApi,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Server,
    }
}

/// The last resort for an error without a number.
fn by_type(codes: &[String]) -> ErrorKind {
    let faults = ["invalid_request", "badrequest", "invalid_argument", "not_found", "notfound"];
    let request = codes.iter().any(|code| faults.iter().any(|fault| code.contains(fault)));
    if request { ErrorKind::InvalidRequest } else { ErrorKind::Server }
}

/// Refusals of a request that have a better next step than their kind.
const ADVICE: &[(&[&str], &str)] = &[
    (
        &["try pulling it", "ollama pull"],
        "pull the model first (`ollama pull NAME`), or choose another with `/model`",
    ),
    (
        &["no models loaded", "no model is loaded"],
        "load a model in the local server first; `xsh models` lists what it offers",
    ),
    (
        &["support tool use", "not support tools", "does not support function"],
        "this model can't call tools: choose another with `/model`; `xsh models` lists them",
    ),
    (
        &["tools with reasoning_effort", "v1/responses"],
        "this model takes tools over another API only: choose another with `/model`",
    ),
    (
        &["parse grammar"],
        "the server can't handle a tool's schema: turn off the MCP server that brings it",
    ),
    (
        &["model", "not found"],
        "check the model's name: `xsh models` lists what the provider offers",
    ),
    (
        &["model", "not exist"],
        "check the model's name: `xsh models` lists what the provider offers",
    ),
];

/// What the user can do next.
pub(super) fn help(error: &ProviderError) -> &'static str {
    let text = error.message.to_lowercase();
    match error.kind {
        ErrorKind::Auth => {
            "check the API key and that it belongs to this base URL and region; `XSH_API_KEY` \
             overrides the provider's own variable"
        }
        ErrorKind::Billing => {
            "add credit or raise the plan's limit at the provider, or choose another model with `/model`"
        }
        ErrorKind::RateLimit if text.contains("request too large") => {
            "one request is over the plan's limit: shorten the history with `/compact`, or use \
             another model or plan"
        }
        ErrorKind::RateLimit => {
            "wait a little and send it again, or choose another model with `/model`"
        }
        ErrorKind::Overloaded | ErrorKind::Server => {
            "the fault is on the provider's side: send it again later, or choose another model with `/model`"
        }
        ErrorKind::Overflow => {
            "shorten the history with `/compact`; if the model's window is smaller than xsh \
             believes, set `--context-window`"
        }
        ErrorKind::InvalidRequest => advice(&text).unwrap_or(
            "check the model's name and settings with `xsh doctor`, or choose another model with \
             `/model`; `--debug-log FILE` records what was sent",
        ),
        ErrorKind::ContentFilter => "rephrase the request, or choose another model with `/model`",
        ErrorKind::ToolGeneration | ErrorKind::Incomplete => {
            "send it again; if it keeps happening, choose another model with `/model`"
        }
        ErrorKind::Network => {
            "check the base URL, the network and the proxy variables; a local server must be running"
        }
        ErrorKind::Tls => {
            "a proxy that inspects traffic needs its certificate: set `SSL_CERT_FILE` to its PEM file"
        }
        ErrorKind::NotAnApi => "check the base URL: it usually ends in `/v1`",
        ErrorKind::Timeout => {
            "send it again; a slow model may need a longer limit in the configuration"
        }
    }
}

fn advice(text: &str) -> Option<&'static str> {
    // The first groups are alternatives, the ones about a model need both of their words.
    let fits = |words: &[&str]| match words {
        ["model", rest] => text.contains("model") && text.contains(rest),
        _ => words.iter().any(|word| text.contains(word)),
    };
    ADVICE.iter().find(|(words, _)| fits(words)).map(|(_, help)| *help)
}
