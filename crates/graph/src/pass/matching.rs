//! Looking from a value back to what computes it: [`Pattern`].

use npukit_numeric::TensorData;

use super::edit::floats;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{BinaryKind, Op, UnaryKind};

/// Relative difference up to which a constant counts as the one looked for: exporters round it once
/// or twice in single precision.
const TOLERANCE: f64 = 5e-7;

/// Most factors of a product that are looked at.
const MOST_FACTORS: usize = 6;

/// Whether a constant is the one looked for.
pub(super) fn is_near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= TOLERANCE * expected.abs()
}

/// A graph and who produces which value.
pub(super) struct Pattern<'a> {
    pub(super) graph: &'a Graph,
    pub(super) producers: &'a [Option<NodeId>],
}

impl Pattern<'_> {
    /// The node that produces a value of one result.
    pub(super) fn producer(&self, value: ValueId) -> Option<&Node> {
        let node = self.graph.node((*self.producers.get(value.0 as usize)?)?);
        (node.outputs.len() == 1).then_some(node)
    }

    /// The only element of a constant.
    pub(super) fn scalar(&self, value: ValueId) -> Option<f64> {
        match floats(self.graph, value)? {
            &[scalar] => Some(scalar.into()),
            _ => None,
        }
    }

    /// The operands of the arithmetic that gives the value, when it is of that kind.
    pub(super) fn binary(&self, value: ValueId, kind: BinaryKind) -> Option<[ValueId; 2]> {
        let node = self.producer(value)?;
        let Op::Binary(binary) = &node.op else { return None };
        (binary.kind == kind).then(|| <[ValueId; 2]>::try_from(node.inputs.as_slice()).ok()).flatten()
    }

    /// The other operand and the number, when the value is made by such arithmetic with one number.
    /// The number comes second but for sums and products, where the order does not matter.
    pub(super) fn with_scalar(&self, value: ValueId, kind: BinaryKind) -> Option<(ValueId, f64)> {
        let [left, right] = self.binary(value, kind)?;
        let commutes = matches!(kind, BinaryKind::Add | BinaryKind::Mul);
        match (self.scalar(left), self.scalar(right)) {
            (_, Some(scalar)) => Some((left, scalar)),
            (Some(scalar), None) if commutes => Some((right, scalar)),
            _ => None,
        }
    }

    /// The operand of the function that gives the value.
    pub(super) fn unary(&self, value: ValueId) -> Option<(UnaryKind, ValueId)> {
        let node = self.producer(value)?;
        let Op::Unary(unary) = &node.op else { return None };
        Some((unary.kind, *node.inputs.first()?))
    }

    /// The value as a number times factors that are not products, or are `whole`, in ascending order.
    /// `None` when there are too many.
    pub(super) fn factors(&self, value: ValueId, whole: Option<ValueId>) -> Option<(f64, Vec<ValueId>)> {
        let (mut number, mut factors, mut open) = (1.0, Vec::new(), vec![value]);
        while let Some(value) = open.pop() {
            if factors.len() + open.len() > MOST_FACTORS {
                return None;
            }
            if let Some(scalar) = self.scalar(value) {
                number *= scalar;
            } else if Some(value) == whole {
                factors.push(value);
            } else if let Some((dividend, divisor)) = self.with_scalar(value, BinaryKind::Div) {
                number /= divisor;
                open.push(dividend);
            } else if let Some(operands) = self.binary(value, BinaryKind::Mul) {
                open.extend(operands);
            } else {
                factors.push(value);
            }
        }
        factors.sort_unstable();
        Some((number, factors))
    }

    /// What the value is the square of.
    pub(super) fn square(&self, value: ValueId) -> Option<ValueId> {
        self.power(value, 2.0)
    }

    /// What the value is that power of, written with Pow or as a product.
    pub(super) fn power(&self, value: ValueId, exponent: f64) -> Option<ValueId> {
        if let Some(Node { op: Op::Pow(_), inputs, .. }) = self.producer(value) {
            let &[base, stated] = inputs.as_slice() else { return None };
            return (self.number(stated)? == exponent).then_some(base);
        }
        let [left, right] = self.binary(value, BinaryKind::Mul)?;
        let rest = exponent - 1.0;
        let same = |base: ValueId, other: ValueId| {
            base == other && rest == 1.0 || rest > 1.0 && self.power(other, rest) == Some(base)
        };
        if same(left, right) { Some(left) } else { same(right, left).then_some(right) }
    }

    /// The only element of a constant, whatever its type.
    fn number(&self, value: ValueId) -> Option<f64> {
        let constant = self.graph.constant(value)?;
        let number = match constant.data() {
            TensorData::I64(values) => values.first().map(|&value| value as f64),
            TensorData::I32(values) => values.first().map(|&value| value.into()),
            TensorData::F32(values) => values.first().map(|&value| value.into()),
            TensorData::Bool(_) => None,
        };
        number.filter(|_| constant.data().len() == 1)
    }
}
