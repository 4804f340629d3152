//! Bits moved from the operand of a product to its weights: [`lent`].
//!
//! Sums use the whole range of a number format, and become operands of the next layer. If an
//! operand uses all bits, the weights use few, as a sum of many products must fit. Rounding errors
//! are equal, so a product is as precise as its smaller factor. A multiplication by a power of two
//! therefore scales the operand down, and the weights up by the same factor.

use super::Limits;
use super::floor_log2;
use super::ranges::{Magnitude, Ranges};
use crate::ir::{Graph, Node};
use crate::op::Op;

/// Smallest number of bits that is worth a multiplication.
const WORTHWHILE: i32 = 2;

/// Returns the number of bits by which to scale down the operand `x` of a product with constants,
/// for given exponents of operand and result. 0 unless the operator sums many products.
pub(super) fn lent(
    graph: &Graph,
    node: &Node,
    x: usize,
    [from, to]: [i32; 2],
    ranges: &Ranges,
    limits: &Limits,
) -> i32 {
    if !matches!(node.op, Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::MatMul(_)) {
        return 0;
    }
    let Some(weights) = node.inputs.get(1 - x.min(1)).and_then(|&id| graph.constant(id)) else { return 0 };
    let weights = Magnitude::of(weights);
    let stored = |size: f64, exponent: i32| size * f64::from(-exponent).exp2();
    let operand = stored(ranges.root_mean_square(node.inputs[x]), from);
    let factor = stored(weights.root_mean_square(), to - from);
    if operand == 0.0 || factor == 0.0 {
        return 0;
    }
    let room = floor_log2(limits.largest, stored(weights.largest(), to - from));
    // Default: weights that are all zero fit at any scale.
    let bits = ((operand / factor).log2() / 2.0).round().min(f64::from(room.unwrap_or(0))) as i32;
    if bits < WORTHWHILE { 0 } else { bits }
}
