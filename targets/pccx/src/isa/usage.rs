//! Which words of L2 an instruction reads and writes: [`Use`].

use std::fmt;

use crate::config::WORD_LANES;
use crate::isa::op::{Access, Banks, Op, Values};

/// L2 words from one on, up to another; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// The first one.
    pub first: u64,
    /// The one after the last.
    pub end: u64,
}

impl Words {
    /// `words` words from `first` on; none when there are none.
    pub fn new(first: u32, words: u64) -> Option<Self> {
        (words > 0).then(|| Self { first: first.into(), end: u64::from(first) + words })
    }

    /// The words that values lie in.
    fn of(values: Values) -> Option<Self> {
        Self::new(values.word, words_of(values.count))
    }

    /// The words of both.
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

/// Why two instructions that use the same words must keep their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conflict {
    /// The later reads what the earlier writes.
    ReadsWritten,
    /// The later writes what the earlier writes.
    WritesWritten,
    /// The later writes what the earlier reads.
    WritesRead,
}

/// What an instruction uses of L2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Use {
    /// What it reads, apart from what it writes over: ranges that do not touch each other.
    pub reads: [Option<Words>; 2],
    /// What it writes.
    pub writes: Option<Words>,
}

impl Use {
    /// That of an instruction, with the constant banks as they are when it is issued.
    pub fn of(banks: &Banks, op: &Op) -> Self {
        Self::from(&op.access(banks))
    }

    /// Why an instruction with the use `later` must wait for the one with this, and for which words.
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
            // The parts of one operand are one range: a finding names all of its words.
            [Some(first), Some(second)] if first.end == second.first => {
                [Some(Words { end: second.end, ..first }), None]
            }
            apart => apart,
        };
        Self { reads, writes: access.writes.and_then(Words::of) }
    }
}

/// L2 words of `values` values.
pub(crate) const fn words_of(values: usize) -> u64 {
    values.div_ceil(WORD_LANES) as u64
}
