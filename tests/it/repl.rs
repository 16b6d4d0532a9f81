//! The REPL in a real terminal.

use rustix::process::{Pid, Signal, kill_process};

use crate::support::assert::{assert_no_crash, assert_says, assert_silent_on, count};
use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::{Modes, Pty, key};
use crate::support::reply::{Cut, Reply, edit, read, shell};

/// A provider that repeats what it is told, and a REPL with its prompt on the screen.
fn echoing() -> (Provider, Env, Pty) {
    let provider =
        Provider::answering(|request| Reply::text(&format!("You said <{}>.", request.last())));
    let (env, pty) = start(&provider, &[]);
    (provider, env, pty)
}

fn start(provider: &Provider, args: &[&str]) -> (Env, Pty) {
    let env = Env::new(provider);
    let pty = Pty::xsh(&env, args);
    pty.settle();
    (env, pty)
}

#[test]
fn it_starts_with_what_one_needs_to_know() {
    let provider = Provider::start([]);
    let env = Env::new(&provider);
    env.write("AGENTS.md", "Be brief.\n");
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    assert_says(&pty.screen(), &["xsh", "test-model", "AGENTS.md"]);
    assert!(provider.requests().is_empty());
}

#[test]
fn a_line_is_a_turn_and_the_next_line_another() {
    let (provider, env, pty) = echoing();
    pty.line("first message");
    pty.wait_for("You said <first message>.");
    pty.settle();
    pty.line("second message");
    pty.wait_for("You said <second message>.");
    assert_eq!(provider.last_request().roles(), "user assistant user");
    assert_eq!(env.sessions().len(), 1);
    assert!(!pty.modes().alternate_screen);
}

#[test]
fn a_message_on_the_command_line_is_the_first_turn() {
    let provider = Provider::start([Reply::text("Right away.")]);
    let (_env, pty) = start(&provider, &["do something"]);
    pty.wait_for("Right away.");
    assert_eq!(provider.last_request().last(), "do something");
}

#[test]
fn empty_lines_are_no_turns() {
    let (provider, _env, pty) = echoing();
    pty.send("\r\r   \r");
    pty.settle();
    assert!(provider.requests().is_empty());
}

#[test]
fn tool_calls_and_edits_are_shown() {
    let provider = Provider::start([
        Reply::calls([read("c1", "a.txt"), edit("c2", "a.txt", "alpha", "omega")]),
        Reply::text("Changed it.").usage(1200, 30, 600),
    ]);
    let (env, pty) = start(&provider, &["--permission-mode", "full"]);
    env.write("a.txt", "alpha\n");
    pty.line("change it");
    pty.wait_for("Changed it.");
    pty.settle();
    assert_says(
        &pty.screen(),
        &["read", "a.txt", "edit", "- alpha|-alpha", "+ omega|+omega", "50"],
    );
}

#[test]
fn an_action_is_asked_about_and_no_is_the_default() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch made.txt")]),
        Reply::text("As you wish."),
    ]);
    let (env, pty) = start(&provider, &["--permission-mode", "ask"]);
    pty.line("make it");
    pty.wait_for("touch made.txt");
    pty.settle();
    pty.send(key::ENTER);
    pty.wait_for("As you wish.");
    assert!(!env.exists("made.txt"));
    assert_says(provider.last_request().result("c1"), &["denied|refused|declined|not permitted"]);
}

#[test]
fn a_yes_lets_it_happen() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "touch made.txt")]),
        Reply::text("It is made."),
    ]);
    let (env, pty) = start(&provider, &["--permission-mode", "ask"]);
    pty.line("make it");
    pty.wait_for("touch made.txt");
    pty.settle();
    pty.line("y");
    pty.wait_for("It is made.");
    assert!(env.exists("made.txt"));
}

#[test]
fn slash_commands_answer_without_the_model() {
    let cases = [
        ("/help", "/compact"),
        ("/tools", "grep"),
        ("/context", "token"),
        ("/model", "test-model"),
        ("/sessions", "session"),
        ("/nonsense", "/help"),
    ];
    let (provider, _env, pty) = echoing();
    for (command, expected) in cases {
        let before = pty.raw().len();
        pty.line(command);
        pty.settle();
        let raw = pty.raw();
        let said = String::from_utf8_lossy(raw.get(before..).unwrap_or_default()).into_owned();
        assert_says(&said, &[expected]);
    }
    assert!(provider.requests().is_empty());
}

