//! Element-wise operators of two operands, with NumPy broadcasting.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

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
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// Which operator.
    pub kind: BinaryKind,
}

impl Operator for Binary {
    fn name(&self) -> &'static str {
        "Binary"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
