//! Local memory's port B and the router between it and both banks: [`Host`].

use super::queue::{Cycle, NEVER, ReadPort, Slot};
use super::stall::{Stall, StallMeter};
use super::watch::Watch;

/// A side of local memory's port B, by which a bank moves the vectors of a transfer.
pub(super) trait PortB {
    /// The next vector of local memory is read.
    fn read(&mut self);
    /// From when on the vector read last can pass.
    fn datum(&self) -> Cycle;
    /// The vector read last passes.
    fn pass(&mut self, at: Cycle);
    /// A vector that is there from `offered` on is written: when.
    fn write(&mut self, offered: Cycle) -> Cycle;
    /// The last access.
    fn last(&self) -> Cycle;
}

/// The router with a transfer that is at the decoder since `head` and whose routing was taken at `routed`.
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

/// One transfer at a time; every vector passes the router.
#[derive(Clone, Debug, Default)]
pub(super) struct Host {
    /// The instruction that routes data.
    control: Slot,
    /// The last vector routed, and the first of the transfer.
    routed: Cycle,
    first: Cycle,
    port_b: ReadPort,
    /// The last write.
    pub(super) written: Cycle,
    /// Vectors moved.
    pub(super) vectors: u64,
    pub(super) stalls: StallMeter,
    /// Of port B's addresses.
    watch: Watch,
}

impl Host {
    /// The handshake by which addresses reach port B.
    pub(super) fn watch(&mut self) -> (&mut Watch, Cycle) {
        (&mut self.watch, self.port_b.room())
    }

    /// What it keeps from transfer to transfer.
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.control.times(&mut visit);
        visit(&mut self.routed);
        self.port_b.times(&mut visit);
        visit(&mut self.written);
    }

    /// A transfer offered from `head` on: when its routing is taken.
    pub(super) fn begin(&mut self, head: Cycle) -> Cycle {
        self.first = NEVER;
        self.control.enter(head)
    }

    /// The last vector of a transfer is through.
    pub(super) const fn end(&mut self) {
        self.control.leave(self.routed);
    }

    /// The next vector of local memory is read for a transfer at the decoder since `head`: when.
    pub(super) fn read(&mut self, head: Cycle) -> Cycle {
        let free = self.port_b.free().max(head);
        let room = self.port_b.room();
        let at = self.port_b.read(head);
        self.stalls.add(Stall::LocalBForDram, free, at);
        self.watch.saw(head, at, room);
        at
    }

    /// From when on the vector read last can pass.
    pub(super) fn datum(&self) -> Cycle {
        self.port_b.datum()
    }

    /// The vector read last passes.
    pub(super) fn pass(&mut self, at: Cycle) {
        self.port_b.leave(at);
        self.route(at);
        self.vectors += 1;
    }

    /// A vector that is there from `offered` on is written, for a transfer at the decoder since `head`.
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

    /// The first vector of the last transfer.
    pub(super) const fn first(&self) -> Cycle {
        self.first
    }

    /// The last vector of the last transfer.
    pub(super) const fn last(&self) -> Cycle {
        self.routed
    }
}
