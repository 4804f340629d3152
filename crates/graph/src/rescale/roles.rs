//! Effect on an operator's results of dividing its operands by powers of two.

use npukit_numeric::ElementType;

use super::Limits;
use crate::ir::{Graph, Node, ValueId};
use crate::op::{BinaryKind, Clip, Op, Pad, PadMode, ReduceKind, Unary, UnaryKind};

/// Behavior of an operator on scaled operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Takes and returns unscaled values.
    Real,
    /// All its floats, operands and results, have one exponent: `f(c x) = c f(x)`.
    Homogeneous,
    /// Operand `x` and the result have different exponents; the constant operands compensate for
    /// that.
    Linear {
        /// Index of the operand that is not a constant.
        x: usize,
    },
    /// The result's exponent is the sum of the two operands' exponents.
    Product,
    /// Takes an operand with any exponent, which its parameters compensate, and returns unscaled
    /// values: see [`absorbed`].
    Absorbing,
    /// The operand times [`gate`] of the operand: the result has the operand's exponent.
    Gated,
    /// A function of one element. Operand and result may have any exponents if multiplications next
    /// to it are free; otherwise it takes and returns unscaled values.
    Function,
    /// Computed by the host from unscaled values; its results are scaled in the transfer to the
    /// machine.
    Host,
}

impl Role {
    /// Returns the role under these limits.
    pub fn within(self, limits: &Limits) -> Self {
        if self == Self::Function && !limits.functions { Self::Real } else { self }
    }
}

/// Returns the role of a node. An operator that is not in the list takes unscaled values.
pub(crate) fn role(graph: &Graph, node: &Node) -> Role {
    let results_are_floats = node.outputs.iter().all(|&id| is_float(graph, id));
    if !results_are_floats {
        return Role::Real;
    }
    match &node.op {
        Op::Conv(_) | Op::ConvTranspose(_) | Op::BatchNormalization(_) => linear(graph, node),
        Op::Gemm(_) | Op::MatMul(_) => product(graph, node),
        Op::Binary(binary) => match binary.kind {
            BinaryKind::Add | BinaryKind::Sub | BinaryKind::Max | BinaryKind::Min => Role::Homogeneous,
            BinaryKind::Mul => product(graph, node),
            BinaryKind::Div => linear(graph, node),
            _ => Role::Real,
        },
        Op::Clip(_) | Op::LeakyRelu(_) | Op::Relu(_) => Role::Homogeneous,
        Op::AveragePool(_) | Op::MaxPool(_) | Op::Resize(_) => Role::Homogeneous,
        Op::Concat(_) | Op::Gather(_) | Op::Pad(_) | Op::Reshape(_) | Op::Slice(_) | Op::Split(_) => {
            Role::Homogeneous
        }
        Op::Tile(_) | Op::Transpose(_) | Op::Trilu(_) | Op::Where(_) => Role::Homogeneous,
        Op::PRelu(_) => match linear(graph, node) {
            Role::Linear { .. } => Role::Homogeneous,
            other => other,
        },
        Op::Reduce(reduce) => match reduce.kind {
            ReduceKind::Mean | ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min => Role::Homogeneous,
            ReduceKind::L1 | ReduceKind::L2 => Role::Homogeneous,
            _ => Role::Real,
        },
        Op::Unary(unary) => match unary.kind {
            UnaryKind::Neg | UnaryKind::Abs => Role::Homogeneous,
            UnaryKind::HardSigmoid { .. } => Role::Absorbing,
            UnaryKind::HardSwish => Role::Gated,
            UnaryKind::ThresholdedRelu { .. } => Role::Real,
            _ => Role::Function,
        },
        Op::Pow(_) if is_root(graph, node) => Role::Function,
        _ => Role::Real,
    }
}

/// Returns the absorbing operator for operands divided by `2^exponent`. `None` if the number format
/// has no such slope, or only an imprecise one: the operands are then unscaled.
pub(super) fn absorbed(op: &Op, exponent: i32, limits: &Limits) -> Option<Op> {
    let Op::Unary(Unary { kind: UnaryKind::HardSigmoid { alpha, beta } }) = *op else { return None };
    let slope = f64::from(alpha) * f64::from(exponent).exp2();
    let holds = FINEST_SLOPE * limits.step..=limits.largest;
    holds
        .contains(&slope.abs())
        .then(|| Unary { kind: UnaryKind::HardSigmoid { alpha: slope as f32, beta } }.into())
}

/// Smallest slope in steps of the number format; below it, rounding changes the slope too much.
const FINEST_SLOPE: f64 = 32.0;

/// Returns the function of the operand by which a gated operator multiplies it.
pub(super) fn gate() -> Op {
    Unary { kind: UnaryKind::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 } }.into()
}

/// Returns the operator that computes, for operands times `factor`, the result of `op` times
/// `factor`. Only for homogeneous operators.
pub(super) fn scaled(op: &Op, factor: f32) -> Op {
    match op {
        Op::Clip(clip) => Clip { min: clip.min * factor, max: clip.max * factor }.into(),
        Op::Pad(Pad { pads, mode: PadMode::Constant(value) }) => {
            Pad { pads: pads.clone(), mode: PadMode::Constant(value * factor) }.into()
        }
        other => other.clone(),
    }
}

/// Returns the number of scaled operands of a homogeneous operator; a slope is not scaled.
pub(crate) fn scaled_operands(op: &Op) -> usize {
    if matches!(op, Op::PRelu(_)) { 1 } else { usize::MAX }
}

/// Whether the value is a float.
pub(crate) fn is_float(graph: &Graph, id: ValueId) -> bool {
    graph.value(id).info.element == ElementType::F32
}

/// Whether a power has a fractional or negative exponent, equal for all elements. Other powers are
/// products.
fn is_root(graph: &Graph, node: &Node) -> bool {
    let exponents = node.inputs.get(1).and_then(|&id| graph.constant(id)?.as_f32());
    let is_root = |power: &f32| power.fract() != 0.0 || *power < 0.0;
    let alone = node.inputs.first().is_some_and(|&x| graph.constant(x).is_none());
    alone && matches!(exponents, Some([power]) if is_root(power))
}

/// The first operand is a value, all others are constants.
fn linear(graph: &Graph, node: &Node) -> Role {
    let constant = |id: &ValueId| graph.constant(*id).is_some();
    match node.inputs.split_first() {
        Some((x, others)) if !constant(x) && others.iter().all(constant) => Role::Linear { x: 0 },
        _ => Role::Real,
    }
}

/// At most one of the first two operands is a constant; an addend must be constant in either case.
fn product(graph: &Graph, node: &Node) -> Role {
    let constant = |index: usize| node.inputs.get(index).is_none_or(|&id| graph.constant(id).is_some());
    match (constant(0), constant(1), constant(2)) {
        (false, true, true) => Role::Linear { x: 0 },
        (true, false, true) => Role::Linear { x: 1 },
        (false, false, true) if node.inputs.len() == 2 => Role::Product,
        _ => Role::Real,
    }
}
