//! [`Traced`]: the origin of a word in place of its value. A run with such words records what a
//! kernel computes, without its timing.
//!
//! No route, address or cycle depends on a word, so every run performs the same operations.

use std::cell::RefCell;

use super::word::Word;
use crate::isa::op::DpuMode;

/// Word, identified by its number in the [`Record`] of this thread. Number 0 is the word 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Traced(u64);

/// Operation that computes a word from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A known integer.
    Constant(i16),
    /// A word of the input buffer, by index.
    Input(u32),
    /// A word from before the run.
    Left,
    /// [`Word::wide`]
    Wide,
    /// [`Word::narrow`] and [`Word::shifted`]
    Shifted(i32),
    /// [`Word::plus`]
    Plus,
    /// [`Word::minus`]
    Minus,
    /// [`Word::distance`]
    Distance,
    /// [`Word::times`]
    Times(u32),
    /// [`Word::loaded`]
    Loaded(i16),
    /// [`Word::shifted_by`], to the left.
    ShiftedLeft(i16),
    /// [`Word::shifted_by`], to the right.
    ShiftedRight(i16),
    /// [`Word::picked`]
    Picked(i16),
    /// [`Word::function`]
    Function(DpuMode),
    /// [`Word::leaky`]
    Leaky(i16),
    /// [`Word::quotient`]
    Quotient,
    /// [`Word::scaled`], up.
    ScaledUp(i16),
    /// [`Word::scaled`], down.
    ScaledDown(i16),
    /// [`Word::mac`]
    Mac(u32),
    /// [`Word::added`]
    Added(u32),
    /// [`Word::exact_mac`]
    ExactMac(u32),
}

/// Operation with its operands; unused operands are the word 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedOperation<T> {
    /// Operation that computes the word.
    pub operation: Operation,
    /// Operands. Unused operands are the word 0.
    pub of: [T; 3],
}

/// Words that were computed in a thread since [`Record::restart`].
#[derive(Debug, Default)]
pub struct Record {
    /// Number of the first word.
    first: u64,
    made: Vec<TracedOperation<Traced>>,
}

thread_local! {
    static RECORD: RefCell<Record> = const { RefCell::new(Record { first: 1, made: Vec::new() }) };
}

impl Record {
    /// Clears the record. Earlier words count as words from before the run.
    pub fn restart() {
        RECORD.with_borrow_mut(|record| {
            record.first += record.made.len() as u64;
            record.made.clear();
        });
    }

    /// Calls `look` with the record of this thread.
    pub fn with<R>(look: impl FnOnce(&Self) -> R) -> R {
        RECORD.with_borrow(look)
    }

    /// Returns the computed words, each after its operands.
    pub fn all(&self) -> &[TracedOperation<Traced>] {
        &self.made
    }

    /// Returns the index of a word in [`Self::all`]; `None` for the word 0 and for words from
    /// before the run.
    pub fn place(&self, word: Traced) -> Option<usize> {
        let place = usize::try_from(word.0.checked_sub(self.first)?).ok()?;
        (place < self.made.len()).then_some(place)
    }
}

impl Traced {
    fn new(operation: Operation, of: [Self; 3]) -> Self {
        RECORD.with_borrow_mut(|record| {
            record.made.push(TracedOperation { operation, of });
            Self(record.first + record.made.len() as u64 - 1)
        })
    }

    /// Creates a word of the input buffer.
    pub fn input(number: u32) -> Self {
        Self::of(Operation::Input(number), [])
    }

    fn of<const N: usize>(operation: Operation, operands: [Self; N]) -> Self {
        let mut of = [Self::default(); 3];
        of[..N].copy_from_slice(&operands);
        Self::new(operation, of)
    }
}

impl Word for Traced {
    type Sum = Self;

