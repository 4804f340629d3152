//! Quantized operators on integers: [`QLinear`].
//!
//! The ONNX standard leaves the order of the float operations open. This is the order of ONNX
//! Runtime 1.31 on x86-64 with AVX2 and FMA, determined from all 65,536 pairs of bytes over random
//! scales (`tests/python/quantized.py`).

mod sums;

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::spread;
use super::operands::{Operands, as_value, build, infer_tensors, tensor};
use super::{AveragePool, BinaryKind, Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use sums::{Integers, sums};

/// An operator on the real numbers `(q - zero point) * scale`, computed on the 8-bit integers `q`.
///
/// Operands: `q`, `scale` and `zero point` for each operand of `op` except a bias; the bias, an i32
/// with the scale of the products; `scale` and `zero point` of the result. A single scale applies
/// to all elements; weights may have one scale per element of their last axis. All scales are f32,
/// and zero points have the type of `q`.
///
/// - Conv, Gemm, MatMul and AveragePool of a whole image sum `q - zero point` exactly, in wrapping
///   32-bit integers. The sum as f32 times the scales' quotient (an f32) is rounded to an integer,
///   ties to even, before the zero point is added.
/// - Mul: the product as f32 times the quotient, plus the zero point in f32, then rounded.
/// - AveragePool of smaller windows: the mean of `(q - zero point) * scale` in f32, divided by the
///   result's scale, plus the zero point in f32, then rounded.
/// - AveragePool with the same scale and zero point on both sides that rounds ties away from 0: the
///   mean of `q`, rounded that way.
/// - Add: `fma(a, sa / sy, fma(b, sb / sy, zy - fma(sa / sy, za, sb / sy * zb)))` in f32, then
///   rounded.
///
/// Without the last two operands, Conv and MatMul return the sums, as i32.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct QLinear {
    /// Operator: Conv, Gemm (`beta` 1), MatMul, Add, Mul or AveragePool.
    pub op: Box<Op>,
    /// Type of the result: i8 or u8; i32 for sums.
    pub to: ElementType,
    /// Whether AveragePool rounds ties away from 0.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub away: bool,
}

/// Omits attributes that most networks do not use.
impl std::fmt::Debug for QLinear {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = f.debug_struct(self.name());
        text.field("op", &self.op).field("to", &self.to);
        if self.away {
            text.field("away", &self.away);
        }
        text.finish()
    }
}

const BYTES: &[ElementType] = &[ElementType::I8, ElementType::U8];

impl QLinear {
    /// Returns the number of operands with scales; `None` for an operator that cannot be quantized.
    pub fn scaled_operands(op: &Op) -> Option<usize> {
        match op {
            Op::Conv(_) | Op::MatMul(_) => Some(2),
            Op::Gemm(gemm) if gemm.beta == 1.0 => Some(2),
            Op::Binary(binary) if matches!(binary.kind, BinaryKind::Add | BinaryKind::Mul) => Some(2),
            Op::AveragePool(_) => Some(1),
            _ => None,
        }
    }

    fn scaled(&self) -> Result<usize, OpError> {
        Self::scaled_operands(&self.op).ok_or_else(|| OpError::Attribute {
            op: self.name(),
            attribute: "op",
            found: self.op.to_string(),
            legal: "Conv, Gemm with beta 1, MatMul, Add, Mul or AveragePool",
        })
    }

    /// Returns the number of columns of weights, which may have separate scales.
    fn columns(&self, weights: &[usize]) -> Option<usize> {
        match (&*self.op, weights) {
            (Op::Binary(_), _) => None,
            (Op::Gemm(gemm), _) if gemm.trans_b => None,
            (_, [_, .., columns]) => Some(*columns),
            _ => None,
        }
    }

    /// Whether the last two operands are the scale and the zero point of the result.
    fn is_rounded(&self) -> bool {
        self.to != ElementType::I32
    }

    /// Whether there is a bias among `count` operands.
    fn has_bias(&self, count: usize) -> Result<bool, OpError> {
        let least = 3 * self.scaled()? + if self.is_rounded() { 2 } else { 0 };
        let biased = matches!(*self.op, Op::Conv(_) | Op::Gemm(_));
        let most = least + usize::from(biased);
        if (least..=most).contains(&count) {
            return Ok(count > least);
        }
        Err(OpError::OperandCount { op: self.name(), least, most, found: count })
    }
}

