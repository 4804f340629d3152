//! Kernels: PASM programs made for a size. [`Stream`] keeps a dpu busy with rows as they come; [`Nest`] works on
//! what fits into the register files.

mod column;
mod nest;
mod stream;
mod writer;

pub use nest::{Level, Nest};
pub use stream::{Operands, Stream};

use serde::{Deserialize, Serialize};

use super::column::Column;
use crate::op::DpuMode;

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
    /// A name for it.
    pub fn name(&self) -> String {
        match self {
            Self::Stream(stream) => {
                format!("{}_{}x{}", stream.work.mode.name(), stream.results(), stream.period)
            }
            Self::Nest(nest) => format!("{}_nest_{}x{}", nest.work.mode.name(), nest.results, nest.period),
        }
    }

    /// Words each result is made of.
    pub const fn period(&self) -> usize {
        match self {
            Self::Stream(stream) => stream.period,
            Self::Nest(nest) => nest.period,
        }
    }

    /// Results of a column.
    pub const fn results(&self) -> usize {
        match self {
            Self::Stream(stream) => stream.results(),
            Self::Nest(nest) => nest.results,
        }
    }
}
