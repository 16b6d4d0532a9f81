//! The rows. A row names only what differs from [`BASE`]; its place says how early it is chosen
//! when several keys are in the environment: cheap and capable first.

use super::effort::Effort::{High, Low, Max, Medium, Off};
use super::{
    Auth, EffortStyle, Fields, IdRule, ModelIds, OutLimit, Profile, Replay, SchemaLevel,
    Signatures, SystemRole, Turns,
};
use crate::client::profile::Effort;
use crate::client::profile::levels::Names;

type Levels = &'static [(Effort, &'static str)];

const COMMON: Levels =
    &[(Off, "none"), (Low, "low"), (Medium, "medium"), (High, "high"), (Max, "max")];
const UP_TO_XHIGH: Levels = &[(Low, "low"), (Medium, "medium"), (High, "high"), (Max, "xhigh")];
const UP_TO_HIGH: Levels = &[(Low, "low"), (Medium, "medium"), (High, "high")];
const THREE: Levels = &[(Low, "low"), (High, "high"), (Max, "max")];
const NONE_UP_TO_HIGH: Levels = &[(Off, "none"), (Low, "low"), (Medium, "medium"), (High, "high")];

/// What most providers have in common.
pub(super) const BASE: Profile = Profile {
    name: "",
    aliases: &[],
    hosts: &[],
    port: None,
    base_url: None,
    key_envs: &[],
    details: &[],
    base_url_env: None,
    automatic: true,
    auth: Auth::Bearer,
    default_model: None,
    model_ids: ModelIds::Plain,
    out_limit: OutLimit::MaxTokens,
    include_usage: true,
    system_role: SystemRole::System,
    effort: EffortStyle::ReasoningEffort,
    levels: NONE_UP_TO_HIGH,
    reasoning_field: "reasoning_content",
    replay: Replay::SameField,
    null_content: false,
    id_rule: IdRule::Any,
    turns: Turns::Free,
    tool_name: false,
    signatures: Signatures::Echo,
    think_back: false,
    trim: false,
    schemas: SchemaLevel::Plain,
    cache_key: false,
    model_prefix: "",
    forced_tool_choice: true,
    extra_body: &[],
    without: Fields::NONE,
    only_levels: Names::ALL,
    no_effort_with_tools: false,
    below_v1: false,
};

/// An endpoint that no row matches: the most widely understood form of everything. On this machine
/// it may be any of the local servers.
pub const GENERIC: Profile = Profile {
    name: "generic",
    details: &["/api/ps", "/api/v0/models", "/props", "/model/info", "/info"],
    model_ids: ModelIds::Mixed,
    levels: COMMON,
    ..BASE
};

const OPENAI: Profile = Profile {
    name: "openai",
    hosts: &["api.openai.com"],
    base_url: Some("https://api.openai.com/v1"),
    key_envs: &["OPENAI_API_KEY"],
    base_url_env: Some("OPENAI_BASE_URL"),
    default_model: Some("gpt-6-luna"),
    out_limit: OutLimit::MaxCompletionTokens,
    system_role: SystemRole::Developer,
    levels: COMMON,
    replay: Replay::Never,
    id_rule: IdRule::Max40,
    schemas: SchemaLevel::Full,
    cache_key: true,
    ..BASE
};

const MOONSHOT: Profile = Profile {
    name: "moonshot",
    aliases: &["kimi"],
    hosts: &["api.moonshot.ai", "api.moonshot.cn"],
    base_url: Some("https://api.moonshot.ai/v1"),
    key_envs: &["MOONSHOT_API_KEY"],
    default_model: Some("kimi-k3"),
    out_limit: OutLimit::MaxCompletionTokens,
    levels: THREE,
    replay: Replay::Always,
    forced_tool_choice: false,
    ..BASE
};

