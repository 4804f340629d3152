//! Rules of operators: error bounds of results from operands and their error bounds.

use npukit_numeric::Tensor;

use crate::op::{BatchNormalization, Binary, BinaryKind, Gemm, Op, OpError, Operator};

/// Unit roundoff of `f32`, since the evaluator is not exact either.
const F32: f32 = 1.0 / (1 << 24) as f32;

/// An operand and the error bounds of its elements; integers are exact.
#[derive(Clone, Copy)]
pub(super) struct Operand<'a> {
    /// Elements of the operand.
    pub value: &'a Tensor,
    /// Largest error of each element, in the unit of the values; `None` for integers.
    pub error: Option<&'a Tensor>,
}

/// Error bounds of the results of a node; `None` without a rule.
pub(super) type Results = Result<Option<Vec<Tensor>>, OpError>;

/// Applies a function to each element; `None` for integers.
pub(super) fn map(tensor: &Tensor, function: impl Fn(f32) -> f32) -> Option<Tensor> {
    let values = tensor.as_f32()?.iter().map(|&x| function(x)).collect();
    Tensor::from_f32(tensor.shape().to_vec(), values).ok()
}

/// Applies a function to each pair of elements; `None` for integers and for different shapes.
fn zip(left: &Tensor, right: &Tensor, function: impl Fn(f32, f32) -> f32) -> Option<Tensor> {
    let values = left.as_f32()?.iter().zip(right.as_f32()?).map(|(&l, &r)| function(l, r)).collect();
    Tensor::from_f32(left.shape().to_vec(), values).ok()
}

impl Operand<'_> {
    /// Returns the largest magnitudes: `|x| + e`.
    fn reach(&self) -> Option<Tensor> {
        zip(self.value, self.error?, |x, e| x.abs() + e)
    }

    /// Returns the operand moved by its bound, up or down; integers are unchanged.
    fn moved(&self, sign: f32) -> Tensor {
        let moved = self.error.and_then(|error| zip(self.value, error, |x, e| x + sign * e));
        moved.unwrap_or_else(|| self.value.clone())
    }
}

/// Rounding that an operator adds to the errors of its operands.
#[derive(Clone, Copy, Default)]
pub(super) struct Own {
    /// Half a step for each constant factor.
    pub factors: f32,
    /// Half a step for each rounding.
    pub roundings: f32,
    /// Number of intermediate additions, which `f32` rounds.
    pub additions: f32,
}

