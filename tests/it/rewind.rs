//! `/undo`, `/rewind` and `/fork`: going back, and on from an earlier point.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Call, Reply, call, edit, read, shell, write};
use crate::support::wait_until;

/// A provider that changes `a.txt` and makes `new/b.txt` in the first turn, and answers from then on.
fn editor() -> Provider {
    Provider::answering(|request| match request.result_ids().len() {
        0 => Reply::calls([call("r", "read", json!({"file_path": "a.txt"}))]),
        1 => Reply::calls([
            call(
                "e",
                "edit",
                json!({"file_path": "a.txt", "old_string": "one", "new_string": "two"}),
            ),
            call("w", "write", json!({"file_path": "new/b.txt", "content": "b\n"})),
        ]),
        _ => Reply::text("Done."),
    })
}

fn settled(provider: &Provider, content: &[u8]) -> Env {
    let env = Env::new(provider);
    env.write("a.txt", "");
    fs::write(env.path("a.txt"), content).expect("a file");
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(env.path("a.txt"), mode).expect("a mode");
    let _ = env.ask("change it");
    assert!(env.path("new/b.txt").exists());
    env
}

#[test]
fn undo_takes_back_messages_and_files_byte_for_byte() {
    let provider = editor();
    let content = b"\xef\xbb\xbfone\r\n\xff\x00tail";
    // Zero bytes make it binary for `read`; the edit is on a file of Latin-1 text.
    let content: Vec<u8> = content.iter().copied().filter(|byte| *byte != 0).collect();
    let env = settled(&provider, &content);
    assert_ne!(fs::read(env.path("a.txt")).expect("a file"), content);
    let pty = Pty::xsh(&env, &["-c"]);
    pty.settle();
    pty.line("/undo");
    pty.wait_for_screen("what came of it", |screen| screen.contains("2 files put back"));
    assert_eq!(fs::read(env.path("a.txt")).expect("a file"), content);
    let mode = fs::metadata(env.path("a.txt")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o755);
    assert!(!env.path("new/b.txt").exists());
    pty.line("hello again");
    pty.wait_for_screen("the next turn", |screen| screen.contains("hello again"));
    let _ = provider.wait_for_requests(4);
    assert_eq!(provider.request(3).roles(), "user");
    assert_eq!(env.log().last("rewind")["conversation"], true);
}

#[test]
fn what_somebody_else_changed_is_left_alone() {
    let provider = editor();
    let env = settled(&provider, b"one\n");
    fs::write(env.path("a.txt"), "mine\n").expect("a file");
    let pty = Pty::xsh(&env, &["-c"]);
    pty.settle();
    pty.line("/rewind 1 files");
    pty.wait_for_screen("what came of it", |screen| {
        screen.contains("1 file put back") && screen.contains("left alone")
    });
    assert_eq!(fs::read_to_string(env.path("a.txt")).expect("a file"), "mine\n");
    assert!(!env.path("new/b.txt").exists());
}

/// A repository can bring sessions along: their logs say what they like.
#[test]
fn a_log_that_names_files_elsewhere_changes_none_of_them() {
    let provider = editor();
    let env = settled(&provider, b"one\n");
    let outside = env.root().join("outside.txt");
    let after = env.bytes("a.txt");
    fs::write(&outside, &after).expect("a file");
    fs::set_permissions(&outside, fs::Permissions::from_mode(0o755)).expect("a mode");
    let log = &env.sessions()[0];
    let inside = env.path("a.txt").display().to_string();
    for elsewhere in [
        outside.display().to_string(),
        env.path("x/../../outside.txt").display().to_string(),
        env.path(".xsh/../../outside.txt").display().to_string(),
    ] {
        let text = fs::read_to_string(log).expect("a log");
        assert!(text.contains(&inside));
        fs::write(log, text.replace(&inside, &elsewhere)).expect("a log");
        tell(&env, "/rewind 1 files", "it lies outside the workspace");
        assert_eq!(fs::read(&outside).expect("a file"), after, "{elsewhere}");
        let text = fs::read_to_string(log).expect("a log");
        fs::write(log, text.replace(&elsewhere, &inside)).expect("a log");
    }
}

