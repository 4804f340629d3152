//! Elementwise operators of one or more operands.

use npukit_numeric::Element;

use super::{FieldTensor, NoImage, Operands, key};
use crate::op::{BinaryKind, Clip, Op, Pow, UnaryKind};
use crate::shape::{broadcast, broadcast_strides, gather_strided};

/// Largest exponent for which a power is computed as a product.
const MOST: usize = 8;

/// Returns the results of an elementwise operator; `None` for any other operator.
pub(super) fn apply(op: &Op, operands: &Operands<'_>) -> Option<Result<Vec<FieldTensor>, NoImage>> {
    let result = match op {
        Op::Binary(binary) => binary_of(binary.kind, operands),
        Op::Relu(_) => map(operands, |x| Ok(x.max(Element::ZERO))),
        Op::LeakyRelu(leaky) => operands.constant(leaky.alpha).and_then(|slope| {
            let is_below = leaky.alpha <= 1.0;
            map(operands, |x| Ok(sloped(x, slope, is_below)))
        }),
        Op::PRelu(_) => prelu(operands),
        Op::Clip(clip) => clipped(clip, operands),
        Op::BatchNormalization(_) => normalized(op, operands),
        Op::Unary(unary) => match unary.kind {
            UnaryKind::Neg => map(operands, |x| Ok(-x)),
            UnaryKind::Abs => map(operands, |x| Ok(x.abs())),
            UnaryKind::HardSigmoid { alpha, beta } => {
                hard_sigmoid(operands, alpha, beta, |limited, _| limited)
            }
            UnaryKind::HardSwish => hard_sigmoid(operands, 1.0 / 6.0, 0.5, |limited, x| limited * x),
            UnaryKind::ThresholdedRelu { alpha } => operands.constant(alpha).and_then(|alpha| {
                map(operands, |x| Ok(if x.order(alpha).is_gt() { x } else { Element::ZERO }))
            }),
            _ => operands.field(0).and_then(|x| {
                let elements = operands.images.function(op, &x.elements)?;
                Ok(FieldTensor { shape: x.shape.clone(), elements })
            }),
        },
        Op::Pow(_) => power(op, operands),
        _ => return None,
    };
    Some(result.map(|tensor| vec![tensor]))
}

/// Applies `then` to `min(max(alpha x + beta, 0), 1)` and `x`.
fn hard_sigmoid(
    operands: &Operands<'_>,
    alpha: f32,
    beta: f32,
    then: impl Fn(Element, Element) -> Element,
) -> Result<FieldTensor, NoImage> {
    let (alpha, beta, one) = (operands.constant(alpha)?, operands.constant(beta)?, operands.constant(1.0)?);
    map(operands, |x| Ok(then((alpha * x + beta).max(Element::ZERO).min(one), x)))
}

/// Computes a power: a product if all elements share a small integer exponent, otherwise an
/// uninterpreted function.
fn power(op: &Op, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let exponents = operands.get(1)?.tensor().ok_or(NoImage::Variable)?;
    let exponent = Pow::shared_exponent(exponents).ok_or(NoImage::Operator)?;
    match (1..=MOST).find(|&whole| exponent == whole as f32) {
        Some(whole) => map(operands, |x| Ok((1..whole).fold(x, |power, _| power * x))),
        None => {
            let x = operands.field(0)?;
            // Checks whether these images allow the function at all.
            operands.images.function(op, &x.elements)?;
            let key = key(&format!("{op} {exponent}"));
            map(operands, |x| Ok(Element::hashed(key, [x])))
        }
    }
}

fn map(
    operands: &Operands<'_>,
    function: impl Fn(Element) -> Result<Element, NoImage>,
) -> Result<FieldTensor, NoImage> {
    let operand = operands.field(0)?;
    let elements = operand.elements.iter().map(|&x| function(x)).collect::<Result<_, _>>()?;
    Ok(FieldTensor { shape: operand.shape.clone(), elements })
}

/// Returns the elements broadcast to `shape`.
pub(super) fn spread(tensor: &FieldTensor, shape: &[usize]) -> Vec<Element> {
    gather_strided(&tensor.elements, 0, shape, &broadcast_strides(&tensor.shape, shape))
}