#[test]
fn tab_completes_commands_and_paths() {
    let (provider, env, pty) = echoing();
    env.write("unmistakable.txt", "x\n");
    pty.send("/compa");
    pty.send(key::TAB);
    pty.wait_for("/compact");
    pty.send(key::CTRL_C);
    pty.settle();
    pty.send("look at @unmis");
    pty.send(key::TAB);
    pty.wait_for("unmistakable.txt");
    assert!(provider.requests().is_empty());
}

#[test]
fn the_model_can_be_switched_for_this_session() {
    let (provider, _env, pty) = echoing();
    pty.line("/model another-model");
    pty.settle();
    pty.line("who is there");
    pty.wait_for("You said <who is there>.");
    assert_eq!(provider.last_request().model(), "another-model");
}

#[test]
fn a_new_session_forgets_and_an_old_one_can_be_taken_up() {
    let (provider, env, pty) = echoing();
    pty.line("about alpha");
    pty.wait_for("You said <about alpha>.");
    pty.settle();
    pty.line("/new");
    pty.settle();
    pty.line("about beta");
    pty.wait_for("You said <about beta>.");
    assert_eq!(provider.last_request().roles(), "user");
    pty.settle();
    pty.line("/resume");
    pty.settle();
    pty.line("about gamma");
    pty.wait_for("You said <about gamma>.");
    assert_eq!(provider.last_request().mentions("about alpha"), 2);
    assert_eq!(env.sessions().len(), 2);
}

#[test]
fn earlier_lines_come_back_with_the_arrow() {
    let (provider, _env, pty) = echoing();
    pty.line("say it twice");
    pty.wait_for("You said <say it twice>.");
    pty.settle();
    pty.send(key::UP);
    pty.send(key::ENTER);
    provider.wait_for_requests(2);
    assert_eq!(provider.last_request().last(), "say it twice");
}

#[test]
fn a_paste_is_one_message() {
    let (provider, _env, pty) = echoing();
    pty.send(&format!("{}a\rb\n\tc\r\n{}", key::PASTE_BEGIN, key::PASTE_END));
    pty.settle();
    assert!(provider.requests().is_empty(), "nothing is sent before Enter");
    pty.send(key::ENTER);
    let request = provider.wait_for_requests(1);
    assert_eq!(request.last().trim_end(), "a\nb\n\tc");
}

#[test]
fn wide_characters_are_edited_by_cells() {
    let provider = Provider::answering(|_| Reply::text("Seen."));
    let env = Env::new(&provider);
    let pty = Pty::xsh_sized(&env, &[], (30, 20));
    pty.settle();
    pty.send("東京タワーxyz");
    pty.send(&key::LEFT.repeat(3));
    pty.send("、あ");
    pty.send(key::BACKSPACE);
    pty.settle();
    assert_eq!(count(&pty.screen().replace('\n', ""), "東京"), 1, "{}", pty.screen());
    pty.send(key::ENTER);
    assert_eq!(provider.wait_for_requests(1).last(), "東京タワー、xyz");
}

#[test]
fn an_idle_interrupt_warns_and_a_second_one_ends() {
    let (_provider, _env, mut pty) = echoing();
    pty.send("half a line");
    pty.settle();
    pty.send(key::CTRL_C);
    pty.settle();
    pty.send(key::CTRL_C);
    pty.wait_for_screen("a hint", |screen| screen.to_lowercase().contains("again"));
    pty.settle();
    pty.send(key::CTRL_C);
    assert!([0, 130].contains(&pty.wait()));
}

#[test]
fn every_way_out_leaves_the_terminal_as_found() {
    for (way, keys) in [
        ("end of file", key::CTRL_D),
        ("command", "/quit\r"),
        ("alias", "/exit\r"),
        ("interrupts", "\x03"),
    ] {
        let provider = Provider::start([]);
        let env = Env::new(&provider);
        let mut pty = Pty::xsh_wrapped(&env, &[]);
        pty.wait_for("test-model");
        pty.settle();
        pty.send(keys);
        if way == "interrupts" {
            pty.settle();
            pty.send(keys);
        }
        pty.wait_for("exit=");
        assert_eq!(pty.wait(), 0);
        assert_says(&pty.screen(), &["modes=kept"]);
        assert_eq!(pty.modes(), Modes::default(), "{way}");
    }
}

