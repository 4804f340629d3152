//! Maxima, minima and magnitudes, by modes of the extension or by saturating sums.
//!
//! `max(a, b)` is `b + max(a - b, 0)`. Without extensions, activations keep a spare bit
//! ([`scheme`](crate::lower::scheme)), so that a difference of two fits a word. Differences that do
//! not fit saturate, and are counted.

use npukit_graph::Node;
use npukit_lower::Reject;

use super::scale::{repeated, singles};
use super::{operand, result};
use crate::isa::op::DpuMode;
use crate::lower::Lowering;
use crate::program::gather::{Gather, Source, Tail};
use crate::program::kernels::Work;
use crate::program::plan::{Place, Task};

/// Range of constants that are combined with words that have a spare bit.
pub(super) const SPARE_BIT: std::ops::RangeInclusive<i16> = i16::MIN / 2..=i16::MAX / 2;

/// Maximum or minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// Maximum.
    Max,
    /// Minimum.
    Min,
}

impl Extreme {
    /// Immediate of the extension's modes.
    const fn immediate(self) -> i16 {
        match self {
            Self::Max => 0,
            Self::Min => 1,
        }
    }

    /// Limits of a difference that is added to the second word: at least 0, or at most 0.
    const fn limits(self) -> [Option<i16>; 2] {
        match self {
            Self::Max => [Some(0), None],
            Self::Min => [None, Some(0)],
        }
    }
}

impl Lowering<'_> {
    /// Sets `to` to the maximum or minimum of two operands, elementwise. They have the fraction
    /// length of `to`.
    ///
    /// # Errors
    ///
    /// The fabric cannot compute the limits.
    pub(super) fn extreme(
        &mut self,
        node: &Node,
        extreme: Extreme,
        [a, b]: [Gather; 2],
        to: usize,
    ) -> Result<(), Reject> {
        if let Ok(work) = self.format.extension(DpuMode::MaxMin, extreme.immediate()) {
            self.stream(node, work, vec![a, b], to);
            return Ok(());
        }
        let [a, b] = [a, b].map(with_spare_bit);
        let count = a.count();
        let difference = self.like(node, to);
        let minus_b = self.negated(node, b.clone(), to);
        self.stream(node, Work::plain(DpuMode::Add), vec![a, minus_b], difference);
        let limited = self.like(node, to);
        self.limit(node, Source::Value(difference), extreme.limits(), limited)?;
        let operands = vec![singles(Source::Value(limited), count), b];
        self.stream(node, Work::plain(DpuMode::Add), operands, to);
        Ok(())
    }

    /// Sets `to` to the maximum or minimum of each vector. The words have the fraction length of
    /// `to`.
    ///
    /// # Errors
    ///
    /// The fabric cannot compute the limits.
    pub(super) fn extreme_of(
        &mut self,
        node: &Node,
        extreme: Extreme,
        vectors: Gather,
        to: usize,
    ) -> Result<(), Reject> {
        if let Ok(work) = self.format.extension(DpuMode::MaxMinAcc, extreme.immediate()) {
            self.stream(node, work, vec![vectors], to);
            return Ok(());
        }
        let (count, mut length) = (vectors.count(), vectors.length());
        let fraction = self.plan.values[to].fraction;
        let mut rows =
            if length > 1 { self.temporary(&node.name, vec![count, length], fraction) } else { to };
        let all = Place::all(count * length);
        self.push(node, rows, vec![Task::Move { from: vectors, to: all, shift: 0 }]);
        // Each round combines the first half of a row with the second half. In a row of odd length,
        // the middle word is in both halves.
        while length > 1 {
            let half = length.div_ceil(2);
            let part = |offset| Gather {
                offset,
                vectors: vec![(count, length), (half, 1)],
                ..singles(Source::Value(rows), count)
            };
            let halves = [part(0), part(length - half)];
            let next = if half > 1 { self.temporary(&node.name, vec![count, half], fraction) } else { to };
            self.extreme(node, extreme, halves, next)?;
            (rows, length) = (next, half);
        }
        Ok(())
    }

    /// Adds a value with the shape and fraction length of another.
    fn like(&mut self, node: &Node, value: usize) -> usize {
        let (shape, fraction) = (self.plan.values[value].shape.clone(), self.plan.values[value].fraction);
        self.temporary(&node.name, shape, fraction)
    }

    /// Negates words: constants at compile time, values by a product, into a value like `like`.
    pub(super) fn negated(&mut self, node: &Node, words: Gather, like: usize) -> Gather {
        match words.source {
            Source::Constant(constant) => {
                let constant = constant.iter().map(|word| word.saturating_neg()).collect();
                Gather { source: Source::Constant(constant), ..words }
            }
            Source::Value(_) => {
                let (count, negative) = (words.count(), self.like(node, like));
                let minus = repeated(self.format.minus_one(), count);
                self.stream(node, Work::plain(DpuMode::Mult), vec![words, minus], negative);
                singles(Source::Value(negative), count)
            }
        }
    }
}

/// Clamps constants to the range of words with a spare bit. Outside it, the result is the same.
fn with_spare_bit(words: Gather) -> Gather {
    match words.source {
        Source::Constant(constant) => {
            let near = |word: &i16| (*word).clamp(*SPARE_BIT.start(), *SPARE_BIT.end());
            Gather { source: Source::Constant(constant.iter().map(near).collect()), ..words }
        }
        Source::Value(_) => words,
    }
}

/// Lowers `|x|` by a mode of the extension, or as `x + 2 max(-x, 0)`.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn magnitude(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let (to, fraction) = (y.0 as usize, lowering.format.fraction(y));
    let count = lowering.graph.shape(y).iter().product();
    let words = singles(lowering.read(node, x, fraction)?, count);
    if let Ok(work) = lowering.format.extension(DpuMode::SubtAbs, 0) {
        lowering.stream(node, work, vec![words, repeated(0, count)], to);
        return Ok(());
    }
    let negative = lowering.negated(node, words.clone(), to);
    debug_assert_eq!(negative.tail, Tail::None, "words one by one have no tail");
    let below = lowering.like(node, to);
    lowering.limit(node, negative.source, Extreme::Max.limits(), below)?;
    let once = lowering.like(node, to);
    let below = || singles(Source::Value(below), count);
    lowering.stream(node, Work::plain(DpuMode::Add), vec![words, below()], once);
    lowering.stream(node, Work::plain(DpuMode::Add), vec![singles(Source::Value(once), count), below()], to);
    Ok(())
}
