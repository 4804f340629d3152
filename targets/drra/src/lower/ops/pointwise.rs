//! Elementwise operators: streams of one or two operands, one word per cycle.

use npukit_graph::op::{BinaryKind, Clip, UnaryKind};
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::extremes::{Extreme, SPARE_BIT, magnitude};
use super::root::root;
use super::scale::{repeated, singles};
use super::{operand, result};
use crate::isa::op::DpuMode;
use crate::lower::Lowering;
use crate::lower::format::{FUNCTION_BITS, largest_fraction};
use crate::lower::rounded::{Rounding, real};
use crate::machine::exec::word::integer;
use crate::program::gather::{Gather, Source, Tail, broadcast};
use crate::program::kernels::Work;
use crate::program::plan::Task;

/// Lowers an operator of two operands with NumPy broadcasting.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn binary(lowering: &mut Lowering<'_>, node: &Node, kind: BinaryKind) -> Result<(), Reject> {
    let (a, b, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let to = lowering.format.fraction(y);
    let (mut computed, mut fractions) = (to, [to; 2]);
    let work = match kind {
        BinaryKind::Mul => {
            let products = lowering.products([a, b], y, None)?;
            (computed, fractions) = (products.result, products.operands);
            products.single
        }
        BinaryKind::Add => Work::plain(DpuMode::Add),
        BinaryKind::Sub => return difference(lowering, node),
        BinaryKind::Max => return extreme(lowering, node, Extreme::Max),
        BinaryKind::Min => return extreme(lowering, node, Extreme::Min),
        BinaryKind::Div => return quotient(lowering, node),
        _ => {
            let hint = "supported are Add, Sub, Mul, Div, Max and Min";
            return Err(Reject::new("no mode of the dpu computes this operator", hint));
        }
    };
    let operands = vec![spread(lowering, node, a, fractions[0])?, spread(lowering, node, b, fractions[1])?];
    let value = lowering.unscaled(node, y, computed);
    lowering.stream(node, work, operands, value);
    lowering.finish(node, value, y);
    Ok(())
}

/// Lowers `a - b` by a mode of the extension, or as the sum of `a` and `-b`.
fn difference(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (a, b, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let to = lowering.format.fraction(y);
    let (first, mut second) = (spread(lowering, node, a, to)?, spread(lowering, node, b, to)?);
    let work = lowering.format.extension(DpuMode::Subt, 0).unwrap_or_else(|_| Work::plain(DpuMode::Add));
    if work.mode == DpuMode::Add {
        second = lowering.negated(node, second, y.0 as usize);
    }
    lowering.stream(node, work, vec![first, second], y.0 as usize);
    Ok(())
}

/// Lowers a maximum or minimum of two operands.
fn extreme(lowering: &mut Lowering<'_>, node: &Node, extreme: Extreme) -> Result<(), Reject> {
    let (a, b, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let fraction = lowering.format.fraction(y);
    if !lowering.format.extensions {
        // These roundings are recorded before the operands are read, because the first one recorded
        // takes precedence.
        let constants = [a, b].into_iter().filter(|&id| lowering.graph.constant(id).is_some());
        let near = |id| Rounding::Constant { id, fraction, range: SPARE_BIT };
        constants.for_each(|id| lowering.note(near(id)));
    }
    let operands = [spread(lowering, node, a, fraction)?, spread(lowering, node, b, fraction)?];
    lowering.extreme(node, extreme, operands, y.0 as usize)
}

/// Lowers `a / b` by the extension's mode, whose quotient has 11 fraction bits more than the
/// difference of its operands' fraction lengths.
///
/// If the result needs more fraction bits, the divisor gives up half of the missing ones: the
/// quotient gains bits, and the divisor loses them.
fn quotient(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (a, b, y) = (operand(node, 0)?, operand(node, 1)?, result(node)?);
    let work = lowering.format.extension(DpuMode::Div, 0)?;
    let [own_a, own_b, wanted] =
        [lowering.own_fraction(a)?, lowering.own_fraction(b)?, lowering.format.fraction(y)];
    let missing = (wanted - (FUNCTION_BITS + own_a - own_b)).max(0);
    let of_b = own_b - missing / 2;
    let of_a = own_a.min(wanted + of_b - FUNCTION_BITS);
    let operands = vec![spread(lowering, node, a, of_a)?, spread(lowering, node, b, of_b)?];
    let to = lowering.unscaled(node, y, FUNCTION_BITS + of_a - of_b);
    lowering.stream(node, work, operands, to);
    lowering.finish(node, to, y);
    Ok(())
}

/// Lowers `max(x, 0)`.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn relu(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    limited(lowering, node, Some(0), None)
}

/// Lowers `x` clipped to limits.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn clip(lowering: &mut Lowering<'_>, node: &Node, clip: &Clip) -> Result<(), Reject> {
    let fraction = lowering.format.fraction(result(node)?);
    let [low, high] = [clip.min, clip.max].map(|limit| integer(limit.into(), fraction));
    let min = if low == i16::MIN { f32::NEG_INFINITY } else { real(low, fraction) };
    let max = if high == i16::MAX { f32::INFINITY } else { real(high, fraction) };
    lowering.note(Rounding::Limits { min, max });
    limited(lowering, node, Some(low).filter(|_| low != i16::MIN), Some(high).filter(|_| high != i16::MAX))
}

