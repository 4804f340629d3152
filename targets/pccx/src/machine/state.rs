//! Architectural state: [`State`], the data that an instruction can read and change.

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

/// The instance is too large to be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("L2 cannot be simulated: {0}; choose a smaller `l2_words`")]
pub struct MachineError(#[from] npukit_target::sim::TooLarge);

/// State of an instance, with numbers of an arithmetic.
#[derive(Clone, Debug)]
pub(crate) struct State<A: Arithmetic = Bits> {
    pub l2_words: u32,
    /// L2: BF16 patterns or their equivalents, eight per word.
    pub l2: Flat<A::Scalar>,
    pub fmap: [Shape; CONSTANT_ENTRIES],
    pub weight: [Shape; CONSTANT_ENTRIES],
    /// Maximum of the last product with `findemax`.
    pub e_max: A::Scalar,
    /// Weights of the next GEMVs and GEMMs.
    pub bindings: VecDeque<Arc<A::Image>>,
    /// Numbers of images bound since the reset, and of those already used.
    pub bound: usize,
    pub taken: usize,
    /// Host windows for MEMCPY: whole units of 16 bytes.
    pub windows: BTreeMap<(Direction, u32), A::Window>,
}

impl<A: Arithmetic> State<A> {
    /// Returns the state after a reset: everything is zero, nothing is bound.
    ///
    /// # Errors
    /// [`MachineError`] if the simulator does not support so large an L2.
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

    /// Fills all memories with numbers derived from `seed`: their content before any reset or
    /// write.
    pub fn fill(&mut self, seed: u64) {
        let mut next = npukit_target::sim::garbage(seed);
        self.l2.fill_with(|| A::garbage(next()));
        for entry in self.fmap.iter_mut().chain(&mut self.weight) {
            let [x, y, z] = [0, 16, 32].map(|shift| (next() >> shift) as u16);
            *entry = Shape::new(x, y, z);
        }
        self.e_max = A::garbage(next());
    }

    /// Returns an entry of a bank; the index has 6 bits.
    pub fn shape(&self, cache: Cache, entry: u8) -> Shape {
        let bank = if cache == Cache::FmapShape { &self.fmap } else { &self.weight };
        // Default: an entry outside the bank is an empty shape, with which an instruction faults.
        bank.get(usize::from(entry)).copied().unwrap_or_default()
    }

    /// Returns an entry of the activations' bank as the shape of a transfer.
    ///
    /// # Errors
    /// [`FaultKind::ShapeZero`] if a dimension is 0; [`FaultKind::ShapeOverflow`] if the product is
    /// too large (specification, section 4.8).
    pub fn transfer_shape(&self, field: &'static str, entry: u8) -> Result<Shape, FaultKind> {
        let (cache, shape) = (Cache::FmapShape, self.shape(Cache::FmapShape, entry));
        match shape.product() {
            0 => Err(FaultKind::ShapeZero { field, cache, entry, shape }),
            SHAPE_LIMIT.. => Err(FaultKind::ShapeOverflow { field, entry, shape }),
            _ => Ok(shape),
        }
    }

    /// Checks that `words` words, starting at `address`, are in L2.
    ///
    /// # Errors
    /// [`FaultKind::L2Range`] if they end after the end of L2.
    pub fn check_l2(&self, field: &'static str, address: u32, words: u64) -> Result<(), FaultKind> {
        let l2_words = self.l2_words;
        if u64::from(address) + words <= u64::from(l2_words) {
            return Ok(());
        }
        Err(FaultKind::L2Range { field, address, words, l2_words })
    }

    /// Returns `values` values, starting at word `address`; the caller has checked the range.
    pub fn values(&self, address: u32, values: usize) -> &[A::Scalar] {
        &self.l2.vectors(address.into(), words_of(values))[..values]
    }

    /// Returns `values` values mutably; the rest of the last word is not included.
    pub fn values_mut(&mut self, address: u32, values: usize) -> &mut [A::Scalar] {
        &mut self.l2.vectors_mut(address.into(), words_of(values))[..values]
    }
}

/// Returns the scalars of `words` units of a host window, starting at unit `address`.
///
/// # Errors
/// [`FaultKind::HostRange`] if the window is not bound, or is too small.
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

/// Returns the words that the circuits move for a shape: their counter keeps 20 bits of the product
/// (specification 4.2).
pub const fn upstream_words(shape: Shape) -> u64 {
    (shape.product() % SHAPE_LIMIT).div_ceil(WORD_LANES as u64)
}
