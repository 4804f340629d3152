//! What an instruction uses: its [`Engine`], and [`Access`] to L2, to the constant banks and to e_max. Each
//! instruction says it beside its row ([`Op::engine`], [`Op::access`]); clock, lint and reports read it here.

use super::{Cache, Op, Shape};
use crate::config::CONSTANT_ENTRIES;

/// What works on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// The vector core.
    Gemv,
    /// The matrix core.
    Gemm,
    /// The unit of special functions.
    Cvo,
    /// The coherent port and L2's first port.
    Memcpy,
    /// The dispatcher itself.
    Dispatch,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Gemv, Self::Gemm, Self::Cvo, Self::Memcpy, Self::Dispatch];

    /// Its name in reports.
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

/// BF16 values in L2, one after another from the first lane of a word on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// The word.
    pub word: u32,
    /// Number of values; may be 0.
    pub count: usize,
}

impl Values {
    /// `count` values from `word` on.
    pub const fn new(word: u32, count: usize) -> Self {
        Self { word, count }
    }

    /// The values of a transfer from `word` on: X * Y * Z of its shape.
    pub fn of(word: u32, shape: Shape) -> Self {
        // Default: more values than there are addresses are more than L2 has.
        Self::new(word, usize::try_from(shape.product()).unwrap_or(usize::MAX))
    }
}

/// What an instruction reads and writes, with the constant banks as they are when it is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Access {
    /// Entries of the constant banks that it reads.
    pub shapes: [Option<(Cache, u8)>; 2],
    /// Values of L2 that it reads, in rising order where they are parts of one operand.
    pub reads: [Option<Values>; 2],
    /// Values of L2 that it writes.
    pub writes: Option<Values>,
    /// Whether it also reads what it writes over.
    pub updates: bool,
    /// Whether it reads e_max.
    pub reads_maximum: bool,
    /// Whether it writes e_max.
    pub writes_maximum: bool,
}

/// Constant banks as they are when an instruction is issued.
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
    /// Takes a MEMSET; other instructions change nothing.
    pub fn step(&mut self, op: &Op) {
        let Op::Memset(memset) = op else { return };
        let bank = if memset.dest_cache == Cache::FmapShape { &mut self.fmap } else { &mut self.weight };
        if let Some(entry) = bank.get_mut(usize::from(memset.dest_addr)) {
            *entry = memset.shape;
        }
    }

    /// An entry of the activations' bank.
    pub fn fmap(&self, entry: u8) -> Shape {
        // Default: an entry that no word can name is an empty shape, with which an instruction faults.
        self.fmap.get(usize::from(entry)).copied().unwrap_or_default()
    }

    /// An entry of the weights' bank.
    pub fn weight(&self, entry: u8) -> Shape {
        // Default: an entry that no word can name is an empty shape, with which an instruction faults.
        self.weight.get(usize::from(entry)).copied().unwrap_or_default()
    }
}