impl Operator for QLinear {
    fn name(&self) -> &'static str {
        "QLinear"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let (scaled, bias) = (self.scaled()?, self.has_bias(inputs.len())?);
        let operands = Operands::new(self, inputs, 0, inputs.len())?;
        if self.is_rounded() && !BYTES.contains(&self.to) {
            let (op, found, legal) = (self.name(), self.to, [BYTES, &[ElementType::I32]].concat());
            return Err(OpError::ElementType { op, operand: "result", found, legal });
        }
        let mut reals = Vec::new();
        for i in 0..scaled {
            let element = operands.element(3 * i, "integers", BYTES)?;
            operands.element(3 * i + 1, "scale", &[ElementType::F32])?;
            operands.element(3 * i + 2, "zero point", &[element])?;
            for place in [3 * i + 1, 3 * i + 2] {
                let count: usize = operands.shape(place).iter().product();
                if i == 0 || count != 1 && self.columns(operands.shape(3 * i)) != Some(count) {
                    operands.size("number of scales or zero points", 1, count)?;
                }
            }
            reals.push(real(operands.shape(3 * i)));
        }
        if bias {
            operands.element(3 * scaled, "bias", &[ElementType::I32])?;
            reals.push(real(operands.shape(3 * scaled)));
        }
        if self.is_rounded() {
            let place = inputs.len() - 2;
            operands.element(place, "scale of the result", &[ElementType::F32])?;
            operands.element(place + 1, "zero point of the result", &[self.to])?;
            for place in [place, place + 1] {
                operands.size(
                    "number of scales or zero points",
                    1,
                    operands.shape(place).iter().product(),
                )?;
            }
        }
        let results = self.op.infer(&reals.iter().collect::<Vec<_>>())?;
        let result = results.first().map(|info| info.shape.clone());
        if let (true, Some([.., columns])) = (bias, result.as_deref()) {
            // One per column of the result, or one per element.
            let shape = operands.shape(3 * scaled);
            let last =
                shape.last().copied().filter(|&last| last != 1 || shape.iter().product::<usize>() != 1);
            operands.size("length of the bias", *columns, last.unwrap_or(*columns))?;
        }
        Ok(results.into_iter().map(|info| ValueInfo { element: self.to, ..info }).collect())
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let scaled = self.scaled()?;
        let bias = self.has_bias(inputs.len())?.then(|| integers(self, inputs, 3 * scaled)).transpose()?;
        let operands =
            (0..scaled).map(|i| Integers::new(self, inputs, 3 * i)).collect::<Result<Vec<_>, _>>()?;
        let shape = &infos[0].shape;
        let data = match &*self.op {
            Op::Binary(binary) => {
                let result = Scale::at(self, inputs, inputs.len() - 2)?;
                self.pointwise(binary.kind, &operands, &result, shape)?
            }
            Op::AveragePool(pool) if self.away => {
                let result = Scale::at(self, inputs, inputs.len() - 2)?;
                self.means(pool, &operands[0], &result)?
            }
            Op::AveragePool(pool) if !is_global(pool, operands[0].tensor.shape()) => {
                let result = Scale::at(self, inputs, inputs.len() - 2)?;
                self.averages(pool, &operands[0], &result)?
            }
            op => {
                let mut sums = sums(self, op, &operands, shape)?;
                if let Some(bias) = bias {
                    let columns = bias.len().max(1);
                    sums.iter_mut()
                        .enumerate()
                        .for_each(|(i, sum)| *sum = sum.wrapping_add(bias[i % columns]));
                }
                match self.is_rounded() {
                    true => {
                        self.requantized(op, &sums, &operands, &Scale::at(self, inputs, inputs.len() - 2)?)
                    }
                    false => sums,
                }
            }
        };
        Ok(vec![build(self, shape, TensorData::I32(data))?])
    }
}

/// Whether the only window is the whole image of `[n, h, w, c]`.
fn is_global(pool: &AveragePool, shape: &[usize]) -> bool {
    pool.window.pads == [0; 4] && pool.window.dilations == [1; 2] && pool.window.kernel[..] == shape[1..3]
}

/// Returns a float value of that shape, for the inference of the float operator.
fn real(shape: &[usize]) -> Value {
    let info = ValueInfo { shape: shape.to_vec(), element: ElementType::F32 };
    Value { name: String::new(), info, constant: None }
}

/// Returns the integers of operand `i`.
fn integers<'a>(op: &dyn Operator, inputs: &[&'a Tensor], i: usize) -> Result<&'a [i32], OpError> {
    let tensor = tensor(op, inputs, i)?;
    match tensor.data() {
        TensorData::I32(values) => Ok(values),
        _ => Err(OpError::ElementType {
            op: op.name(),
            operand: "integers",
            found: as_value(tensor).info.element,
            legal: [BYTES, &[ElementType::I32]].concat(),
        }),
    }
}

/// One scale and its zero point.
struct Scale {
    scale: f32,
    zero: i32,
}

impl Scale {
    fn at(op: &dyn Operator, inputs: &[&Tensor], place: usize) -> Result<Self, OpError> {
        let count =
            OpError::OperandCount { op: op.name(), least: place + 2, most: usize::MAX, found: inputs.len() };
        let scale = tensor(op, inputs, place)?.as_f32().and_then(|scales| scales.first().copied());
        let zero = integers(op, inputs, place + 1)?.first().copied();
        scale.zip(zero).map(|(scale, zero)| Self { scale, zero }).ok_or(count)
    }
}