/// Clips words to limits.
fn limited(
    lowering: &mut Lowering<'_>,
    node: &Node,
    low: Option<i16>,
    high: Option<i16>,
) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let source = lowering.read(node, x, lowering.format.fraction(y))?;
    lowering.limit(node, source, [low, high], y.0 as usize)
}

impl Lowering<'_> {
    /// Sets `to` to the words of a source, clipped to limits by modes of the extension or by
    /// saturating sums.
    ///
    /// # Errors
    ///
    /// The limits do not include 0 and the fabric has no extensions.
    pub(super) fn limit(
        &mut self,
        node: &Node,
        mut source: Source,
        [low, high]: [Option<i16>; 2],
        to: usize,
    ) -> Result<(), Reject> {
        let (shape, fraction) = (self.plan.values[to].shape.clone(), self.plan.values[to].fraction);
        let count = shape.iter().product();
        let stages = match self.format.extension(DpuMode::MaxMin, 0) {
            Ok(_) => limits(low, high),
            Err(_) => sums(low, high)?,
        };
        for (index, &(work, word)) in stages.iter().enumerate() {
            let last = index + 1 == stages.len();
            let to = if last { to } else { self.temporary(&node.name, shape.clone(), fraction) };
            let operands = [Some(singles(source, count)), word.map(|word| repeated(word, count))];
            self.stream(node, work, operands.into_iter().flatten().collect(), to);
            self.let_saturate();
            source = Source::Value(to);
        }
        if stages.is_empty() {
            self.push(node, to, vec![Task::copy(source, count)]);
        }
        Ok(())
    }

    /// Returns the fraction length of a value, or the largest with which a constant's numbers fit.
    fn own_fraction(&self, id: ValueId) -> Result<i32, Reject> {
        let Some(constant) = self.graph.constant(id) else { return Ok(self.format.fraction(id)) };
        let values =
            constant.as_f32().ok_or_else(|| Reject::new("a constant does not hold floats", "convert it"))?;
        Ok(largest_fraction(values.iter().map(|&x| x.into())))
    }
}

/// Work of a dpu, and its constant second operand if it has one.
type Stage = (Work, Option<i16>);

/// Returns limits by modes of the extension.
fn limits(low: Option<i16>, high: Option<i16>) -> Vec<Stage> {
    let low = low.map(|low| match low {
        0 => (Work::plain(DpuMode::Relu), None),
        low => (Work::plain(DpuMode::MaxMin), Some(low)),
    });
    let high = high.map(|high| (Work { mode: DpuMode::MaxMin, immediate: 1 }, Some(high)));
    low.into_iter().chain(high).collect()
}

