//! A generous reader of command lines, for rules that forbid: it finds every command that can be
//! recognised in a text, also where the strict reader gives up.
//!
//! It looks into substitutions, subshells and control flow, behind variables that are set first,
//! through wrappers (`sudo`, `env`, `timeout` …) and into `bash -c '…'`. It can be outwitted: no
//! decision to *let* something happen rests on it.

use super::overlap::{Piece, split_names};

/// How deep commands in commands are followed.
const MAX_DEPTH: u32 = 4;
/// How many arguments of a wrapper are looked at as the beginning of the wrapped command.
const MAX_STARTS: usize = 64;
/// Words of all commands together that are looked at.
const MAX_WORDS: usize = 200_000;

/// What was found in a text.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Every command that was recognised: its words, quotes taken away. A wrapped command stands
    /// here by itself as well.
    pub commands: Vec<Vec<String>>,
    /// Every name in a word that could be a part of a path, with its wildcards.
    pub names: Vec<Vec<Piece>>,
    /// The text is so long or deep that not all was looked at.
    pub cut: bool,
    words: usize,
}

/// Finds what can be recognised.
pub fn find(text: &str) -> Found {
    let mut found = Found::default();
    look(text, 0, &mut found);
    found
}

#[derive(Clone, Debug, Default)]
struct Word {
    text: String,
    pieces: Vec<Piece>,
}

fn look(text: &str, depth: u32, found: &mut Found) {
    for words in Splitter::split(text) {
        for word in &words {
            found.names.extend(split_names(&word.pieces));
            if word.text.contains(AROUND_NAMES) {
                let inner =
                    word.text.split(|c: char| !c.is_alphanumeric() && !IN_NAMES.contains(c));
                let inner = inner.map(|name| name.chars().map(Piece::quoted).collect::<Vec<_>>());
                found.names.extend(inner.flat_map(|name| split_names(&name)));
            }
        }
        let texts: Vec<String> = words.into_iter().map(|word| word.text).collect();
        unwrap(&texts, depth, found);
    }
}

impl Found {
    /// Notes a command. False where there is no room for more.
    fn note(&mut self, words: &[String]) -> bool {
        self.words += words.len();
        self.cut |= self.words > MAX_WORDS;
        if !self.cut {
            self.commands.push(words.to_vec());
        }
        !self.cut
    }
}

/// What stands around a name in the text of another language: `open(".env")`.
const AROUND_NAMES: [char; 8] = ['"', '\'', '(', ')', ',', ';', '=', ' '];

/// What is in names, beside letters and digits.
const IN_NAMES: &str = "._-/~+@";

/// Words that may stand before a command.
const BEFORE: &[&str] = &["!", "{", "do", "elif", "else", "if", "then", "until", "while"];

/// Notes a command, and what it runs in its turn.
fn unwrap(words: &[String], depth: u32, found: &mut Found) {
    let before = |word: &&String| BEFORE.contains(&word.as_str()) || is_assignment(word);
    let skipped = words.iter().take_while(before).count();
    let words = words.get(skipped..).unwrap_or_default();
    let Some((name, arguments)) = words.split_first() else { return };
    if !found.note(words) {
        return;
    }
    if depth >= MAX_DEPTH {
        found.cut = true;
        return;
    }
    let name = base(name);
    if SHELLS.contains(&name) {
        let texts = arguments.iter().filter(|text| !text.starts_with('-'));
        texts.take(MAX_STARTS).for_each(|text| look(text, depth + 1, found));
        unwrap_anywhere(arguments, depth, found);
    } else if FINDERS.contains(&name) {
        let runs = |word: &String| {
            word.starts_with("-exec") || word.starts_with("-ok") || word == "-x" || word == "-X"
        };
        let places = arguments.iter().enumerate().filter(|(_, word)| runs(word));
        for (at, _) in places.take(MAX_STARTS) {
            unwrap(arguments.get(at + 1..).unwrap_or_default(), depth + 1, found);
        }
    } else if WRAPPERS.contains(&name) {
        // Some take a whole command line as one argument.
        let lines = arguments.iter().filter(|text| text.contains(BLANKS)).take(MAX_STARTS);
        lines.for_each(|text| look(value(text), depth + 1, found));
        unwrap_anywhere(arguments, depth, found);
    }
}

