//! `/undo`, `/rewind` and `/fork`: going back, and on from an earlier point.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::support::env::Env;
use crate::support::provider::Provider;
use crate::support::pty::Pty;
use crate::support::reply::{Reply, call};

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
