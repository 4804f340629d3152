//! Writes to the accumulators that the released hardware loses: [`LostWrite`](crate::machine::losing::LostWrite). Those to DRAM that it moves are in `moved`.
//!
//! An addition reads the old value through the second port as soon as its command reaches the stage of the
//! accumulators, when the write before it may still be on its way. A lock makes it wait for overwriting
//! writes, but not for additions, and any write to the locked address gives the lock up. So there are two
//! patterns, over the commands for single vectors in the order of the accumulators:
//!
//! 1. two additions to one address: the second reads what the first was to change, and the first is lost;
//! 2. a write, an overwriting write and an addition to one address: the first gives up the lock of the second,
//!    the addition reads what the first has left, and the second is lost.
//!
//! Whether a write is lost depends on when it happens. [`crate::clock`] knows, and the machine's `Losing` computes what
//! hardware does. [`Pending`] knows which writes can be on their way whatever the time, from the order of the commands alone;
//! the compiler and [`mod@crate::check::validate`] go by it. Source: measurements of both released designs
//! (`rtl_hazards*.json`), and the published hardware description.

mod judge;
mod moved;
mod pending;

pub use judge::{Judged, Verdict, hazards, judge, lost};
pub use moved::moved_writes;
pub use pending::{Hazard, Pattern, Pending};

use crate::isa::op::{Memory, Op};

/// The first accumulator that an instruction writes, if it writes any.
pub(crate) fn first_written(op: &Op) -> Option<u64> {
    op.flow().written(Memory::Accumulators).map(|run| run.address)
}