#[test]
fn a_fork_goes_on_from_before_a_message_and_leaves_the_old_session() {
    let provider = Provider::answering(|_| Reply::text("Yes."));
    let env = Env::new(&provider);
    let _ = env.ask("first");
    let _ = env.go_on("second");
    let old = env.log();
    let old_bytes = old.bytes().len();
    let pty = Pty::xsh(&env, &["-c"]);
    pty.settle();
    pty.line("/rewind");
    pty.wait_for_screen("the points", |screen| screen.contains("1  first"));
    pty.line("/fork 2");
    pty.wait_for_screen("the fork", |screen| screen.contains("forked from"));
    pty.line("other way");
    let _ = provider.wait_for_requests(3);
    assert_eq!(provider.last_request().roles(), "user assistant user");
    assert_eq!(old.bytes().len(), old_bytes);
}

#[test]
fn there_may_be_nothing_to_go_back_to() {
    let provider = Provider::start([]);
    let env = Env::new(&provider);
    let pty = Pty::xsh(&env, &[]);
    pty.settle();
    for (line, said) in [
        ("/undo", "nothing has been said yet"),
        ("/rewind", "Nothing has been said yet"),
        ("/rewind x", "no message number"),
        ("/rewind 1 all", "cannot rewind all"),
        ("/fork", "not saved, or still empty"),
    ] {
        pty.line(line);
        pty.wait_for_screen(line, |screen| screen.contains(said));
    }
}

/// A provider that answers each message with the calls of one turn, one call a step.
fn turns(turns: impl IntoIterator<Item = Vec<Call>>) -> Provider {
    let replies = turns.into_iter().flat_map(|calls| {
        let calls = calls.into_iter().map(|call| Reply::calls([call]));
        calls.chain([Reply::text("Done.")]).collect::<Vec<_>>()
    });
    Provider::start(replies)
}

/// Goes on with the session, types a command and waits for what it says.
fn tell(env: &Env, line: &str, said: &str) -> String {
    let pty = Pty::xsh(env, &["-c"]);
    pty.settle();
    pty.line(line);
    pty.wait_for_screen(line, |screen| screen.contains(said))
}

/// Every file and link below a folder with mode and content, but for the sessions.
fn tree(folder: &Path) -> Vec<(String, u32, Vec<u8>)> {
    let walk = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    let own = |entry: &walkdir::DirEntry| entry.file_name() != ".xsh";
    let files = walk.filter_entry(own).flatten().filter(|entry| !entry.file_type().is_dir());
    files
        .map(|entry| {
            let meta = entry.metadata().expect("metadata");
            let content = match fs::read_link(entry.path()) {
                Ok(target) => target.into_os_string().into_encoded_bytes(),
                Err(_) => fs::read(entry.path()).expect("a file"),
            };
            (entry.path().display().to_string(), meta.permissions().mode(), content)
        })
        .collect()
}

/// Each runs in a folder of its own, with the same files in it.
const COMMANDS: [&str; 18] = [
    "sed -i s/one/two/ a.txt",
    "printf 'in place' > a.txt",
    "rm a.txt",
    "rm -r sub",
    "mv a.txt b.txt",
    "mv sub other",
    "mv sub other && ln -s other sub",
    "chmod +x a.txt",
    "chmod 600 a.txt && echo more >> a.txt",
    "mkdir -p x/y && echo new > x/y/z",
    "printf '\\000\\377' >> bin && rm sub/bin",
    "rm link && echo no link > link",
    "ln -sf sub/b.txt link",
    "ln -s nowhere dangling",
    "rm a.txt && ln -s sub/b.txt a.txt",
    "rm -r sub && echo now a file > sub",
    "rm .gitignore",
    "cp a.txt 'a b\tc'; rm *.txt bin link",
];

