//! The ALUs of the accumulators: what they wait for.
//!
//! They take an operation a cycle and have its result two cycles later. The queue of two after them never
//! fills: an operation comes to the stage when the result before the last one has left.

use crate::config::Reading;
use crate::isa::op::SimdSub;

/// Whether the ALUs wait for a datum: where a source is the input, and by the page for whatever is read.
pub(super) const fn waits_for_input(sub: SimdSub, is_read: bool, reading: Reading) -> bool {
    match reading {
        Reading::Released => sub.takes_input(reading),
        Reading::Seed => is_read || sub.takes_input(reading),
    }
}
