//! [`Call`]: a kernel call.

use serde::{Deserialize, Serialize};

use crate::config::fabric::ROW_WORDS;
use crate::program::kernels::{Bases, Kernel, Kind};

/// Kernel call.
#[derive(Clone, Debug)]
pub struct Call {
    /// Kernel to call.
    pub kernel: Kernel,
    /// Contents of the input buffer, without gaps starting at row 0.
    pub loads: Vec<Load>,
    /// Results of each column.
    pub results: Vec<Results>,
}

/// Rows of the input buffer.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Load {
    /// Operands whose rows alternate.
    pub operands: Vec<usize>,
    /// Range of vectors.
    pub vectors: std::ops::Range<usize>,
    /// Rows of each operand.
    pub rows: usize,
    /// Zeros after each vector.
    #[serde(default)]
    pub spare: usize,
}

/// Consecutive results of a column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// Index of the first result among all results of the task.
    pub first: usize,
    /// Number of results.
    pub count: usize,
}

impl Call {
    pub(crate) const fn new(kind: Kind) -> Self {
        Self { kernel: Kernel { kind, bases: Vec::new() }, loads: Vec::new(), results: Vec::new() }
    }

    /// Number of rows used in the input buffer.
    pub fn input_rows(&self) -> usize {
        self.loads.iter().map(Load::all_rows).sum()
    }

    /// Number of rows used in the output buffer.
    pub fn output_rows(&self) -> usize {
        self.results.iter().map(|results| results.count.div_ceil(ROW_WORDS)).sum()
    }

    /// Returns the first row of a load, which is added unless it is loaded already.
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

    /// Adds a column. Its results follow the results of the previous columns.
    pub(crate) fn column(&mut self, mut bases: Bases, first: usize, count: usize) {
        bases.output = self.output_rows();
        self.kernel.bases.push(bases);
        self.results.push(Results { first, count });
    }
}

impl Load {
    /// Number of rows in the buffer.
    pub const fn all_rows(&self) -> usize {
        self.rows * self.operands.len()
    }
}