fn zip(
    left: &FieldTensor,
    right: &FieldTensor,
    function: impl Fn(Element, Element) -> Element,
) -> Result<FieldTensor, NoImage> {
    let shape = broadcast(&left.shape, &right.shape).ok_or(NoImage::Operator)?;
    let pairs = spread(left, &shape).into_iter().zip(spread(right, &shape));
    Ok(FieldTensor { elements: pairs.map(|(l, r)| function(l, r)).collect(), shape })
}

fn binary_of(kind: BinaryKind, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let left = operands.field(0)?;
    if kind == BinaryKind::Div {
        // A machine stores the reciprocal of a constant.
        let divisors = operands.get(1)?.tensor().ok_or(NoImage::Variable)?;
        let numbers = divisors.as_f32().ok_or(NoImage::Element)?;
        let factors = numbers.iter().map(|&divisor| operands.constant(1.0 / divisor));
        let factors =
            FieldTensor { shape: divisors.shape().to_vec(), elements: factors.collect::<Result<_, _>>()? };
        return zip(&left, &factors, |l, r| l * r);
    }
    let function = match kind {
        BinaryKind::Add => |l, r| l + r,
        BinaryKind::Sub => |l, r| l - r,
        BinaryKind::Mul => |l, r| l * r,
        BinaryKind::Max => Element::max,
        BinaryKind::Min => Element::min,
        BinaryKind::Div | BinaryKind::Mod | BinaryKind::Fmod => return Err(NoImage::Operator),
    };
    zip(&left, &*operands.field(1)?, function)
}

/// Computes `max(x, slope x)` if slopes are at most 1, otherwise `min(x, slope x)`, as machines
/// without branches do.
fn sloped(x: Element, slope: Element, is_below: bool) -> Element {
    if is_below { x.max(slope * x) } else { x.min(slope * x) }
}

/// Like [`sloped`] if all slopes are on one side of 1; otherwise `x + (slope - 1) min(x, 0)`.
fn prelu(operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let slopes = operands.get(1)?.tensor().ok_or(NoImage::Variable)?;
    let numbers = slopes.as_f32().ok_or(NoImage::Element)?;
    let [below, above] =
        [numbers.iter().all(|&slope| slope <= 1.0), numbers.iter().all(|&slope| slope >= 1.0)];
    let x = operands.field(0)?;
    if below || above {
        return zip(&x, &*operands.field(1)?, |x, slope| sloped(x, slope, below));
    }
    let less = numbers.iter().map(|slope| operands.constant(slope - 1.0)).collect::<Result<_, _>>()?;
    let less = FieldTensor { shape: slopes.shape().to_vec(), elements: less };
    zip(&x, &less, |x, less| x + less * x.min(Element::ZERO))
}

fn clipped(clip: &Clip, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let bound = |bound: f32| if bound.is_finite() { operands.constant(bound).map(Some) } else { Ok(None) };
    let (least, most) = (bound(clip.min)?, bound(clip.max)?);
    map(operands, |x| {
        let raised = least.map_or(x, |least| x.max(least));
        Ok(most.map_or(raised, |most| raised.min(most)))
    })
}

/// Applies a factor and an addend per channel.
fn normalized(op: &Op, operands: &Operands<'_>) -> Result<FieldTensor, NoImage> {
    let Op::BatchNormalization(op) = op else { return Err(NoImage::Operator) };
    let parameter =
        |index| operands.get(index)?.tensor().and_then(|tensor| tensor.as_f32()).ok_or(NoImage::Variable);
    let factors = op.factors(parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
    let part = |part: usize| {
        let elements =
            factors.iter().map(|pair| operands.constant(pair[part] as f32)).collect::<Result<_, _>>()?;
        Ok(FieldTensor { shape: vec![factors.len()], elements })
    };
    let scaled = zip(&*operands.field(0)?, &part(0)?, |x, factor| x * factor)?;
    zip(&scaled, &part(1)?, |x, addend| x + addend)
}
