//! [`Weights`]: the rows in the array, and whether each was multiplied by anything.

use std::collections::VecDeque;

use super::rows;
use crate::check::lints::{UNUSED_WEIGHTS, UNWRITTEN_WEIGHTS};
use crate::check::problem::Problem;

/// Rows of the array, including the bias row, as they are shifted in.
pub(super) struct Weights {
    /// Number of rows of the array.
    depth: u64,
    /// Number of loaded rows.
    loaded: u64,
    /// Loads that were not multiplied yet, each with the number of rows loaded after it.
    pending: VecDeque<(usize, u64)>,
    /// Loads that have left the array completely without being used.
    unused: Vec<(usize, usize)>,
}

impl Weights {
    /// Creates an array of `depth` rows, filled from outside or empty.
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

    /// Records a product. It uses all rows, except that a product of zeros uses only the bias.
    pub fn multiply(&mut self, index: usize, takes_all: bool) -> Option<Problem> {
        self.pending.clear();
        let needed = if takes_all { self.depth } else { 1 };
        if self.loaded >= needed {
            return None;
        }
        let reason = format!(
            "multiplies by {} of weights including the bias, but only {} have been loaded",
            rows(needed),
            self.loaded
        );
        // Raising the count to the depth ensures that the problem is reported only once.
        self.loaded = self.depth;
        Some(Problem::warning(
            index,
            UNWRITTEN_WEIGHTS,
            reason,
            "load N weight rows and the bias row, or rows of zeros",
        ))
    }

    pub fn finish(&self, is_end: bool) -> Vec<Problem> {
        let hint = "remove it, or put the intended MatMul after it";
        let pushed = self.unused.iter().map(|(index, by)| {
            let reason =
                format!("its rows left the array at instruction {by} without being used in a product");
            Problem::warning(*index, UNUSED_WEIGHTS, reason, hint)
        });
        let left = self.pending.iter().filter(|_| is_end).map(|(index, _)| {
            Problem::warning(*index, UNUSED_WEIGHTS, "its rows are not used in any product".to_owned(), hint)
        });
        pushed.chain(left).collect()
    }
}
