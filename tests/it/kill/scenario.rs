//! The model of the kill harness: the same round of replies again and again, each call under an id
//! of its own, so that every effect can be told apart.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::support::env::Env;
use crate::support::http::Request;
use crate::support::provider::Provider;
use crate::support::reply::{Call, Reply, call, edit, read, shell, write};

/// A file that is written whole.
pub const STORY: &str = "src/story.txt";
/// A file in which a number is edited.
pub const NOTES: &str = "notes.txt";

/// See the module.
pub struct Scenario {
    provider: Provider,
    workspace: Arc<Mutex<PathBuf>>,
}

impl Scenario {
    pub fn start() -> Self {
        let workspace = Arc::new(Mutex::new(PathBuf::new()));
        let place = Arc::clone(&workspace);
        let (mut replies, mut summaries) = (0, 0);
        let provider = Provider::answering(move |request| {
            let reply = if is_summary(request) {
                summaries += 1;
                Reply::text(&format!("{SUMMARY}{summaries}: work on the story goes on."))
            } else {
                replies += 1;
                reply(replies, &place.lock().unwrap_or_else(PoisonError::into_inner))
            };
            reply.pause(Duration::from_micros(500))
        });
        Self { provider, workspace }
    }

    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    /// Puts the files there that the model works on.
    pub fn prepare(&self, env: &Env) {
        let mut workspace = self.workspace.lock().unwrap_or_else(PoisonError::into_inner);
        env.workspace().clone_into(&mut workspace);
        env.write(STORY, story(0));
        env.write(NOTES, notes(0));
        env.write("README.md", "A project with a story.\n");
    }
}

/// The request for a summary is the only one in which no tool may be called.
pub fn is_summary(request: &Request) -> bool {
    request.json["tool_choice"] == "none"
}

/// What a summary begins with, before its number.
pub const SUMMARY: &str = "SUMMARY-";

/// The reply number `number`. A round has six with calls, a turn two rounds.
fn reply(number: usize, workspace: &Path) -> Reply {
    if number.is_multiple_of(13) {
        return Reply::text("That is done, as far as it goes, and the next round can begin.");
    }
    let id = |name: &str| format!("{name}{number}");
    match number % 6 {
        0 => Reply::text_and_calls(
            "I look around.",
            [
                read(&id("read-"), STORY),
                call(&id("grep-"), "grep", json!({"pattern": "version"})),
                read(&id("notes-"), NOTES),
            ],
        ),
        1 => Reply::calls([count_up(&id("edit-"), workspace), effect(&id("shell-"))]),
        2 => Reply::calls([effect(&id("shell-"))]).reasoning("reasoning_content", "hm"),
        3 => Reply::calls([write(&id("write-"), STORY, &story(number))]),
        4 => Reply::text_and_calls("On.", [read(&id("read-"), STORY), effect(&id("shell-"))]),
        _ => Reply::calls([
            write(&id("write-"), STORY, &story(number)),
            count_up(&id("edit-"), workspace),
            write(&id("new-"), &format!("made/{number}.txt"), &story(number)),
        ]),
    }
}

/// A command that leaves one line in a file of its own. It has a child in another session, and if
/// its parent is gone it stays for minutes, unless somebody ends them both.
fn effect(id: &str) -> Call {
    let command = format!(
        "echo x >> count-{id}; setsid sleep 300 & sleep 0.02; kill -0 $PPID || sleep 300; kill $!; \
         wait; echo done {id}"
    );
    shell(id, &command)
}

fn count_up(id: &str, workspace: &Path) -> Call {
    let text = fs::read_to_string(workspace.join(NOTES)).unwrap_or_default();
    let now = noted(&text).unwrap_or(0);
    edit(id, NOTES, &format!("count: {now}\n"), &format!("count: {}\n", now + 1))
}

/// The number in the notes; none when they are not whole.
pub fn noted(text: &str) -> Option<usize> {
    let inner = text.strip_prefix(NOTES_HEAD)?.strip_suffix(NOTES_TAIL)?;
    inner.strip_prefix("count: ")?.strip_suffix('\n')?.parse().ok()
}

const NOTES_HEAD: &str = "Notes\n=====\n";
const NOTES_TAIL: &str = "The end of the notes.\n";

fn notes(count: usize) -> String {
    format!("{NOTES_HEAD}count: {count}\n{NOTES_TAIL}")
}

/// A version of the story.
pub fn story(version: usize) -> String {
    let line = format!("version {version} says the same on every line\n");
    line.repeat(200)
}

/// The version that a text is; none when it is not whole.
pub fn told(text: &str) -> Option<usize> {
    let version = text.strip_prefix("version ")?.split(' ').next()?.parse().ok()?;
    (text == story(version)).then_some(version)
}
