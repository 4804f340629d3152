//! Router of the data of local memory's port A and of the accumulators: [`Router`].

use super::queue::{Cycle, Pass, Slot};
use super::watch::Watch;

/// Timing state of the router. It accepts one instruction at a time and hands it to the selectors
/// involved.
#[derive(Clone, Debug)]
pub(super) struct Router {
    instructions: Pass,
    free: Cycle,
    /// Selector of the destination of local memory's data.
    local_reads: Slot,
    /// Selector of the source of the accumulators' data.
    accumulator_writes: Pass,
    /// Selector of the source of local memory's data.
    local_writes: Slot,
    /// Selectors that the last instruction uses.
    reads: bool,
    to: To,
    /// Cycle at which there is room for another instruction like the one at the decoder.
    again: Cycle,
    /// Observed handshakes of the queue before the router.
    watch: Watch,
}

/// Destination of an instruction's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    Array,
    Accumulators,
    Local,
}

/// Times at which the parts of an instruction take effect.
#[derive(Clone, Copy, Debug)]
pub(super) struct Routed {
    /// The decoder has passed the instruction on.
    pub(super) queued: Cycle,
    /// The data of local memory go to the destination.
    pub(super) source: Cycle,
    /// The destination takes data from the source.
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

    /// Returns the handshakes of instructions, and the cycle at which there is room for the next
    /// one. An empty queue shows the instruction at the decoder, accepted or not. It is ready when
    /// the selectors of that instruction are, and always for one that routes nothing.
    pub(super) const fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.again)
    }

    /// Visits the times that change from instruction to instruction.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        let Self { instructions, free, local_reads, accumulator_writes, local_writes, .. } = self;
        instructions.times(&mut visit);
        visit(free);
        local_reads.times(&mut visit);
        accumulator_writes.times(&mut visit);
        local_writes.times(visit);
    }

    /// Notes that the decoder holds an instruction, which may route nothing.
    pub(super) const fn hold(&mut self) {
        self.again = 0;
    }

    /// Accepts an instruction that is at the decoder since `head`; `reads` is whether it reads
    /// local memory.
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

    /// Ends the last instruction: its last data left local memory at `read` and arrived at
    /// `written`.
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
