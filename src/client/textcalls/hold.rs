//! Keeps calls that are written as text off the screen while they stream.
//!
//! Text is held back at the start of a line only, and no longer than it could still become an
//! opener. From an opener on everything is held until the answer is whole and has been looked at.

use super::OPENERS;

/// What a code block begins and ends with.
const FENCES: [&str; 2] = ["```", "~~~"];

/// See the module.
#[derive(Debug, Default)]
pub struct Hold {
    held: String,
    state: State,
    in_code: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// At the start of a line; `held` is what there is of it.
    #[default]
    LineStart,
    /// In a line that is shown.
    InLine,
    /// Behind an opener.
    Call,
}

impl Hold {
    /// The text that can be shown now that this piece has come.
    pub fn push(&mut self, piece: &str) -> String {
        let mut shown = String::with_capacity(piece.len());
        for part in piece.split_inclusive('\n') {
            match self.state {
                State::Call => self.held.push_str(part),
                State::InLine => shown.push_str(part),
                State::LineStart => self.line_start(part, &mut shown),
            }
            if self.state != State::Call && part.ends_with('\n') {
                shown.push_str(&std::mem::take(&mut self.held));
                self.state = State::LineStart;
            }
        }
        shown
    }

    /// What is still held.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn line_start(&mut self, part: &str, shown: &mut String) {
        self.held.push_str(part);
        let line = self.held.trim_start();
        let begins = |tags: &[&str]| tags.iter().any(|tag| line.starts_with(tag));
        let could_begin = |tags: &[&str]| tags.iter().any(|tag| tag.starts_with(line));
        let openers = if self.in_code { &[][..] } else { &OPENERS };
        if begins(openers) {
            self.state = State::Call;
        } else if begins(&FENCES) || !(could_begin(openers) || could_begin(&FENCES)) {
            self.in_code ^= begins(&FENCES);
            self.state = State::InLine;
            shown.push_str(&std::mem::take(&mut self.held));
        }
    }
}
