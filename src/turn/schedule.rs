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

    fn check(reads: &str, expected: &[Range<usize>]) {
        let reads: Vec<bool> = reads.chars().map(|c| c == 'r').collect();
        assert_eq!(batches(&reads), expected);
    }

    #[test]
    fn table() {
        check("", &[]);
        check("r", &[0..1]);
        check("w", &[0..1]);
        check("rr", &[0..2]);
        check("rrwr", &[0..2, 2..3, 3..4]);
        check("ww", &[0..1, 1..2]);
        check("rrrrrrrrrr", &[0..8, 8..10]);
        check("wrrw", &[0..1, 1..3, 3..4]);
    }
}
