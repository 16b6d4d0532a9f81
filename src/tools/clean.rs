//! Terminal output as plain text.
//!
//! Programs write for terminals: colours, cursor movements, progress bars that redraw their line.
//! A model pays for every byte of it and learns nothing. [`Cleaner`] takes escape sequences out,
//! keeps the first and the last state of a line that was redrawn and counts the others, and shows bytes that are not text as U+FFFD and
//! counts them. It is fed in pieces of any size and holds little more than the line it is in.
//!
//! It is not a terminal: cursor movements between lines are dropped, not acted out. Whether its
//! text is safe to print is no concern of it, every screen passes all text through its own filter.

use memchr::memrchr;

/// How many bytes are held back, at least, before complete lines are passed on. A line that is
/// longer is passed on in pieces and can no longer be redrawn.
const HOLD: usize = 16 << 10;

/// The longest operating-system command or other string sequence that is skipped, in bytes.
/// Whatever comes after is text again, so that a stray escape cannot swallow the output.
const MAX_STRING: usize = 4_096;

const ESC: u8 = 0x1b;
const REPLACEMENT: &str = "\u{fffd}";

/// Where in an escape sequence the last byte was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Text,
    /// After ESC and intermediate bytes.
    Escape,
    /// In `ESC [ …`.
    Control,
    /// In `ESC ] …` and its like, with the bytes so far.
    String(usize),
    /// After an ESC in such a string, which may be its end.
    StringEscape,
}

/// Turns pieces of terminal output into plain text. See the module's documentation.
#[derive(Debug)]
pub struct Cleaner {
    place: Place,
    /// A carriage return came; what follows decides whether it ends or redraws the line.
    returned: bool,
    /// Cleaned bytes not passed on yet.
    held: Vec<u8>,
    /// The beginning of the line in `held` has been passed on already.
    broken: bool,
    /// The line in `held` was redrawn before: its first state is kept above it.
    redrawn: bool,
    /// What is not told so far.
    lost: Lost,
}

/// What of an output its clean text does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Bytes shown as U+FFFD.
    pub replaced: u64,
    /// States of redrawn lines that are left out.
    pub states: u64,
}

impl Default for Cleaner {
    fn default() -> Self {
        Self {
            place: Place::Text,
            returned: false,
            held: Vec::new(),
            broken: false,
            redrawn: false,
            lost: Lost::default(),
        }
    }
}

impl Cleaner {
    /// Takes the next bytes; passes on what is settled.
    pub fn push(&mut self, bytes: &[u8], out: &mut impl FnMut(&str)) {
        let mut rest = bytes;
        while let Some(&byte) = rest.first() {
            if self.place == Place::Text && !is_special(byte) {
                let plain = rest.iter().position(|&byte| is_special(byte)).unwrap_or(rest.len());
                let (run, after) = rest.split_at(plain.min(HOLD));
                self.plain(run);
                rest = after;
            } else {
                self.special(byte);
                rest = rest.get(1..).unwrap_or_default();
            }
            if self.held.len() > HOLD {
                self.pass_on(out);
            }
        }
    }

    /// Passes on what is left, and says what could not be told.
    pub fn finish(mut self, out: &mut impl FnMut(&str)) -> Lost {
        let held = std::mem::take(&mut self.held);
        self.decode(&held, out);
        self.lost
    }

    /// Passes on all that has come, apart from a character whose bytes are not all there, and says
    /// what could not be told since the last time. For an output that is looked at while it grows.
    pub fn settle(&mut self, out: &mut impl FnMut(&str)) -> Lost {
        let after = self.held.split_off(complete(&self.held));
        let settled = std::mem::replace(&mut self.held, after);
        if let Some(last) = settled.last() {
            self.broken = *last != b'\n';
        }
        self.decode(&settled, out);
        std::mem::take(&mut self.lost)
    }

