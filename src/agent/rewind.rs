//! `/undo`, `/rewind` and `/fork`: going back in a session, or on from an earlier point in another.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::{Agent, log_error};
use crate::brief::brief;
use crate::error::Error;
use crate::event::{Event, LeftAlone, Rewind, RewindFinished};
use crate::session::rewind::{self, FilePlan, Place};
use crate::session::{fork, resume};
use crate::tools::snapshot::MAX_FILE;
use crate::tools::text::size;
use crate::turn::log_failed;
use crate::update::Update;

/// What goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Messages and files.
    #[default]
    Both,
    /// The messages; files stay as they are.
    Conversation,
    /// The files; the messages stay.
    Files,
}

impl Agent {
    /// The user's messages that one can go back to, oldest first: number and first line.
    pub fn rewind_points(&self) -> Vec<(usize, String)> {
        let requests = self.session.state.requests.iter().enumerate();
        let line = |text: &str| text.trim().lines().next().unwrap_or_default().to_owned();
        requests.map(|(index, (_, text))| (index + 1, line(text))).collect()
    }

    /// `/undo`: before the last message again, with the files of its turn. Says what came of it.
    pub fn undo(&mut self) -> Result<String, Error> {
        self.rewind(self.session.state.requests.len(), Scope::Both)
    }

    /// `/rewind NUMBER`: before that message again. Says what came of it.
    pub fn rewind(&mut self, number: usize, scope: Scope) -> Result<String, Error> {
        let (to_seq, said) = self.point(number)?;
        let blobs = self.blob_folder();
        let plan = match scope {
            Scope::Conversation => FilePlan::default(),
            Scope::Both | Scope::Files => {
                rewind::plan(&self.session.state, to_seq, self.place(blobs.as_deref()))
            }
        };
        let conversation = scope != Scope::Files;
        let event = Rewind { to_seq, conversation, files: plan.restore };
        self.session.propose(Event::Rewind(event)).map_err(|error| log_error(&error))?;
        let done = self.put_back(plan.leave);
        let unwatched = &self.session.state.unwatched;
        let unwatched = unwatched.iter().filter(|seq| **seq >= to_seq).count();
        Ok(report(scope, &said, &done, unwatched))
    }

    /// Puts the files back of a rewind that a killed run left half done. Tells what came of it.
    pub fn finish_rewind(&mut self) {
        if self.session.state.putting_back.is_empty() {
            return;
        }
        let done = self.put_back(Vec::new());
        let restored = put_back(done.restored);
        let what = "a rewind was interrupted while it put files back; it is finished now";
        let left = done.left.iter().map(left_alone);
        let lines: Vec<String> = [format!("{what}: {restored}")].into_iter().chain(left).collect();
        self.show(Update::Warning(lines.join("\n")));
    }

    /// Puts back what the last event in the log says, and records that it is done.
    fn put_back(&mut self, leave: Vec<LeftAlone>) -> RewindFinished {
        let files = self.session.state.putting_back.clone();
        if files.is_empty() {
            return RewindFinished { restored: 0, left: leave };
        }
        let blobs = self.blob_folder();
        let mut done = rewind::restore(&files, self.place(blobs.as_deref()));
        done.left.splice(0..0, leave);
        if let Err(error) = self.session.record(Event::RewindFinished(done.clone())) {
            self.show(Update::Warning(log_failed(&error)));
        }
        done
    }

    fn place<'a>(&'a self, blobs: Option<&'a Path>) -> Place<'a> {
        Place { session_id: &self.session.header.id, blobs, workspace: &self.workspace }
    }

