//! Architectural state: [`State`], what an instruction can read and change.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use npukit_target::sim::Flat;
use thiserror::Error;

use crate::config::{CONSTANT_ENTRIES, Config, WORD_LANES};
use crate::isa::fault::{Direction, FaultKind, SHAPE_LIMIT};
use crate::isa::op::{Cache, Shape};
use crate::isa::usage::words_of;
use crate::machine::arith::{Arithmetic, Bits};

/// An instance that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("L2 cannot be simulated: {0}; choose a smaller `l2_words`")]
pub struct MachineError(#[from] npukit_target::sim::TooLarge);

/// The state of an instance, with numbers of an arithmetic.
#[derive(Clone, Debug)]
pub(crate) struct State<A: Arithmetic = Bits> {
    pub l2_words: u32,
    /// BF16 patterns, or what stands for them, eight a word.
    pub l2: Flat<A::Scalar>,
    pub fmap: [Shape; CONSTANT_ENTRIES],
    pub weight: [Shape; CONSTANT_ENTRIES],
    /// The maximum that `findemax` left.
    pub e_max: A::Scalar,
    /// Weights of the GEMVs and GEMMs to come.
    pub bindings: VecDeque<Arc<A::Image>>,
    /// Images bound since the reset, and taken of them.
    pub bound: usize,
    pub taken: usize,
    /// What MEMCPY reads and writes at the host: whole units of 16 bytes.
    pub windows: BTreeMap<(Direction, u32), A::Window>,
}

impl<A: Arithmetic> State<A> {
    /// The state after a reset: everything is zero, nothing is bound.
    ///
    /// # Errors
    ///
    /// [`MachineError`] for an L2 larger than the simulator takes.
    pub fn new(config: &Config) -> Result<Self, MachineError> {
        Ok(Self {
            l2_words: config.l2_words,
            l2: Flat::new(config.l2_words.into(), WORD_LANES)?,
            fmap: [Shape::default(); CONSTANT_ENTRIES],
            weight: [Shape::default(); CONSTANT_ENTRIES],
            e_max: A::Scalar::default(),
            bindings: VecDeque::new(),
            bound: 0,
            taken: 0,
            windows: BTreeMap::new(),
        })
    }

    /// Fills whatever an instruction can read with numbers that follow from `seed`: what lies there when nobody
    /// has reset or written anything.
    pub fn fill(&mut self, seed: u64) {
        let mut next = npukit_target::sim::garbage(seed);
        self.l2.fill_with(|| A::garbage(next()));
        for entry in self.fmap.iter_mut().chain(&mut self.weight) {
            let [x, y, z] = [0, 16, 32].map(|shift| (next() >> shift) as u16);
            *entry = Shape::new(x, y, z);
        }
        self.e_max = A::garbage(next());
    }

    /// An entry of a bank; fields of 6 bits name no other.
    pub fn shape(&self, cache: Cache, entry: u8) -> Shape {
        let bank = if cache == Cache::FmapShape { &self.fmap } else { &self.weight };
        // Default: an entry that no word can name is an empty shape, with which an instruction faults.
        bank.get(usize::from(entry)).copied().unwrap_or_default()
    }

    /// An entry of the activations' bank that says how many values to move.
    ///
    /// # Errors
    ///
    /// [`FaultKind::ShapeZero`] when a dimension is 0; [`FaultKind::ShapeOverflow`] when the product is too
    /// large (specification, section 4.8).
    pub fn transfer_shape(&self, field: &'static str, entry: u8) -> Result<Shape, FaultKind> {
        let (cache, shape) = (Cache::FmapShape, self.shape(Cache::FmapShape, entry));
        match shape.product() {
            0 => Err(FaultKind::ShapeZero { field, cache, entry, shape }),
            SHAPE_LIMIT.. => Err(FaultKind::ShapeOverflow { field, entry, shape }),
            _ => Ok(shape),
        }
    }

    /// Whether `words` words from `address` on lie in L2.
    ///
    /// # Errors
    ///
    /// [`FaultKind::L2Range`] when they do not.
    pub fn check_l2(&self, field: &'static str, address: u32, words: u64) -> Result<(), FaultKind> {
        let l2_words = self.l2_words;
        if u64::from(address) + words <= u64::from(l2_words) {
            return Ok(());
        }
        Err(FaultKind::L2Range { field, address, words, l2_words })
    }

    /// The first `values` values from word `address` on, which are checked.
    pub fn values(&self, address: u32, values: usize) -> &[A::Scalar] {
        &self.l2.vectors(address.into(), words_of(values))[..values]
    }

    /// The same, to write: the rest of the last word stays.
    pub fn values_mut(&mut self, address: u32, values: usize) -> &mut [A::Scalar] {
        &mut self.l2.vectors_mut(address.into(), words_of(values))[..values]
    }
}

/// A host window that has `words` units from `address` on, and its scalars there.
///
/// # Errors
///
/// [`FaultKind::HostRange`] when the window is not bound, or ends before.
pub(crate) fn window<A: Arithmetic>(
    windows: &mut BTreeMap<(Direction, u32), A::Window>,
    direction: Direction,
    window: u32,
    address: u32,
    words: u64,
) -> Result<(&mut A::Window, Range<usize>), FaultKind> {
    let found = windows.get_mut(&(direction, window));
    let window_units = found.as_deref().map(A::units);
    let fits = window_units.is_some_and(|units| u64::from(address) + words <= units);
    let first = address as usize * WORD_LANES;
    let place = || first..first + words as usize * WORD_LANES;
    found.filter(|_| fits).map(|window| (window, place())).ok_or(FaultKind::HostRange {
        direction,
        window,
        address,
        words,
        window_units,
    })
}

/// The words that the circuits move for a shape: their counter keeps 20 bits of the product
/// (specification 4.2).
pub const fn upstream_words(shape: Shape) -> u64 {
    (shape.product() % SHAPE_LIMIT).div_ceil(WORD_LANES as u64)
}
