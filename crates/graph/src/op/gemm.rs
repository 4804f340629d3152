//! General matrix product.

use npukit_numeric::Tensor;

use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// `alpha * A' * B' + beta * C`. Operands: `a [m, k]`, `b [k, n]` (before transposition as the
/// flags say), optionally `c` broadcast to `[m, n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemm {
    /// Factor of the product.
    pub alpha: f32,
    /// Factor of `c`.
    pub beta: f32,
    /// `a` is stored transposed.
    pub trans_a: bool,
    /// `b` is stored transposed.
    pub trans_b: bool,
}

impl Operator for Gemm {
    fn name(&self) -> &'static str {
        "Gemm"
    }

    fn infer(&self, _inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        todo!()
    }

    fn eval(&self, _inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        todo!()
    }
}
