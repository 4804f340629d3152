//! The machine of hardware that loses writes to the accumulators: `Losing`.

use std::collections::VecDeque;

use crate::isa::op::Memory;
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
            if let Ok(old) = machine.read(Memory::Accumulators, lost.address, 1) {
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
