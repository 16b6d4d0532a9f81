//! The sandbox of commands, by the real kernel: what gets out of it, what works in it, and what the
//! model is told.
//!
//! Where a machine has no sandbox these tests have nothing to look at and fail: that is meant.

mod corpus;
mod prepared;
mod repositories;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::json;

use crate::support::assert::{assert_says, assert_silent_on};
use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{Reply, call, shell};

/// A place that is not below `/tmp`, which commands see their own of.
pub(crate) const ELSEWHERE: &str = env!("CARGO_TARGET_TMPDIR");

/// Commands run unasked, in the sandbox.
const AUTO: [&str; 2] = ["--permission-mode", "auto"];

/// Runs these calls in one reply each; gives the environment and the last request.
fn run(env: Env, calls: &[(&str, serde_json::Value)], args: &[&str]) -> (Env, Request) {
    let replies =
        calls.iter().map(|(id, arguments)| Reply::calls([call(id, "shell", arguments.clone())]));
    let provider = Provider::start(replies.chain([Reply::text("Done.")]));
    let env = env.with(&provider);
    let mode = if args.contains(&"--permission-mode") { &[][..] } else { &AUTO };
    let _ = env.run(&[&["-p", "go"], mode, args].concat());
    (env, provider.last_request())
}

fn elsewhere() -> Env {
    Env::bare_in(Path::new(ELSEWHERE))
}

#[track_caller]
fn check(command: &str, expected: &[&str]) {
    let (_env, request) = run(elsewhere(), &[("c1", json!({ "command": command }))], &[]);
    assert_says(request.result("c1"), expected);
}

#[test]
fn its_strength_is_known() {
    let env = Env::bare();
    let said = env.run(&["doctor"]).stdout;
    assert_says(&said, &["sandbox", "full|partial"]);
}

#[test]
fn ordinary_work_needs_no_way_out() {
    check("echo hi > a && cat a && rm a", &["hi", "exit code 0"]);
    check("git init -q && touch a && git add a && git status --short", &["A  a", "exit code 0"]);
    check(
        "mktemp && echo x > /tmp/y && cat /tmp/y && echo z > /var/tmp/z",
        &["/tmp/", "exit code 0"],
    );
    check("python3 -c 'import multiprocessing as m; print(m.Lock().acquire())'", &["True"]);
    check("cat /proc/self/status | grep -c Name; ls /proc/self/fd | wc -l", &["exit code 0"]);
    check(
        "echo x > /dev/null; head -c 4 /dev/urandom | wc -c; : < /dev/zero",
        &["4", "exit code 0"],
    );
    check("script -qec 'tty' /dev/null", &["/dev/pts/", "exit code 0"]);
    let server = "import socket as s; a = s.socket(); a.bind(('127.0.0.1', 0)); a.listen(); \
                  s.create_connection(a.getsockname()); print('met')";
    check(&format!("python3 -c \"{server}\""), &["met", "exit code 0"]);
}

#[test]
fn the_private_folder_for_temporary_files_lasts_as_long_as_the_session() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "echo kept > /tmp/note; echo $TMPDIR")]),
        Reply::calls([shell("c2", "cat /tmp/note")]),
        Reply::text("Done."),
    ]);
    let env = elsewhere().with(&provider);
    let _ = env.run(&[&["-p", "go"][..], &AUTO].concat());
    let request = provider.last_request();
    assert_says(request.result("c1"), &["/tmp"]);
    assert_says(request.result("c2"), &["kept"]);
    let session = env.sessions().pop().expect("a session").with_extension("files");
    assert!(!session.join("tmp").exists(), "it is gone with the program");
    assert!(!Path::new("/tmp/note").exists());
}

#[test]
fn a_workspace_in_tmp_works_too() {
    let (env, request) = run(Env::bare(), &[("c1", json!({"command": "echo x > made; pwd"}))], &[]);
    assert_says(request.result("c1"), &[env.workspace().to_str().expect("UTF-8"), "exit code 0"]);
    assert!(env.exists("made"));
}

#[test]
fn an_added_folder_is_writable() {
    let env = elsewhere();
    let other = env.root().join("other");
    fs::create_dir(&other).expect("a folder");
    let other = other.to_str().expect("UTF-8").to_owned();
    let command = json!({ "command": format!("echo x > {other}/made") });
    let (_env, request) = run(env, &[("c1", command)], &["--add-dir", &other]);
    assert_says(request.result("c1"), &["exit code 0"]);
    assert!(Path::new(&other).join("made").exists());
}