    fn plain(&mut self, run: &[u8]) {
        if std::mem::take(&mut self.returned) && run.first() != Some(&b'\n') {
            self.redraw();
        }
        if run.contains(&b'\n') {
            self.redrawn = false;
        }
        self.held.extend_from_slice(run);
    }

    fn special(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (Place::Text, _) => self.control(byte),
            (Place::Escape, b'[') => Place::Control,
            (Place::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Place::String(0),
            (Place::Escape, 0x20..=0x2f) => Place::Escape,
            (Place::Control, 0x20..=0x3f) => Place::Control,
            (Place::Escape, 0x30..=0x7e) | (Place::Control, 0x40..=0x7e) => Place::Text,
            (Place::String(_), 0x07) | (Place::StringEscape, b'\\') => Place::Text,
            (Place::String(_), ESC) => Place::StringEscape,
            (Place::String(length), _) if byte != b'\n' && length < MAX_STRING => {
                Place::String(length + 1)
            }
            // Not a sequence after all, or one that was broken off: the byte is text again.
            (Place::Escape | Place::Control | Place::String(_) | Place::StringEscape, _) => {
                self.text_again(byte)
            }
        };
    }

    fn text_again(&mut self, byte: u8) -> Place {
        if is_special(byte) {
            return self.control(byte);
        }
        self.plain(&[byte]);
        Place::Text
    }

    /// A special byte in text.
    fn control(&mut self, byte: u8) -> Place {
        match byte {
            ESC => return Place::Escape,
            b'\r' => self.returned = true,
            0x08 => self.backspace(),
            // Bell and character sets.
            0x07 | 0x0e | 0x0f | 0x7f => {}
            0x0b | 0x0c => self.plain(b"\n"),
            _ => {
                self.plain(REPLACEMENT.as_bytes());
                self.lost.replaced += 1;
            }
        }
        Place::Text
    }

    /// The line is written anew from its start. Its first state stays as a line of its own: what
    /// looks like a progress bar may be data.
    fn redraw(&mut self) {
        let feed = memrchr(b'\n', &self.held);
        let whole = feed.is_some() || !self.broken;
        if !(std::mem::replace(&mut self.redrawn, true) && whole) {
            self.held.push(b'\n');
            return;
        }
        self.held.truncate(feed.map_or(0, |feed| feed + 1));
        self.lost.states += 1;
    }

    fn backspace(&mut self) {
        while let Some(byte) = self.held.pop_if(|byte| *byte != b'\n') {
            if !is_continuation(byte) {
                break;
            }
        }
    }

    /// Passes on the complete lines, or of an endless line its complete characters.
    fn pass_on(&mut self, out: &mut impl FnMut(&str)) {
        let feed = memrchr(b'\n', &self.held);
        let end = feed.map_or_else(|| complete(&self.held), |feed| feed + 1);
        let after = self.held.split_off(end);
        let settled = std::mem::replace(&mut self.held, after);
        self.broken = feed.is_none();
        self.decode(&settled, out);
    }

    fn decode(&mut self, bytes: &[u8], out: &mut impl FnMut(&str)) {
        for chunk in bytes.utf8_chunks() {
            out(chunk.valid());
            if !chunk.invalid().is_empty() {
                self.lost.replaced += chunk.invalid().len() as u64;
                out(REPLACEMENT);
            }
        }
    }
}

/// A control character other than tab and line feed.
fn is_special(byte: u8) -> bool {
    (byte < 0x20 && byte != b'\n' && byte != b'\t') || byte == 0x7f
}

fn is_continuation(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// The length without a character at the end whose bytes have not all come.
fn complete(bytes: &[u8]) -> usize {
    let last = bytes.iter().rev().take(4).position(|&byte| !is_continuation(byte));
    let Some(back) = last else { return bytes.len() };
    let lead = bytes.len() - back - 1;
    let wanted = match bytes.get(lead) {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xff) => 4,
        _ => 1,
    };
    if wanted > back + 1 { lead } else { bytes.len() }
}

#[cfg(test)]
mod tests;
