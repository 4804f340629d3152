//! Writes to the accumulators that the released hardware loses: [`LostWrite`]. Those to DRAM that it moves are in `moved`.
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
//! Whether a write is lost depends on when it happens. [`crate::clock`] knows, and `Losing` computes what hardware
//! does. [`Pending`] knows which writes can be on their way whatever the time, from the order of the commands alone;
//! the compiler and [`mod@crate::check::validate`] go by it. Source: measurements of both released designs
//! (`rtl_hazards*.json`), and the published hardware description.

mod judge;
mod moved;
mod pending;

pub use judge::{Judged, Verdict, hazards, judge, lost};
pub(crate) use moved::offset_changed;
pub use moved::{MovedWrites, moved_writes};
pub use pending::{Hazard, Pattern, Pending};

use std::collections::VecDeque;

use crate::isa::fault::Memory;
use crate::isa::op::Op;
use crate::machine::Machine;

/// A write that hardware loses: the first addition of an instruction after it reads its vector too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWrite {
    /// The instruction whose last write is lost.
    pub first: usize,
    /// The instruction whose first addition reads too early.
    pub second: usize,
    /// The accumulator.
    pub address: u64,
}

/// The first accumulator that an instruction writes, if it writes any.
pub(crate) fn first_written(op: &Op) -> Option<u64> {
    op.flow().written(Memory::Accumulators).map(|run| run.address)
}

/// Lets a functional machine lose writes.
///
/// A run writes each of its vectors once, so only the first addition of an instruction can read too early, and
/// only the last write before it can be lost: the addition's old value is the vector as it was before that write.
#[derive(Clone)]
pub(crate) struct Losing<L> {
    /// All of them.
    lost: L,
    /// The place of the first whose first instruction is still to come.
    next: usize,
    /// Those between their instructions, with the vector as it was before the first.
    open: VecDeque<(LostWrite, Vec<i32>)>,
}

impl<L: AsRef<[LostWrite]>> Losing<L> {
    /// Will lose `lost`, which are in the order of the program.
    pub(crate) const fn new(lost: L) -> Self {
        Self { lost, next: 0, open: VecDeque::new() }
    }

    /// To be called before each instruction of a run.
    pub(crate) fn before(&mut self, machine: &mut Machine, instruction: usize) {
        let next = self.lost.as_ref().get(self.next).copied();
        if let Some(lost) = next.filter(|lost| lost.first == instruction) {
            self.next += 1;
            // Beyond the memory the instruction itself is at fault, and there is no second write to lose.
            if let Ok(old) = machine.read_accumulators(lost.address, 1) {
                self.open.push_back((lost, old));
            }
        }
        if self.open.front().is_some_and(|(lost, _)| lost.second == instruction)
            && let Some((lost, old)) = self.open.pop_front()
        {
            let restored = machine.write(Memory::Accumulators, lost.address, &old);
            debug_assert!(restored.is_ok(), "the write before it was in range");
        }
    }
}
