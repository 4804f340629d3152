//! Activations that exporters write as arithmetic: Swish, Mish, HardSwish, HardSigmoid, Gelu.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use super::matching::{Pattern, is_near, put_in_place};
use super::{Pass, PassError};
use crate::ir::{Graph, ValueId};
use crate::op::{BinaryKind, GeluForm, Op, Unary, UnaryKind};

pub(super) const PASS: Pass = Pass {
    name: "activation-forms",
    description: "recognizes Swish, Mish, HardSwish, HardSigmoid and Gelu written as arithmetic",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    Ok(put_in_place(graph, |pattern, result| {
        let Op::Binary(_) = pattern.producer(result)?.op else { return None };
        let (kind, x) = activation(pattern, result).or_else(|| hard_sigmoid(pattern, result))?;
        Some((Unary { kind }, x))
    }))
}

/// Matches an activation that is a number times `x` times a gate; returns it and `x`.
fn activation(pattern: &Pattern<'_>, value: ValueId) -> Option<(UnaryKind, ValueId)> {
    let (_, factors) = pattern.factors(value, None)?;
    let found = |gate: ValueId, (x, expected, kind): (ValueId, f64, UnaryKind)| {
        let (number, found) = pattern.factors(value, Some(x))?;
        let wanted = [x.min(gate), x.max(gate)];
        (found == wanted && is_near(number, expected)).then_some((kind, x))
    };
    factors.iter().find_map(|&gate| {
        let readings = [gated(pattern, gate), scaled_swish(pattern, gate)];
        readings.into_iter().flatten().find_map(|reading| found(gate, reading))
    })
}

/// Like [`gated`], for a sigmoid of a multiple of `x`.
fn scaled_swish(pattern: &Pattern<'_>, gate: ValueId) -> Option<(ValueId, f64, UnaryKind)> {
    let (_, inner) = pattern.unary(gate).filter(|(kind, _)| *kind == UnaryKind::Sigmoid)?;
    let (x, alpha) = pattern.with_scalar(inner, BinaryKind::Mul)?;
    Some((x, 1.0, UnaryKind::Swish { alpha: alpha as f32 }))
}

/// Matches a gate; returns its operand, the constant factor, and the activation that they form.
fn gated(pattern: &Pattern<'_>, gate: ValueId) -> Option<(ValueId, f64, UnaryKind)> {
    if let Some((kind, inner)) = pattern.unary(gate) {
        return match kind {
            UnaryKind::Sigmoid => Some((inner, 1.0, UnaryKind::Swish { alpha: 1.0 })),
            UnaryKind::HardSigmoid { alpha, beta } if is_sixth(alpha) && beta == 0.5 => {
                Some((inner, 1.0, UnaryKind::HardSwish))
            }
            UnaryKind::Tanh => match pattern.unary(inner)? {
                (UnaryKind::Softplus, x) => Some((x, 1.0, UnaryKind::Mish)),
                _ => None,
            },
            _ => None,
        };
    }
    if let Some(x) = clipped(pattern, gate) {
        return Some((x, 1.0 / 6.0, UnaryKind::HardSwish));
    }
    let (inner, _) = pattern.with_scalar(gate, BinaryKind::Add).filter(|(_, one)| *one == 1.0)?;
    let (x, form) = match pattern.unary(inner)? {
        (UnaryKind::Erf, argument) => (erf_operand(pattern, argument)?, GeluForm::Exact),
        (UnaryKind::Tanh, argument) => (tanh_operand(pattern, argument)?, GeluForm::Tanh),
        _ => return None,
    };
    Some((x, 0.5, UnaryKind::Gelu { form }))
}

fn is_sixth(alpha: f32) -> bool {
    is_near(alpha.into(), 1.0 / 6.0)
}

/// Returns `x` of `min(max(x + 3, 0), 6)`.
fn clipped(pattern: &Pattern<'_>, value: ValueId) -> Option<ValueId> {
    let node = pattern.producer(value)?;
    let Op::Clip(clip) = &node.op else { return None };
    let (x, three) = pattern.with_scalar(*node.inputs.first()?, BinaryKind::Add)?;
    ([clip.min, clip.max] == [0.0, 6.0] && three == 3.0).then_some(x)
}

/// Returns `x` of `x / sqrt(2)`.
fn erf_operand(pattern: &Pattern<'_>, value: ValueId) -> Option<ValueId> {
    let (x, factor) = match pattern.with_scalar(value, BinaryKind::Div) {
        Some((x, divisor)) => (x, 1.0 / divisor),
        None => pattern.with_scalar(value, BinaryKind::Mul)?,
    };
    is_near(factor, FRAC_1_SQRT_2).then_some(x)
}

/// Returns `x` of `sqrt(2 / pi) * (x + 0.044715 * x^3)`.
fn tanh_operand(pattern: &Pattern<'_>, value: ValueId) -> Option<ValueId> {
    let (sum, factor) = pattern.with_scalar(value, BinaryKind::Mul)?;
    let [left, right] = pattern.binary(sum, BinaryKind::Add)?;
    let matches = |x: ValueId, rest: ValueId| {
        let whole = pattern.with_scalar(rest, BinaryKind::Mul);
        let number = match whole.filter(|(cube, _)| pattern.power(*cube, 3.0) == Some(x)) {
            Some((_, number)) => number,
            // The number may multiply any of the three factors.
            None => pattern.factors(rest, Some(x)).filter(|(_, factors)| factors[..] == [x; 3])?.0,
        };
        is_near(number, 0.044715).then_some(x)
    };
    is_near(factor, FRAC_2_PI.sqrt()).then(|| matches(left, right).or_else(|| matches(right, left))).flatten()
}

/// Matches `min(max(x + 3, 0), 6) / 6`.
fn hard_sigmoid(pattern: &Pattern<'_>, value: ValueId) -> Option<(UnaryKind, ValueId)> {
    let (number, factors) = pattern.factors(value, None)?;
    let &[gate] = factors.as_slice() else { return None };
    let x = clipped(pattern, gate).filter(|_| is_near(number, 1.0 / 6.0))?;
    Some((UnaryKind::HardSigmoid { alpha: 1.0 / 6.0, beta: 0.5 }, x))
}
