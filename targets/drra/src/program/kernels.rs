//! [`Kernel`]: kernels by their computation. A [`Stream`] keeps a dpu busy with rows as they
//! arrive; a [`Nest`] works on operands that fit the register files.

use serde::{Deserialize, Serialize};

use crate::config::component::Component;
use crate::config::fabric::ROW_WORDS;
use crate::config::revision::Revision;
use crate::isa::op::DpuMode;
use crate::isa::pasm::epoch::Rep;

/// Work of a dpu in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Work {
    /// Mode of the dpu.
    pub mode: DpuMode,
    /// Constant of the mode.
    pub immediate: i16,
}

/// First rows of a column's data in the buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bases {
    /// First row of the stationary operand, or of a nest's first operand.
    pub stationary: usize,
    /// First row of the streamed operand, or of a nest's second operand.
    pub stream: usize,
    /// First row of the results.
    pub output: usize,
}

/// Kernel with the rows of each column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kernel {
    /// Kind and size of the kernel.
    pub kind: Kind,
    /// Rows of each column in use.
    pub bases: Vec<Bases>,
}

/// Kind of kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Processes rows as they arrive.
    Stream(Stream),
    /// Processes operands that fit the register files.
    Nest(Nest),
}

impl Work {
    /// Mode without a constant.
    pub const fn plain(mode: DpuMode) -> Self {
        Self { mode, immediate: 0 }
    }

    /// Whether results accumulate over words, so that each starts with a reset.
    pub const fn accumulates(self) -> bool {
        matches!(self.mode, DpuMode::Mac | DpuMode::MacInter | DpuMode::MaxMinAcc | DpuMode::SumAcc)
    }

    /// Whether only words with an address of the dpu's port 0 are used.
    pub const fn counts(self) -> bool {
        matches!(self.mode, DpuMode::MaxMinAcc)
    }
}

impl Kind {
    /// Work of the dpus.
    pub const fn work(&self) -> Work {
        match self {
            Self::Stream(stream) => stream.work,
            Self::Nest(nest) => nest.work,
        }
    }

    /// Returns a descriptive name.
    pub fn name(&self) -> String {
        let mode = self.work().mode.name();
        match self {
            Self::Stream(stream) => format!("{mode}_{}x{}", stream.results(), stream.period),
            Self::Nest(nest) => format!("{mode}_nest_{}x{}", nest.results, nest.period),
        }
    }
}

/// Kernel for words that stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stream {
    /// Work of the dpu.
    pub work: Work,
    /// Operands of the dpu.
    pub operands: Operands,
    /// Words of each operand that stream; a multiple of `period`.
    pub words: usize,
    /// Words per result.
    pub period: usize,
    /// Number of zeros at the end of each period that do not belong to the result. The activation
    /// of a reset clears the sum before it.
    #[serde(default)]
    pub spare: usize,
}

/// Operands of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operands {
    /// One streamed operand.
    One,
    /// Two streamed operands with alternating rows.
    Pair,
    /// `period` words that stay, and one streamed operand.
    Stationary,
}

impl Stream {
    /// Number of results of a column.
    pub const fn results(&self) -> usize {
        match self.words.checked_div(self.period) {
            Some(results) => results,
            None => 0,
        }
    }

    /// Number of rows of each streamed operand, at least `words / 16`: nested repetitions of an
    /// address generator cannot express every number. Rows of a pair alternate between two rows of
    /// the register file, so their number is even.
    pub fn rows(&self, revision: Revision) -> usize {
        let countable = |rows| Rep::countable(rows, 1, Component::Rf, revision, 2);
        let rows = self.words.div_ceil(ROW_WORDS);
        match self.operands {
            Operands::Pair if rows > 1 => 2 * countable(rows.div_ceil(2)),
            _ => countable(rows),
        }
    }

    /// Number of stationary rows.
    pub const fn stationary_rows(&self) -> usize {
        match self.operands {
            Operands::Stationary => self.period.div_ceil(ROW_WORDS),
            _ => 0,
        }
    }
}

/// Loop level: number of repetitions, step of the address.
pub type Level = (usize, i64);

/// Kernel for operands that fit the register files.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Nest {
    /// Work of the dpu.
    pub work: Work,
    /// Words of both operands, each at most 64.
    pub words: [usize; 2],
    /// Address levels of each operand, innermost first; at most four.
    pub levels: [Vec<Level>; 2],
    /// Number of results.
    pub results: usize,
    /// Words per result.
    pub period: usize,
}

impl Nest {
    /// Number of rows of an operand.
    pub fn rows(&self, operand: usize) -> usize {
        self.words.get(operand).map_or(0, |words| words.div_ceil(ROW_WORDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(mode: DpuMode, operands: Operands, results: usize, period: usize) -> Kind {
        Kind::Stream(Stream { work: Work::plain(mode), operands, words: results * period, period, spare: 0 })
    }

    #[test]
    fn kernels_are_named_by_what_they_compute() {
        assert_eq!(stream(DpuMode::Mac, Operands::One, 3, 20).name(), "mac_3x20");
        let (work, levels) = (Work::plain(DpuMode::Mult), [vec![], vec![]]);
        let nest = Nest { work, words: [12, 16], levels, results: 12, period: 4 };
        assert_eq!(Kind::Nest(nest).name(), "mult_nest_12x4");
    }

    /// Rows have 16 words. For pairs, the first operand's rows alternate between two rows, and are
    /// filled in pairs.
    #[test]
    fn streams_take_whole_rows() {
        let rows = |operands, words, revision| {
            Stream { work: Work::plain(DpuMode::Mac), operands, words, period: 1, spare: 0 }.rows(revision)
        };
        for (words, one, pair) in
            [(1, 1, 1), (16, 1, 1), (17, 2, 2), (32, 2, 2), (33, 3, 4), (64, 4, 4), (65, 5, 6)]
        {
            for revision in [Revision::Text, Revision::Released] {
                assert_eq!(rows(Operands::One, words, revision), one, "{words}");
                assert_eq!(rows(Operands::Stationary, words, revision), one, "{words}");
                assert_eq!(rows(Operands::Pair, words, revision), pair, "{words}");
            }
        }
        // The circuit's levels count to 255 at most, and no combination of them counts to 257.
        assert_eq!(
            [Revision::Text, Revision::Released].map(|one| rows(Operands::One, 257 * 16, one)),
            [257, 258]
        );
    }
}
