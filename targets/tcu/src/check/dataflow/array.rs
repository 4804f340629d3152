//! [`Weights`]: which rows are in the array, and whether anything was multiplied by them.

use std::collections::VecDeque;

use super::rows;
use crate::check::lints::{UNUSED_WEIGHTS, UNWRITTEN_WEIGHTS};
use crate::check::problem::Problem;

/// The rows of the array, the bias counted, as they are shifted in.
pub(super) struct Weights {
    /// Rows it has.
    depth: u64,
    /// Rows that somebody has loaded.
    loaded: u64,
    /// Loads by which nothing was multiplied, with the rows that came after each.
    pending: VecDeque<(usize, u64)>,
    /// Those whose rows have all left.
    unused: Vec<(usize, usize)>,
}

impl Weights {
    /// Of an array of `depth` rows, which are filled from outside or not.
    pub const fn new(depth: u64, is_filled: bool) -> Self {
        let loaded = if is_filled { depth } else { 0 };
        Self { depth, loaded, pending: VecDeque::new(), unused: Vec::new() }
    }

    pub fn load(&mut self, index: usize, size: u64) {
        self.loaded = self.loaded.saturating_add(size).min(self.depth);
        for (_, after) in &mut self.pending {
            *after = after.saturating_add(size);
        }
        self.pending.push_back((index, 0));
        while let Some(&(first, _)) = self.pending.front().filter(|(_, after)| *after >= self.depth) {
            self.pending.pop_front();
            self.unused.push((first, index));
        }
    }

    /// A product, which takes all rows unless it is one of zeros; then it takes the bias alone.
    pub fn multiply(&mut self, index: usize, takes_all: bool) -> Option<Problem> {
        self.pending.clear();
        let needed = if takes_all { self.depth } else { 1 };
        if self.loaded >= needed {
            return None;
        }
        let reason = format!(
            "multiplies by {} of weights, bias counted, of which {} have been loaded",
            rows(needed),
            self.loaded
        );
        // It is told once.
        self.loaded = self.depth;
        Some(Problem::warning(
            index,
            UNWRITTEN_WEIGHTS,
            reason,
            "load N weight rows and the bias row, or rows of zeros",
        ))
    }

    pub fn finish(&self, is_end: bool) -> Vec<Problem> {
        let hint = "take it away, or put the MatMul that is meant behind it";
        let pushed = self.unused.iter().map(|(index, by)| {
            let reason = format!(
                "its rows have left the array by instruction {by}, and nothing was multiplied by them"
            );
            Problem::warning(*index, UNUSED_WEIGHTS, reason, hint)
        });
        let left = self.pending.iter().filter(|_| is_end).map(|(index, _)| {
            Problem::warning(*index, UNUSED_WEIGHTS, "nothing is multiplied by its rows".to_owned(), hint)
        });
        pushed.chain(left).collect()
    }
}