/// An argument without the option that it may begin with.
fn value(argument: &str) -> &str {
    let mut rest = argument.chars();
    match argument.strip_prefix("--") {
        Some(long) => long.split_once('=').map_or(long, |(_, value)| value),
        None if rest.next() == Some('-') && rest.next().is_some() => rest.as_str(),
        None => argument,
    }
}

/// Which arguments are the wrapper's own is not known: the command may begin anywhere.
fn unwrap_anywhere(arguments: &[String], depth: u32, found: &mut Found) {
    for at in 0..arguments.len().min(MAX_STARTS) {
        let inner = arguments.get(at..).unwrap_or_default();
        if inner.first().is_some_and(|word| opens(word)) {
            unwrap(inner, depth + 1, found);
        } else if !found.note(inner) {
            return;
        }
    }
}

/// Programs that read commands from the text in their arguments.
const SHELLS: &[&str] =
    &["bash", "sh", "dash", "zsh", "ksh", "ash", "fish", "eval", "su", "script", "ssh", "trap"];

/// Programs that run a command behind one of their options.
const FINDERS: &[&str] = &["find", "fd", "fdfind"];

/// Programs that run the command in their arguments.
const WRAPPERS: &[&str] = &[
    "builtin",
    "busybox",
    "chroot",
    "chrt",
    "command",
    "coproc",
    "doas",
    "env",
    "exec",
    "flock",
    "function",
    "ionice",
    "nice",
    "nohup",
    "nsenter",
    "parallel",
    "pkexec",
    "prlimit",
    "setarch",
    "setpriv",
    "setsid",
    "stdbuf",
    "strace",
    "sudo",
    "systemd-run",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unbuffer",
    "unshare",
    "watch",
    "xargs",
    "xvfb-run",
];

/// Whether a command is to be looked into. Another wrapper is not: what it wraps begins behind the
/// outer one as well.
fn opens(word: &str) -> bool {
    SHELLS.contains(&base(word)) || FINDERS.contains(&base(word)) || is_assignment(word)
}

/// The name of a command without its folder.
pub fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.strip_suffix('+').unwrap_or(name);
    // A place in an array.
    let name = name.split('[').next().unwrap_or(name);
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// What a bracket that is still open belongs to.
struct Frame {
    words: Vec<Word>,
    word: Option<Word>,
    quoted: bool,
    closes: char,
}

/// Takes a text apart into commands, those within others too.
#[derive(Default)]
struct Splitter {
    done: Vec<Vec<Word>>,
    words: Vec<Word>,
    word: Option<Word>,
    /// Inside double quotes.
    quoted: bool,
    /// The next word is where something is redirected to.
    redirected: bool,
    outer: Vec<Frame>,
}