    /// Each is a different, unknown word.
    fn garbage(_bits: u64) -> Self {
        Self::of(Operation::Left, [])
    }
    fn constant(word: i16) -> Self {
        if word == 0 { Self::default() } else { Self::of(Operation::Constant(word), []) }
    }
    fn limit(word: i16) -> Self {
        Self::constant(word)
    }
    fn made(self) -> Self {
        self
    }
    fn shifted(self, places: i32) -> Self {
        Self::of(Operation::Shifted(places), [self])
    }
    fn is_end(self) -> bool {
        false
    }
    fn wide(self) -> Self {
        Self::of(Operation::Wide, [self])
    }
    fn narrow(sum: Self, places: u32) -> Self {
        sum.shifted(places as i32)
    }
    fn plus(self, other: Self) -> Self {
        Self::of(Operation::Plus, [self, other])
    }
    fn minus(self, other: Self) -> Self {
        Self::of(Operation::Minus, [self, other])
    }
    fn distance(self, other: Self) -> Self {
        Self::of(Operation::Distance, [self, other])
    }
    fn times(self, other: Self, fraction_bits: u32) -> Self {
        Self::of(Operation::Times(fraction_bits), [self, other])
    }
    fn loaded(self, immediate: i16) -> Self {
        Self::of(Operation::Loaded(immediate), [self])
    }
    fn shifted_by(self, other: Self, immediate: i16, is_left: bool) -> Self {
        let operation = if is_left { Operation::ShiftedLeft } else { Operation::ShiftedRight };
        Self::of(operation(immediate), [self, other])
    }
    fn picked(self, other: Self, immediate: i16) -> Self {
        Self::of(Operation::Picked(immediate), [self, other])
    }
    fn function(self, mode: DpuMode) -> Self {
        Self::of(Operation::Function(mode), [self])
    }
    fn leaky(self, slope: i16) -> Self {
        Self::of(Operation::Leaky(slope), [self])
    }
    fn quotient(dividend: Self, divisor: Self) -> Self {
        Self::of(Operation::Quotient, [dividend, divisor])
    }
    fn scaled(self, immediate: i16, is_up: bool) -> Self {
        let operation = if is_up { Operation::ScaledUp } else { Operation::ScaledDown };
        Self::of(operation(immediate), [self])
    }
    fn mac(sum: Self, [a, b]: [Self; 2], fraction_bits: u32) -> (Self, bool) {
        (Self::of(Operation::Mac(fraction_bits), [sum, a, b]), false)
    }
    fn added(sum: Self, [a, b]: [Self; 2], bits: u32) -> (Self, bool) {
        (Self::of(Operation::Added(bits), [sum, a, b]), false)
    }
    fn exact_mac(sum: Self, [a, b]: [Self; 2], bits: u32) -> (Self, bool) {
        (Self::of(Operation::ExactMac(bits), [sum, a, b]), false)
    }
}

impl Operation {
    /// Computes the operation on three words of any type. Inputs and words from before the run are
    /// not computed, and give 0.
    #[inline]
    pub fn of<W: Word<Sum = W>>(self, [a, b, c]: [W; 3]) -> W {
        match self {
            Self::Input(_) | Self::Left => W::default(),
            Self::Constant(word) => W::constant(word),
            Self::Wide => a.wide(),
            Self::Shifted(places) => a.shifted(places),
            Self::Plus => a.plus(b),
            Self::Minus => a.minus(b),
            Self::Distance => a.distance(b),
            Self::Times(bits) => a.times(b, bits),
            Self::Loaded(immediate) => a.loaded(immediate),
            Self::ShiftedLeft(immediate) => a.shifted_by(b, immediate, true),
            Self::ShiftedRight(immediate) => a.shifted_by(b, immediate, false),
            Self::Picked(immediate) => a.picked(b, immediate),
            Self::Function(mode) => a.function(mode),
            Self::Leaky(slope) => a.leaky(slope),
            Self::Quotient => W::quotient(a, b),
            Self::ScaledUp(immediate) => a.scaled(immediate, true),
            Self::ScaledDown(immediate) => a.scaled(immediate, false),
            Self::Mac(bits) => W::mac(a, [b, c], bits).0,
            Self::Added(bits) => W::added(a, [b, c], bits).0,
            Self::ExactMac(bits) => W::exact_mac(a, [b, c], bits).0,
        }
    }
}
