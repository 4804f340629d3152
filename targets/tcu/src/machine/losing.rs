//! `Losing`: simulates hardware that loses writes to the accumulators.

use std::collections::VecDeque;

use crate::isa::op::Memory;
use crate::machine::Machine;

/// A write that hardware loses, because the first addition of a later instruction reads its vector
/// too early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostWrite {
    /// Index of the instruction whose last write is lost.
    pub first: usize,
    /// Index of the instruction whose first addition reads too early.
    pub second: usize,
    /// Address of the accumulator.
    pub address: u64,
}

/// Makes a functional machine lose writes.
///
/// A run writes each of its vectors once. Therefore only the first addition of an instruction can
/// read too early, and only the last write before it can be lost. The addition's old value is the
/// vector before that write.
#[derive(Clone)]
pub(crate) struct Losing<L> {
    /// All lost writes, in program order.
    lost: L,
    /// Index of the first lost write whose first instruction has not run yet.
    next: usize,
    /// Lost writes between their two instructions, with the vector before the first one.
    open: VecDeque<(LostWrite, Vec<i32>)>,
}

impl<L: AsRef<[LostWrite]>> Losing<L> {
    /// Creates the state for the writes `lost`, which must be in program order.
    pub(crate) const fn new(lost: L) -> Self {
        Self { lost, next: 0, open: VecDeque::new() }
    }

    /// Must be called before each instruction of a run.
    pub(crate) fn before(&mut self, machine: &mut Machine, instruction: usize) {
        let next = self.lost.as_ref().get(self.next).copied();
        if let Some(lost) = next.filter(|lost| lost.first == instruction) {
            self.next += 1;
            // Beyond the memory, the instruction itself faults and no second write can be lost.
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
