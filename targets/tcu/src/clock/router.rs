//! Where the data of local memory's port A and of the accumulators go: [`Router`].

use super::queue::{Cycle, Pass, Slot};

/// Takes one instruction at a time and hands it to the selectors it concerns.
#[derive(Clone, Debug)]
pub(super) struct Router {
    /// Instructions.
    pub(super) instructions: Pass,
    free: Cycle,
    /// What local memory's data are for.
    pub(super) local_reads: Slot,
    /// Where the accumulators' data come from.
    pub(super) accumulator_writes: Pass,
    /// Where local memory's data come from.
    pub(super) local_writes: Slot,
}

impl Router {
    pub(super) fn new(queue_depth: usize) -> Self {
        Self {
            instructions: Pass::new(queue_depth),
            free: 0,
            local_reads: Slot::default(),
            accumulator_writes: Pass::new(queue_depth),
            local_writes: Slot::default(),
        }
    }

    /// When an instruction queued at `queued` is looked at.
    pub(super) fn reach(&self, queued: Cycle) -> Cycle {
        queued.max(self.free)
    }

    /// All selectors of the instruction have it.
    pub(super) fn finish(&mut self, at: Cycle) {
        self.instructions.leave(at);
        self.free = at + 1;
    }
}