fn fill(env: &Env, folder: &str) {
    env.write(&format!("{folder}/a.txt"), "one\r\n\u{feff}");
    env.write(&format!("{folder}/bin"), b"\x00\xff\xfe\xc3(");
    env.write(&format!("{folder}/sub/b.txt"), "b\n");
    env.write(&format!("{folder}/sub/bin"), b"\xff\xff");
    env.write(&format!("{folder}/secret"), "ignored\n");
    env.write(&format!("{folder}/.gitignore"), "secret\n");
    symlink("a.txt", env.path(folder).join("link")).expect("a link");
    let script = env.path(folder).join("sub/b.txt");
    fs::set_permissions(script, fs::Permissions::from_mode(0o751)).expect("a mode");
}

#[test]
fn undo_takes_back_what_commands_changed() {
    let in_folders =
        COMMANDS.iter().enumerate().map(|(index, command)| format!("(cd {index} && {command})"));
    let script = in_folders.collect::<Vec<_>>().join("\n");
    let provider = turns([vec![shell("c", &script)]]);
    let env = Env::new(&provider);
    let folders: Vec<String> = (0..COMMANDS.len()).map(|index| index.to_string()).collect();
    let trees = || folders.iter().map(|folder| tree(&env.path(folder))).collect::<Vec<_>>();
    for folder in &folders {
        fill(&env, folder);
    }
    let before = trees();
    let _ = env.ask("do it");
    let after = trees();
    tell(&env, "/undo", "changes by commands are put back too");
    let cases = before.into_iter().zip(after).zip(trees());
    for (command, ((before, after), undone)) in COMMANDS.iter().zip(cases) {
        assert_ne!(before, after, "{command}");
        assert_eq!(undone, before, "{command}");
    }
}

#[test]
fn a_folder_in_the_place_of_a_file_is_left_alone() {
    let provider = turns([vec![shell("c", "rm a.txt && mkdir a.txt")]]);
    let env = Env::new(&provider);
    env.write("a.txt", "one\n");
    let _ = env.ask("do it");
    tell(&env, "/undo", "a.txt: it is no regular file any more");
    assert!(env.path("a.txt").is_dir());
}

#[test]
fn an_ignored_folder_is_left_as_the_command_left_it() {
    let command = "echo two > build/out && echo two > src && echo three > build/new";
    let provider = turns([vec![shell("c", command)]]);
    let env = Env::new(&provider);
    env.write(".gitignore", "build/\n");
    env.write("build/out", "one\n");
    env.write("src", "one\n");
    let _ = env.ask("build it");
    tell(&env, "/undo", "1 file put back");
    let texts = ["build/out", "build/new", "src"].map(|name| env.text(name));
    assert_eq!(texts, ["two\n", "three\n", "one\n"]);
}

#[test]
fn what_somebody_else_made_of_a_commands_work_is_left_alone() {
    let provider = turns([vec![shell("c", "echo two > a; echo two > b; rm c; chmod 600 d")]]);
    let env = Env::new(&provider);
    for name in ["a", "b", "c", "d"] {
        env.write(name, "one\n");
    }
    let _ = env.ask("change them");
    env.write("a", "theirs\n");
    env.write("c", "theirs\n");
    fs::set_permissions(env.path("d"), fs::Permissions::from_mode(0o640)).expect("a mode");
    let screen = tell(&env, "/undo", "1 file put back");
    assert_eq!(screen.matches("somebody else has changed it since").count(), 3, "{screen}");
    let texts = ["a", "b", "c"].map(|name| env.text(name));
    assert_eq!(texts, ["theirs\n", "one\n", "theirs\n"]);
}

