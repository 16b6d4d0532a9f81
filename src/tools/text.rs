//! What the bytes of a file mean as text: byte order mark, encoding, line endings, lines.
//!
//! Pure. Text is handled as bytes throughout, because files are not always UTF-8 and what a tool
//! does not touch must survive as it is. Only UTF-16 is converted, and only where that is lossless.
//! Deliberately no guessing among 8-bit encodings: their bytes pass through untouched.

use std::borrow::Cow;
use std::fmt;

/// Content above this size (bytes) is neither hashed nor changed; it can only be read by window.
pub const EDIT_LIMIT: usize = 16 * 1024 * 1024;

/// How the text of a file is encoded, as far as its first bytes say so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, or an 8-bit encoding that nobody declared.
    #[default]
    Utf8,
    /// UTF-16, low byte first.
    Utf16Le,
    /// UTF-16, high byte first.
    Utf16Be,
}

/// The outer form of a text: what is hidden from the model and put back on writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Form {
    /// The encoding.
    pub encoding: Encoding,
    /// The file begins with a byte order mark.
    pub bom: bool,
}

impl Form {
    /// Reads the form off the first bytes. UTF-16 is recognised by its byte order mark alone.
    pub fn of(bytes: &[u8]) -> Self {
        let encoding = match bytes {
            [0xEF, 0xBB, 0xBF, ..] => Encoding::Utf8,
            [0xFF, 0xFE, 0, 0, ..] => return Self::default(), // UTF-32, which is shown as binary
            [0xFF, 0xFE, ..] => Encoding::Utf16Le,
            [0xFE, 0xFF, ..] => Encoding::Utf16Be,
            _ => return Self::default(),
        };
        Self { encoding, bom: true }
    }

    /// The bytes of the byte order mark; none without one.
    fn mark(self) -> &'static [u8] {
        match (self.bom, self.encoding) {
            (false, _) => &[],
            (true, Encoding::Utf8) => &[0xEF, 0xBB, 0xBF],
            (true, Encoding::Utf16Le) => &[0xFF, 0xFE],
            (true, Encoding::Utf16Be) => &[0xFE, 0xFF],
        }
    }

    /// The text without its mark. Broken UTF-16 becomes U+FFFD; see [`Form::is_lossless`].
    pub fn decode(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        let body = bytes.strip_prefix(self.mark()).unwrap_or(bytes);
        let unit: fn([u8; 2]) -> u16 = match self.encoding {
            Encoding::Utf8 => return Cow::Borrowed(body),
            Encoding::Utf16Le => u16::from_le_bytes,
            Encoding::Utf16Be => u16::from_be_bytes,
        };
        let (pairs, rest) = body.as_chunks::<2>();
        let mut text: String = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        if !rest.is_empty() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        Cow::Owned(text.into_bytes())
    }

    /// The file's bytes for a text, mark included: the reverse of [`Form::decode`].
    pub fn encode(self, text: &[u8]) -> Vec<u8> {
        let mut bytes = self.mark().to_vec();
        let order: fn(u16) -> [u8; 2] = match self.encoding {
            Encoding::Utf8 => {
                bytes.extend_from_slice(text);
                return bytes;
            }
            Encoding::Utf16Le => u16::to_le_bytes,
            Encoding::Utf16Be => u16::to_be_bytes,
        };
        bytes.extend(String::from_utf8_lossy(text).encode_utf16().flat_map(order));
        bytes
    }

    /// True when decoding and encoding again gives exactly these bytes.
    pub fn is_lossless(self, bytes: &[u8]) -> bool {
        self.encoding == Encoding::Utf8 || self.encode(&self.decode(bytes)) == bytes
    }

    /// What a reader should know about it; nothing for plain UTF-8.
    pub fn note(self) -> Option<&'static str> {
        match (self.encoding, self.bom) {
            (Encoding::Utf8, false) => None,
            (Encoding::Utf8, true) => Some("UTF-8 with byte order mark (not shown, kept)."),
            (Encoding::Utf16Le, _) => Some("UTF-16 LE with byte order mark (not shown, kept)."),
            (Encoding::Utf16Be, _) => Some("UTF-16 BE with byte order mark (not shown, kept)."),
        }
    }
}

/// How many lines end in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// Lines that end in a line feed alone.
    pub lf: u64,
    /// Lines that end in carriage return and line feed.
    pub crlf: u64,
    /// Carriage returns that belong to no line ending.
    pub lone_cr: u64,
}

