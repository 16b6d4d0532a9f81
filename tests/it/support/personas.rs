//! The providers that are played. Each row holds what is known of one: facts, no behaviour.

use super::demand::Demand::{
    Alternate, EffortNone, Fields, Has, Ids, KeyIn, Levels, MessageFields, Named, NoUserAfterTool,
    NotNull, OwnDetails, OwnParts, OwnReasoning, ReasoningOnAll, ReasoningOnCalls, Roles, Signed,
    Trimmed, UsageAsked,
};
use super::persona::{Body, Deltas, Persona, Thinks, Usage};

const OPENAI_OVERFLOW: (u16, &str) = (
    400,
    "This model's maximum context length is 30000 tokens. However, your messages resulted in 31000 \
     tokens. Please reduce the length of the messages.",
);

/// What most have in common.
const BASE: Persona = Persona {
    name: "",
    model: "",
    body: Body::OpenAi,
    demands: &[],
    thinks: Thinks::Nowhere,
    deltas: Deltas::Pieces,
    ids: "call_#",
    usage: Usage::Asked,
    finish: "tool_calls",
    keep_alive: None,
    overflow: OPENAI_OVERFLOW,
    transient: (429, "Rate limit reached. Please try again in 20ms."),
    learned: &[],
};

/// In an order in which each one's history is a strain for the next.
pub const PERSONAS: &[Persona] = &[
    Persona {
        name: "deepseek",
        model: "deepseek-flash",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "thinking", "reasoning_effort", "max_tokens"]),
            MessageFields(&["reasoning_content", "name"]),
            Roles(&["system"]),
            ReasoningOnAll,
            OwnReasoning("reasoning_content"),
            Levels(&["low", "high", "max"]),
            NotNull,
            UsageAsked,
        ],
        thinks: Thinks::Field("reasoning_content"),
        ids: "call_00_#",
        keep_alive: Some("keep-alive"),
        overflow: (
            400,
            "This model's maximum context length is 30000 tokens. However, you requested 31000 \
             tokens (31000 in the messages, 0 in the completion).",
        ),
        transient: (503, "Server overloaded, please try again later."),
        ..BASE
    },
    Persona {
        name: "openai",
        model: "gpt-6-luna",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning_effort", "prompt_cache_key"]),
            MessageFields(&["name"]),
            Roles(&["developer", "system"]),
            EffortNone,
            Ids(40),
            UsageAsked,
        ],
        ids: "call_9aBcDeFgHiJkLmNoPqRs#",
        ..BASE
    },
    Persona {
        name: "openrouter",
        model: "deepseek/deepseek-v4-pro",
        body: Body::OpenRouter,
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning", "reasoning_effort"]),
            OwnReasoning("reasoning"),
            OwnDetails,
        ],
        thinks: Thinks::Details,
        usage: Usage::Trailing,
        keep_alive: Some("OPENROUTER PROCESSING"),
        overflow: (
            400,
            "This endpoint's maximum context length is 30000 tokens. However, you requested about \
             31000 tokens.",
        ),
        transient: (429, "the model is temporarily rate-limited upstream"),
        ..BASE
    },
    Persona {
        name: "moonshot",
        model: "kimi-k3",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning_effort", "prompt_cache_key"]),
            MessageFields(&["reasoning_content", "name"]),
            Roles(&["system"]),
            ReasoningOnCalls,
            OwnReasoning("reasoning_content"),
            Levels(&["low", "high", "max"]),
        ],
        thinks: Thinks::Field("reasoning_content"),
        ids: "functions.read:#",
        usage: Usage::InChoice,
        overflow: (
            400,
            "Invalid request: Your request exceeded model token limit: 30000 (requested: 31000)",
        ),
        transient: (429, "The engine is currently overloaded, please try again later"),
        ..BASE
    },
    Persona {
        name: "anthropic",
        model: "claude-sonnet-5-5",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "thinking"]),
            MessageFields(&["name"]),
            Ids(64),
            Trimmed,
            UsageAsked,
        ],
        ids: "toolu_0#",
        overflow: (400, "prompt is too long: 31000 tokens > 30000 maximum"),
        transient: (529, "Overloaded"),
        ..BASE
    },
    Persona {
        name: "zai",
        model: "glm-5.3",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "thinking", "reasoning_effort", "tool_stream"]),
            MessageFields(&["reasoning_content", "name"]),
            Roles(&["system"]),
            Has("tool_stream", "true"),
            Has("thinking", r#"{"type":"enabled","clear_thinking":false}"#),
            OwnReasoning("reasoning_content"),
            Levels(&["low", "high", "max"]),
        ],
        thinks: Thinks::Field("reasoning_content"),
        usage: Usage::OnFinish,
        overflow: (400, "Prompt exceeds max length"),
        transient: (429, "High concurrency usage of this API, too many requests"),
        ..BASE
    },
    Persona {
        name: "dashscope",
        model: "qwen3.8-max",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "enable_thinking", "reasoning_effort"]),
            Roles(&["system"]),
            Levels(&["low", "medium", "xhigh"]),
            UsageAsked,
        ],
        thinks: Thinks::Field("reasoning_content"),
        overflow: (
            400,
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30000]",
        ),
        transient: (429, "Requests rate limit exceeded, please try again later."),
        ..BASE
    },
    Persona {
        name: "minimax",
        model: "MiniMax-M3",
        body: Body::MiniMax,
        demands: &[
            KeyIn("authorization"),
            Has("reasoning_split", "true"),
            OwnReasoning("reasoning_content"),
            OwnDetails,
        ],
        thinks: Thinks::SplitDetails,
        ids: "call_function_#",
        usage: Usage::OnFinish,
        overflow: (200, "invalid params, context window exceeds limit (2013)"),
        transient: (200, "rate limit"),
        ..BASE
    },
    Persona {
        name: "mistral",
        model: "mistral-medium-3.5",
        body: Body::Mistral,
        demands: &[
            KeyIn("authorization"),
            Fields(&["reasoning_effort", "max_tokens", "parallel_tool_calls"]),
            MessageFields(&["name"]),
            Roles(&["system"]),
            Ids(9),
            NoUserAfterTool,
            OwnParts,
            Levels(&["none", "high"]),
        ],
        thinks: Thinks::Parts,
        deltas: Deltas::Whole,
        ids: "aBcDeFgH#",
        usage: Usage::OnFinish,
        overflow: (
            400,
            "Prompt contains 31000 tokens and 0 draft tokens, too large for model with 30000 maximum \
             context length",
        ),
        transient: (503, "Service unavailable."),
        ..BASE
    },
    Persona {
        name: "xai",
        model: "grok-4.7",
        body: Body::XAi,
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning_effort", "max_tokens"]),
            MessageFields(&["name"]),
            Levels(&["low", "medium", "high", "xhigh"]),
            UsageAsked,
        ],
        thinks: Thinks::Field("reasoning_content"),
        overflow: (
            400,
            "This model's maximum prompt length is 30000 but the request contains 31000 tokens.",
        ),
        transient: (429, "Too many requests"),
        ..BASE
    },
    Persona {
        name: "groq",
        model: "openai/gpt-oss-120b",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning_effort", "reasoning_format"]),
            MessageFields(&["name", "reasoning"]),
            Has("reasoning_format", r#""parsed""#),
            Levels(&["low", "medium", "high"]),
        ],
        thinks: Thinks::Field("reasoning"),
        usage: Usage::XGroq,
        overflow: (400, "Please reduce the length of the messages or completion."),
        transient: (429, "Rate limit reached for model `x`. Please try again in 0.02s."),
        ..BASE
    },
    Persona {
        name: "cerebras",
        model: "gpt-oss-120b",
        body: Body::Flat,
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning_effort", "max_completion_tokens"]),
            MessageFields(&["name", "reasoning"]),
            Levels(&["low", "medium", "high"]),
        ],
        thinks: Thinks::Field("reasoning"),
        deltas: Deltas::Whole,
        usage: Usage::OnFinish,
        overflow: (
            400,
            "Please reduce the length of the messages or completion. Current length is 31000 while \
             limit is 30000",
        ),
        transient: (429, "Requests per minute limit exceeded - too many requests sent."),
        ..BASE
    },
    Persona {
        name: "together",
        model: "Qwen/Qwen3.8-27B",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning", "reasoning_effort", "max_tokens"]),
        ],
        thinks: Thinks::Field("reasoning"),
        usage: Usage::Trailing,
        overflow: (
            400,
            "the input (31000 tokens) is longer than the model's context length (30000 tokens)",
        ),
        transient: (503, "The server is overloaded or not ready yet."),
        ..BASE
    },
    Persona {
        name: "fireworks",
        model: "accounts/fireworks/models/glm-5.3",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "reasoning_effort", "thinking", "max_tokens"]),
            MessageFields(&["name", "reasoning_content"]),
        ],
        thinks: Thinks::Field("reasoning_content"),
        usage: Usage::Trailing,
        overflow: (400, "The prompt is too long: 31000, model maximum context length: 30000"),
        transient: (500, "Invalid channel"),
        ..BASE
    },
    Persona {
        name: "gemini",
        model: "models/gemini-4-argon",
        body: Body::Google,
        demands: &[
            KeyIn("authorization"),
            Has("model", r#""gemini-4-argon""#),
            Fields(&["stream_options", "reasoning_effort", "max_tokens"]),
            MessageFields(&["name", "extra_content"]),
            Signed,
            Named,
        ],
        deltas: Deltas::Signed,
        ids: "",
        finish: "stop",
        usage: Usage::OnFinish,
        overflow: (
            400,
            "The input token count (31000) exceeds the maximum number of tokens allowed (30000).",
        ),
        transient: (503, "The model is overloaded. Please try again later."),
        ..BASE
    },
    Persona {
        name: "litellm",
        model: "gemini-4-argon",
        body: Body::LiteLlm,
        demands: &[UsageAsked, Named],
        thinks: Thinks::Field("reasoning_content"),
        ids: "fc|0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef|#",
        keep_alive: Some("ping"),
        overflow: (
            400,
            "ContextWindowExceededError: prompt is too long: 31000 tokens > 30000 maximum",
        ),
        transient: (429, "RateLimitError: slow down"),
        ..BASE
    },
    Persona {
        name: "azure",
        model: "gpt-5-mini",
        demands: &[
            KeyIn("api-key"),
            Fields(&["stream_options", "reasoning_effort", "max_completion_tokens"]),
            MessageFields(&["name"]),
            Roles(&["developer", "system"]),
            Ids(40),
            UsageAsked,
        ],
        ..BASE
    },
    Persona {
        name: "github-models",
        model: "openai/gpt-4.1",
        demands: &[
            KeyIn("authorization"),
            Fields(&["stream_options", "max_tokens"]),
            MessageFields(&["name"]),
            Roles(&["developer", "system"]),
            UsageAsked,
        ],
        overflow: (413, "Request body too large for gpt-4.1 model. Max size: 30000 tokens."),
        transient: (429, "Rate limit of 15 per 60s exceeded for UserByModelByMinute."),
        ..BASE
    },
    Persona {
        name: "ollama",
        model: "qwen3.8:27b",
        demands: &[UsageAsked, Roles(&["system"])],
        thinks: Thinks::Field("reasoning"),
        deltas: Deltas::Whole,
        overflow: (400, "input length exceeds the context length"),
        transient: (503, "server busy, please try again.  maximum pending requests exceeded"),
        ..BASE
    },
    Persona {
        name: "lmstudio",
        model: "qwen/qwen3.8-27b",
        demands: &[UsageAsked, Roles(&["system"])],
        thinks: Thinks::Tags,
        ids: "30000000#",
        overflow: (
            400,
            "The number of tokens to keep from the initial prompt is greater than the context length.",
        ),
        transient: (503, "Model is loading, the server is busy"),
        ..BASE
    },
    Persona {
        name: "llama.cpp",
        model: "models/gemma-4.gguf",
        demands: &[UsageAsked, Alternate, Roles(&["system", "user"])],
        thinks: Thinks::Field("reasoning_content"),
        keep_alive: Some(""),
        overflow: (
            400,
            "request (31000 tokens) exceeds the available context size (30000 tokens), try \
             increasing it",
        ),
        transient: (503, "Loading model"),
        learned: &["Alternate"],
        ..BASE
    },
    Persona {
        name: "vllm",
        model: "mistralai/Devstral-Small-2512",
        body: Body::Flat,
        demands: &[UsageAsked, Ids(9), NoUserAfterTool, Roles(&["system"])],
        deltas: Deltas::Repeated,
        ids: "zYxWvUtS#",
        finish: "stop",
        overflow: (
            400,
            "This model's maximum context length is 30000 tokens. However, your request has 31000 \
             input tokens.",
        ),
        transient: (500, "EngineCore encountered an issue."),
        ..BASE
    },
    Persona {
        name: "sglang",
        model: "deepseek-ai/DeepSeek-V4-Pro",
        body: Body::Flat,
        demands: &[UsageAsked, ReasoningOnAll, OwnReasoning("reasoning_content")],
        thinks: Thinks::Field("reasoning_content"),
        deltas: Deltas::NoIndex,
        overflow: (
            400,
            "The input (31000 tokens) is longer than the model's context length (30000 tokens).",
        ),
        transient: (503, "The server is busy"),
        ..BASE
    },
    Persona {
        name: "generic",
        model: "house-model",
        demands: &[Fields(&[]), MessageFields(&[]), Roles(&["system"]), Ids(64), NotNull],
        thinks: Thinks::Tags,
        deltas: Deltas::NoIndex,
        usage: Usage::Trailing,
        finish: "",
        overflow: (400, "maximum allowed input length of 30000"),
        transient: (502, "bad gateway"),
        learned: &["stream_options", "reasoning_effort"],
        ..BASE
    },
];

/// The persona of this name, and the one after it.
#[track_caller]
pub fn pair(name: &str) -> (&'static Persona, &'static Persona) {
    let at = PERSONAS.iter().position(|persona| persona.name == name);
    let at = at.unwrap_or_else(|| panic!("no persona {name}"));
    (&PERSONAS[at], &PERSONAS[(at + 1) % PERSONAS.len()])
}
