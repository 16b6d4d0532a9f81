//! A log's lines, read in blocks and parsed on all processors.
//!
//! Parsing is most of what reading a long log costs, and a line can be parsed without knowing the
//! others. What comes out is in file order all the same: the blocks go round the threads in turn, and
//! so do their results. A short log needs no thread.

use std::io::{self, BufRead, Read};
use std::iter;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Scope};

use memchr::memchr_iter;

use crate::event::Record;

/// Bytes of a block, apart from the rest of its last line.
const BLOCK: usize = 256 << 10;
/// Bytes that are read before their lines are taken; bounds the memory.
const AHEAD: usize = 4 << 20;
/// Threads at most. More would wait for the one that takes the lines.
const MOST_THREADS: usize = 4;
/// A line longer than this is damaged, not read.
pub(super) const MAX_LINE: usize = 256 << 20;

/// A line of the log.
pub(super) struct Line {
    /// What it says; none where it cannot be read.
    pub(super) record: Option<Record>,
    /// Its length, the line feed included.
    pub(super) bytes: usize,
    /// It has a line feed.
    pub(super) ended: bool,
}

/// Hands every line to `take`, in file order.
pub(super) fn read(reader: &mut impl BufRead, mut take: impl FnMut(Line)) -> io::Result<()> {
    let first = block(reader)?;
    if first.len() < BLOCK {
        lines(&first).into_iter().for_each(take);
        return Ok(());
    }
    thread::scope(|scope| {
        let mut pool = Pool::start(scope)?;
        let mut ahead = first.len();
        pool.send(first);
        loop {
            let next = block(reader)?;
            if next.is_empty() {
                break;
            }
            ahead += next.len();
            pool.send(next);
            while ahead > AHEAD {
                ahead -= pool.take(&mut take)?;
            }
        }
        while ahead > 0 {
            ahead -= pool.take(&mut take)?;
        }
        Ok(())
    })
}

/// The next whole lines; empty at the end of the file.
fn block(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    reader.by_ref().take(BLOCK as u64).read_to_end(&mut bytes)?;
    if !bytes.is_empty() && bytes.last() != Some(&b'\n') {
        reader.take(MAX_LINE as u64).read_until(b'\n', &mut bytes)?;
    }
    Ok(bytes)
}

fn lines(block: &[u8]) -> Vec<Line> {
    let feeds = memchr_iter(b'\n', block).map(|at| at + 1);
    let mut ends: Vec<usize> = feeds.collect();
    if ends.last().is_none_or(|last| *last < block.len()) {
        ends.push(block.len());
    }
    let starts = iter::once(0).chain(ends.iter().copied());
    let lines = starts.zip(&ends).filter_map(|(start, end)| block.get(start..*end));
    lines.map(line).collect()
}

fn line(bytes: &[u8]) -> Line {
    let record = Record::from_line(bytes).ok();
    Line { record, bytes: bytes.len(), ended: bytes.last() == Some(&b'\n') }
}

/// Threads that turn blocks into lines, each with its own queue.
struct Pool {
    workers: Vec<Worker>,
    sent: usize,
    taken: usize,
}

struct Worker {
    blocks: Sender<Vec<u8>>,
    lines: Receiver<Vec<Line>>,
}

impl Pool {
    fn start<'scope>(scope: &'scope Scope<'scope, '_>) -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let workers = (0..threads).map(|_| Worker::start(scope)).collect::<io::Result<_>>()?;
        Ok(Self { workers, sent: 0, taken: 0 })
    }

    fn send(&mut self, block: Vec<u8>) {
        if let Some(worker) = self.workers.get(self.sent % self.workers.len()) {
            // A thread that is gone shows when its lines are taken.
            let _ = worker.blocks.send(block);
        }
        self.sent += 1;
    }

    /// Takes the lines of the oldest block that is out; says how many bytes they are.
    fn take(&mut self, take: &mut impl FnMut(Line)) -> io::Result<usize> {
        let worker = self.workers.get(self.taken % self.workers.len());
        let lines = worker.and_then(|worker| worker.lines.recv().ok());
        let lines = lines.ok_or_else(|| io::Error::other("a reading thread is gone"))?;
        self.taken += 1;
        let mut bytes = 0;
        for line in lines {
            bytes += line.bytes;
            take(line);
        }
        Ok(bytes)
    }
}

impl Worker {
    fn start<'scope>(scope: &'scope Scope<'scope, '_>) -> io::Result<Self> {
        let (blocks, incoming) = mpsc::channel::<Vec<u8>>();
        let (done, lines) = mpsc::channel();
        thread::Builder::new().name("log".to_owned()).spawn_scoped(scope, move || {
            for block in incoming {
                if done.send(self::lines(&block)).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { blocks, lines })
    }
}
