//! Reading a log: its header, its events in file order, and what is damaged.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::LogError;
use super::lines::{self, MAX_LINE};
use crate::event::{FORMAT_VERSION, Header, Record};

/// Positions grow by one from line to line. One that leaps further than this is damage: believed,
/// it would make everything behind it look old.
const MAX_LEAP: u64 = 1 << 20;

/// What reading a log found besides its events.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Line numbers (from 1) that could not be read and were skipped.
    pub skipped: Vec<u64>,
    /// Bytes of an unfinished last line.
    pub torn_bytes: u64,
    /// The last line is whole but for its line feed.
    pub no_final_newline: bool,
}

impl Damage {
    /// One warning for the user; none when the file is whole.
    pub fn warning(&self) -> Option<String> {
        let mut parts = Vec::new();
        if !self.skipped.is_empty() {
            let shown: Vec<String> = self.skipped.iter().take(10).map(u64::to_string).collect();
            let more = self.skipped.len().saturating_sub(10);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            parts.push(format!("skipped damaged line {}{more}", shown.join(", ")));
        }
        if self.torn_bytes > 0 {
            parts.push(format!("dropped an unfinished last line ({} bytes)", self.torn_bytes));
        }
        (!parts.is_empty()).then(|| format!("session log: {}", parts.join("; ")))
    }
}

/// Reads the header of a log.
pub fn read_header(path: &Path) -> Result<Header, LogError> {
    let file = open_regular(path)?;
    read_header_from(&mut BufReader::with_capacity(4096, file), path).map(|(header, _)| header)
}

/// Opens a regular file, to be read until `stop`. Anything else may never answer, or never end.
pub(in crate::session) fn open_to_read<'a>(
    path: &Path,
    stop: &'a CancellationToken,
) -> Result<Stoppable<'a>, LogError> {
    open_regular(path).map(|file| Stoppable { file, stop })
}

fn open_regular(path: &Path) -> Result<File, LogError> {
    let metadata = std::fs::metadata(path).map_err(|e| LogError::io(path, e))?;
    if !metadata.is_file() {
        let why = "it is not a regular file".to_owned();
        return Err(LogError::NotASession { path: path.to_owned(), why });
    }
    File::open(path).map_err(|e| LogError::io(path, e))
}

/// The header and the length of its line.
fn read_header_from(reader: &mut impl BufRead, path: &Path) -> Result<(Header, u64), LogError> {
    let mut line = Vec::new();
    Read::take(&mut *reader, 1 << 20)
        .read_until(b'\n', &mut line)
        .map_err(|e| LogError::io(path, e))?;
    let not_a_session = |why: String| LogError::NotASession { path: path.to_owned(), why };
    if line.is_empty() {
        return Err(not_a_session("it holds nothing".to_owned()));
    }
    if !line.ends_with(b"\n") {
        return Err(not_a_session("it holds nothing but a part of a line".to_owned()));
    }
    // The version is looked at first: a newer header may have other fields.
    let value: serde_json::Value =
        serde_json::from_slice(&line).map_err(|e| not_a_session(format!("line 1: {e}")))?;
    if value.get("type").and_then(serde_json::Value::as_str) != Some("session") {
        return Err(not_a_session("line 1 has no \"type\":\"session\"".to_owned()));
    }
    let found = value.get("version").and_then(serde_json::Value::as_u64).unwrap_or(0);
    if found != u64::from(FORMAT_VERSION) {
        let found = u32::try_from(found).unwrap_or(u32::MAX);
        return Err(LogError::Version { path: path.to_owned(), found });
    }
    let header =
        serde_json::from_value(value).map_err(|e| not_a_session(format!("line 1: {e}")))?;
    Ok((header, line.len() as u64))
}

/// A file that cannot be read any more once somebody has asked to stop.
pub(in crate::session) struct Stoppable<'a> {
    file: File,
    stop: &'a CancellationToken,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_cancelled() {
            return Err(io::Error::other("interrupted"));
        }
        self.file.read(buffer)
    }
}

/// Reads a log from its beginning, handing each event to `apply`, in file order. Ends with an error
/// soon after `stop`.
///
/// Splits on the byte 0x0A only. Damaged lines are skipped and named; an unfinished last line is
/// left in the file and named. Duplicated and wild positions are skipped as damage: one event is one
/// fact.
pub fn read(
    path: &Path,
    stop: &CancellationToken,
    mut apply: impl FnMut(Record),
) -> Result<(Header, Damage, u64), LogError> {
    let mut reader = BufReader::new(open_to_read(path, stop)?);
    let (header, mut offset) = read_header_from(&mut reader, path)?;
    let mut damage = Damage::default();
    let (mut number, mut last_seq) = (1_u64, 0_u64);
    let read = lines::read(&mut reader, |line| {
        number += 1;
        if !line.ended && line.bytes < MAX_LINE {
            damage.no_final_newline = line.record.is_some();
            if line.record.is_none() {
                damage.torn_bytes = line.bytes as u64;
                return;
            }
        }
        offset += line.bytes as u64;
        match line.record {
            Some(record) if (1..=MAX_LEAP).contains(&record.seq.saturating_sub(last_seq)) => {
                last_seq = record.seq;
                apply(record);
            }
            Some(_) | None => damage.skipped.push(number),
        }
    });
    read.map_err(|e| LogError::io(path, e))?;
    Ok((header, damage, offset))
}
