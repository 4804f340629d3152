//! Nodes that multiply and add per channel: [`Affine`].

use super::edit::floats;
use crate::ir::{Graph, Node, ValueId};
use crate::op::{Binary, BinaryKind, Op};

/// An affine function per channel (the last axis) of a node's operand, with constant coefficients.
pub struct Affine {
    /// Operand that is not constant.
    pub operand: ValueId,
    /// Factor and addend of each channel, finite.
    pub factors: Vec<[f64; 2]>,
}

impl Affine {
    /// Returns the factors of a batch normalization, or of arithmetic with a constant that is one
    /// number or one per channel. `None` for all other nodes.
    pub fn of(graph: &Graph, node: &Node) -> Option<Self> {
        let affine = match &node.op {
            Op::BatchNormalization(op) => {
                let &[operand, scale, bias, mean, var] = node.inputs.as_slice() else { return None };
                let [scale, bias] = [floats(graph, scale)?, floats(graph, bias)?];
                let [mean, var] = [floats(graph, mean)?, floats(graph, var)?];
                Self { operand, factors: op.factors(scale, bias, mean, var) }
            }
            Op::Binary(binary) => Self::of_binary(graph, node, binary)?,
            _ => return None,
        };
        affine.factors.iter().flatten().all(|factor| factor.is_finite()).then_some(affine)
    }

    fn of_binary(graph: &Graph, node: &Node, binary: &Binary) -> Option<Self> {
        let &[left, right] = node.inputs.as_slice() else { return None };
        let reversed = graph.constant(left).is_some();
        let (operand, constant) = if reversed { (right, left) } else { (left, right) };
        let channel: fn(f64) -> [f64; 2] = match (binary.kind, reversed) {
            (BinaryKind::Add, _) => |c| [1.0, c],
            (BinaryKind::Sub, false) => |c| [1.0, -c],
            (BinaryKind::Sub, true) => |c| [-1.0, c],
            (BinaryKind::Mul, _) => |c| [c, 0.0],
            (BinaryKind::Div, false) => |c| [1.0 / c, 0.0],
            _ => return None,
        };
        let values = by_channel(graph, operand, constant)?;
        // A constant with more axes would add axes to the result.
        let keeps_shape = graph.shape(*node.outputs.first()?) == graph.shape(operand);
        keeps_shape.then(|| Self { operand, factors: values.iter().map(|&c| channel(c.into())).collect() })
    }

    /// Returns this function followed by `next`.
    pub fn then(&self, next: &Self) -> Self {
        let pairs = self.factors.iter().zip(&next.factors);
        let factors = pairs.map(|([a, b], [factor, offset])| [a * factor, b * factor + offset]);
        Self { operand: self.operand, factors: factors.collect() }
    }

    /// Whether all factors are 1.
    pub fn only_adds(&self) -> bool {
        self.factors.iter().all(|[factor, _]| *factor == 1.0)
    }

    /// Whether all addends are 0.
    pub fn only_multiplies(&self) -> bool {
        self.factors.iter().all(|[_, offset]| *offset == 0.0)
    }
}

/// Returns one element of a constant per channel of the operand, if it broadcasts along all other
/// axes.
fn by_channel(graph: &Graph, operand: ValueId, constant: ValueId) -> Option<Vec<f32>> {
    let channels = *graph.shape(operand).last()?;
    let (values, shape) = (floats(graph, constant)?, graph.shape(constant));
    match (values, shape.last()) {
        (&[value], _) => Some(vec![value; channels]),
        (values, Some(&size)) if size == channels && values.len() == channels => Some(values.to_vec()),
        _ => None,
    }
}
