//! The ALUs of the accumulators: what they wait for.
//!
//! They take an operation a cycle and have its result two cycles later. The queue of two after them never
//! fills: an operation comes to the stage when the result before the last one has left.

use crate::op::{SimdOp, SimdSub};

/// Whether the ALUs wait for a datum. Hardware means to except unary operations on a register, but
/// its test for them is never true.
pub(super) fn needs_input(sub: SimdSub) -> bool {
    !matches!(sub.op, SimdOp::NoOp | SimdOp::Zero) && (sub.left == 0 || sub.right == 0)
}
