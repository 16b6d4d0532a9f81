//! The claim: `xsh --version` is over within 3 ms.

use super::support::{Place, repeat, time, times};

pub(crate) fn run() {
    let place = Place::new("");
    let samples = repeat(50, || time(|| place.xsh(&["--version"]).status().unwrap()));
    times("version: exec to exit of `xsh --version`", "3 ms", samples);
}
