//! Conversion of the element type.

use npukit_numeric::{ElementType, Rounding, Storage, Tensor, TensorData, encode_power_of_two};
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build, infer_tensors, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Converts to another element type; the shape stays.
///
/// Floats are truncated. A float that does not fit 64 bits (32 for types stored so) becomes the
/// nearest value that does; the standard leaves this undefined. Integers that the type cannot hold
/// lose their upper bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cast {
    /// Element type of the result.
    pub to: ElementType,
    /// Whether floats beyond the range of an 8-bit type become its last value, instead of infinity
    /// or NaN.
    pub saturate: bool,
    /// Rounding of floats to powers of two ([`ElementType::F8E8M0`]).
    pub rounding: Rounding,
}

impl Cast {
    /// Creates a conversion to `to` with the standard's defaults: saturating, with powers of two
    /// rounded up.
    pub fn new(to: ElementType) -> Self {
        Self { to, saturate: true, rounding: Rounding::Up }
    }
}

impl Operator for Cast {
    fn name(&self) -> &'static str {
        "Cast"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        Ok(vec![ValueInfo { shape: operands.shape(0).to_vec(), element: self.to }])
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        infer_tensors(self, inputs)?;
        let operand = tensor(self, inputs, 0)?;
        let mut data = held_as(operand.data(), self.to.storage());
        if let TensorData::F32(values) = &mut data {
            values.iter_mut().for_each(|value| *value = round(*value, self));
        }
        Ok(vec![build(self, operand.shape(), data)?])
    }

    fn is_pointwise(&self) -> bool {
        true
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

/// Rounds a float to the target type of `cast`.
pub(super) fn round(value: f32, cast: &Cast) -> f32 {
    match (cast.to, cast.to.small_float()) {
        (ElementType::F8E8M0, Some(format)) => {
            format.decode(encode_power_of_two(value, cast.saturate, cast.rounding).into())
        }
        // The attribute applies only to 8-bit types.
        (to, Some(format)) => format.round(value, cast.saturate && to.bits() <= 8),
        (_, None) => value,
    }
}

/// Converts the elements to another storage type.
fn held_as(data: &TensorData, storage: Storage) -> TensorData {
    match data {
        TensorData::F32(x) => convert(x, storage, |x| x, |x| x as i64, |x| x as i32, |x| x != 0.0),
        TensorData::I64(x) => convert(x, storage, |x| x as f32, |x| x, |x| x as i32, |x| x != 0),
        TensorData::I32(x) => convert(x, storage, |x| x as f32, i64::from, |x| x, |x| x != 0),
        TensorData::Bool(x) => convert(x, storage, |x| f32::from(u8::from(x)), i64::from, i32::from, |x| x),
    }
}

fn convert<T: Copy>(
    values: &[T],
    storage: Storage,
    to_f32: impl Fn(T) -> f32,
    to_i64: impl Fn(T) -> i64,
    to_i32: impl Fn(T) -> i32,
    to_bool: impl Fn(T) -> bool,
) -> TensorData {
    let values = values.iter().copied();
    match storage {
        Storage::F32 => TensorData::F32(values.map(to_f32).collect()),
        Storage::I64 => TensorData::I64(values.map(to_i64).collect()),
        Storage::I32 => TensorData::I32(values.map(to_i32).collect()),
        Storage::Bool => TensorData::Bool(values.map(to_bool).collect()),
    }
}
