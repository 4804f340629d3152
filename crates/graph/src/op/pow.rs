//! Powers, with NumPy broadcasting.

use npukit_numeric::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::broadcasting::{common_shape, spread};
use super::operands::{NUMBERS, Operands, build, infer_tensors, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// The first operand to the power of the second, which may have another numeric type, with NumPy
/// broadcasting. The result has the type of the first operand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pow;

impl Operator for Pow {
    fn name(&self) -> &'static str {
        "Pow"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let element = operands.element(0, "base", NUMBERS)?;
        operands.element(1, "exponent", NUMBERS)?;
        result(common_shape(self, &operands)?, element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let base = spread(tensor(self, inputs, 0)?, shape);
        let exponent = spread(tensor(self, inputs, 1)?, shape);
        if let Some(position) = zero_to_negative(&base, &exponent) {
            return Err(OpError::DivisionByZero { op: self.name(), position });
        }
        let data = match (base, exponent) {
            (TensorData::F32(x), y) => TensorData::F32(zip(&x, &as_floats(&y), power)),
            (TensorData::I64(x), TensorData::F32(y)) => TensorData::I64(zip(&x, &y, rounded)),
            (TensorData::I32(x), TensorData::F32(y)) => {
                TensorData::I32(zip(&x, &y, |x, y| rounded(x.into(), y) as i32))
            }
            (TensorData::I64(x), y) => TensorData::I64(zip(&x, &as_integers(&y), integer)),
            (TensorData::I32(x), y) => {
                TensorData::I32(zip(&x, &as_integers(&y), |x, y| integer(x.into(), y) as i32))
            }
            (truth @ TensorData::Bool(_), _) => truth,
        };
        Ok(vec![build(self, shape, data)?])
    }

    fn broadcasts(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

impl Pow {
    /// Returns the common value of a constant exponent tensor; `None` if elements differ or the
    /// tensor is empty.
    pub fn shared_exponent(exponents: &Tensor) -> Option<f32> {
        let all = as_floats(exponents.data());
        let (&first, others) = all.split_first()?;
        others.iter().all(|&x| x == first).then_some(first)
    }
}

fn zip<T: Copy, U: Copy>(base: &[T], exponent: &[U], function: impl Fn(T, U) -> T) -> Vec<T> {
    base.iter().zip(exponent).map(|(&base, &exponent)| function(base, exponent)).collect()
}

fn as_floats(data: &TensorData) -> Vec<f32> {
    match data {
        TensorData::F32(values) => values.clone(),
        TensorData::I64(values) => values.iter().map(|&value| value as f32).collect(),
        TensorData::I32(values) => values.iter().map(|&value| value as f32).collect(),
        TensorData::Bool(values) => values.iter().map(|&value| u8::from(value).into()).collect(),
    }
}

fn as_integers(data: &TensorData) -> Vec<i64> {
    match data {
        TensorData::F32(values) => values.iter().map(|&value| value as i64).collect(),
        TensorData::I64(values) => values.clone(),
        TensorData::I32(values) => values.iter().map(|&value| value.into()).collect(),
        TensorData::Bool(values) => values.iter().map(|&value| value.into()).collect(),
    }
}

/// Returns the position of the first integer 0 with a negative exponent, if there is one.
fn zero_to_negative(base: &TensorData, exponent: &TensorData) -> Option<usize> {
    let zeros: Vec<bool> = match base {
        TensorData::I64(values) => values.iter().map(|&value| value == 0).collect(),
        TensorData::I32(values) => values.iter().map(|&value| value == 0).collect(),
        TensorData::F32(_) | TensorData::Bool(_) => return None,
    };
    as_floats(exponent).iter().zip(zeros).position(|(&exponent, zero)| zero && exponent < 0.0)
}

/// A square, the most frequent power, is a single multiplication on every machine.
fn power(base: f32, exponent: f32) -> f32 {
    if exponent == 2.0 { base * base } else { base.powf(exponent) }
}

/// Returns an integer to a float power, truncated.
fn rounded(base: i64, exponent: f32) -> i64 {
    (base as f64).powf(exponent.into()) as i64
}

/// Returns an integer to an integer power, wrapping around. Negative powers are truncated: only
/// powers of 1 and -1 are nonzero.
fn integer(base: i64, exponent: i64) -> i64 {
    match (base, u64::try_from(exponent)) {
        (_, Ok(exponent)) => wrapping_power(base, exponent),
        (1 | -1, Err(_)) => wrapping_power(base, exponent.unsigned_abs()),
        (_, Err(_)) => 0,
    }
}

/// By repeated squaring, as exponents have 64 bits.
fn wrapping_power(mut base: i64, mut exponent: u64) -> i64 {
    let mut power = 1i64;
    while exponent > 0 {
        if exponent % 2 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent /= 2;
    }
    power
}
