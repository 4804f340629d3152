//! Accumulator writes that the released hardware loses:
//! [`LostWrite`](crate::machine::losing::LostWrite). DRAM writes that it moves are in `moved`.
//!
//! An addition reads the old value through the second port as soon as its command reaches the stage
//! of the accumulators. The preceding write may still be pending then. A lock makes the addition
//! wait for overwriting writes, but not for additions, and any write to the locked address releases
//! the lock. This gives two hazard patterns, over single-vector commands in the order of the
//! accumulators:
//!
//! 1. Two additions to one address: the second reads before the first has written, and the first is
//!    lost.
//! 2. A write, an overwriting write and an addition to one address: the first write releases the
//!    lock of the second. The addition reads the result of the first, and the second is lost.
//!
//! Whether a write is lost depends on timing. [`crate::clock`] computes the timing, and the
//! machine's `Losing` computes the hardware's results. [`Pending`] finds the writes that can be
//! pending at any timing, from the order of commands alone; the compiler and
//! [`mod@crate::check::validate`] use it. Source: measurements of both released designs
//! (`rtl_hazards*.json`), and the published hardware description.

mod judge;
mod moved;
mod pending;

pub use judge::{Judged, Verdict, hazards, judge, lost};
pub use moved::moved_writes;
pub use pending::{Hazard, Pattern, Pending};

use crate::isa::op::{Memory, Op};

/// Returns the first accumulator that an instruction writes; `None` if it writes none.
pub(crate) fn first_written(op: &Op) -> Option<u64> {
    op.flow().written(Memory::Accumulators).map(|run| run.address)
}
