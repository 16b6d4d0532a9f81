//! One session with every provider: two tools in one reply, a fault that passes, an overflow, a
//! resume, and a switch to the next provider and back. Nothing that xsh sends may be refused, except
//! once for what only the refusal could tell.

use crate::support::assert::assert_says;
use crate::support::env::{Env, KEY};
use crate::support::http::Request;
use crate::support::persona::{Persona, Say, Stage};
use crate::support::personas::{PERSONAS, pair};
use crate::support::reply::read;

/// A request for a summary is the one in which no tool may be called.
fn is_summary(request: &Request) -> bool {
    request.json["tool_choice"] == "none"
}

/// What happens, told once for all.
fn script(persona: &'static Persona) -> impl FnMut(&Request) -> Say + Send {
    let (mut troubled, mut overflowed) = (false, false);
    let mut asked = String::new();
    let file = |letter: &str| read("", &format!("{letter}-of-{}.txt", persona.name));
    move |request| {
        if is_summary(request) {
            return Say::Text("SUMMARY: the files were read.");
        }
        let last = request.messages().last().cloned().unwrap_or_default();
        if last["role"] == "user" {
            request.last().clone_into(&mut asked);
        }
        match (last["role"].as_str().unwrap_or_default(), asked.as_str()) {
            ("user", "read both") if !troubled => {
                troubled = true;
                Say::Transient
            }
            ("user", "read both") => Say::Calls(vec![file("a"), file("b")]),
            ("user", "more") => Say::Calls(vec![file("c")]),
            ("tool", "more") if !overflowed => {
                overflowed = true;
                Say::Overflow
            }
            ("user", _) => Say::Calls(vec![file("c")]),
            _ => Say::Text("All is read. \n"),
        }
    }
}

fn prepare(personas: &[&Persona]) -> Env {
    let mut env = Env::bare();
    env.config("[retry]\nmax_wait = 0.05\n");
    env.set("XSH_API_KEY", KEY);
    for persona in personas {
        for (letter, lines) in [("a", 1_500), ("b", 1_500), ("c", 700)] {
            let text = format!("line of {letter} here\n").repeat(lines);
            env.write(&format!("{letter}-of-{}.txt", persona.name), text);
        }
    }
    env
}

/// One turn with this stage under this preset.
fn turn(env: &Env, (preset, model, stage): (&str, &str, &Stage), more: &[&str], prompt: &str) {
    let url = stage.provider.base_url();
    let mut args = vec!["--provider", preset, "--base-url", &url, "-m", model];
    args.extend(["--permission-mode", "full"]);
    args.extend(more);
    args.extend(["-p", prompt]);
    let output = env.run(&args).expect_code(0);
    let refusals = stage.refusals();
    assert!(output.stdout.contains("All is read."), "{prompt}: {output:?} {refusals:#?}");
}

/// The three turns with one persona.
fn session(env: &Env, with: (&str, &str, &Stage)) {
    turn(env, with, &[], "read both");
    turn(env, with, &["-c"], "more");
    turn(env, with, &["-c", "--effort", "low"], "and again");
    let log = env.log();
    assert_eq!(log.last("compaction")["trigger"], "overflow");
    assert_eq!(log.last("compaction").get("kind"), None, "a real summary");
    assert_eq!(log.of("tool_result").len(), 4);
    for reply in log.of("assistant_message") {
        assert!(reply["usage"]["prompt"].as_u64() > Some(0), "no usage in {reply}");
    }
    let results = log.of("tool_result");
    assert!(results.iter().all(|result| result["is_error"] != true), "{results:?}");
}

/// With its preset nothing is refused, on the way to the next provider and back neither.
fn with_its_preset(name: &str) {
    let (persona, next) = pair(name);
    let stage = Stage::open(persona, true, script(persona));
    let other = Stage::open(next, true, script(next));
    let env = prepare(&[persona, next]);
    session(&env, (persona.name, persona.model, &stage));
    turn(&env, (next.name, next.model, &other), &["-c"], "go on");
    turn(&env, (persona.name, persona.model, &stage), &["-c"], "and back");
    let rules = |stage: &Stage, known: &[&str]| {
        let mut refusals = stage.refusals();
        refusals.retain(|refusal| !known.iter().any(|rule| refusal.contains(rule)));
        refusals
    };
    assert_eq!(rules(&stage, persona.learned), Vec::<String>::new());
    assert_eq!(rules(&other, next.learned), Vec::<String>::new());
    assert_eq!(stage.refusals().len(), persona.learned.len(), "{:#?}", stage.refusals());
}

/// Where nothing is known of it, not even by the model's name, each demand is met after one refusal, and remembered.
fn as_a_stranger(name: &str) {
    let (persona, _) = pair(name);
    let stage = Stage::open(persona, false, script(persona));
    let env = prepare(&[persona]);
    session(&env, ("generic", "house-model", &stage));
    let learned = stage.refusals();
    let mut once = learned.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), learned.len(), "refused twice: {learned:#?}");
    turn(&env, ("generic", "house-model", &stage), &["--effort", "low"], "read both");
    assert_eq!(stage.refusals(), learned, "forgotten");
}

macro_rules! personas {
    ($($name:ident: $preset:literal),+ $(,)?) => {
        const PLAYED: &[&str] = &[$($preset),+];
        $(mod $name {
            #[test]
            fn with_its_preset() {
                super::with_its_preset($preset);
            }

            #[test]
            fn as_a_stranger() {
                super::as_a_stranger($preset);
            }
        })+
    };
}

personas! {
    deepseek: "deepseek", openai: "openai", openrouter: "openrouter", moonshot: "moonshot",
    anthropic: "anthropic", zai: "zai", dashscope: "dashscope", minimax: "minimax",
    mistral: "mistral", xai: "xai", groq: "groq", cerebras: "cerebras", together: "together",
    fireworks: "fireworks", gemini: "gemini", litellm: "litellm", azure: "azure", github_models: "github-models",
    ollama: "ollama", lmstudio: "lmstudio", llama_cpp: "llama.cpp", vllm: "vllm",
    sglang: "sglang", generic: "generic",
}

#[test]
fn every_persona_is_played() {
    let all: Vec<&str> = PERSONAS.iter().map(|persona| persona.name).collect();
    assert_eq!(all, PLAYED);
    assert_says(&all.join(" "), &["deepseek", "generic"]);
}