/// Bounds an operator that is monotonic in every operand element: evaluates it at both ends.
pub(super) fn monotone(op: &Op, operands: &[Operand<'_>], own: Own) -> Results {
    let eval = |tensors: Vec<Tensor>| op.eval(&tensors.iter().collect::<Vec<_>>());
    let at = |sign: f32| eval(operands.iter().map(|operand| operand.moved(sign)).collect());
    let (low, exact, high) = (at(-1.0)?, at(0.0)?, at(1.0)?);
    let reaches: Vec<Tensor> =
        operands.iter().map(|operand| operand.reach().unwrap_or_else(|| operand.value.clone())).collect();
    let finite = reaches.iter().filter_map(Tensor::as_f32).flatten().copied().filter(|x| x.is_finite());
    let more = own.factors * finite.fold(0.0, f32::max) + own.roundings;
    let sums = if own.additions > 0.0 { eval(reaches)? } else { exact.clone() };
    let bound = |((exact, sum), (low, high)): ((&Tensor, &Tensor), (&Tensor, &Tensor))| {
        // Infinities are padding of an image; they do not change.
        let below = zip(exact, low, |y, low| if y.is_finite() { (y - low).abs() } else { 0.0 })?;
        let above = zip(exact, high, |y, high| if y.is_finite() { (high - y).abs() } else { 0.0 })?;
        let single = zip(exact, sum, |y, sum| F32 * (2.0 * y.abs() + own.additions * sum.abs()))?;
        let own = zip(exact, &single, |y, single| if y.is_finite() { more + single } else { 0.0 })?;
        zip(&zip(&below, &above, f32::max)?, &own, |ends, own| ends + own)
    };
    Ok(exact.iter().zip(&sums).zip(low.iter().zip(&high)).map(bound).collect())
}

/// Bounds a sum of products of the first two operands, plus the third.
///
/// `|x w - x' w'| <= (|x| + ex) ew + ex |w|`, and each of `n` additions rounds.
pub(super) fn product(op: &Op, operands: &[Operand<'_>], half: f32) -> Results {
    let (linear, [alpha, beta]) = without_addend(op);
    let [x, weights, addend @ ..] = operands else { return Ok(None) };
    let terms = terms(op, x.value, weights.value);
    let slack = (terms + 2.0) * F32;
    let (Some(reach), Some(x_error), Some(weights_error)) = (x.reach(), x.error, weights.error) else {
        return Ok(None);
    };
    let Some(uncertain) = zip(weights.value, weights_error, |w, e| e + slack * w.abs()) else {
        return Ok(None);
    };
    let mut bound = only(linear.eval(&[&reach, &uncertain])?);
    if x_error.as_f32().is_some_and(|errors| errors.iter().any(|&e| e > 0.0)) {
        let Some(magnitudes) = map(weights.value, f32::abs) else { return Ok(None) };
        let carried = only(linear.eval(&[x_error, &magnitudes])?);
        bound = bound.zip(carried).and_then(|(a, b)| zip(&a, &b, |a, b| a + b));
    }
    // A factor of the weights is rounded with them.
    let mut bound = bound.and_then(|b| map(&b, |b| alpha.max(1.0) * b + (terms + 2.0) * half));
    if let (Some(error), Some(product)) = (addend.first().and_then(|addend| addend.error), &bound) {
        let error = map(error, |e| beta.max(1.0) * e);
        bound = match error {
            Some(error) => only(ADD.eval(&[product, &error])?),
            None => None,
        };
    }
    Ok(bound.map(|bound| vec![bound]))
}

const ADD: Binary = Binary { kind: BinaryKind::Add };
const MUL: Binary = Binary { kind: BinaryKind::Mul };

/// Returns the operator for two operands, and the magnitudes of its factors of the product and of
/// the addend.
fn without_addend(op: &Op) -> (Op, [f32; 2]) {
    match op {
        Op::Gemm(gemm) => (Gemm { alpha: 1.0, ..gemm.clone() }.into(), [gemm.alpha.abs(), gemm.beta.abs()]),
        other => (other.clone(), [1.0, 1.0]),
    }
}

/// Returns the largest number of products in a sum.
fn terms(op: &Op, x: &Tensor, weights: &Tensor) -> f32 {
    // Default: a scalar is one column.
    let columns = |shape: &[usize]| shape.last().copied().unwrap_or(1).max(1);
    let terms = match op {
        Op::Conv(_) | Op::ConvTranspose(_) => {
            weights.as_f32().map_or(1, <[f32]>::len) / columns(weights.shape())
        }
        Op::Gemm(gemm) if gemm.trans_a => x.shape()[0],
        _ => columns(x.shape()),
    };
    terms as f32
}

fn only(results: Vec<Tensor>) -> Option<Tensor> {
    results.into_iter().next()
}

/// Bounds a sum or difference, which is exact.
pub(super) fn sum(operands: &[Operand<'_>]) -> Results {
    let [left, right] = operands else { return Ok(None) };
    let (Some(left_error), Some(right_error)) = (left.error, right.error) else { return Ok(None) };
    let (Some(a), Some(b)) = (left.reach(), right.reach()) else { return Ok(None) };
    let (own, errors) = (only(ADD.eval(&[&a, &b])?), only(ADD.eval(&[left_error, right_error])?));
    Ok(own.zip(errors).and_then(|(own, errors)| zip(&own, &errors, |y, e| e + F32 * y)).map(|b| vec![b]))
}

/// Bounds a product: `|a b - a' b'| <= (|a| + ea) eb + ea |b|`, and the product rounds.
pub(super) fn multiplication(operands: &[Operand<'_>], half: f32) -> Results {
    let [left, right] = operands else { return Ok(None) };
    let (Some(left_error), Some(right_error)) = (left.error, right.error) else { return Ok(None) };
    let (Some(a), Some(b)) = (left.reach(), right.reach()) else { return Ok(None) };
    let parts = [[&a, right_error], [left_error, &b], [&a, &b]];
    let [Some(first), Some(second), Some(own)] = parts.map(|part| MUL.eval(&part).ok().and_then(only)) else {
        return Ok(None);
    };
    let errors = zip(&first, &second, |a, b| a + b + half);
    Ok(errors.and_then(|errors| zip(&errors, &own, |e, y| e + F32 * y)).map(|bound| vec![bound]))
}

/// Bounds a normalization: a factor and an addend per channel, both rounded, as is the factor's
/// product with `x`. In `f32` it is a difference, which may cancel, times a factor, plus a bias.
pub(super) fn normalization(
    op: &BatchNormalization,
    operands: &[Operand<'_>],
    half: f32,
) -> Option<Vec<Tensor>> {
    let [x, parameters @ ..] = operands else { return None };
    let parameters: Vec<&[f32]> = parameters.iter().filter_map(|operand| operand.value.as_f32()).collect();
    let &[scale, bias, mean, var] = &parameters[..] else { return None };
    let channels = op.factors(scale, bias, mean, var).into_iter().zip(bias.iter().zip(mean));
    let channels = channels.map(|([factor, _], (bias, mean))| [factor.abs() as f32, bias.abs(), mean.abs()]);
    let channels: Vec<[f32; 3]> = channels.collect();
    let (values, errors) = (x.value.as_f32()?, x.error?.as_f32()?);
    let bound = |((&x, &e), &[factor, bias, mean]): ((&f32, &f32), &[f32; 3])| {
        let reach = x.abs() + e;
        reach * half + e * factor + 2.0 * half + 8.0 * F32 * ((reach + mean) * factor + bias)
    };
    let bounds = values.iter().zip(errors).zip(channels.iter().cycle()).map(bound).collect();
    Tensor::from_f32(x.value.shape().to_vec(), bounds).ok().map(|bound| vec![bound])
}
