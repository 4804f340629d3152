"""Ports of LiteDRAM of any width: [`get_port`].

LiteDRAM's own converter to a narrower port collects words and has one access under way. Here each narrow word is an access of its
own, so that a word per cycle can pass.
"""

from litedram.common import LiteDRAMNativePort
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Case, Replicate, log2_int

# Accesses under way: more than LiteDRAM has.
_DEPTH = 64


class NarrowPort(LiteXModule):
    """Narrow port on a wide one: words of the narrow port are parts of words of the wide one."""

    def __init__(self, narrow, wide):
        ratio = wide.data_width // narrow.data_width
        low = log2_int(ratio)
        self.writes = stream.SyncFIFO([("part", low)], _DEPTH)
        self.reads = stream.SyncFIFO([("part", low)], _DEPTH)
        writes, reads = self.writes, self.reads
        passes = wide.cmd.valid & wide.cmd.ready
        self.comb += [
            wide.cmd.valid.eq(narrow.cmd.valid & writes.sink.ready & reads.sink.ready),
            wide.cmd.we.eq(narrow.cmd.we),
            wide.cmd.last.eq(narrow.cmd.last),
            wide.cmd.addr.eq(narrow.cmd.addr[low:]),
            narrow.cmd.ready.eq(passes),
            writes.sink.valid.eq(passes & narrow.cmd.we),
            reads.sink.valid.eq(passes & ~narrow.cmd.we),
            writes.sink.part.eq(narrow.cmd.addr[:low]),
            reads.sink.part.eq(narrow.cmd.addr[:low]),
        ]
        if narrow.mode != "read":
            strobes = {part: [wide.wdata.we.eq(narrow.wdata.we << part * narrow.data_width // 8)] for part in range(ratio)}
            self.comb += [
                wide.wdata.valid.eq(narrow.wdata.valid & writes.source.valid),
                wide.wdata.data.eq(Replicate(narrow.wdata.data, ratio)),
                Case(writes.source.part, strobes),
                narrow.wdata.ready.eq(wide.wdata.ready & writes.source.valid),
                writes.source.ready.eq(wide.wdata.ready & narrow.wdata.valid),
            ]
        if narrow.mode != "write":
            width = narrow.data_width
            words = {part: [narrow.rdata.data.eq(wide.rdata.data[part * width:(part + 1) * width])] for part in range(ratio)}
            self.comb += [
                narrow.rdata.valid.eq(wide.rdata.valid),
                Case(reads.source.part, words),
                wide.rdata.ready.eq(narrow.rdata.ready),
                reads.source.ready.eq(wide.rdata.valid & narrow.rdata.ready),
            ]


def get_port(module, crossbar, mode, data_width):
    """Returns a port of LiteDRAM with a width in bits, a power of two. `module` owns what converts it."""
    wide = crossbar.controller.data_width
    if data_width >= wide:
        return crossbar.get_port(mode=mode, data_width=data_width)
    port = crossbar.get_port(mode=mode)
    more = log2_int(wide // data_width)
    narrow = LiteDRAMNativePort(mode=mode, address_width=port.address_width + more, data_width=data_width)
    module.submodules += NarrowPort(narrow, port)
    return narrow
