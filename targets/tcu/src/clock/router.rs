//! Where the data of local memory's port A and of the accumulators go: [`Router`].

use super::queue::{Cycle, Pass, Slot};
use super::watch::Watch;

/// Takes one instruction at a time and hands it to the selectors it concerns.
#[derive(Clone, Debug)]
pub(super) struct Router {
    instructions: Pass,
    free: Cycle,
    /// What local memory's data are for.
    local_reads: Slot,
    /// Where the accumulators' data come from.
    accumulator_writes: Pass,
    /// Where local memory's data come from.
    local_writes: Slot,
    /// What the last instruction uses.
    reads: bool,
    to: To,
    /// From when on there is room for another instruction like the one the decoder holds.
    again: Cycle,
    /// Of the queue before the router.
    watch: Watch,
}

/// Where an instruction's data end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Array,
    Accumulators,
    Local,
}

/// When the parts of an instruction are in place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routed {
    /// The decoder is rid of it.
    pub(super) queued: Cycle,
    /// Data of local memory go where it says.
    pub(super) source: Cycle,
    /// Its destination takes data from where it says.
    pub(super) target: Cycle,
}

impl Router {
    pub(super) fn new(queue_depth: usize) -> Self {
        Self {
            instructions: Pass::new(queue_depth),
            free: 0,
            local_reads: Slot::default(),
            accumulator_writes: Pass::new(queue_depth),
            local_writes: Slot::default(),
            reads: false,
            to: To::Array,
            again: 0,
            watch: Watch::default(),
        }
    }

    /// The handshake by which instructions reach it. An empty queue shows it the instruction that the decoder holds,
    /// taken or not: it is ready when the selectors of that one are, and always for one that routes nothing.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.again)
    }

    /// What it keeps from instruction to instruction.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        let Self { instructions, free, local_reads, accumulator_writes, local_writes, .. } = self;
        instructions.times(&mut visit);
        visit(free);
        local_reads.times(&mut visit);
        accumulator_writes.times(&mut visit);
        local_writes.times(visit);
    }

    /// The decoder holds an instruction that may route nothing.
    pub(super) const fn hold(&mut self) {
        self.again = 0;
    }

    /// Takes an instruction that the decoder has from `head` on and that reads local memory or not.
    pub(super) fn route(&mut self, head: Cycle, reads: bool, to: To) -> Routed {
        let queued = self.instructions.enter(head);
        let reached = queued.max(self.free);
        let source = if reads { self.local_reads.enter(reached) } else { reached };
        let target = match to {
            To::Array => reached,
            To::Accumulators => self.accumulator_writes.enter(reached),
            To::Local => self.local_writes.enter(reached),
        };
        let handed_on = source.max(target);
        self.watch.saw(queued, handed_on, 0);
        self.instructions.leave(handed_on);
        self.free = handed_on + 1;
        (self.reads, self.to) = (reads, to);
        Routed { queued, source, target }
    }

    /// The last datum of the last instruction left local memory at `read` and arrived at `written`.
    pub(super) fn finish(&mut self, read: Cycle, written: Cycle) {
        if self.reads {
            self.local_reads.leave(read);
            self.again = read;
        }
        match self.to {
            To::Array => (),
            To::Accumulators => {
                self.accumulator_writes.leave(written);
                self.again = self.again.max(self.accumulator_writes.room());
            }
            To::Local => {
                self.local_writes.leave(written);
                self.again = written;
            }
        }
    }
}
