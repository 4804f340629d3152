//! Softmax that exporters write as exponentials over their sum.

use super::matching::{Pattern, put_in_place};
use super::{Pass, PassError};
use crate::ir::{Graph, ValueId};
use crate::op::{BinaryKind, Op, ReduceKind, Softmax, UnaryKind};

pub(super) const PASS: Pass = Pass {
    name: "softmax-forms",
    description: "recognizes Softmax written as exponentials divided by their sum",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    Ok(put_in_place(graph, softmax))
}

/// Matches `e / sum(e)`, where `e` is `exp(x - max(x))`; returns the Softmax and `x`.
fn softmax(pattern: &Pattern<'_>, value: ValueId) -> Option<(Softmax, ValueId)> {
    let (powers, sum) = quotient(pattern, value)?;
    let (kind, difference) = pattern.unary(powers)?;
    let [x, largest] = pattern.binary(difference, BinaryKind::Sub).filter(|_| kind == UnaryKind::Exp)?;
    let softmax = over(pattern, sum, ReduceKind::Sum, powers)?;
    let same = over(pattern, largest, ReduceKind::Max, x)? == softmax;
    same.then_some((softmax, x))
}

/// Returns `e` and `s` of `e / s` or `e * (1 / s)`.
fn quotient(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, ValueId)> {
    if let Some([powers, sum]) = pattern.binary(value, BinaryKind::Div) {
        return Some((powers, sum));
    }
    let [left, right] = pattern.binary(value, BinaryKind::Mul)?;
    let divisor =
        |value| pattern.unary(value).filter(|(kind, _)| *kind == UnaryKind::Reciprocal).map(|(_, sum)| sum);
    divisor(right).map(|sum| (left, sum)).or_else(|| Some((right, divisor(left)?)))
}

/// Returns the axes over which `value` reduces `of`, if they are adjacent and kept.
fn over(pattern: &Pattern<'_>, value: ValueId, kind: ReduceKind, of: ValueId) -> Option<Softmax> {
    let node = pattern.producer(value)?;
    let Op::Reduce(reduce) = &node.op else { return None };
    let (&axis, &last) = (reduce.axes.first()?, reduce.axes.last()?);
    let axis_end = last + 1;
    let contiguous = reduce.axes.iter().copied().eq(axis..axis_end);
    let fits = reduce.kind == kind && reduce.keep_dims && node.inputs == [of] && contiguous;
    fits.then_some(Softmax { axis, axis_end })
}
