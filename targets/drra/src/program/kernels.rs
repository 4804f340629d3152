//! Kernels: PASM programs made for a size. [`Stream`] keeps a dpu busy with rows as they come; [`Nest`] works on
//! what fits into the register files.

mod column;
mod nest;
mod stream;
mod writer;

pub use crate::program::kernels::nest::Nest;
pub use crate::program::kernels::stream::{Operands, Stream};

use serde::{Deserialize, Serialize};

use crate::config::column::Column;
use crate::isa::op::DpuMode;

/// What a dpu does in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Work {
    /// Its mode.
    pub mode: DpuMode,
    /// Its constant.
    pub immediate: i16,
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

impl Kernel {
    /// The program as PASM, on as many columns as there are bases.
    pub fn pasm(&self, columns: &[Column]) -> String {
        let mut writer = writer::Writer::new(&self.kind.name());
        for (number, (column, bases)) in columns.iter().zip(&self.bases).enumerate() {
            writer.column(number);
            match &self.kind {
                Kind::Stream(stream) => stream.write(&mut writer, column, *bases),
                Kind::Nest(nest) => nest.write(&mut writer, column, *bases),
            }
        }
        writer.finish()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::column::columns;
    use crate::config::preset;
    use crate::config::revision::Revision;

    /// The body of each operation, by its name.
    fn operations(revision: Revision, kind: Kind) -> std::collections::BTreeMap<String, String> {
        let columns = columns(&preset("3x1").unwrap().of_revision(revision)).unwrap();
        let pasm = Kernel { kind, bases: vec![Bases::default()] }.pasm(&columns);
        let words = pasm.split_whitespace().collect::<Vec<_>>().join(" ");
        let of = |text: &str| {
            let (name, rest) = text.split_once("_0>").unwrap();
            let (_, body) = rest.split_once("{ ").unwrap();
            (name.to_owned(), body.split_once(" }").unwrap().0.to_owned())
        };
        words.split("rop<").skip(1).map(of).collect()
    }

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

    /// Sums are reset, extremes counted, too; what depends on nothing before is neither. Levels of the circuit's dpu reach
    /// over 64 cycles; beyond that each of several results has a reset of its own.
    #[test]
    fn what_depends_on_the_words_before_is_reset() {
        let of = |mode, results, period| -> Vec<String> {
            let all = operations(Revision::Released, stream(mode, Operands::Pair, results, period));
            all.into_keys().filter(|name| name.starts_with("reset") || name == "count").collect()
        };
        assert_eq!(of(DpuMode::Mult, 3, 1), [""; 0]);
        assert_eq!(of(DpuMode::Mult, 3, 65), [""; 0]);
        assert_eq!(of(DpuMode::Mac, 3, 4), ["reset"]);
        assert_eq!(of(DpuMode::MacInter, 3, 64), ["reset"]);
        assert_eq!(of(DpuMode::Mac, 3, 65), ["reset0", "reset1", "reset2"]);
        assert_eq!(of(DpuMode::Mac, 1, 65), ["reset"], "the first begins with the stream");
        assert_eq!(of(DpuMode::MaxMinAcc, 3, 4), ["count", "reset"]);
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

    /// Expected are the levels by hand: a row each 16 cycles, the two operands' rows a cycle after each other.
    #[test]
    fn levels_of_a_stream_of_pairs() {
        let all = operations(Revision::Text, stream(DpuMode::Mult, Operands::Pair, 160, 1));
        for (name, body) in [
            ("input_r", "dsu (init_addr=0) rep (iter=2, step=1, delay=0) rep (iter=10, step=2, delay=14)"),
            ("write_a", "dsu (init_addr=0) rep (iter=2, step=1, delay=15) rep (iter=5, step=0, delay=15)"),
            ("write_b", "dsu (init_addr=0) rep (iter=10, step=0, delay=15)"),
            ("read_a", "dsu (init_addr=0) rep (iter=32, step=1, delay=0) rep (iter=5, step=0, delay=0)"),
            ("read_b", "dsu (init_addr=0) rep (iter=16, step=1, delay=0) rep (iter=10, step=0, delay=0)"),
        ] {
            assert_eq!(all[name], body, "{name}");
        }
    }

    /// One result is kept once, whenever it comes, and levels that repeat nothing are left out.
    #[test]
    fn levels_of_a_single_result() {
        let all = operations(Revision::Released, stream(DpuMode::Mac, Operands::Pair, 1, 150));
        for name in ["keep", "read", "store", "output_r", "output_w"] {
            assert_eq!(all[name], "dsu (init_addr=0) rep (iter=1, step=0, delay=0)", "{name}");
        }
        let all = operations(Revision::Released, stream(DpuMode::Mac, Operands::Pair, 2, 50));
        assert_eq!(all["keep"], "dsu (init_addr=0) rep (iter=2, step=1, delay=49)");
    }
}
