//! Whether the box can be built on this machine: found out by building one.

use std::fs;
use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{DumpableBehavior, Pid, WaitOptions, set_dumpable_behavior, waitpid};

use super::{Fault, failed, init, mounts, namespaces, rules, sys};
use crate::sandbox::{Means, SHARED, Sandbox};

/// How long an attempt may take.
const WITHIN: Duration = Duration::from_secs(5);

/// Bytes of an answer that are read.
const ANSWER_BYTES: usize = 4 << 10;

/// A process that tries it.
pub(in crate::sandbox) struct Attempt {
    child: Pid,
    answer: UnixStream,
}

impl Attempt {
    /// Starts it as a copy of this process, which must have one thread: that takes a tenth of the
    /// time of starting the program anew.
    pub(in crate::sandbox) fn start() -> Result<Self, Fault> {
        if fs::read_dir("/proc/self/task").map_err(failed("count threads"))?.count() != 1 {
            return Err("it has to be tried out before another thread is started".to_owned());
        }
        let (answer, other) = UnixStream::pair().map_err(failed("make a socket"))?;
        let Some(child) = sys::fork().map_err(failed("start a process"))? else {
            drop(answer);
            sys::exit(i32::from(answer_to(&other).is_err()));
        };
        Ok(Self { child, answer })
    }

    /// Waits for the answer.
    pub(in crate::sandbox) fn outcome(self) -> Sandbox {
        let told = self.receive().unwrap_or_else(Sandbox::none);
        // Its namespaces take a while to go; nobody has to wait for that.
        std::thread::spawn(move || waitpid(Some(self.child), WaitOptions::empty()));
        told
    }

    fn receive(&self) -> Result<Sandbox, Fault> {
        let mut text = vec![0; ANSWER_BYTES];
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SHARED))];
        let mut control = RecvAncillaryBuffer::new(&mut room);
        self.answer.set_read_timeout(Some(WITHIN)).map_err(failed("set a time limit"))?;
        let parts = &mut [IoSliceMut::new(&mut text)];
        let message = recvmsg(&self.answer, parts, &mut control, RecvFlags::CMSG_CLOEXEC)
            .map_err(failed("hear from the attempt"))?;
        let mut files = Vec::new();
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                files.extend(received);
            }
        }
        text.truncate(message.bytes);
        Ok(Sandbox::told(&String::from_utf8_lossy(&text), files))
    }
}

/// Sends what works here, in the form of [`Sandbox::told`].
fn answer_to(socket: &UnixStream) -> Result<(), Fault> {
    // What of this process is shielded, its own files under /proc, is what namespaces are set up by.
    let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    let why = match try_namespaces() {
        Ok((missing, shared)) => return send(socket, Means::Namespaces.name(), missing, &shared),
        Err(why) => why,
    };
    let Some(missing) = rules::missing() else {
        return send(socket, &format!("{why}, and there is no Landlock"), [], &[]);
    };
    let why = format!("namespaces are not allowed here ({why})");
    send(socket, Means::Landlock.name(), [why].into_iter().chain(missing), &[])
}

/// What does not hold in them, and those that commands share.
fn try_namespaces() -> Result<(Vec<String>, Vec<OwnedFd>), Fault> {
    let shared = namespaces::make()?;
    namespaces::enter()?;
    mounts::try_out()?;
    Ok((init::try_out()?, shared))
}

fn send(
    socket: &UnixStream,
    first: &str,
    others: impl IntoIterator<Item = String>,
    files: &[OwnedFd],
) -> Result<(), Fault> {
    let lines: Vec<String> = std::iter::once(first.to_owned()).chain(others).collect();
    let text = lines.join("\n");
    let files: Vec<_> = files.iter().map(AsFd::as_fd).collect();
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SHARED))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    if !files.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(&files));
    }
    let parts = [IoSlice::new(text.as_bytes())];
    let sent = sendmsg(socket, &parts, &mut control, SendFlags::empty());
    sent.map(|_| ()).map_err(failed("answer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn beside_other_threads_nothing_is_copied() {
        // The thread of the test is one more.
        let refused = Attempt::start().err();
        assert!(refused.is_some_and(|why| why.contains("thread")));
    }
}
