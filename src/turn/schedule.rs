//! Which calls of a reply run together. Pure.
//!
//! Neighbouring reads run at the same time; a call that writes or executes is a barrier: it waits
//! for what comes before it, and what comes after waits for it.

use std::ops::Range;

/// Reads that run at the same time at most.
pub const MAX_TOGETHER: usize = 8;

/// Cuts calls into batches that run one after the other; `reads` tells for each call whether it
/// only reads.
pub fn batches(reads: &[bool]) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    for (index, &read) in reads.iter().enumerate() {
        match batches.last_mut() {
            Some(last)
                if read
                    && last.len() < MAX_TOGETHER
                    && reads.get(last.start).copied().unwrap_or(false) =>
            {
                last.end = index + 1;
            }
            _ => batches.push(index..index + 1),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `r` reads, `w` does not; batches are written apart.
    fn check(expected: &str) {
        let reads: Vec<bool> = expected.chars().filter(|c| *c != ' ').map(|c| c == 'r').collect();
        let sizes: Vec<usize> = batches(&reads).iter().map(Range::len).collect();
        let wanted: Vec<usize> = expected.split_whitespace().map(str::len).collect();
        assert_eq!(sizes, wanted, "{expected}");
    }

    #[test]
    fn table() {
        for expected in ["", "r", "w", "rr", "rr w r", "w w", "rrrrrrrr rr", "w rr w"] {
            check(expected);
        }
    }
}