impl Splitter {
    fn split(text: &str) -> Vec<Vec<Word>> {
        let mut splitter = Self::default();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            splitter.take(c, &mut rest);
        }
        splitter.end_command();
        while let Some(frame) = splitter.outer.pop() {
            (splitter.words, splitter.word) = (frame.words, frame.word);
            splitter.end_command();
        }
        splitter.done
    }

    fn take(&mut self, c: char, rest: &mut std::str::Chars<'_>) {
        match c {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(next) => self.literal(next),
            },
            '"' => {
                self.word.get_or_insert_default();
                self.quoted = !self.quoted;
            }
            '`' if self.outer.last().is_some_and(|frame| frame.closes == '`') => self.leave(),
            '`' => self.enter('`'),
            '$' => self.dollar(rest),
            ')' if self.outer.last().is_some_and(|frame| frame.closes == ')') && !self.quoted => {
                self.leave();
            }
            _ if self.quoted && matches!(c, '*' | '?' | '[') => self.wild(c, c, rest, false),
            _ if self.quoted => self.literal(c),
            '\'' => {
                let word = self.word.get_or_insert_default();
                for inside in rest.by_ref().take_while(|c| *c != '\'') {
                    word.text.push(inside);
                    word.pieces.push(Piece::quoted(inside));
                }
            }
            ' ' | '\t' | '\r' => self.end_word(),
            '<' | '>' => self.redirect(rest),
            ';' | '|' | '&' | '\n' | '(' | ')' => self.end_command(),
            '*' | '?' => self.wild(c, c, rest, true),
            '[' => self.wild(c, ']', rest, true),
            '{' => self.wild(c, '}', rest, false),
            _ => self.literal(c),
        }
    }

    /// A redirection, which may stand anywhere in a command and is no part of it.
    fn redirect(&mut self, rest: &mut std::str::Chars<'_>) {
        if self.word.as_ref().is_some_and(|word| word.text.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let signs: usize = rest.as_str().chars().take_while(|c| "<>&|".contains(*c)).count();
        let signs = rest.by_ref().take(signs).filter(|sign| *sign == '<').count();
        // A text that is given as the input may be read as commands.
        self.redirected = signs < 2;
    }

    fn literal(&mut self, c: char) {
        let word = self.word.get_or_insert_default();
        word.text.push(c);
        word.pieces.push(Piece::Char(c));
    }

    /// A wildcard, which may have a second end. `shy` ones do not find a leading dot.
    fn wild(&mut self, c: char, end: char, rest: &mut std::str::Chars<'_>, shy: bool) {
        let word = self.word.get_or_insert_default();
        word.text.push(c);
        let inside = (end != c).then(|| rest.as_str().split_once(end)).flatten();
        let inside = inside.map(|(inside, _)| inside).filter(|text| !text.contains(BLANKS));
        match inside {
            // The placeholder of `find` and `xargs`.
            Some("") if c == '{' => word.pieces.push(Piece::Unknown),
            None if c == '{' => word.pieces.push(Piece::Char(c)),
            _ if c == '?' => word.pieces.push(Piece::One { shy }),
            _ => word.pieces.push(Piece::Many { shy }),
        }
        if let Some(inside) = inside {
            word.text.push_str(inside);
            word.text.push(end);
            rest.by_ref().take(inside.chars().count() + 1).for_each(drop);
        }
    }

    fn dollar(&mut self, rest: &mut std::str::Chars<'_>) {
        let text = rest.as_str();
        if !self.quoted && text.starts_with('"') {
            return;
        }
        let word = self.word.get_or_insert_default();
        if !self.quoted && text.starts_with('\'') {
            rest.next();
            return escaped(rest, word);
        }
        word.text.push('$');
        word.pieces.push(Piece::Unknown);
        let text = rest.as_str();
        if text.starts_with('(') {
            rest.next();
            self.enter(')');
            return;
        }
        let name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let skip = match text.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
            // What is run inside is read on.
            Some((inside, _)) if inside.contains(['$', '`']) => {
                inside.chars().take_while(name).count() + 1
            }
            Some((inside, _)) => inside.chars().count() + 2,
            None if text.starts_with(['@', '*', '#', '?', '!', '$', '-']) => 1,
            None => text.chars().take_while(name).count(),
        };
        word.text.extend(rest.by_ref().take(skip));
    }

    fn enter(&mut self, closes: char) {
        self.outer.push(Frame {
            words: std::mem::take(&mut self.words),
            word: self.word.take(),
            quoted: std::mem::take(&mut self.quoted),
            closes,
        });
    }

    fn leave(&mut self) {
        self.end_command();
        if let Some(frame) = self.outer.pop() {
            (self.words, self.word, self.quoted) = (frame.words, frame.word, frame.quoted);
            self.word.get_or_insert_default().pieces.push(Piece::Unknown);
        }
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.redirected) {
            self.done.push(vec![word]);
        } else {
            self.words.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirected = false;
        if !self.words.is_empty() {
            self.done.push(std::mem::take(&mut self.words));
        }
    }
}

/// Reads the rest of a `$'…'`.
fn escaped(rest: &mut std::str::Chars<'_>, word: &mut Word) {
    while let Some(c) = rest.next().filter(|c| *c != '\'') {
        let c = if c == '\\' { escape(rest) } else { Some(c) };
        word.text.extend(c);
        word.pieces.extend(c.map(Piece::quoted));
    }
}

/// What a backslash in a `$'…'` and the characters behind it stand for.
fn escape(rest: &mut std::str::Chars<'_>) -> Option<char> {
    let (base, digits) = match rest.clone().next()? {
        'x' => (16, 2),
        'u' => (16, 4),
        'U' => (16, 8),
        '0'..='7' => (8, 3),
        _ => {
            return rest.next().map(|c| match c {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            });
        }
    };
    if base == 16 {
        rest.next();
    }
    let count = rest.as_str().chars().take(digits).take_while(|c| c.is_digit(base)).count();
    let number: String = rest.by_ref().take(count).collect();
    u32::from_str_radix(&number, base).ok().and_then(char::from_u32)
}

const BLANKS: [char; 3] = [' ', '\t', '\n'];

#[cfg(test)]
mod tests;