const ZAI: Profile = Profile {
    name: "zai",
    aliases: &["z.ai", "glm"],
    hosts: &["api.z.ai"],
    base_url: Some("https://api.z.ai/api/paas/v4"),
    key_envs: &["ZAI_API_KEY"],
    default_model: Some("glm-5.3"),
    effort: EffortStyle::Thinking,
    levels: THREE,
    forced_tool_choice: false,
    extra_body: &[
        ("thinking", r#"{"type":"enabled","clear_thinking":false}"#),
        ("tool_stream", "true"),
    ],
    ..BASE
};

/// A server on the user's own machine: no key needed, models as they are installed.
const LOCAL: Profile =
    Profile { automatic: false, model_ids: ModelIds::Mixed, levels: COMMON, ..BASE };

/// The presets.
pub const PROFILES: &[Profile] = &[
    Profile {
        name: "deepseek",
        hosts: &["api.deepseek.com"],
        base_url: Some("https://api.deepseek.com"),
        key_envs: &["DEEPSEEK_API_KEY"],
        default_model: Some("deepseek-flash"),
        effort: EffortStyle::Thinking,
        levels: THREE,
        replay: Replay::Always,
        forced_tool_choice: false,
        ..BASE
    },
    OPENAI,
    Profile {
        name: "openrouter",
        hosts: &["openrouter.ai"],
        base_url: Some("https://openrouter.ai/api/v1"),
        key_envs: &["OPENROUTER_API_KEY"],
        default_model: Some("deepseek/deepseek-v4-pro"),
        model_ids: ModelIds::Paths,
        effort: EffortStyle::Reasoning,
        levels: COMMON,
        reasoning_field: "reasoning",
        replay: Replay::Details,
        ..BASE
    },
    MOONSHOT,
    Profile {
        name: "kimi-code",
        aliases: &[],
        hosts: &["api.kimi.com"],
        base_url: Some("https://api.kimi.com/coding/v1"),
        key_envs: &["KIMI_API_KEY"],
        ..MOONSHOT
    },
    ZAI,
    Profile {
        name: "zhipu",
        aliases: &["bigmodel"],
        hosts: &["open.bigmodel.cn"],
        base_url: Some("https://open.bigmodel.cn/api/paas/v4"),
        key_envs: &["ZHIPU_API_KEY"],
        ..ZAI
    },
    Profile {
        name: "dashscope",
        aliases: &["qwen"],
        hosts: &[
            "dashscope-intl.aliyuncs.com",
            "dashscope.aliyuncs.com",
            "dashscope-us.aliyuncs.com",
        ],
        base_url: Some("https://dashscope-intl.aliyuncs.com/compatible-mode/v1"),
        key_envs: &["DASHSCOPE_API_KEY"],
        default_model: Some("qwen3.8-max"),
        effort: EffortStyle::EnableThinking,
        levels: &[(Low, "low"), (Medium, "medium"), (Max, "xhigh")],
        forced_tool_choice: false,
        ..BASE
    },
    Profile {
        name: "minimax",
        hosts: &["api.minimax.io", "api.minimaxi.com"],
        base_url: Some("https://api.minimax.io/v1"),
        key_envs: &["MINIMAX_API_KEY"],
        default_model: Some("MiniMax-M3"),
        out_limit: OutLimit::MaxCompletionTokens,
        effort: EffortStyle::Thinking,
        levels: &[],
        forced_tool_choice: false,
        replay: Replay::Details,
        extra_body: &[("reasoning_split", "true")],
        ..BASE
    },
    Profile {
        name: "gemini",
        aliases: &["google"],
        hosts: &["generativelanguage.googleapis.com"],
        base_url: Some("https://generativelanguage.googleapis.com/v1beta/openai"),
        key_envs: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        default_model: Some("gemini-3.8-flash"),
        levels: UP_TO_HIGH,
        tool_name: true,
        signatures: Signatures::Demanded,
        schemas: SchemaLevel::Bare,
        model_prefix: "models/",
        ..BASE
    },
    Profile {
        name: "mistral",
        hosts: &["api.mistral.ai"],
        base_url: Some("https://api.mistral.ai/v1"),
        key_envs: &["MISTRAL_API_KEY"],
        default_model: Some("devstral-2512"),
        include_usage: false,
        levels: &[(Off, "none"), (High, "high")],
        replay: Replay::Parts,
        id_rule: IdRule::Mistral9,
        turns: Turns::NoUserAfterTool,
        ..BASE
    },
    Profile {
        name: "xai",
        aliases: &["grok"],
        hosts: &["api.x.ai"],
        base_url: Some("https://api.x.ai/v1"),
        key_envs: &["XAI_API_KEY"],
        default_model: Some("grok-4.7"),
        levels: UP_TO_XHIGH,
        replay: Replay::Never,
        ..BASE
    },
    Profile {
        name: "groq",
        hosts: &["api.groq.com"],
        base_url: Some("https://api.groq.com/openai/v1"),
        key_envs: &["GROQ_API_KEY"],
        default_model: Some("openai/gpt-oss-120b"),
        model_ids: ModelIds::Mixed,
        out_limit: OutLimit::MaxCompletionTokens,
        levels: UP_TO_HIGH,
        reasoning_field: "reasoning",
        extra_body: &[("reasoning_format", r#""parsed""#)],
        ..BASE
    },
    Profile {
        name: "cerebras",
        hosts: &["api.cerebras.ai"],
        base_url: Some("https://api.cerebras.ai/v1"),
        key_envs: &["CEREBRAS_API_KEY"],
        default_model: Some("gpt-oss-120b"),
        out_limit: OutLimit::MaxCompletionTokens,
        levels: UP_TO_HIGH,
        reasoning_field: "reasoning",
        forced_tool_choice: false,
        ..BASE
    },
    Profile {
        name: "together",
        hosts: &["api.together.ai", "api.together.xyz"],
        base_url: Some("https://api.together.ai/v1"),
        key_envs: &["TOGETHER_API_KEY"],
        model_ids: ModelIds::Paths,
        levels: UP_TO_HIGH,
        ..BASE
    },
    Profile {
        name: "fireworks",
        hosts: &["api.fireworks.ai"],
        base_url: Some("https://api.fireworks.ai/inference/v1"),
        key_envs: &["FIREWORKS_API_KEY"],
        model_ids: ModelIds::Paths,
        ..BASE
    },
    Profile {
        name: "anthropic",
        aliases: &["claude"],
        hosts: &["api.anthropic.com"],
        base_url: Some("https://api.anthropic.com/v1"),
        key_envs: &["ANTHROPIC_API_KEY"],
        default_model: Some("claude-sonnet-5-5"),
        effort: EffortStyle::None,
        levels: &[],
        replay: Replay::Never,
        id_rule: IdRule::Plain,
        trim: true,
        ..BASE
    },
    Profile {
        name: "ollama-cloud",
        hosts: &["ollama.com"],
        base_url: Some("https://ollama.com/v1"),
        key_envs: &["OLLAMA_API_KEY"],
        levels: COMMON,
        reasoning_field: "reasoning",
        ..BASE
    },
    Profile {
        name: "azure",
        hosts: &["*.openai.azure.com", "*.services.ai.azure.com"],
        base_url: None,
        key_envs: &["AZURE_OPENAI_API_KEY"],
        base_url_env: None,
        automatic: false,
        auth: Auth::ApiKeyHeader,
        default_model: None,
        cache_key: false,
        ..OPENAI
    },
    // Tokens for GitHub lie around in many environments: never a reason to choose it.
    Profile {
        name: "github-models",
        aliases: &["github"],
        hosts: &["models.github.ai"],
        base_url: Some("https://models.github.ai/inference"),
        key_envs: &["GITHUB_TOKEN"],
        automatic: false,
        model_ids: ModelIds::Paths,
        effort: EffortStyle::None,
        levels: &[],
        ..BASE
    },
    Profile {
        name: "ollama",
        port: Some(11434),
        base_url: Some("http://127.0.0.1:11434/v1"),
        details: &["/api/ps"],
        base_url_env: Some("OLLAMA_HOST"),
        reasoning_field: "reasoning",
        forced_tool_choice: false,
        ..LOCAL
    },
    Profile {
        name: "lmstudio",
        aliases: &["lm-studio"],
        port: Some(1234),
        base_url: Some("http://127.0.0.1:1234/v1"),
        details: &["/api/v0/models"],
        key_envs: &["LM_API_TOKEN"],
        ..LOCAL
    },
    Profile {
        name: "llama.cpp",
        aliases: &["llamacpp", "llama-cpp"],
        port: Some(8080),
        base_url: Some("http://127.0.0.1:8080/v1"),
        details: &["/props"],
        ..LOCAL
    },
    Profile {
        name: "vllm",
        port: Some(8000),
        base_url: Some("http://127.0.0.1:8000/v1"),
        key_envs: &["VLLM_API_KEY"],
        ..LOCAL
    },
    Profile {
        name: "sglang",
        port: Some(30000),
        base_url: Some("http://127.0.0.1:30000/v1"),
        ..LOCAL
    },
    Profile {
        name: "litellm",
        port: Some(4000),
        base_url: Some("http://127.0.0.1:4000/v1"),
        details: &["/model/info"],
        key_envs: &["LITELLM_API_KEY"],
        ..LOCAL
    },
];