#[test]
fn how_a_command_ends_is_told_as_outside() {
    check("exit 7", &["exit code 7"]);
    check("kill -KILL $$", &["SIGKILL"]);
    check("kill -SEGV $$", &["SIGSEGV"]);
    check("kill -TERM $$; sleep 5", &["SIGTERM"]);
    check(
        "sleep 97531 & echo ready",
        &["ready", "exit code 0", "1 background process", "sleep 97531"],
    );
    check("setsid sleep 97532 > /dev/null & sleep 0.2; echo up", &["up", "1 background process"]);
}

#[test]
fn a_pipe_outside_and_the_key_of_sessions_are_out_of_reach() {
    let env = elsewhere();
    let fifo = env.root().join("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .expect("a pipe");
    let reader = fs::OpenOptions::new().read(true).write(true).open(&fifo).expect("a reader");
    let state = env.home().join("state/xsh");
    let commands = [
        format!("echo x > {}; echo $?", fifo.display()),
        format!("cat {}/session-key; echo $?", state.display()),
        format!("ls {}", state.display()),
    ];
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let (_env, request) = in_turn(env, &commands, &[]);
    assert_says(request.result("c1"), &["ermission denied"]);
    assert_says(request.result("c2"), &["ermission denied"]);
    assert_says(request.result("c3"), &["session-key"]);
    drop(reader);
}

#[test]
fn a_denial_is_explained_and_success_is_not() {
    check(
        "echo x > /etc/xsh-test",
        &["Read-only file system", "exit code 1", "outside_sandbox", "workspace|work"],
    );
    check(
        "python3 -c \"import socket; socket.create_connection(('192.0.2.1', 80))\"",
        &["the network", "outside_sandbox"],
    );
    let network = json!({"command": "(echo > /dev/tcp/192.0.2.1/80) 2> /dev/null"});
    let other = json!({"command": "exit 1"});
    let (_env, request) = run(elsewhere(), &[("c1", network), ("c2", other)], &[]);
    assert_says(request.result("c1"), &["the network"]);
    assert_silent_on(request.result("c2"), &["the network"]);
    let words = json!({"command": "echo 'Read-only file system'"});
    let (_env, request) = run(elsewhere(), &[("c1", words)], &[]);
    assert_silent_on(request.result("c1"), &["outside_sandbox"]);
    let failure = json!({"command": "echo plain failure; exit 1"});
    let (_env, request) = run(elsewhere(), &[("c1", failure)], &[]);
    assert_silent_on(request.result("c1"), &["outside_sandbox"]);
}

#[test]
fn what_turns_up_protected_is_moved_aside_and_kept() {
    let command =
        json!({"command": "echo '{}' > .mcp.json; mkdir .claude; echo x > .claude/n; echo ok"});
    let (env, request) = run(elsewhere(), &[("c1", command)], &[]);
    assert_says(
        request.result("c1"),
        &["ok", ".mcp.json came into being", ".claude came into being"],
    );
    assert!(!env.exists(".mcp.json") && !env.exists(".claude"));
    let aside =
        env.sessions().pop().expect("a session").with_extension("files").join("moved-aside");
    assert_eq!(fs::read_to_string(aside.join("1-.mcp.json")).expect("kept"), "{}\n");
    assert_eq!(fs::read_to_string(aside.join("2-.claude/n")).expect("kept"), "x\n");
}

/// The user learns it whatever the model says, of commands and of jobs.
#[test]
fn what_is_moved_aside_is_told_to_the_user() {
    for background in [false, true] {
        let arguments = json!({
            "command": "mkdir .vscode; while [ -e .vscode ]; do sleep 0.05; done; touch moved",
            "background": background,
        });
        let provider = Provider::start([
            Reply::calls([call("c1", "shell", arguments)]),
            Reply::calls([shell("c2", "until [ -e moved ]; do sleep 0.05; done")]),
            Reply::text("All is well."),
        ]);
        let env = elsewhere().with(&provider);
        let output = env.run(&["-p", "go", "--permission-mode", "auto"]).expect_code(0);
        assert_says(&output.stderr, &["warning:", ".vscode came into being", "It was moved to"]);
    }
}

#[test]
fn no_program_that_runs_as_its_owner_is_left_behind() {
    let script = r"
import ctypes, os, struct, sys
def attempt(n, what):
    try: what()
    except OSError as error: print(n, error.strerror)
def close(fd): os.close(fd)
attempt(1, lambda: os.chmod('made', 0o4755))
attempt(2, lambda: os.fchmod(os.open('made', os.O_RDONLY), 0o6755))
attempt(3, lambda: close(os.open('b', os.O_CREAT | os.O_WRONLY, 0o4755)))
attempt(4, lambda: os.mknod('c', 0o104755))
attempt(5, lambda: os.open('.', os.O_TMPFILE | os.O_RDWR, 0o4755))
libc = ctypes.CDLL(None, use_errno=True)
how = struct.pack('QQQ', os.O_CREAT | os.O_WRONLY, 0o4755, 0)
print(6, libc.syscall(437, -100, b'd', how, len(how)), os.strerror(ctypes.get_errno()))
print(7, libc.syscall(452, -100, b'made', 0o4755, 0), os.strerror(ctypes.get_errno()))
";
    let rest = "install -m 4755 made e; cp made f; chmod u+s f; chmod 755 made; mkdir -m 2775 shared; \
                ls -l | cut -c1-10";
    let command = format!("umask 0; touch made; python3 -c \"{script}\"; {rest}");
    for (args, confined) in [(&[][..], true), (&["--permission-mode", "full"], false)] {
        let (env, request) = run(elsewhere(), &[("c1", json!({ "command": command }))], args);
        assert_says(request.result("c1"), &["-rwxr-xr-x", "drwxrws", "exit code 0"]);
        let entries = fs::read_dir(env.workspace()).expect("a workspace").flatten();
        let modes = entries.map(|entry| entry.metadata().expect("metadata").mode());
        let left = modes.filter(|mode| mode & 0o4000 != 0).count();
        assert_eq!(left == 0, confined, "{left} left: {}", request.result("c1"));
    }
}

#[test]
fn a_command_without_a_sandbox_is_free_in_full_mode_only() {
    let env = elsewhere();
    let out = env.root().join("out");
    fs::create_dir(&out).expect("a folder");
    let command = json!({ "command": format!("echo x > {}/made", out.display()) });
    let (env, _) = run(env, &[("c1", command.clone())], &[]);
    assert!(!out.join("made").exists());
    let (_env, _) = run(env, &[("c1", command)], &["--permission-mode", "full"]);
    assert!(out.join("made").exists());
}

#[test]
fn one_command_can_speak_to_a_server_that_another_started() {
    let provider = Provider::start([
        Reply::calls([call(
            "c1",
            "shell",
            json!({"command": "exec python3 -u -m http.server 8765", "background": true}),
        )]),
        Reply::calls([shell(
            "c2",
            "for i in $(seq 100); do (echo > /dev/tcp/127.0.0.1/8765) 2> /dev/null && break; \
             sleep 0.1; done; python3 -c \"import urllib.request as r; \
             print(r.urlopen('http://127.0.0.1:8765/').status)\"",
        )]),
        Reply::text("Done."),
    ]);
    let env = elsewhere().with(&provider);
    let _ = env.run(&[&["-p", "go"][..], &AUTO].concat());
    assert_says(provider.last_request().result("c2"), &["200", "exit code 0"]);
}

/// The program as a machine would run it that allows no namespaces.
fn without_namespaces(env: &Env, args: &[&str]) -> std::process::Output {
    let script = "echo 0 > /proc/sys/user/max_user_namespaces; exec \"$@\"";
    let mut command = std::process::Command::new("unshare");
    command.args(["-Ur", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_xsh")]).args(args);
    command.current_dir(env.workspace()).env_clear();
    command.envs(env.vars().iter().map(|(name, value)| (name, value)));
    command.stdin(std::process::Stdio::null()).output().expect("unshare")
}

#[test]
fn without_namespaces_landlock_confines_and_what_is_missing_is_said() {
    let commands = [
        "echo in > made; echo x > ../out/f; echo x > $HOME/n; touch $TMPDIR/t && echo own tmp",
        "(echo x > /dev/tcp/127.0.0.1/1) 2>&1; python3 -c 'import socket; socket.socket(1)'",
    ];
    let [first, second] = commands.map(str::to_owned);
    let provider = Provider::start([
        Reply::calls([shell("c1", &first)]),
        Reply::calls([shell("c2", &second)]),
        Reply::text("Done."),
    ]);
    let env = elsewhere().with(&provider);
    let out = env.root().join("out");
    fs::create_dir(&out).expect("a folder");
    let doctor = without_namespaces(&env, &["doctor"]).stdout;
    assert_says(&String::from_utf8_lossy(&doctor), &["partial", "namespaces are not allowed here"]);
    let done = without_namespaces(&env, &["-p", "go", "--permission-mode", "auto"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let request = provider.last_request();
    assert_says(request.result("c1"), &["Permission denied", "own tmp", "exit code 0"]);
    assert_says(request.result("c2"), &["Operation not permitted", "outside_sandbox"]);
    assert_eq!(env.text("made"), "in\n");
    assert!(!out.join("f").exists() && !env.home().join("n").exists());
}

/// Runs these commands one after another, each as a call of its own.
fn in_turn(env: Env, commands: &[&str], args: &[&str]) -> (Env, Request) {
    let ids: Vec<String> = (1..=commands.len()).map(|number| format!("c{number}")).collect();
    let calls: Vec<_> = ids
        .iter()
        .zip(commands)
        .map(|(id, command)| (id.as_str(), json!({"command": command})))
        .collect();
    run(env, &calls, args)
}

#[test]
fn a_later_command_does_not_follow_what_an_earlier_one_moved() {
    // The folders above a workspace in /tmp are the command's own.
    let env = Env::bare();
    env.write(".git/config", "[core]\n");
    let root = env.root();
    let (above, name) = (root.display(), root.file_name().expect("a name").display());
    let moved =
        format!("mv {above} /tmp/elsewhere-{name}; ln -s /tmp/elsewhere-{name} {above}; true");
    let commands =
        [moved.as_str(), "echo x >> .git/config; mkdir -p .git/hooks; echo x > .git/hooks/n"];
    let (env, _) = in_turn(env, &commands, &[]);
    assert_eq!(env.text(".git/config"), "[core]\n");
    assert!(!env.exists(".git/hooks/n"));

    // A further folder lies below the workspace.
    let env = elsewhere();
    let out = env.root().join("out");
    fs::create_dir_all(out.join("sub")).expect("a folder");
    env.write("x/sub/f", "old");
    let moved = format!("mv x x2; ln -s {} x; true", out.display());
    let (_env, _) = in_turn(env, &[&moved, "echo x > x/sub/n; true"], &["--add-dir", "x/sub"]);
    assert!(!out.join("sub/n").exists());

    // A further folder lies above it.
    let env = elsewhere();
    let root = env.root();
    let moved = "cd ..; mv work w2; mkdir -p out; ln -s out work; true";
    let (env, _) = in_turn(env, &[moved, "echo x > made"], &["--add-dir", ".."]);
    assert!(env.exists("made") && !root.join("w2").exists());
}

#[test]
fn the_guard_touches_nothing_outside() {
    let env = elsewhere();
    let home = env.root().join("other");
    for folder in ["git", "fish", "xsh"] {
        fs::create_dir_all(home.join(folder)).expect("a folder");
    }
    let command = format!("ln -s {} .config; sleep 0.7", home.display());
    let (env, request) = in_turn(env, &[&command], &[]);
    assert_says(request.result("c1"), &[".config came into being", "moved to"]);
    assert!(!env.exists(".config"));
    assert!(["git", "fish", "xsh"].iter().all(|folder| home.join(folder).is_dir()));

    // A repository that brings such a link along.
    let env = elsewhere();
    let (victim, evil) = (env.root().join("victim"), env.root().join("evil"));
    fs::create_dir_all(victim.join("git")).expect("a folder");
    fs::create_dir_all(&evil).expect("a folder");
    fs::create_dir_all(env.path(".config")).expect("a folder");
    std::os::unix::fs::symlink(&evil, env.path(".config/git")).expect("a link");
    let command = format!("mv .config c2; ln -s {} .config; sleep 0.7", victim.display());
    let (_env, _) = in_turn(env, &[&command], &[]);
    assert!(fs::symlink_metadata(victim.join("git")).expect("still there").is_dir());
}

#[test]
fn repositories_in_the_repository_are_protected_too() {
    let env = elsewhere();
    for module in ["lib", "deep/er"] {
        env.write(&format!(".git/modules/{module}/HEAD"), "ref: refs/heads/x\n");
        env.write(&format!(".git/modules/{module}/config"), "[core]\n");
    }
    let command = "echo x >> .git/modules/lib/config; echo x >> .git/modules/deep/er/config; \
                   mv .git/modules m2; mv .git/modules/lib l2; true";
    let (env, _) = in_turn(env, &[command], &[]);
    assert_eq!(env.text(".git/modules/lib/config"), "[core]\n");
    assert_eq!(env.text(".git/modules/deep/er/config"), "[core]\n");
}

#[test]
fn a_folder_does_not_become_a_repository_bit_by_bit() {
    let commands = ["echo 'ref: refs/heads/x' > HEAD", "mkdir objects refs; echo x > config"];
    let (env, request) = in_turn(elsewhere(), &commands, &[]);
    assert_says(request.result("c2"), &["HEAD came into being"]);
    assert!(!env.exists("HEAD") && env.exists("config"));
}