#[test]
fn signals_leave_the_terminal_as_found() {
    for signal in [Signal::TERM, Signal::HUP] {
        let provider = Provider::start([]);
        let env = Env::new(&provider);
        let mut pty = Pty::xsh_wrapped(&env, &[]);
        pty.settle();
        let xsh = Pid::from_raw(pty.child_of_shell()).expect("a process id");
        kill_process(xsh, signal).expect("xsh is alive");
        pty.wait_for("exit=");
        pty.wait();
        assert_says(&pty.screen(), &["modes=kept"]);
        assert_eq!(pty.modes(), Modes::default(), "{signal:?}");
        assert_no_crash(&pty.raw_text());
    }
}

#[test]
fn escape_codes_from_the_model_and_its_tools_are_inert() {
    let nasty = "before \u{1b}[2J\u{1b}]0;owned\u{7}\u{1b}]52;c;eA==\u{7}\u{1b}]8;;http://e\u{1b}\\x\u{9b}2J after";
    let provider = Provider::start([
        Reply::calls([shell(
            "c1",
            r"printf '\033[2J\033]0;owned\007\033]52;c;eA==\007tool\n'; exit 3",
        )]),
        Reply::text(nasty).cut(Cut::Every(1)),
    ]);
    let (env, pty) = start(&provider, &["--permission-mode", "full"]);
    pty.line("go");
    pty.wait_for("after");
    pty.settle();
    let raw = pty.raw_text();
    assert_silent_on(
        &raw,
        &["\u{1b}[2J", "\u{1b}]0;owned", "\u{1b}]52", "\u{1b}]8;;http", "\u{9b}2J"],
    );
    assert_eq!(env.log().last("assistant_message")["content"], nasty, "stored faithfully");
}

#[test]
fn colours_can_be_switched_off() {
    let provider = Provider::answering(|_| Reply::text("**bold** and `code`"));
    let mut env = Env::new(&provider);
    env.set("NO_COLOR", "1");
    let pty = Pty::xsh(&env, &["say it"]);
    pty.wait_for("code");
    pty.settle();
    for colour in ["\u{1b}[31m", "\u{1b}[32m", "\u{1b}[36m", "\u{1b}[38;5", "\u{1b}[90m"] {
        assert_silent_on(&pty.raw_text(), &[colour]);
    }
}

#[test]
fn a_narrow_and_a_dumb_terminal_work() {
    let provider =
        Provider::answering(|_| Reply::text("A fairly long answer that needs several rows."));
    let mut env = Env::new(&provider);
    env.set("TERM", "dumb");
    let pty = Pty::xsh_sized(&env, &["tell me"], (30, 40));
    pty.wait_for_screen("the answer", |screen| screen.replace('\n', " ").contains("several"));
    pty.resize(30, 60);
    pty.settle();
    assert_no_crash(&pty.raw_text());
}

#[test]
fn the_open_session_is_not_resumed_into_itself() {
    let (_provider, env, pty) = echoing();
    pty.line("first message");
    pty.wait_for("You said <first message>.");
    pty.settle();
    pty.line(&format!("/resume {}", env.log().id()));
    pty.wait_for("open already");
}

/// A shell sets modes of its own when a program stops, and leaves them when it goes on.
#[test]
fn ctrl_z_stops_it_and_typing_goes_on_after_fg() {
    let provider =
        Provider::answering(|request| Reply::text(&format!("You said <{}>.", request.last())));
    let env = Env::new(&provider);
    let Some(pty) = Pty::xsh_in_shell(&env) else { return };
    pty.wait_for("/help lists");
    pty.settle();
    pty.send("helo");
    pty.send(key::LEFT);
    pty.wait_for("> helo");
    pty.send(key::CTRL_Z);
    pty.wait_for("Stopped");
    pty.line("fg");
    let redrawn = |screen: &str| screen.matches("> helo").count() == 2;
    pty.wait_for_screen("the prompt again", redrawn);
    pty.settle();
    pty.line("l");
    let screen = pty.wait_for("You said <hello>.");
    assert_silent_on(&screen, &["^[[D"]);
}

#[test]
fn the_temporary_folder_goes_with_the_session() {
    let provider = Provider::start([
        Reply::calls([shell("c1", "echo x > \"${TMPDIR:-/tmp}/x\"")]),
        Reply::text("Done."),
    ]);
    let (env, pty) = start(&provider, &["--permission-mode", "auto"]);
    pty.line("go");
    pty.wait_for("Done.");
    pty.settle();
    let left = env.sessions()[0].with_extension("files").join("tmp");
    pty.line("/new");
    pty.settle();
    assert!(!left.exists(), "{left:?}");
    pty.line("/sessions");
    pty.wait_for("go");
}