    /// `/fork [NUMBER]`: goes on in a new session, from before that message or from here.
    pub fn fork(&mut self, number: Option<usize>) -> Result<String, Error> {
        self.settle()?;
        let end = match number {
            Some(number) => Some(self.point(number)?.0),
            None => None,
        };
        let Some(path) = self.session.path().filter(|path| path.exists()) else {
            return Err(Error::usage("cannot fork", "this session is not saved, or still empty"));
        };
        let (refuge, old) = (self.store.refuge(), self.session.header.id.clone());
        let copy = fork::copy(&path, &self.session.header, end, refuge)?;
        let (root, stop) = (&self.workspace.root, CancellationToken::new());
        let resumed = resume::open(&copy, &self.profile, root, refuge, &stop)?;
        self.take_session(resumed.session);
        self.opened(Some(self.session.state.turn));
        Ok(format!("forked from {old}; it stays as it is (/resume {old} goes back to it)"))
    }

    fn point(&self, number: usize) -> Result<(u64, String), Error> {
        let requests = &self.session.state.requests;
        let found = number.checked_sub(1).and_then(|index| requests.get(index));
        let Some((seq, text)) = found else {
            let why = match requests.len() {
                0 => "nothing has been said yet".to_owned(),
                1 => "there is only message 1".to_owned(),
                last => format!("the messages are 1 to {last}"),
            };
            return Err(Error::usage("cannot go back there", why));
        };
        if !self.session.state.can_rewind(*seq) {
            return Err(Error::usage(
                "cannot go back there",
                "it lies too far behind a compaction",
            )
            .help("`xsh sessions show` still has the whole conversation"));
        }
        let first = text.trim().lines().next().unwrap_or_default();
        Ok((*seq, brief(first, 60).into_owned()))
    }
}

fn report(scope: Scope, said: &str, files: &RewindFinished, unwatched: usize) -> String {
    let point = match scope {
        Scope::Files => format!("files as before \"{said}\""),
        Scope::Both | Scope::Conversation => format!("back before \"{said}\""),
    };
    let done = match scope {
        Scope::Conversation => "files stay as they are".to_owned(),
        Scope::Both | Scope::Files => put_back(files.restored),
    };
    let mut lines = vec![format!("{point}; {done}")];
    lines.extend(files.left.iter().map(left_alone));
    if scope != Scope::Conversation {
        lines.push(coverage(unwatched));
    }
    lines.join("\n")
}

fn put_back(files: u64) -> String {
    match files {
        0 => "no file had to be put back".to_owned(),
        1 => "1 file put back".to_owned(),
        more => format!("{more} files put back"),
    }
}

fn left_alone(file: &LeftAlone) -> String {
    format!("left alone: {}: {}", file.path, file.why)
}

/// Which changes are put back and which are not.
fn coverage(unwatched: usize) -> String {
    let limit = size(MAX_FILE);
    match unwatched {
        0 => format!(
            "changes by commands are put back too, except in ignored folders and in files over {limit}"
        ),
        1 => "what 1 command changed was not all kept, and is not all put back".to_owned(),
        more => format!("what {more} commands changed was not all kept, and is not all put back"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_it_is_said() {
        let left = || vec![LeftAlone { path: "/a".into(), why: "it is too large".into() }];
        let covered = "\nchanges by commands are put back too, except in ignored folders and in \
                       files over 4.0 MiB";
        for (scope, files, unwatched, expected) in [
            (
                Scope::Both,
                RewindFinished { restored: 2, left: left() },
                0,
                format!(
                    "back before \"x\"; 2 files put back\nleft alone: /a: it is too large{covered}"
                ),
            ),
            (
                Scope::Both,
                RewindFinished { restored: 0, left: Vec::new() },
                0,
                format!("back before \"x\"; no file had to be put back{covered}"),
            ),
            (
                Scope::Files,
                RewindFinished { restored: 1, left: Vec::new() },
                1,
                "files as before \"x\"; 1 file put back\nwhat 1 command changed was not \
                 all kept, and is not all put back"
                    .to_owned(),
            ),
            (
                Scope::Conversation,
                RewindFinished { restored: 0, left: Vec::new() },
                2,
                "back before \"x\"; files stay as they are".to_owned(),
            ),
        ] {
            assert_eq!(report(scope, "x", &files, unwatched), expected);
        }
    }
}
