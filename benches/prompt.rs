//! The claim: 15 ms after its start xsh has painted its prompt.

use super::support::{Place, repeat, times};

pub(crate) fn run() {
    let place = Place::new("http://127.0.0.1:9/v1");
    let samples = repeat(30, || {
        let mut terminal = place.terminal(&[]);
        // Bold, and the colour's end after it.
        terminal.wait_for("> \x1b[0m");
        let painted = terminal.started.elapsed();
        terminal.close();
        painted
    });
    times("prompt: exec to painted prompt in a terminal", "15 ms", samples);
}
