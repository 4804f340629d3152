//! Resources of an instruction: its [`Engine`], and its [`Access`] to L2, the constant banks and
//! e_max. [`Op::engine`] and [`Op::access`] are the only definition; clock, lint and reports use
//! them.

use super::{Cache, Op, Shape};
use crate::config::CONSTANT_ENTRIES;

/// Unit that executes an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// Vector core, which executes GEMV.
    Gemv,
    /// Matrix core, which executes GEMM.
    Gemm,
    /// Special-function unit, which executes CVO.
    Cvo,
    /// Coherent port and L2's first port.
    Memcpy,
    /// Dispatcher, which executes MEMSET and markers itself.
    Dispatch,
}

impl Engine {
    /// All engines, in the order of reports.
    pub const ALL: [Self; 5] = [Self::Gemv, Self::Gemm, Self::Cvo, Self::Memcpy, Self::Dispatch];

    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gemv => "vector core",
            Self::Gemm => "matrix core",
            Self::Cvo => "special functions",
            Self::Memcpy => "coherent port",
            Self::Dispatch => "dispatcher",
        }
    }
}

/// Consecutive BF16 values in L2, starting at the first lane of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// L2 word of the first value.
    pub word: u32,
    /// Number of values; may be 0.
    pub count: usize,
}

impl Values {
    /// Returns `count` values, starting at `word`.
    pub const fn new(word: u32, count: usize) -> Self {
        Self { word, count }
    }

    /// Returns the values of a transfer: X * Y * Z of its shape, starting at `word`.
    pub fn of(word: u32, shape: Shape) -> Self {
        // Default: a number that exceeds the range exceeds L2, too.
        Self::new(word, usize::try_from(shape.product()).unwrap_or(usize::MAX))
    }
}

/// Data that an instruction reads and writes, given the constant banks at its issue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Entries of the constant banks that it reads.
    pub shapes: [Option<(Cache, u8)>; 2],
    /// Values of L2 that it reads; parts of one operand are in ascending order.
    pub reads: [Option<Values>; 2],
    /// Values of L2 that it writes.
    pub writes: Option<Values>,
    /// Whether it also reads the values that it overwrites.
    pub updates: bool,
    /// Whether it reads e_max.
    pub reads_maximum: bool,
    /// Whether it writes e_max.
    pub writes_maximum: bool,
}

/// Content of the constant banks when an instruction is issued.
#[derive(Clone, Debug)]
pub struct Banks {
    fmap: [Shape; CONSTANT_ENTRIES],
    weight: [Shape; CONSTANT_ENTRIES],
}

impl Default for Banks {
    fn default() -> Self {
        let empty = [Shape::default(); CONSTANT_ENTRIES];
        Self { fmap: empty, weight: empty }
    }
}

impl Banks {
    /// Applies a MEMSET; other instructions change nothing.
    pub fn step(&mut self, op: &Op) {
        let Op::Memset(memset) = op else { return };
        let bank = if memset.dest_cache == Cache::FmapShape { &mut self.fmap } else { &mut self.weight };
        if let Some(entry) = bank.get_mut(usize::from(memset.dest_addr)) {
            *entry = memset.shape;
        }
    }

    /// Returns an entry of the activations' bank.
    pub fn fmap(&self, entry: u8) -> Shape {
        // Default: an entry outside the bank is an empty shape, with which an instruction faults.
        self.fmap.get(usize::from(entry)).copied().unwrap_or_default()
    }

    /// Returns an entry of the weights' bank.
    pub fn weight(&self, entry: u8) -> Shape {
        // Default: an entry outside the bank is an empty shape, with which an instruction faults.
        self.weight.get(usize::from(entry)).copied().unwrap_or_default()
    }
}
