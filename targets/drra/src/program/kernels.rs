//! Kernels, by what they compute: [`Kernel`]. A [`Stream`] keeps a dpu busy with rows as they come; a [`Nest`] works on
//! what fits into the register files.

use serde::{Deserialize, Serialize};

use crate::config::component::Component;
use crate::config::fabric::ROW_WORDS;
use crate::config::revision::Revision;
use crate::isa::op::DpuMode;
use crate::isa::pasm::epoch::Rep;

/// What a dpu does in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Work {
    /// Its mode.
    pub mode: DpuMode,
    /// Its constant.
    pub immediate: i16,
}

/// Where the rows of a column are in the buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Bases {
    /// Rows that stay, or the first operand of a nest.
    pub stationary: usize,
    /// Rows that stream, or the second operand of a nest.
    pub stream: usize,
    /// Rows of results.
    pub output: usize,
}

/// A kernel with the rows of each column.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Kernel {
    /// What it computes.
    pub kind: Kind,
    /// One for each column in use.
    pub bases: Vec<Bases>,
}

/// Which kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Rows as they come.
    Stream(Stream),
    /// What fits into the register files.
    Nest(Nest),
}

impl Work {
    /// A mode without a constant.
    pub const fn plain(mode: DpuMode) -> Self {
        Self { mode, immediate: 0 }
    }

    /// Whether results depend on the words before, so that each begins with a reset.
    pub const fn accumulates(self) -> bool {
        matches!(self.mode, DpuMode::Mac | DpuMode::MacInter | DpuMode::MaxMinAcc | DpuMode::SumAcc)
    }

    /// Whether only words with an address of the dpu's port 0 count.
    pub const fn counts(self) -> bool {
        matches!(self.mode, DpuMode::MaxMinAcc)
    }
}

impl Kind {
    /// What the dpus do.
    pub const fn work(&self) -> Work {
        match self {
            Self::Stream(stream) => stream.work,
            Self::Nest(nest) => nest.work,
        }
    }

    /// A name for it.
    pub fn name(&self) -> String {
        let mode = self.work().mode.name();
        match self {
            Self::Stream(stream) => format!("{mode}_{}x{}", stream.results(), stream.period),
            Self::Nest(nest) => format!("{mode}_nest_{}x{}", nest.results, nest.period),
        }
    }
}

/// A kernel for words that stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stream {
    /// What the dpu does.
    pub work: Work,
    /// What it does it with.
    pub operands: Operands,
    /// Words that stream through, of each operand; a multiple of `period`.
    pub words: usize,
    /// Words each result is made of.
    pub period: usize,
    /// Of those, zeros at the end that do not count: the activation of a reset forgets what was summed before it.
    #[serde(default)]
    pub spare: usize,
}

/// Operands of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operands {
    /// One, which streams.
    One,
    /// Two that stream, their rows in turn.
    Pair,
    /// `period` words that stay, and one that streams.
    Stationary,
}

impl Stream {
    /// Results of a column.
    pub const fn results(&self) -> usize {
        match self.words.checked_div(self.period) {
            Some(results) => results,
            None => 0,
        }
    }

    /// Rows of each operand that streams, at least `words / 16` of them: the nested repetitions of an address generator
    /// cannot count to every number. Rows of a pair go to two rows of the register file in turn, so that their number is
    /// even.
    pub fn rows(&self, revision: Revision) -> usize {
        let countable = |rows| Rep::countable(rows, 1, Component::Rf, revision, 2);
        let rows = self.words.div_ceil(ROW_WORDS);
        match self.operands {
            Operands::Pair if rows > 1 => 2 * countable(rows.div_ceil(2)),
            _ => countable(rows),
        }
    }

    /// Rows that stay.
    pub const fn stationary_rows(&self) -> usize {
        match self.operands {
            Operands::Stationary => self.period.div_ceil(ROW_WORDS),
            _ => 0,
        }
    }
}

/// A level of a loop: how often, and the step of the address.
pub type Level = (usize, i64);

/// A kernel for operands that fit.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Nest {
    /// What the dpu does.
    pub work: Work,
    /// Words of both operands, each at most 64.
    pub words: [usize; 2],
    /// How each is read, the innermost level first; at most four levels.
    pub levels: [Vec<Level>; 2],
    /// Results.
    pub results: usize,
    /// Words each is made of.
    pub period: usize,
}

impl Nest {
    /// Rows of an operand.
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

    /// Rows of 16 words: of pairs, the first operand's lie in two rows in turn, and are filled in pairs.
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
        // Of the circuit's levels, up to 255 each, none count to 257.
        assert_eq!(
            [Revision::Text, Revision::Released].map(|one| rows(Operands::One, 257 * 16, one)),
            [257, 258]
        );
    }
}
