//! L2 words that an instruction reads and writes: [`Use`].

use std::fmt;

use crate::config::WORD_LANES;
use crate::isa::op::{Access, Banks, Op, Values};

/// Nonempty range of L2 words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// First word.
    pub first: u64,
    /// Word after the last one.
    pub end: u64,
}

impl Words {
    /// Returns `words` words, starting at `first`; `None` if `words` is 0.
    pub fn new(first: u32, words: u64) -> Option<Self> {
        (words > 0).then(|| Self { first: first.into(), end: u64::from(first) + words })
    }

    /// Returns the words that contain some values.
    fn of(values: Values) -> Option<Self> {
        Self::new(values.word, words_of(values.count))
    }

    /// Returns the intersection of both ranges.
    pub fn meeting(self, other: Self) -> Option<Self> {
        let both = Self { first: self.first.max(other.first), end: self.end.min(other.end) };
        (both.first < both.end).then_some(both)
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.end - self.first {
            1 => write!(f, "L2 word {:#x}", self.first),
            _ => write!(f, "L2 words {:#x} to {:#x}", self.first, self.end - 1),
        }
    }
}

/// Dependency of a later instruction on an earlier one that uses the same words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The later instruction reads words that the earlier one writes.
    ReadsWritten,
    /// Both instructions write the same words.
    WritesWritten,
    /// The later instruction writes words that the earlier one reads.
    WritesRead,
}

/// L2 words that an instruction uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// Disjoint ranges that it reads, without the range that it overwrites.
    pub reads: [Option<Words>; 2],
    /// Range of L2 words that it writes.
    pub writes: Option<Words>,
}

impl Use {
    /// Returns the words of an instruction, given the constant banks at its issue.
    pub fn of(banks: &Banks, op: &Op) -> Self {
        Self::from(&op.access(banks))
    }

    /// Returns the dependency of a later instruction on this one, and its words.
    pub fn conflict(&self, later: &Self) -> Option<(Conflict, Words)> {
        let meet = |earlier: Option<Words>, later: Option<Words>| earlier?.meeting(later?);
        let after_write = || later.reads.iter().find_map(|&read| meet(self.writes, read));
        let before_write = || self.reads.iter().find_map(|&read| meet(read, later.writes));
        after_write()
            .map(|words| (Conflict::ReadsWritten, words))
            .or_else(|| meet(self.writes, later.writes).map(|words| (Conflict::WritesWritten, words)))
            .or_else(|| before_write().map(|words| (Conflict::WritesRead, words)))
    }
}

impl From<&Access> for Use {
    fn from(access: &Access) -> Self {
        let reads = match access.reads.map(|values| values.and_then(Words::of)) {
            // Adjacent parts of one operand are merged, so that a finding names all of its words.
            [Some(first), Some(second)] if first.end == second.first => {
                [Some(Words { end: second.end, ..first }), None]
            }
            apart => apart,
        };
        Self { reads, writes: access.writes.and_then(Words::of) }
    }
}

/// Returns the number of L2 words of `values` values.
pub(crate) const fn words_of(values: usize) -> u64 {
    values.div_ceil(WORD_LANES) as u64
}