/// Returns limits by sums: a number beyond a limit saturates at the end of the range, and returns
/// as the limit.
fn sums(low: Option<i16>, high: Option<i16>) -> Result<Vec<Stage>, Reject> {
    let to_low = low.map_or(0, |low| i32::from(i16::MIN) - i32::from(low));
    let to_high = high.map_or(0, |high| i32::from(i16::MAX) - i32::from(high));
    if to_low < i16::MIN.into() || to_high > i16::MAX.into() {
        return Err(Reject::new("its limits do not include 0", "use a fabric with extensions"));
    }
    let there_and_back = [to_low, -to_low, to_high, -to_high];
    let parts = there_and_back.into_iter().flat_map(|sum| {
        let first = sum.clamp(i16::MIN.into(), i16::MAX.into());
        [first, sum - first]
    });
    let words = parts.filter(|&part| part != 0).map(|part| i16::try_from(part).ok());
    Ok(words.map(|word| (Work::plain(DpuMode::Add), word)).collect())
}

/// Lowers a function of each element.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn unary(lowering: &mut Lowering<'_>, node: &Node, kind: UnaryKind) -> Result<(), Reject> {
    match kind {
        UnaryKind::Neg => negative(lowering, node),
        UnaryKind::Abs => magnitude(lowering, node),
        UnaryKind::Sqrt => root(lowering, node),
        UnaryKind::Sigmoid => function(lowering, node, DpuMode::Sigm),
        UnaryKind::Tanh => function(lowering, node, DpuMode::Tanhyp),
        UnaryKind::Exp => function(lowering, node, DpuMode::Expon),
        _ => {
            let hint = "supported are Neg, Abs, Sqrt, Reciprocal, Sigmoid, Tanh, Exp, Swish, Gelu, HardSigmoid and HardSwish";
            Err(Reject::new("no mode of the dpu computes this operator", hint))
        }
    }
}

/// Lowers `-x` as a product.
fn negative(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let words = spread(lowering, node, x, lowering.format.fraction(y))?;
    let minus = repeated(lowering.format.minus_one(), words.count());
    lowering.stream(node, Work::plain(DpuMode::Mult), vec![words, minus], y.0 as usize);
    Ok(())
}

/// Lowers a function that a mode computes in Q4.11.
fn function(lowering: &mut Lowering<'_>, node: &Node, mode: DpuMode) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let work = lowering.format.extension(mode, 0)?;
    let words = spread(lowering, node, x, FUNCTION_BITS)?;
    let to = lowering.unscaled(node, y, FUNCTION_BITS);
    lowering.stream(node, work, vec![words], to);
    lowering.finish(node, to, y);
    Ok(())
}

/// Lowers `x` for `x >= 0`, and `alpha x` otherwise.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn leaky_relu(lowering: &mut Lowering<'_>, node: &Node, alpha: f32) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let slope = integer(alpha.into(), FUNCTION_BITS);
    let work = lowering.format.extension(DpuMode::LkRelu, slope)?;
    lowering.note(Rounding::Factor(real(slope, FUNCTION_BITS)));
    let words = spread(lowering, node, x, lowering.format.fraction(y))?;
    lowering.stream(node, work, vec![words], y.0 as usize);
    Ok(())
}

/// Returns the elements of `id` with a fraction length, broadcast to the shape of the node's
/// result.
pub(super) fn spread(
    lowering: &mut Lowering<'_>,
    node: &Node,
    id: ValueId,
    fraction: i32,
) -> Result<Gather, Reject> {
    let vectors = broadcast(lowering.graph.shape(result(node)?), lowering.graph.shape(id));
    let source = lowering.read(node, id, fraction)?;
    Ok(Gather { source, offset: 0, vectors, elements: Vec::new(), tail: Tail::None })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn saturating_sums_are_limits() {
        for (low, high) in
            [(Some(0), None), (Some(-300), Some(5)), (None, Some(0)), (Some(i16::MIN), Some(77))]
        {
            let stages = sums(low, high).unwrap();
            assert!(stages.len() <= 5, "{stages:?}");
            for x in (i16::MIN..=i16::MAX).step_by(7).chain([i16::MAX, -301, -300, 4, 5, 6]) {
                let found = stages.iter().fold(x, |x, stage| x.saturating_add(stage.1.unwrap()));
                assert_eq!(found, x.clamp(low.unwrap_or(i16::MIN), high.unwrap_or(i16::MAX)), "{x}");
            }
        }
        assert!(sums(Some(1), None).is_err());
    }
}
