//! Bits that the operand of a product lends to its weights: [`lent`].
//!
//! Sums fill a number format, and are of the next layer's operand. Beside an operand that takes all bits, weights take
//! few, as a sum of many products is to fit: with rounding errors alike, a product is as precise as the smaller of its
//! factors. A multiplication by a power of two makes the operand smaller before it, and the weights larger by as much.

use super::Limits;
use super::floor_log2;
use super::ranges::{Magnitude, Ranges};
use crate::ir::{Graph, Node};
use crate::op::Op;

/// Fewer bits are not worth a multiplication.
const WORTHWHILE: i32 = 2;

/// How many bits the operand `x` of a product with constants is to be made smaller by, where operand and result have
/// these exponents: 0 unless it sums many products.
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
    // Default: weights of any size fit when they are all zero.
    let bits = ((operand / factor).log2() / 2.0).round().min(f64::from(room.unwrap_or(0))) as i32;
    if bits < WORTHWHILE { 0 } else { bits }
}
