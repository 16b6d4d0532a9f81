//! Makes text from outside (a model, a tool, a file) inert before it reaches a terminal.
//!
//! A control character is an instruction to the terminal: it can clear the screen, fake lines or
//! fill the clipboard. Whole escape sequences are dropped, also when a stream cuts them in two;
//! characters that hide or reorder text are dropped or made visible. The text itself, in whatever
//! script, stays. Nothing here decides about style: colours are added after this step.

/// What is done with characters that are harmless to a terminal but deceive a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A person reads it: invisible characters are dropped, reordering ones are shown.
    Terminal,
    /// A file or a pipe: only controls and escape sequences are dropped.
    File,
}

/// Where in an escape sequence the last character left us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ground,
    /// After ESC, or ESC and intermediate characters.
    Escape,
    /// Inside `ESC [ …`.
    Csi,
    /// Inside OSC, DCS, SOS, PM or APC, up to BEL, ST or the end of the line.
    Command,
    /// An ESC inside one of those: a backslash ends it.
    CommandEscape,
}

/// Cleans a stream piece by piece. What comes out does not depend on how the stream was cut.
#[derive(Debug)]
pub struct Sanitizer {
    target: Target,
    state: State,
    after_return: bool,
    /// The last character that was let through; decides about joiners.
    previous: char,
    /// A joiner that is kept only if the next character also wants it.
    joiner: Option<char>,
}

impl Sanitizer {
    /// A sanitizer at the start of a stream.
    pub fn new(target: Target) -> Self {
        Self { target, state: State::Ground, after_return: false, previous: '\n', joiner: None }
    }

    /// Cleans the next piece and appends it to `out`.
    pub fn push(&mut self, text: &str, out: &mut String) {
        out.reserve(text.len());
        for c in text.chars() {
            self.step(c, out);
        }
    }

    /// Ends the stream: what was held back for the next piece is written or dropped.
    pub fn finish(&mut self, out: &mut String) {
        self.end_return(out);
        *self = Self::new(self.target);
    }

    fn step(&mut self, c: char, out: &mut String) {
        self.state = match (self.state, c) {
            (State::Command, '\u{1b}') => State::CommandEscape,
            (State::Command, '\u{7}' | '\u{18}' | '\u{1a}' | '\u{9c}') => State::Ground,
            // A terminal would wait on; ending here keeps an unclosed sequence from hiding more
            // than the rest of its line.
            (State::Command | State::CommandEscape, '\n' | '\r') => return self.plain(c, out),
            (State::Command, _) => State::Command,
            (State::CommandEscape, '\\') => State::Ground,
            (State::Escape | State::CommandEscape, '[') => State::Csi,
            (State::Escape | State::CommandEscape, ']' | 'P' | 'X' | '^' | '_') => State::Command,
            (State::Escape | State::CommandEscape, ' '..='/') => State::Escape,
            (State::Escape | State::CommandEscape, '0'..='~') => State::Ground,
            (State::Csi, ' '..='?') => State::Csi,
            (State::Csi, '@'..='~') => State::Ground,
            (_, '\u{1b}') => State::Escape,
            (_, '\u{9b}') => State::Csi,
            (_, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}') => State::Command,
            _ => return self.plain(c, out),
        };
    }

    /// A character outside escape sequences.
    fn plain(&mut self, c: char, out: &mut String) {
        self.state = State::Ground;
        if c == '\r' {
            self.end_return(out);
            self.after_return = true;
            return;
        }
        if c == '\n' {
            self.after_return = false;
            return self.put('\n', out);
        }
        self.end_return(out);
        match kind(c) {
            Kind::Control => {}
            Kind::LineEnd => self.put('\n', out),
            _ if self.target == Target::File => self.put(c, out),
            Kind::Joiner => self.joiner = (!self.previous.is_ascii()).then_some(c),
            Kind::Invisible => {}
            Kind::Reordering => {
                out.push_str(&name(c));
                self.previous = '>';
                self.joiner = None;
            }
            Kind::Text => self.put(c, out),
        }
    }

    fn put(&mut self, c: char, out: &mut String) {
        if let Some(joiner) = self.joiner.take()
            && !c.is_ascii()
        {
            out.push(joiner);
        }
        out.push(c);
        self.previous = c;
    }

    /// A return that no newline followed: it would have overwritten the line, so it ends it.
    fn end_return(&mut self, out: &mut String) {
        if std::mem::take(&mut self.after_return) {
            self.put('\n', out);
        }
    }
}

/// What a character does to a reader or a terminal.
enum Kind {
    Text,
    Control,
    /// NEL, LINE and PARAGRAPH SEPARATOR.
    LineEnd,
    /// Joins its neighbours into one glyph; meaningful in emoji and in several scripts.
    Joiner,
    /// Takes no room.
    Invisible,
    /// Changes the order in which the text around it is shown.
    Reordering,
}

fn kind(c: char) -> Kind {
    match c {
        '\t' => Kind::Text,
        '\u{85}' | '\u{2028}' | '\u{2029}' => Kind::LineEnd,
        _ if c.is_control() => Kind::Control,
        '\u{200c}' | '\u{200d}' => Kind::Joiner,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Kind::Reordering,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e0fff}' => Kind::Invisible,
        _ => Kind::Text,
    }
}

/// True for a character that is text and nothing else, tabs among them.
pub fn is_plain(c: char) -> bool {
    matches!(kind(c), Kind::Text)
}

fn name(c: char) -> String {
    format!("<U+{:04X}>", u32::from(c))
}

/// Cleans a whole text for a terminal.
pub fn text(text: &str) -> String {
    whole(text, Target::Terminal)
}

/// Cleans a whole text for a file or pipe.
pub fn file(text: &str) -> String {
    whole(text, Target::File)
}

fn whole(text: &str, target: Target) -> String {
    let mut out = String::new();
    let mut sanitizer = Sanitizer::new(target);
    sanitizer.push(text, &mut out);
    sanitizer.finish(&mut out);
    out
}

/// Cleans a text for one line of a terminal: every run of white space becomes one blank.
pub fn line(raw: &str) -> String {
    text(raw).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Shows a text exactly, for a decision that rests on it: whatever is not plain text is written
/// out as an escape, and only `\n` is left as it is.
pub fn visible(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for c in raw.chars() {
        match kind(c) {
            _ if c == '\n' => out.push(c),
            Kind::Text if c != '\t' => out.push(c),
            Kind::Text => out.push_str("\\t"),
            Kind::Control | Kind::LineEnd => out.extend(c.escape_default()),
            Kind::Joiner | Kind::Invisible | Kind::Reordering => out.extend(c.escape_default()),
        }
    }
    out
}

#[cfg(test)]
mod tests;