impl QLinear {
    /// Saturates a whole number to the result's type.
    fn saturated(&self, whole: f64) -> i32 {
        let (least, largest) = if self.to == ElementType::I8 { (-128.0, 127.0) } else { (0.0, 255.0) };
        whole.clamp(least, largest) as i32
    }

    /// Converts sums, with columns in the last axis, to integers of the result's type.
    fn requantized(&self, op: &Op, sums: &[i32], operands: &[Integers<'_>], result: &Scale) -> Vec<i32> {
        let scale = operands[0].scale(0);
        // Each quotient as in ONNX Runtime, rounded to f32 after each step.
        let factor = |column: usize| match op {
            Op::AveragePool(pool) => {
                scale / (result.scale * (pool.window.kernel[0] * pool.window.kernel[1]) as f32)
            }
            Op::Gemm(gemm) => gemm.alpha * scale * operands[1].scale(column) / result.scale,
            _ => scale * operands[1].scale(column) / result.scale,
        };
        let columns = operands.get(1).map_or(1, Integers::scales);
        let factors: Vec<f32> = (0..columns).map(factor).collect();
        let rounded = |(i, &sum): (usize, &i32)| {
            let whole = (sum as f32 * factors[i % columns]).round_ties_even();
            self.saturated(f64::from(whole) + f64::from(result.zero))
        };
        sums.iter().enumerate().map(rounded).collect()
    }

    /// Returns the means of windows of integers with ties away from 0, as in TensorFlow Lite. If
    /// the result has another scale, the means are taken over the real numbers.
    fn means(&self, pool: &AveragePool, x: &Integers<'_>, result: &Scale) -> Result<Vec<i32>, OpError> {
        let is_same = (x.scale(0), x.zero(0)) == (result.scale, result.zero);
        let numbers = if is_same { x.numbers() } else { x.reals() };
        let numbers = build(self, x.tensor.shape(), TensorData::F32(numbers))?;
        let means = pool.eval(&[&numbers])?;
        let means = means.first().and_then(|means| means.as_f32()).unwrap_or_default();
        let place = |&mean: &f32| match is_same {
            true => f64::from(mean),
            false => f64::from(mean / result.scale) + f64::from(result.zero),
        };
        Ok(means.iter().map(|mean| self.saturated(place(mean).round())).collect())
    }

    /// Returns the means of windows, which ONNX Runtime computes in floats.
    fn averages(&self, pool: &AveragePool, x: &Integers<'_>, result: &Scale) -> Result<Vec<i32>, OpError> {
        let reals = x.reals();
        let real = build(self, x.tensor.shape(), TensorData::F32(reals))?;
        let means = pool.eval(&[&real])?;
        let means = means.first().and_then(|means| means.as_f32()).unwrap_or_default();
        let rounded = |&mean: &f32| {
            let place = mean / result.scale + result.zero as f32;
            self.saturated(f64::from(place.round_ties_even()))
        };
        Ok(means.iter().map(rounded).collect())
    }

    /// Computes Add and Mul.
    fn pointwise(
        &self,
        kind: BinaryKind,
        operands: &[Integers<'_>],
        result: &Scale,
        shape: &[usize],
    ) -> Result<Vec<i32>, OpError> {
        let [a, b] = operands else {
            return Err(OpError::OperandCount {
                op: self.name(),
                least: 8,
                most: 8,
                found: 3 * operands.len() + 2,
            });
        };
        let spread = |integers: &Integers<'_>| match spread(integers.tensor, shape) {
            TensorData::I32(values) => values,
            // Inference ensures bytes, which are stored as i32.
            _ => unreachable!("bytes are stored as i32"),
        };
        let pairs = spread(a).into_iter().zip(spread(b));
        let (sa, sb, zero) = (a.scale(0), b.scale(0), result.zero as f32);
        let (za, zb) = (a.zero(0), b.zero(0));
        let rounded = |real: f32| self.saturated(f64::from(real.round_ties_even()));
        Ok(match kind {
            BinaryKind::Mul => {
                let factor = sa * sb / result.scale;
                pairs.map(|(a, b)| rounded(((a - za) * (b - zb)) as f32 * factor + zero)).collect()
            }
            _ => {
                let (of_a, of_b) = (sa / result.scale, sb / result.scale);
                let fixed = zero - of_a.mul_add(za as f32, of_b * zb as f32);
                pairs
                    .map(|(a, b)| rounded((a as f32).mul_add(of_a, (b as f32).mul_add(of_b, fixed))))
                    .collect()
            }
        })
    }
}
