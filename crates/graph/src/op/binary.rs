//! Element-wise operators of two operands, with NumPy broadcasting.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::operands::{NUMBERS, Operands, build, infer_tensors, map_data, result, tensor};
use super::{Op, OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::{broadcast, broadcast_strides, gather_strided};

/// Which operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryKind {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient; integers truncate towards zero.
    Div,
}

/// Combines two operands element by element, with NumPy broadcasting.
#[derive(Clone, PartialEq)]
pub struct Binary {
    /// Which operator.
    pub kind: BinaryKind,
}

/// The name says all: `Add`.
impl std::fmt::Debug for Binary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Operator for Binary {
    fn name(&self) -> &'static str {
        match self.kind {
            BinaryKind::Add => "Add",
            BinaryKind::Sub => "Sub",
            BinaryKind::Mul => "Mul",
            BinaryKind::Div => "Div",
        }
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let element = operands.element(0, "first operand", NUMBERS)?;
        operands.element(1, "second operand", &[element])?;
        let (left, right) = (operands.shape(0), operands.shape(1));
        let shape = broadcast(left, right).ok_or_else(|| OpError::Shapes {
            op: self.name(),
            left: left.to_vec(),
            right: right.to_vec(),
        })?;
        result(shape, element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = &infos[0].shape;
        let (left, right) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?);
        let spread = |tensor: &Tensor| spread(tensor, shape);
        let data = match (spread(left), spread(right)) {
            (TensorData::F32(l), TensorData::F32(r)) => TensorData::F32(self.floats(&l, &r)),
            (TensorData::I64(l), TensorData::I64(r)) => TensorData::I64(self.integers(&l, &r, &I64)?),
            (TensorData::I32(l), TensorData::I32(r)) => TensorData::I32(self.integers(&l, &r, &I32)?),
            (_, data) => {
                let (found, legal) = (data_type(&data), NUMBERS.to_vec());
                return Err(OpError::ElementType { op: self.name(), operand: "operands", found, legal });
            }
        };
        Ok(vec![build(self, shape, data)?])
    }

    fn permuted(&self, _perm: &[usize]) -> Option<Op> {
        Some(self.clone().into())
    }
}

impl Binary {
    fn floats(&self, left: &[f32], right: &[f32]) -> Vec<f32> {
        let pairs = left.iter().zip(right);
        match self.kind {
            BinaryKind::Add => pairs.map(|(l, r)| l + r).collect(),
            BinaryKind::Sub => pairs.map(|(l, r)| l - r).collect(),
            BinaryKind::Mul => pairs.map(|(l, r)| l * r).collect(),
            BinaryKind::Div => pairs.map(|(l, r)| l / r).collect(),
        }
    }

    fn integers<T: Copy>(&self, left: &[T], right: &[T], with: &Integers<T>) -> Result<Vec<T>, OpError> {
        let pairs = left.iter().zip(right).map(|(&l, &r)| (l, r));
        let apply = |function: fn(T, T) -> T| pairs.clone().map(|(l, r)| function(l, r)).collect();
        Ok(match self.kind {
            BinaryKind::Add => apply(with.add),
            BinaryKind::Sub => apply(with.sub),
            BinaryKind::Mul => apply(with.mul),
            BinaryKind::Div => {
                let quotient = |(position, (l, r))| {
                    (with.div)(l, r).ok_or(OpError::DivisionByZero { op: self.name(), position })
                };
                pairs.enumerate().map(quotient).collect::<Result<_, _>>()?
            }
        })
    }
}

/// The arithmetic of an integer type: it wraps around.
struct Integers<T> {
    add: fn(T, T) -> T,
    sub: fn(T, T) -> T,
    mul: fn(T, T) -> T,
    div: fn(T, T) -> Option<T>,
}

const I64: Integers<i64> = Integers {
    add: i64::wrapping_add,
    sub: i64::wrapping_sub,
    mul: i64::wrapping_mul,
    div: |l, r| if r == 0 { None } else { Some(l.wrapping_div(r)) },
};

const I32: Integers<i32> = Integers {
    add: i32::wrapping_add,
    sub: i32::wrapping_sub,
    mul: i32::wrapping_mul,
    div: |l, r| if r == 0 { None } else { Some(l.wrapping_div(r)) },
};

/// The elements repeated to `shape`.
fn spread(tensor: &Tensor, shape: &[usize]) -> TensorData {
    if tensor.shape() == shape {
        return tensor.data().clone();
    }
    let strides = broadcast_strides(tensor.shape(), shape);
    map_data!(tensor.data(), values => gather_strided(values, 0, shape, &strides))
}

fn data_type(data: &TensorData) -> ElementType {
    match data {
        TensorData::F32(_) => ElementType::F32,
        TensorData::I64(_) => ElementType::I64,
        TensorData::I32(_) => ElementType::I32,
        TensorData::Bool(_) => ElementType::Bool,
    }
}
