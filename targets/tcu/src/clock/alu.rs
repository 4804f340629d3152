//! The ALUs of the accumulators: when they wait for input.
//!
//! They accept one operation per cycle and return its result two cycles later. The two-entry queue
//! after them never fills: an operation reaches the stage only when the result before the last one
//! has left.

use crate::config::Reading;
use crate::isa::op::SimdSub;

/// Whether the ALUs wait for input data: if a source is the input or, by the specification,
/// whenever a vector is read.
pub(super) const fn waits_for_input(sub: SimdSub, is_read: bool, reading: Reading) -> bool {
    match reading {
        Reading::Released => sub.takes_input(reading),
        Reading::Seed => is_read || sub.takes_input(reading),
    }
}