#[test]
fn a_file_that_a_command_changed_must_be_read_again() {
    let calls = vec![
        read("r", "a.txt"),
        shell("s", "sed -i s/one/two/ a.txt"),
        edit("e", "a.txt", "two", "three"),
        read("r2", "a.txt"),
        edit("e2", "a.txt", "two", "three"),
    ];
    let provider = turns([calls]);
    let env = Env::new(&provider);
    env.write("a.txt", "one\n");
    let _ = env.ask("change it");
    let request = provider.last_request();
    assert!(request.result("e").contains("has changed since it was last read"));
    assert_eq!(env.text("a.txt"), "three\n");
    let change = env.log().of("file_change")[0].clone();
    assert_eq!((&change["call_id"], &change["by"]), (&json!("s"), &json!("command")));
}

#[test]
fn commands_and_edits_of_one_turn_go_back_together() {
    let first = vec![
        write("w", "new.txt", "one\n"),
        shell("s", "chmod 755 new.txt; echo b >> old.txt"),
        read("r", "old.txt"),
        edit("e", "old.txt", "b", "c"),
        shell("s2", "sed -i s/a/x/ old.txt; mv new.txt newer.txt"),
    ];
    let second = vec![shell("s3", "echo end >> old.txt; rm newer.txt"), shell("s4", "touch z")];
    let provider = turns([first, second]);
    let env = Env::new(&provider);
    env.write("old.txt", "a\n");
    let start = tree(env.workspace());
    let _ = env.ask("first");
    let middle = tree(env.workspace());
    let _ = env.go_on("second");
    assert_eq!(env.text("old.txt"), "x\nc\nend\n");
    tell(&env, "/undo", "3 files put back");
    assert_eq!(tree(env.workspace()), middle);
    tell(&env, "/undo", "2 files put back");
    assert_eq!(tree(env.workspace()), start);
}

#[test]
fn a_fork_can_undo_what_commands_changed_before_and_after_it() {
    let provider = turns([vec![shell("c", "rm a.txt")], vec![shell("d", "rm b.txt")]]);
    let env = Env::new(&provider);
    env.write("a.txt", "one\n");
    env.write("b.txt", "two\n");
    let _ = env.ask("first");
    let pty = Pty::xsh(&env, &["-c", "--permission-mode", "full"]);
    pty.settle();
    pty.line("/fork");
    pty.wait_for("forked from");
    pty.line("second");
    pty.wait_for_screen("the second turn", |screen| screen.matches("Done.").count() >= 1);
    let _ = provider.wait_for_requests(4);
    wait_until("the command", || (!env.exists("b.txt")).then_some(()));
    pty.settle();
    pty.line("/rewind 1 files");
    pty.wait_for("2 files put back");
    assert_eq!((env.text("a.txt"), env.text("b.txt")), ("one\n".into(), "two\n".into()));
}

#[test]
fn what_is_not_covered_is_said() {
    let provider = turns([vec![shell("c", "rm f1")]]);
    let env = Env::new(&provider);
    for index in 0..5_001 {
        env.write(&format!("f{index}"), "");
    }
    let pty = Pty::xsh(&env, &["--permission-mode", "full"]);
    pty.settle();
    pty.line("go");
    pty.wait_for("cannot be undone: it has more than 5000 files");
    pty.wait_for("Done.");
    pty.settle();
    pty.line("/undo");
    pty.wait_for("what 1 command changed was not all kept");
    assert_eq!(env.log().result("c")["unwatched"], true);
}

#[test]
fn a_job_is_said_to_go_on_unwatched() {
    let start = call("c", "shell", json!({"command": "sleep 600", "background": true}));
    let provider = turns([vec![shell("s", "echo two > a.txt"), start]]);
    let env = Env::new(&provider);
    env.write("a.txt", "one\n");
    let _ = env.ask("start it");
    let screen = tell(&env, "/undo", "what 1 command changed was not all kept");
    assert!(screen.contains("1 file put back"), "{screen}");
    assert_eq!(env.text("a.txt"), "one\n");
}
