//! Two hundred secrets lie about, and none is found where it does not belong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, shell, write};

/// Variables that providers take their keys from.
const PROVIDERS: [&str; 23] = [
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "CEREBRAS_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "FIREWORKS_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "KIMI_API_KEY",
    "LITELLM_API_KEY",
    "LM_API_TOKEN",
    "MINIMAX_API_KEY",
    "MISTRAL_API_KEY",
    "MOONSHOT_API_KEY",
    "OLLAMA_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "VLLM_API_KEY",
    "XAI_API_KEY",
    "ZAI_API_KEY",
    "ZHIPU_API_KEY",
];
/// Endpoints of the user's own, each with a key and a secret header.
const ENDPOINTS: usize = 60;
/// Files that hold one each.
const FILES: usize = 56;
/// The key in use.
const IN_USE: usize = 0;

fn canary(number: usize) -> String {
    format!("canary-{number:03}-{:016x}", (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// An environment full of secrets; gives how many there are, and the files that hold some.
fn full(provider: &Provider) -> (Env, usize, Vec<std::path::PathBuf>) {
    let mut env = Env::new(provider);
    env.set("XSH_API_KEY", &canary(IN_USE));
    let mut count = 1;
    let mut next = || {
        count += 1;
        canary(count - 1)
    };
    for name in PROVIDERS {
        env.set(name, &next());
    }
    let mut config = String::new();
    for number in 0..ENDPOINTS {
        env.set(&format!("TEAM_{number}_KEY"), &next());
        let section = format!(
            "[providers.team{number}]\nbase_url = \"https://team{number}.example/v1\"\n\
             api_key_env = \"TEAM_{number}_KEY\"\nheaders = {{ X-Gateway-Token = \"{}\" }}\n",
            next()
        );
        config.push_str(&section);
    }
    env.config(&config);
    let mut files = vec![env.home().join("config/xsh/config.toml")];
    for number in 0..FILES {
        let path = match number {
            0 => env.path(".env"),
            1 => env.path("AGENTS.local.md"),
            2 => env.home().join(".netrc"),
            _ => env.path(&format!("secrets/{number}.txt")),
        };
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(&path, format!("KEY={}\n", next())).expect("a file");
        files.push(path);
    }
    env.write("AGENTS.md", format!("Never say {}.\n", canary(IN_USE)));
    files.push(env.path("AGENTS.md"));
    (env, count, files)
}

/// The secrets that a text holds.
fn found(text: &str, count: usize) -> Vec<usize> {
    (0..count).filter(|number| text.contains(&canary(*number))).collect()
}

/// Everything below a folder but these files, and the undo copies of files that commands changed.
fn all_files(env: &Env, but: &[std::path::PathBuf]) -> Vec<(std::path::PathBuf, String)> {
    let walk = walkdir::WalkDir::new(env.root()).into_iter().flatten();
    let files = walk.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files
        .filter(|path| !but.contains(path))
        .map(|path| {
            let bytes = fs::read(&path).expect("a file");
            (path, String::from_utf8_lossy(&bytes).into_owned())
        })
        .collect()
}

fn assert_clean(env: &Env, provider: &Provider, count: usize, files: &[std::path::PathBuf]) {
    for request in provider.requests() {
        let body = request.json.to_string();
        assert_eq!(found(&body, count), Vec::<usize>::new(), "in a request: {body}");
    }
    for (path, text) in all_files(env, files) {
        assert_eq!(found(&text, count), Vec::<usize>::new(), "in {}", path.display());
    }
}

/// What is asked of the shell: what a child sees, what its parent has, and a file with known secrets,
/// once short and once so long that the output goes into a side file.
fn commands() -> [String; 6] {
    [
        "env; echo key=$XSH_API_KEY $OPENAI_API_KEY $TEAM_3_KEY".to_owned(),
        "env > child-env.txt; tr '\\0' '\\n' < /proc/self/environ >> child-env.txt".to_owned(),
        "cat /proc/$PPID/environ /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n'; true"
            .to_owned(),
        "cat \"$HOME/config/xsh/config.toml\"".to_owned(),
        "for i in $(seq 400); do cat \"$HOME/config/xsh/config.toml\"; done".to_owned(),
        "cat /proc/$PPID/cmdline; ps -ef 2>/dev/null; true".to_owned(),
    ]
}

fn model() -> Provider {
    let mut step = 0;
    Provider::answering(move |_| {
        step += 1;
        let key = canary(IN_USE);
        let calls = commands();
        match step {
            1 => Reply::error(500, &format!("the key {key} has a hiccup")),
            2..=7 => Reply::calls([shell(&format!("c{step}"), &calls[step - 2])])
                .reasoning("reasoning_content", &format!("they sent me {key}")),
            8 => Reply::calls([write("w", "said.txt", &format!("key {key}\n"))]),
            9 => {
                let (start, rest) = key.split_at(5);
                let (middle, end) = rest.split_at(15);
                Reply::pieces(&["Your key is ", start, middle, end, "."])
            }
            _ => Reply::error(401, &format!("wrong key {key}")),
        }
    })
}

#[test]
fn a_headless_run_leaves_none_anywhere() {
    let provider = model();
    let (env, count, files) = full(&provider);
    assert_eq!(count, 200);
    let log = env.root().join("debug.log");
    let log = log.to_str().expect("UTF-8");
    let prompt = format!("What can you find out about {}?", canary(IN_USE));
    let run = ["-v", "--permission-mode", "full", "--debug-log", log, "-p", &*prompt];
    let mut said = env.run(&run).expect_code(0);
    let failed = env.run(&["-c", "--debug-log", log, "--output-format", "stream-json", "-p", "on"]);
    let failed = failed.expect_code(1);
    assert_says(&said.stdout, &["Your key is [XSH_API_KEY masked]."]);
    assert_says(&failed.stdout, &["XSH_API_KEY masked"]);
    said.stdout += &(said.stderr.clone() + &failed.stdout + &failed.stderr);
    let id = env.log().id().to_owned();
    let export = |format| ["sessions", "export", &*id, "--format", format];
    for args in [
        &["sessions"][..],
        &["sessions", "show", &id],
        &["sessions", "search", "key"],
        &export("md"),
        &export("html"),
        &export("json"),
        &["doctor"],
    ] {
        let output = env.run(args).expect_code(0);
        said.stdout += &(output.stdout + &output.stderr);
    }
    assert_eq!(found(&said.stdout, count), Vec::<usize>::new(), "{}", said.stdout);
    // Of the secrets in the children's environment there is none, masked or not.
    let child = env.text("child-env.txt");
    assert_silent_on(&child, &["canary", "masked", "XSH_API_KEY", "TEAM_3_KEY", "OPENAI_API_KEY"]);
    assert_says(&env.text("said.txt"), &["[XSH_API_KEY masked]"]);
    assert_clean(&env, &provider, count, &files);
}

#[test]
fn a_session_at_the_keyboard_leaves_none_anywhere() {
    let provider = model();
    let (env, count, files) = full(&provider);
    let pty = Pty::xsh(&env, &["--permission-mode", "full"]);
    pty.settle();
    pty.line("tell me what you find");
    pty.wait_for("Your key is [XSH_API_KEY masked].");
    pty.settle();
    for line in ["/context", "/tools", "/sessions", "/sessions key", "/export", "/model", "on"] {
        pty.line(line);
        pty.settle();
    }
    pty.wait_for("wrong key [XSH_API_KEY masked]");
    assert_eq!(found(&pty.raw_text(), count), Vec::<usize>::new(), "{}", pty.raw_text());
    // What is typed shows on the screen, but goes no further.
    pty.line(&format!("my key is {}", canary(IN_USE)));
    pty.settle();
    pty.line("/quit");
    drop(pty);
    assert_clean(&env, &provider, count, &files);
}

/// A key that was no secret when it was said is one by the time that the session is given away.
#[test]
fn what_became_a_secret_later_is_masked_in_exports() {
    let provider = Provider::start([Reply::text(&format!("It is {}.", canary(7)))]);
    let mut env = Env::new(&provider);
    let _ = env.ask(&format!("my \"key\" {}", canary(7)));
    env.set("OPENAI_API_KEY", &canary(7));
    let id = env.log().id().to_owned();
    for format in ["md", "html", "json"] {
        let output = env.run(&["sessions", "export", &id, "--format", format]).expect_code(0);
        assert_says(&output.stdout, &["It is [OPENAI_API_KEY masked].|OPENAI\\_API\\_KEY"]);
        assert_silent_on(&output.stdout, &["canary"]);
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).permissions().mode()
        & 0o777
}

/// Whatever the umask, what xsh keeps can be read by its user alone.
#[test]
fn what_is_kept_is_private_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let provider = Provider::start([
            Reply::calls([shell("c", "seq 100000; echo x > made.txt")]),
            Reply::text("Done."),
            Reply::text("Done."),
        ]);
        let env = Env::new(&provider);
        let script = format!(
            "umask {umask}; \"$0\" --permission-mode full --debug-log debug.log -p go && echo hi | \"$0\""
        );
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_xsh")]).current_dir(env.workspace());
        command.env_clear().envs(env.vars().iter().map(|(name, value)| (name, value)));
        assert!(command.output().expect("sh runs").status.success());
        let state = env.home().join("state/xsh");
        let kept = [env.path(".xsh/sessions"), state];
        let mut seen = 0;
        for entry in
            kept.iter().flat_map(|folder| walkdir::WalkDir::new(folder).into_iter().flatten())
        {
            let allowed = if entry.file_type().is_dir() { 0o700 } else { 0o600 };
            assert_eq!(mode(entry.path()), allowed, "{umask}: {}", entry.path().display());
            seen += 1;
        }
        assert!(seen > 6, "{umask}: {seen}");
        assert_eq!(mode(&env.path(".xsh")), 0o700);
        assert_eq!(mode(&env.path("debug.log")), 0o600);
    }
}

#[test]
fn what_is_typed_is_remembered_only_where_the_user_wants_it() {
    let whole = |env: &Env| {
        let state = env.home().join("state/xsh");
        let walk = walkdir::WalkDir::new(state).into_iter().flatten();
        let files = walk.filter(|entry| entry.file_type().is_file());
        let files = files.filter(|entry| entry.path().to_string_lossy().contains("histor"));
        files
            .map(|entry| (mode(entry.path()), fs::read_to_string(entry.path()).expect("text")))
            .collect::<Vec<_>>()
    };
    for (setting, remembered) in [("", true), ("user", true), ("project", true), ("off", false)] {
        let provider = Provider::answering(|_| Reply::text("Yes."));
        let env = Env::new(&provider);
        if !setting.is_empty() {
            env.config(&format!("history = \"{setting}\"\n"));
        }
        let pty = Pty::xsh(&env, &[]);
        pty.settle();
        for line in
            ["a plain message", " one with a blank", &format!("it is {}", crate::support::env::KEY)]
        {
            pty.line(line);
            pty.settle();
        }
        pty.line("/quit");
        drop(pty);
        let files = whole(&env);
        assert_eq!(files.len(), usize::from(remembered), "{setting}: {files:?}");
        for (mode, text) in files {
            assert_eq!(mode, 0o600);
            assert_says(&text, &["a plain message"]);
            assert_silent_on(&text, &["one with a blank", crate::support::env::KEY]);
        }
        if setting == "project" {
            let mut other = env;
            other.enter("other");
            let pty = Pty::xsh(&other, &[]);
            pty.settle();
            pty.send("\u{1b}[A");
            pty.settle();
            assert_silent_on(&pty.screen(), &["a plain message"]);
        }
    }
}
