//! The claim: the program is one file of less than 8 MB.

use super::support::{XSH, line, megabytes};

pub(crate) fn run() {
    let size = std::fs::metadata(XSH).unwrap().len();
    line("binary: size of the program", "8 MB", &megabytes(size), "");
}
