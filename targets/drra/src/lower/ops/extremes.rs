//! The larger or smaller of words, and magnitudes: modes of the extension, or sums that saturate.
//!
//! `max(a, b)` is `b + max(a - b, 0)`. Without extensions activations keep a bit free ([`scheme`](crate::lower::scheme)),
//! so that the difference of two fits a word; one that does not saturates, and is counted.

use npukit_graph::Node;
use npukit_lower::Reject;

use super::scale::{repeated, singles};
use super::{operand, result};
use crate::isa::op::DpuMode;
use crate::lower::Lowering;
use crate::program::gather::{Gather, Source, Tail};
use crate::program::kernels::Work;
use crate::program::plan::{Place, Task};

/// The constants next to words that have a bit to spare.
pub(super) const SPARE_BIT: std::ops::RangeInclusive<i16> = i16::MIN / 2..=i16::MAX / 2;

/// Which of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Extreme {
    /// The immediate of the extension's modes.
    const fn immediate(self) -> i16 {
        match self {
            Self::Max => 0,
            Self::Min => 1,
        }
    }

    /// The limits of a difference that is added to the second word: not below 0, or not above.
    const fn limits(self) -> [Option<i16>; 2] {
        match self {
            Self::Max => [Some(0), None],
            Self::Min => [None, Some(0)],
        }
    }
}

impl Lowering<'_> {
    /// Makes `to` the larger or smaller of each two words of operands with its fraction length.
    ///
    /// # Errors
    ///
    /// Limits that the fabric has no way to.
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

    /// Makes `to` the largest or smallest word of each of some vectors with its fraction length.
    ///
    /// # Errors
    ///
    /// Limits that the fabric has no way to.
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
        // The first half of each row beside its second; the one in the middle of an odd row is in both.
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

    /// A value of the shape and fraction length of another.
    fn like(&mut self, node: &Node, value: usize) -> usize {
        let (shape, fraction) = (self.plan.values[value].shape.clone(), self.plan.values[value].fraction);
        self.temporary(&node.name, shape, fraction)
    }

    /// Words with the other sign: constants are known, values are multiplied. They go into a value like `like`.
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

/// Words of constants as near as words with a bit to spare get to them: beyond these all are alike to an extreme.
fn with_spare_bit(words: Gather) -> Gather {
    match words.source {
        Source::Constant(constant) => {
            let near = |word: &i16| (*word).clamp(*SPARE_BIT.start(), *SPARE_BIT.end());
            Gather { source: Source::Constant(constant.iter().map(near).collect()), ..words }
        }
        Source::Value(_) => words,
    }
}

/// `|x|`: a mode of the extension, or `x + 2 max(-x, 0)`.
///
/// # Errors
///
/// Why the node cannot be lowered, and what to change.
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
