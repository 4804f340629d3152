"""Memory of constant latency: [`SteadyMemory`] stands between a bank's AXI master and LiteDRAM, and delays what LiteDRAM
answers sooner.

The first word of a burst read comes a fixed number of cycles after its address was taken, and the others follow it without gaps;
the response of a burst written comes a fixed number of cycles after its last word. Addresses and written words are taken at once.
This is the memory that `npu time --latency READ --write-latency WRITE` assumes, so that its cycles can be compared one by one.
`late` counts the cycles in which LiteDRAM was slower than that.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import axi, stream
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import If, Signal

_TIME_BITS = 32


class SteadyMemory(LiteXModule):
    """Delays between `bus`, the unit's master, and `memory`, a bus to LiteDRAM. `depth` words are held in each direction."""

    def __init__(self, bus, read_latency, write_latency, bursts=16, depth=1024):
        self.memory = memory = axi.AXIInterface(
            data_width=bus.data_width, address_width=bus.address_width, id_width=bus.id_width
        )
        self.restart = CSRStorage(1, description="A write restarts the count.")
        self.late = CSRStatus(32, description="Cycles in which memory was late.")
        self.now = Signal(_TIME_BITS)
        self.sync += self.now.eq(self.now + 1)
        reads = self._add_reads(bus, memory, read_latency, bursts, depth)
        writes = self._add_writes(bus, memory, write_latency, bursts, depth)
        self.sync += [
            self.late.status.eq(self.late.status + reads + writes),
            If(self.restart.re, self.late.status.eq(0)),
        ]

    def _queue(self, name, source, sink, depth):
        """Puts a queue between two channels."""
        queue = stream.SyncFIFO(source.description, depth, buffered=False)
        self.add_module(name=name, module=queue)
        self.comb += [source.connect(queue.sink), queue.source.connect(sink)]

    def _due(self, name, begins, latency, depth):
        """Returns a queue of the cycles in which bursts that begin are due, and whether the first of them is."""
        queue = stream.SyncFIFO([("cycle", _TIME_BITS)], depth, buffered=False)
        self.add_module(name=name, module=queue)
        self.comb += [queue.sink.valid.eq(begins), queue.sink.cycle.eq(self.now + latency)]
        due = Signal()
        # The queue holds less than half of the range of `now`.
        self.comb += due.eq(queue.source.valid & ~(self.now - queue.source.cycle)[_TIME_BITS - 1])
        return queue, due

    def _add_reads(self, bus, memory, latency, bursts, depth):
        self._queue("addresses_read", bus.ar, memory.ar, bursts)
        queue, due = self._due("reads", bus.ar.valid & bus.ar.ready, latency, bursts)
        words = stream.SyncFIFO(memory.r.description, depth, buffered=False)
        self.add_module(name="words_read", module=words)
        offers = due & words.source.valid
        self.comb += [
            memory.r.connect(words.sink),
            words.source.connect(bus.r, omit={"valid", "ready"}),
            bus.r.valid.eq(offers),
            words.source.ready.eq(due & bus.r.ready),
            queue.source.ready.eq(offers & bus.r.ready & bus.r.last),
        ]
        return due & ~words.source.valid

    def _add_writes(self, bus, memory, latency, bursts, depth):
        self._queue("addresses_written", bus.aw, memory.aw, bursts)
        self._queue("words_written", bus.w, memory.w, depth)
        queue, due = self._due("writes", bus.w.valid & bus.w.ready & bus.w.last, latency, bursts)
        self.comb += [
            memory.b.connect(bus.b, omit={"valid", "ready"}),
            bus.b.valid.eq(due & memory.b.valid),
            memory.b.ready.eq(due & bus.b.ready),
            queue.source.ready.eq(bus.b.valid & bus.b.ready),
        ]
        return due & ~memory.b.valid
