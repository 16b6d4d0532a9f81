//! The questions at a start: which of several providers, and whether to go on with a session.

use super::editor::{Editor, Line};
use crate::config::Choice;
use crate::ui::Handle;
use crate::update::Update;

/// What the user wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// This one, from 0; `keep` it for later starts.
    One {
        /// From 0.
        index: usize,
        /// For later starts too.
        keep: bool,
    },
    /// To end the program.
    Quit,
}

/// Asks until there is an answer.
pub async fn pick(screen: &Handle, editor: &mut Editor, choices: &[Choice]) -> Picked {
    screen.show(Update::Note(list(choices)));
    let prompt = format!("1-{}, Enter takes 1; a + after the number keeps it > ", choices.len());
    loop {
        screen.pause().await;
        editor.ask_answer(&prompt);
        let line = editor.line().await;
        screen.resume();
        if let Some(picked) = answer(&line, choices.len()) {
            return picked;
        }
    }
}

/// A question whose answer is no unless it is clearly a yes.
pub async fn confirm(screen: &Handle, editor: &mut Editor, prompt: &str) -> bool {
    screen.pause().await;
    editor.ask_answer(prompt);
    let line = editor.line().await;
    screen.resume();
    matches!(line, Line::Text(text) if ["y", "yes"].contains(&text.trim().to_lowercase().as_str()))
}

fn list(choices: &[Choice]) -> String {
    let widest = |text: fn(&Choice) -> &str| choices.iter().map(|c| text(c).len()).max();
    let provider = widest(|choice| &choice.provider).unwrap_or(0);
    let model = widest(|choice| choice.model.as_deref().unwrap_or("?")).unwrap_or(0);
    let row = |(index, choice): (usize, &Choice)| {
        let Choice { provider: name, model: id, sign } = choice;
        let id = id.as_deref().unwrap_or("?");
        format!("{:>3}  {name:provider$}  {id:model$}  {sign}", index + 1)
    };
    let head = "Several providers can be used:".to_owned();
    let rows = choices.iter().enumerate().map(row);
    std::iter::once(head).chain(rows).collect::<Vec<_>>().join("\n")
}

/// What a line means; none = it is no answer.
fn answer(line: &Line, count: usize) -> Option<Picked> {
    let Line::Text(text) = line else { return Some(Picked::Quit) };
    let text = text.trim();
    let (number, keep) = match text.strip_suffix('+') {
        Some(number) => (number.trim(), true),
        None => (text, false),
    };
    let number = if number.is_empty() { 1 } else { number.parse::<usize>().ok()? };
    let index = number.checked_sub(1).filter(|index| *index < count)?;
    Some(Picked::One { index, keep })
}

#[cfg(test)]
mod tests;
