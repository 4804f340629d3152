//! Port B of local memory, and the router between it and both banks: [`Host`].

use super::queue::{Cycle, NEVER, ReadPort, Slot};
use super::stall::{Stall, StallMeter};
use super::watch::Watch;

/// A side of local memory's port B, through which a bank moves the vectors of a transfer.
pub(super) trait PortB {
    /// Reads the next vector of local memory.
    fn read(&mut self);
    /// Returns when the vector read last can pass.
    fn datum(&self) -> Cycle;
    /// Passes the vector read last at `at`.
    fn pass(&mut self, at: Cycle);
    /// Writes a vector that arrives at `offered`; returns the cycle.
    fn write(&mut self, offered: Cycle) -> Cycle;
    /// Returns the cycle of the last access.
    fn last(&self) -> Cycle;
}

/// Router with a transfer. The transfer is at the decoder since `head`, and its routing was
/// accepted at `routed`.
pub(super) struct Transfer<'a> {
    pub(super) host: &'a mut Host,
    pub(super) head: Cycle,
    pub(super) routed: Cycle,
    pub(super) last: Cycle,
}

impl PortB for Transfer<'_> {
    fn read(&mut self) {
        self.last = self.host.read(self.head);
    }

    fn datum(&self) -> Cycle {
        self.host.datum().max(self.routed)
    }

    fn pass(&mut self, at: Cycle) {
        self.host.pass(at);
    }

    fn write(&mut self, offered: Cycle) -> Cycle {
        self.last = self.host.write(self.head, offered.max(self.routed));
        self.last
    }

    fn last(&self) -> Cycle {
        self.last
    }
}

/// Timing state of port B. It handles one transfer at a time, and every vector passes the router.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// Slot for the routing instruction.
    control: Slot,
    /// Cycles of the last vector routed, and of the first one of the transfer.
    routed: Cycle,
    first: Cycle,
    port_b: ReadPort,
    /// Cycle of the last write.
    pub(super) written: Cycle,
    /// Number of vectors moved.
    pub(super) vectors: u64,
    pub(super) stalls: StallMeter,
    /// Observed handshakes of port B's addresses.
    watch: Watch,
}

impl Host {
    /// Returns the handshakes of port B's addresses, and the cycle at which there is room for the
    /// next one.
    pub(super) fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.port_b.room())
    }

    /// Visits the times that change from transfer to transfer.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.control.times(&mut visit);
        visit(&mut self.routed);
        self.port_b.times(&mut visit);
        visit(&mut self.written);
    }

    /// Starts a transfer offered at `head`; returns when its routing is accepted.
    pub(super) fn begin(&mut self, head: Cycle) -> Cycle {
        self.first = NEVER;
        self.control.enter(head)
    }

    /// Ends a transfer after its last vector.
    pub(super) const fn end(&mut self) {
        self.control.leave(self.routed);
    }

    /// Reads the next vector of local memory for a transfer at the decoder since `head`; returns
    /// the cycle.
    pub(super) fn read(&mut self, head: Cycle) -> Cycle {
        let free = self.port_b.free().max(head);
        let room = self.port_b.room();
        let at = self.port_b.read(head);
        self.stalls.add(Stall::LocalBForDram, free, at);
        self.watch.saw(head, at, room);
        at
    }

    /// Returns when the vector read last can pass.
    pub(super) fn datum(&self) -> Cycle {
        self.port_b.datum()
    }

    /// Passes the vector read last at `at`.
    pub(super) fn pass(&mut self, at: Cycle) {
        self.port_b.leave(at);
        self.route(at);
        self.vectors += 1;
    }

    /// Writes a vector that arrives at `offered`, for a transfer at the decoder since `head`;
    /// returns the cycle.
    pub(super) fn write(&mut self, head: Cycle, offered: Cycle) -> Cycle {
        let free = head.max(self.routed + 1).max(self.port_b.free());
        let at = offered.max(free);
        self.stalls.add(Stall::LocalBForDram, free, at);
        self.watch.saw(head, at, free);
        self.port_b.write(at);
        self.route(at);
        self.written = at;
        self.vectors += 1;
        at
    }

    fn route(&mut self, at: Cycle) {
        self.routed = at;
        self.first = self.first.min(at);
    }

    /// Returns the cycle of the first vector of the last transfer.
    pub(super) const fn first(&self) -> Cycle {
        self.first
    }

    /// Returns the cycle of the last vector of the last transfer.
    pub(super) const fn last(&self) -> Cycle {
        self.routed
    }
}