impl Endings {
    /// Counts those of a text.
    pub fn of(text: &[u8]) -> Self {
        let mut endings = Self::default();
        let mut previous = 0;
        for at in memchr::memchr2_iter(b'\n', b'\r', text) {
            match text.get(at) {
                Some(b'\r') => endings.lone_cr += 1,
                _ if at > 0 && previous + 1 == at && text.get(previous) == Some(&b'\r') => {
                    endings.lone_cr -= 1;
                    endings.crlf += 1;
                }
                _ => endings.lf += 1,
            }
            previous = at;
        }
        endings
    }

    /// Every line ends in CRLF, and there is at least one.
    pub fn is_crlf(self) -> bool {
        self.crlf > 0 && self.lf == 0
    }

    /// Lines that have an end.
    pub fn lines(self) -> u64 {
        self.lf + self.crlf
    }
}

impl fmt::Display for Endings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.lf, self.crlf, self.lone_cr) {
            (0, 0, 0) => f.write_str("none"),
            (0, 0, cr) => write!(f, "CR alone, {cr} (old Mac style, counted as one line)"),
            (_, 0, 0) => f.write_str("LF"),
            (0, _, 0) => f.write_str("CRLF"),
            (_, 0, cr) => write!(f, "LF, and {cr} lone CR inside lines"),
            (0, _, cr) => write!(f, "CRLF, and {cr} lone CR inside lines"),
            (lf, crlf, 0) => write!(f, "mixed ({lf} LF, {crlf} CRLF)"),
            (lf, crlf, cr) => write!(f, "mixed ({lf} LF, {crlf} CRLF, {cr} lone CR)"),
        }
    }
}

/// How many lines a text has; one without its final line feed counts.
pub fn line_count(text: &[u8]) -> u64 {
    let ended = memchr::memchr_iter(b'\n', text).count() as u64;
    ended + u64::from(text.last().is_some_and(|&last| last != b'\n'))
}

/// The line, from 1, that a byte lies in.
pub fn line_of(text: &[u8], at: usize) -> u64 {
    1 + memchr::memchr_iter(b'\n', text.get(..at).unwrap_or(text)).count() as u64
}

/// The last line of a tool's result about a text: `[Line endings: LF. Total lines: 2.]`.
pub fn trailer(text: &[u8], form: Form) -> String {
    let mut parts = vec![
        format!("Line endings: {}.", Endings::of(text)),
        format!("Total lines: {}.", line_count(text)),
    ];
    if text.last().is_some_and(|&last| last != b'\n') {
        parts.push("No newline at end of file.".to_owned());
    }
    parts.extend(form.note().map(str::to_owned));
    format!("[{}]", parts.join(" "))
}

/// A line without its ending.
pub fn chomp(line: &[u8]) -> &[u8] {
    match line {
        [rest @ .., b'\r', b'\n'] | [rest @ .., b'\n'] => rest,
        _ => line,
    }
}

/// A line as the model sees it: without its ending, undecodable bytes as U+FFFD, NUL as `␀` (some
/// providers refuse it), and at most `max` characters; a cut says how long the line is, which is
/// `length` bytes where `line` is only its beginning.
pub fn shown(line: &[u8], length: usize, max: usize) -> String {
    let line = chomp(line);
    let text = String::from_utf8_lossy(line);
    let shown: String = text.chars().take(max).map(visible).collect();
    if length > line.len() + 2 || text.chars().nth(max).is_some() {
        return format!("{shown}… [line cut after {max} characters; it has {length} bytes]");
    }
    shown
}

fn visible(c: char) -> char {
    if c == '\0' { '␀' } else { c }
}

/// As many whole lines as fit into `max` bytes, with a note when some are left out.
pub fn cut_lines(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let mut size = 0;
    let fits = |line: &&str| {
        size += line.len();
        size <= max
    };
    let kept: String = text.split_inclusive('\n').take_while(fits).collect();
    format!("{kept}[cut here; the rest is not shown]")
}

/// `1 line`, `2 lines`.
pub fn plural(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A size for people: `512 bytes`, `3.0 GiB`.
pub fn size(bytes: u64) -> String {
    let mut value = bytes;
    let mut tenths = 0;
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
        if value < 1024 || unit == "GiB" {
            let fraction = if unit == "bytes" { String::new() } else { format!(".{tenths}") };
            return format!("{value}{fraction} {unit}");
        }
        tenths = value % 1024 * 10 / 1024;
        value /= 1024;
    }
    format!("{bytes} bytes")
}

#[cfg(test)]
mod tests;
