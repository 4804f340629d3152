//! [`Call`]: a call of a kernel.

use serde::{Deserialize, Serialize};

use crate::config::fabric::ROW_WORDS;
use crate::program::kernels::{Bases, Kernel, Kind};

/// A call of a kernel.
#[derive(Clone, Debug)]
pub struct Call {
    /// The kernel.
    pub kernel: Kernel,
    /// What goes into the input buffer, from row 0 on without gaps.
    pub loads: Vec<Load>,
    /// What each column's results are.
    pub results: Vec<Results>,
}

/// Rows of the input buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Load {
    /// Operands whose rows take turns.
    pub operands: Vec<usize>,
    /// Vectors, first and last but one.
    pub vectors: std::ops::Range<usize>,
    /// Rows of each operand.
    pub rows: usize,
    /// Zeros after each vector.
    #[serde(default)]
    pub spare: usize,
}

/// Results of a column: these numbers, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Number of the first among all results of the task.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Call {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self { kernel: Kernel { kind, bases: Vec::new() }, loads: Vec::new(), results: Vec::new() }
    }

    /// Rows that it takes of the input buffer.
    pub fn input_rows(&self) -> usize {
        self.loads.iter().map(Load::all_rows).sum()
    }

    /// Rows that its results take of the output buffer.
    pub fn output_rows(&self) -> usize {
        self.results.iter().map(|results| results.count.div_ceil(ROW_WORDS)).sum()
    }

    /// The first row of what is loaded, which may be there already.
    pub(crate) fn load(&mut self, load: Load) -> usize {
        let mut row = 0;
        for known in &self.loads {
            if *known == load {
                return row;
            }
            row += known.all_rows();
        }
        self.loads.push(load);
        row
    }

    /// Adds a column; its results follow those of the columns before.
    pub(crate) fn column(&mut self, mut bases: Bases, first: usize, count: usize) {
        bases.output = self.output_rows();
        self.kernel.bases.push(bases);
        self.results.push(Results { first, count });
    }
}

impl Load {
    /// Rows in the buffer.
    pub const fn all_rows(&self) -> usize {
        self.rows * self.operands.len()
    }
}
