use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use ErrorKind::{
    Auth, Billing, ContentFilter, InvalidRequest, NotAnApi, Overflow, Overloaded, RateLimit,
    Server, Timeout, ToolGeneration,
};

fn now() -> Timestamp {
    "2026-11-20T10:00:00Z".parse().unwrap()
}

type Headers<'a> = &'a [(&'a str, &'a str)];

/// Classifies an answer with these headers.
fn classify(status: u16, headers: Headers<'_>, body: &str) -> ProviderError {
    let headers: BTreeMap<&str, &str> = headers.iter().copied().collect();
    classify_response(&Response {
        status,
        url: "https://user:pw@api.example/v2/chat/completions?key=SECRET",
        body: body.as_bytes(),
        header: &|name| headers.get(name).map(ToString::to_string),
        now: now(),
    })
}

/// Status, kind, body and the message that is shown, for the error bodies of all providers.
const BODIES: &[(u16, ErrorKind, &str, &str)] = &[
    // Keys
    (
        401,
        Auth,
        r#"{"error":{"message":"Incorrect key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
        "Incorrect key",
    ),
    (
        401,
        Auth,
        r#"{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}"#,
        "Invalid Authentication",
    ),
    (
        401,
        Auth,
        r#"{"message":"Wrong API Key","type":"invalid_request_error","param":"api_key","code":"wrong_api_key"}"#,
        "Wrong API Key",
    ),
    (401, Auth, r#"{"detail":"Unauthorized"}"#, "Unauthorized"),
    (401, Auth, r#"{"error":{"code":"1002","message":"token invalid"}}"#, "token invalid"),
    (
        400,
        Auth,
        r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***"}"#,
        "Incorrect API key provided: xa***",
    ),
    (
        400,
        Auth,
        r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#,
        "API key not valid.",
    ),
    (200, Auth, r#"{"base_resp":{"status_code":1004,"status_msg":"login fail"}}"#, "login fail"),
    (
        403,
        Auth,
        r#"{"error":{"message":"Country not supported","code":"unsupported_country"}}"#,
        "Country not supported",
    ),
    // Money and plans
    (
        429,
        Billing,
        r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
        "You exceeded your current quota",
    ),
    (
        402,
        Billing,
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
        "Insufficient Balance",
    ),
    (
        429,
        Billing,
        r#"{"error":{"message":"suspended","type":"exceeded_current_quota_error"}}"#,
        "suspended",
    ),
    (429, Billing, r#"{"error":{"code":"1113","message":"top up"}}"#, "top up"),
    (
        429,
        Billing,
        r#"{"error":{"code":"1308","message":"Usage limit reached, resets at 18:00"}}"#,
        "Usage limit reached, resets at 18:00",
    ),
    (
        400,
        Billing,
        r#"{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}"#,
        "Access denied, please make sure your account is in good standing.",
    ),
    (
        500,
        Billing,
        r#"{"base_resp":{"status_code":2061,"status_msg":"your plan does not support the model"}}"#,
        "your plan does not support the model",
    ),
    (
        403,
        Billing,
        r#"{"code":"The caller does not have permission","error":"Your team has used all available credits"}"#,
        "Your team has used all available credits",
    ),
    (
        400,
        Billing,
        r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
        "Your credit balance is too low",
    ),
    (
        429,
        Billing,
        r#"[{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProject"}]}]}}]"#,
        "quota",
    ),
    (412, Billing, r#"{"error":"account suspended"}"#, "account suspended"),
    // Rates and load
    (
        429,
        RateLimit,
        r#"{"error":{"message":"Rate limit reached","type":"tokens","code":"rate_limit_exceeded"}}"#,
        "Rate limit reached",
    ),
    (429, RateLimit, r#"{"error":{"message":"slow","type":"rate_limit_reached_error"}}"#, "slow"),
    (
        429,
        RateLimit,
        r#"{"error":{"code":"1302","message":"high concurrency"}}"#,
        "high concurrency",
    ),
    (
        429,
        RateLimit,
        r#"{"code":"Throttling.RateQuota","message":"Requests rate limit exceeded"}"#,
        "Requests rate limit exceeded",
    ),
    (
        429,
        RateLimit,
        r#"{"error":{"code":"insufficient_quota","message":"You exceeded your current quota, see error-code#token-limit"}}"#,
        "You exceeded your current quota, see error-code#token-limit",
    ),
    (
        429,
        RateLimit,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#,
        "You exceeded your current quota",
    ),
    (
        413,
        RateLimit,
        r#"{"error":{"message":"Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9500, please reduce your message size","type":"tokens","code":"rate_limit_exceeded"}}"#,
        "Request too large for model `m` on tokens per minute (TPM): Limit 6000, Requested 9500, please reduce your message size",
    ),
    (
        413,
        RateLimit,
        r#"{"error":{"message":"too large: tokens per minute (TPM) limit 6000"}}"#,
        "too large: tokens per minute (TPM) limit 6000",
    ),
    (
        200,
        RateLimit,
        r#"{"base_resp":{"status_code":1002,"status_msg":"rate limit"}}"#,
        "rate limit",
    ),
    (429, Overloaded, r#"{"error":{"message":"busy","type":"engine_overloaded_error"}}"#, "busy"),
    (
        429,
        Overloaded,
        r#"{"error":{"code":"1305","message":"too much traffic"}}"#,
        "too much traffic",
    ),
    (
        529,
        Overloaded,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
        "Overloaded",
    ),
    (
        503,
        Overloaded,
        r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
        "Loading model",
    ),
    (498, Overloaded, r#"{"error":{"message":"flex capacity"}}"#, "flex capacity"),
    (
        500,
        Server,
        r#"{"error":{"message":"The server had an error","type":"server_error"}}"#,
        "The server had an error",
    ),
    (520, Server, r#"{"error":{"message":"odd"}}"#, "odd"),
    (408, Timeout, r#"{"error":{"message":"timed out"}}"#, "timed out"),
    // Requests
    (
        400,
        InvalidRequest,
        r#"{"object":"error","message":"bad role","type":"BadRequestError","param":null,"code":400}"#,
        "bad role",
    ),
    (
        422,
        InvalidRequest,
        r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","foo"],"msg":"Extra inputs are not permitted"}]},"type":"invalid_request_error"}"#,
        "body.foo: Extra inputs are not permitted",
    ),
    (
        422,
        InvalidRequest,
        r#"{"detail":[{"loc":["body","messages",0],"msg":"field required"},{"msg":"and more"}]}"#,
        "body.messages.0: field required; and more",
    ),
    (
        400,
        InvalidRequest,
        r#"{"detail":"{\"error\":{\"message\":\"inner words\"}}"}"#,
        "inner words",
    ),
    (
        400,
        InvalidRequest,
        r#"{"error":{"message":"litellm.BadRequestError: XException - {\"error\":{\"message\":\"the real cause\",\"code\":\"x\"}}"}}"#,
        "the real cause",
    ),
    (
        400,
        InvalidRequest,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"upstream words\"}}","provider_name":"P"}}}"#,
        "upstream words",
    ),
    (
        404,
        InvalidRequest,
        r#"{"error":{"message":"model \"x\" not found, try pulling it first","type":"api_error"}}"#,
        "model \"x\" not found, try pulling it first",
    ),
    (
        400,
        InvalidRequest,
        r#"{"error":"Input validation error","error_type":"validation"}"#,
        "Input validation error",
    ),
    (
        200,
        InvalidRequest,
        r#"{"base_resp":{"status_code":2013,"status_msg":"invalid params"}}"#,
        "invalid params",
    ),
    (
        400,
        InvalidRequest,
        r#"{"errors":[{"code":7003,"message":"no such route"}]}"#,
        "no such route",
    ),
    (400, InvalidRequest, r#"{"error":{"code":"bad_thing"}}"#, "the provider gave no reason"),
    (424, InvalidRequest, r#"{"error":{"message":"dependency"}}"#, "dependency"),
    // The rest
    (
        400,
        ContentFilter,
        r#"{"error":{"message":"filtered","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}"#,
        "filtered",
    ),
    (
        200,
        ContentFilter,
        r#"{"base_resp":{"status_code":1026,"status_msg":"sensitive"}}"#,
        "sensitive",
    ),
    (
        403,
        ContentFilter,
        r#"{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged"}}"#,
        "Your chosen model requires moderation and your input was flagged",
    ),
    (
        400,
        ToolGeneration,
        r#"{"error":{"message":"Failed to call a function","code":"tool_use_failed","failed_generation":"x"}}"#,
        "Failed to call a function",
    ),
    (
        404,
        NotAnApi,
        r#"{"detail":"Not Found"}"#,
        "https://api.example/v2/chat/completions answered: Not Found",
    ),
    (
        404,
        NotAnApi,
        "404 page not found",
        "https://api.example/v2/chat/completions answered: 404 page not found",
    ),
    (404, NotAnApi, "", "https://api.example/v2/chat/completions answered without a body"),
    (302, NotAnApi, "moved", "https://api.example/v2/chat/completions answered: moved"),
    (502, Server, "error code: 502", "error code: 502"),
    (524, Timeout, "", "https://api.example/v2/chat/completions answered without a body"),
    (400, InvalidRequest, "", "https://api.example/v2/chat/completions answered without a body"),
    (503, Overloaded, "upstream connect error", "upstream connect error"),
];

#[test]
fn bodies_of_all_providers() {
    for (status, kind, body, message) in BODIES {
        let error = classify(*status, &[], body);
        assert_eq!((error.kind, error.message.as_str()), (*kind, *message), "{status} {body}");
        assert_eq!(error.status, Some(*status));
    }
}

#[test]
fn codes_are_text_and_the_most_telling_one() {
    let cases = [
        (r#"{"error":{"message":"m","type":"t","code":"c"}}"#, Some("c")),
        (r#"{"error":{"message":"m","type":"t","code":502}}"#, Some("502")),
        (r#"{"error":{"message":"m","type":"t","code":null}}"#, Some("t")),
        (r#"{"error":"m","error_type":"overloaded"}"#, Some("overloaded")),
        (r#"{"base_resp":{"status_code":1008,"status_msg":"m"}}"#, Some("1008")),
        (r#"{"error":{"message":"m"}}"#, None),
        (r#"{"error":"m","code":"A sentence is no code"}"#, None),
    ];
    for (body, code) in cases {
        assert_eq!(classify(500, &[], body).code.as_deref(), code, "{body}");
    }
}

/// Texts of an overflow, with the numbers to learn: the window and what was asked.
const OVERFLOWS: &[(&str, Option<u64>, Option<u64>)] = &[
    (
        "This model's maximum context length is 128000 tokens. However, you requested 130500 tokens (126000 in the messages, 4500 in the completion).",
        Some(128_000),
        Some(130_500),
    ),
    (
        "This model's maximum context length is 16,385 tokens. However, your messages resulted in 20,001 tokens.",
        Some(16_385),
        Some(20_001),
    ),
    ("Your input exceeds the context window of this model.", None, None),
    ("context window exceeded", None, None),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 32768 tokens and your request has 30000 input tokens (8000 > 32768 - 30000).",
        Some(32_768),
        Some(30_000),
    ),
    (
        "The decoder prompt (length 40001) is longer than the maximum model length of 32768.",
        Some(32_768),
        Some(40_001),
    ),
    (
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        Some(8_192),
        Some(9_000),
    ),
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens.",
        Some(131_072),
        None,
    ),
    ("prompt is too long: 203456 tokens > 200000 maximum", Some(200_000), Some(203_456)),
    (
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        Some(200_000),
        Some(188_240),
    ),
    ("Input is too long for requested model.", None, None),
    (
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        Some(1_048_576),
        Some(1_200_000),
    ),
    (
        "Invalid request: Your request exceeded model token limit: 262144 (requested: 270001)",
        Some(262_144),
        Some(270_001),
    ),
    ("Prompt exceeds max length", None, None),
    ("prompt too long", None, None),
    (
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        Some(129_024),
        None,
    ),
    ("invalid params, context window exceeds limit (2013)", None, None),
    (
        "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
        Some(131_072),
        Some(140_000),
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        Some(131_072),
        Some(537_812),
    ),
    ("Please reduce the length of the messages or completion.", None, None),
    (
        "The prompt is too long: 300000, model maximum context length: 262144",
        Some(262_144),
        Some(300_000),
    ),
    (
        "This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens (60000 of text input, 10000 in the output). Please reduce the length of either one, or use the \"middle-out\" transform.",
        Some(65_536),
        Some(70_000),
    ),
    ("prompt token count of 130001 exceeds the limit of 128000", Some(128_000), Some(130_001)),
    ("Request body too large for gpt-4.1 model. Max size: 8000 tokens.", Some(8_000), None),
    (
        "the request (9001 tokens) exceeds the available context size (8192 tokens), try increasing it",
        Some(8_192),
        Some(9_001),
    ),
    ("input length exceeds the context length", None, None),
    ("prompt too long; exceeded max context length by 312 tokens", None, None),
    (
        "the prompt has 5000 tokens, but the configured context size is 4096",
        Some(4_096),
        Some(5_000),
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length.",
        None,
        None,
    ),
    (
        "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens.",
        Some(4_096),
        None,
    ),
    (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 500 `max_new_tokens`",
        Some(4_096),
        None,
    ),
    (
        "Input validation error: `inputs` must have less than 3072 tokens. Given: 4000",
        Some(3_072),
        None,
    ),
    ("exceeds the maximum allowed input length of 8192", Some(8_192), None),
    ("litellm.ContextWindowExceededError: too big", None, None),
    ("Context length of this request would exceed what is available", None, None),
    ("too many tokens", None, None),
];

#[test]
fn overflows_teach_the_window() {
    for (text, window, asked) in OVERFLOWS {
        let body = serde_json::json!({"error": {"message": text}}).to_string();
        let error = classify(400, &[], &body);
        assert_eq!((error.kind, error.window, error.asked), (Overflow, *window, *asked), "{text}");
        assert_eq!(error.message, *text);
        let too_fast = classify(429, &[], &body);
        assert_eq!(too_fast.kind, RateLimit, "429 is never an overflow: {text}");
        assert_eq!((too_fast.window, too_fast.asked), (None, None));
    }
}

#[test]
fn overflows_by_code_alone() {
    for (status, body) in [
        (400, r#"{"error":{"message":"m","code":"context_length_exceeded"}}"#),
        (400, r#"{"error":{"message":"m","type":"exceed_context_size_error"}}"#),
        (400, r#"{"error":{"message":"m","code":"model_max_prompt_tokens_exceeded"}}"#),
        (413, r#"{"error":{"message":"m","code":"tokens_limit_reached"}}"#),
        (413, r#"{"error":{"message":"m","type":"request_too_large"}}"#),
        (400, r#"{"error":{"message":"m","code":"1261"}}"#),
        (200, r#"{"base_resp":{"status_code":1039,"status_msg":"m"}}"#),
        (200, r#"{"base_resp":{"status_code":2013,"status_msg":"context window exceeds limit"}}"#),
        (413, "failed to parse request"),
        (413, ""),
        (
            400,
            r#"{"error":{"message":"m","metadata":{"raw":"prompt is too long: 5 tokens > 4 maximum"}}}"#,
        ),
    ] {
        assert_eq!(classify(status, &[], body).kind, Overflow, "{body}");
    }
    let body = r#"{"error":{"message":"m","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":8192}}"#;
    let error = classify(400, &[], body);
    assert_eq!((error.window, error.asked), (Some(8192), Some(9000)));
}

#[test]
fn what_only_looks_like_an_overflow() {
    for (status, text, kind) in [
        (400, "Range of max_tokens should be [1, 8192]", InvalidRequest),
        (
            400,
            "max_tokens is too large: 100000. This model supports at most 4096 completion tokens",
            InvalidRequest,
        ),
        (400, "The encoder prompt is too long", InvalidRequest),
        (400, "At most 5 image(s) may be provided; prompt too long", InvalidRequest),
        (413, "image size too large", InvalidRequest),
        (400, "rate limit: context length exceeded per minute", RateLimit),
        (503, "quota of context length exceeded", Overloaded),
        (429, "too many tokens", RateLimit),
        (500, "too many tokens in flight", Server),
    ] {
        let body = serde_json::json!({"error": {"message": text}}).to_string();
        assert_eq!(classify(status, &[], &body).kind, kind, "{text}");
    }
}

#[test]
fn pages_are_named_as_such() {
    let page = |title: &str| {
        format!(
            "\n<!DOCTYPE html><html><head><title>{title}</title><style>a{{}}</style>\
            <SCRIPT>var x='<b>';</SCRIPT></head><body><h1>Sign&nbsp;in</h1>{}</body></html>",
            "x ".repeat(100_000)
        )
    };
    let cases = [
        (200, NotAnApi),
        (401, NotAnApi),
        (403, NotAnApi),
        (404, NotAnApi),
        (413, Overflow),
        (429, RateLimit),
        (502, Server),
        (503, Overloaded),
    ];
    for (status, kind) in cases {
        for headers in [&[("content-type", "text/html; charset=utf-8")][..], &[]] {
            let error = classify(status, headers, &page("Gateway &amp; portal"));
            assert_eq!(error.kind, kind, "{status}");
            let text = error.to_string();
            let start = "HTML instead of an API answer from https://api.example/v2/chat/completions: \
                Gateway & portal Sign in x x";
            assert!(text.starts_with(start), "{text}");
            assert!(text.ends_with(&format!("(HTTP {status})")), "{text}");
            assert!(
                text.chars().count() < 400 && !text.contains("SECRET") && !text.contains("pw@")
            );
        }
    }
    let help = classify(200, &[], &page("x")).help();
    assert!(help.contains("/v1"), "{help}");
    assert_eq!(classify(200, &[], "<html").message.split(": ").last(), Some("(no text)"));
}

#[test]
fn waits_in_all_places_and_spellings() {
    let seconds = |s: f64| Some(Duration::from_secs_f64(s));
    let date = ("date", "Fri, 20 Nov 2026 12:00:00 GMT");
    let cases: &[(Headers<'_>, &str, Option<Duration>)] = &[
        (&[], "", None),
        (&[("retry-after", "2")], "", seconds(2.0)),
        (&[("retry-after", " 1.5 ")], "", seconds(1.5)),
        (&[("retry-after", "Fri, 20 Nov 2026 10:00:03 GMT")], "", seconds(3.0)),
        (&[("retry-after", "Fri, 20 Nov 2026 12:00:03 GMT"), date], "", seconds(3.0)),
        (&[("retry-after", "Fri, 20 Nov 2026 11:00:00 GMT"), date], "", seconds(0.0)),
        (&[("retry-after", "soon")], "", None),
        (&[("retry-after", "-5")], "", None),
        (&[("retry-after", "1e300")], "", None),
        (&[("retry-after", "999999999999")], "", seconds(604_800.0)),
        (&[("retry-after-ms", "250"), ("retry-after", "1")], "", seconds(0.25)),
        (&[("x-ratelimit-reset-requests", "1m2.5s")], "", seconds(62.5)),
        (
            &[("x-ratelimit-reset-tokens", "7m12s"), ("x-ratelimit-reset-requests", "1.57s")],
            "",
            seconds(1.57),
        ),
        (
            &[
                ("x-ratelimit-reset-tokens", "7m12s"),
                ("x-ratelimit-remaining-tokens", "0"),
                ("x-ratelimit-reset-requests", "1s"),
                ("x-ratelimit-remaining-requests", "9"),
            ],
            "",
            seconds(432.0),
        ),
        (&[("x-ratelimit-reset-tokens-minute", "33.5")], "", seconds(33.5)),
        (&[("x-ratelimit-reset", "1795168804000")], "", seconds(4.0)),
        (&[("x-ratelimit-reset", "1795168804")], "", seconds(4.0)),
        (&[("retry-after", "3"), ("x-ratelimit-reset-requests", "9s")], "", seconds(3.0)),
        (&[], r#"{"error":{"message":"Please try again in 1m2.5s. Visit"}}"#, seconds(62.5)),
        (&[], r#"{"error":{"message":"Please try again in 850ms."}}"#, seconds(0.85)),
        (&[], r#"{"error":{"message":"Please retry after 20 seconds."}}"#, seconds(20.0)),
        (
            &[],
            r#"{"error":{"message":"x","details":[{"@type":"RetryInfo","retryDelay":"12s"}]}}"#,
            seconds(12.0),
        ),
    ];
    for (headers, body, wait) in cases {
        assert_eq!(classify(429, headers, body).retry_after, *wait, "{headers:?} {body}");
    }
}

#[test]
fn limits_that_were_not_hit_ask_for_no_wait() {
    let error = classify(500, &[("x-ratelimit-reset-requests", "60s")], "");
    assert_eq!(error.retry_after, None);
}

#[test]
fn a_budget_in_use_is_waited_for_but_an_empty_one_is_not() {
    let body = r#"{"error":{"code":402,"message":"Insufficient credits"}}"#;
    assert!(!classify(402, &[], body).retryable());
    assert!(classify(402, &[("retry-after", "5")], body).retryable());
}

#[test]
fn texts_are_bounded_and_clean() {
    let long = format!(
        "{{\"error\":{{\"message\":\"a\\u001b[31m\\u0000\\tb\\n{}\"}}}}",
        "x".repeat(9_000)
    );
    let message = classify(400, &[], &long).message;
    assert!(message.starts_with("a[31m b\nxxx") && message.ends_with("… (cut)"), "{message}");
    assert_eq!(message.chars().count(), MAX_MESSAGE + "… (cut)".chars().count());
    let plain = classify(400, &[], &"y".repeat(100_000)).message;
    assert!(plain.chars().count() < MAX_MESSAGE + 10);
}

#[test]
fn errors_speak_and_help() {
    let error = classify(402, &[], r#"{"error":{"message":"Insufficient Balance"}}"#);
    assert_eq!(error.to_string(), "Insufficient Balance (HTTP 402)");
    let coded =
        ProviderError { code: Some("1008".to_owned()), ..ProviderError::new(Billing, "empty") };
    assert_eq!(coded.to_string(), "empty (1008)");
    let help = |text: &str| ProviderError::new(InvalidRequest, text).help();
    assert!(help("model \"x\" not found, try pulling it first").contains("ollama pull"));
    assert!(help("The model `x` does not exist").contains("xsh models"));
    assert!(help("No endpoints found that support tool use").contains("can't call tools"));
    assert!(help("No models loaded").contains("load a model"));
    assert!(help("Function tools with reasoning_effort are not supported").contains("another API"));
    assert!(help("temperature must be 1").contains("xsh doctor"));
    for kind in [
        Auth,
        Billing,
        RateLimit,
        Overloaded,
        Server,
        Overflow,
        ContentFilter,
        NotAnApi,
        Timeout,
        ToolGeneration,
        ErrorKind::Incomplete,
        ErrorKind::Network,
        ErrorKind::Tls,
    ] {
        assert!(ProviderError::new(kind, "x").help() != "", "{kind:?}");
    }
}

#[test]
fn only_what_passes_is_retried() {
    let passing = [
        RateLimit,
        Overloaded,
        Server,
        Timeout,
        ToolGeneration,
        ErrorKind::Incomplete,
        ErrorKind::Network,
    ];
    let lasting =
        [Auth, Billing, Overflow, InvalidRequest, ContentFilter, NotAnApi, ErrorKind::Tls];
    assert!(passing.iter().all(|kind| kind.retryable()));
    assert!(!lasting.iter().any(|kind| kind.retryable()));
    for status in [408, 425, 429, 498, 500, 501, 502, 503, 504, 520, 521, 522, 523, 524, 529] {
        assert!(classify(status, &[], "").retryable(), "{status}");
    }
    for status in [301, 400, 401, 402, 403, 404, 405, 409, 412, 413, 415, 422, 424, 451] {
        assert!(!classify(status, &[], "").retryable(), "{status}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_answer_makes_it_panic(
        status in 100..700u16,
        body in "(\\{\"error\":|\\[|<|\\{\"detail\":)?[ -~\u{65E5}\\\\\"{}\\[\\]]{0,60}",
        wait in "[0-9a-z.: -]{0,20}",
    ) {
        let error = classify(status, &[("retry-after", &wait), ("x-ratelimit-reset", &wait)], &body);
        prop_assert!(!error.message.is_empty());
        let _ = (error.to_string(), error.help());
    }
}

#[test]
fn a_refusal_without_a_word_is_an_overflow_when_the_window_is_nearly_full() {
    let cases = [
        (400, "", 90, Some(100), Overflow),
        (400, "", 70, Some(100), InvalidRequest),
        (400, "", 90, None, InvalidRequest),
        (422, "", 90, Some(100), InvalidRequest),
        (400, r#"{"error":{"message":"no"}}"#, 90, Some(100), InvalidRequest),
    ];
    for (status, body, size, window, kind) in cases {
        let error = classify(status, &[], body).with_size(size, window);
        assert_eq!(error.kind, kind, "{status} {body} {size} {window:?}");
    }
}

#[test]
fn an_answer_cut_to_nothing_in_a_full_window_is_an_overflow() {
    let usage = |prompt| Some(crate::message::Usage { prompt, ..Default::default() });
    let cut = |prompt| Reply {
        finish_reason: FinishReason::Length,
        usage: usage(prompt),
        ..Reply::default()
    };
    let of = ProviderError::of_full_window;
    assert_eq!(of(&cut(995), Some(1_000)).unwrap().kind, Overflow);
    assert_eq!(of(&cut(900), Some(1_000)), None);
    assert_eq!(of(&cut(995), None), None);
    assert_eq!(of(&Reply { usage: None, ..cut(995) }, Some(1_000)), None);
    assert_eq!(of(&Reply { content: "x".to_owned(), ..cut(995) }, Some(1_000)), None);
    let stopped = Reply { finish_reason: FinishReason::Stop, ..cut(995) };
    assert_eq!(of(&stopped, Some(1_000)), None);
}
