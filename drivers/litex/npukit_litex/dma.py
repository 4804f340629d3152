"""DMA engine with the registers of AXI DMA in direct register mode (PG021): instructions go from memory to the unit (MM2S),
performance samples from the unit to memory (S2MM).

The engine is built without realignment: addresses and lengths that are not whole beats are an internal error. An address outside
main memory is a decode error. Both halt the channel, until a reset.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream, wishbone
from migen import Case, Cat, Constant, If, Signal, log2_int

# Byte offsets of registers; a channel has the first five, S2MM starts at 0x30.
CONTROL, STATUS, ADDRESS, ADDRESS_HIGH, LENGTH = 0x00, 0x04, 0x18, 0x1C, 0x28
MM2S, S2MM = 0x00, 0x30
INTERNAL_ERROR, DECODE_ERROR = 1, 4
SIZE = 0x1000


class Channel(LiteXModule):
    """Registers of a channel, and the check of a transfer that a write of LENGTH starts."""

    def __init__(self, origin, size, length_bits, beat_bytes):
        self.run = Signal()
        self.idle = Signal()
        self.interrupt = Signal()
        self.errors = Signal(3)  # bits 4 to 6 of the status
        self.address = Signal(64)
        self.length = Signal(length_bits)
        self.resetting = Signal()
        # A write of LENGTH, with its value in `length` in the next cycle; the start of a legal transfer; its end.
        self.starts = Signal()
        self.start = Signal()
        self.end = Signal()

        self.control = Cat(self.run, Constant(1, 1), self.resetting, Constant(0, 13), Constant(1, 1))
        self.status = Cat(~self.run, self.idle, Constant(0, 2), self.errors, Constant(0, 5), self.interrupt)

        low = log2_int(beat_bytes)
        misaligned = Signal()
        outside = Signal()
        last = Signal(65)
        self.comb += [
            misaligned.eq((self.address[:low] != 0) | (self.length[:low] != 0) | (self.length == 0)),
            last.eq(self.address + self.length),
            outside.eq((self.address < origin) | (last > origin + size)),
            self.start.eq(self.starts & self.run & ~misaligned & ~outside),
        ]
        self.sync += [
            If(
                self.starts & self.run,
                self.idle.eq(0),
                If(misaligned, self.errors.eq(INTERNAL_ERROR), self.run.eq(0))
                .Elif(outside, self.errors.eq(DECODE_ERROR), self.run.eq(0)),
            ),
            If(self.end, self.idle.eq(1), self.interrupt.eq(1)),
            If(self.resetting, self.run.eq(0), self.idle.eq(0), self.interrupt.eq(0), self.errors.eq(0)),
        ]

    def writes(self, offset, data):
        """Statements that carry out a write of a register, by its offset in the channel."""
        return {
            CONTROL: [If(self.errors == 0, self.run.eq(data[0])), If(data[2], self.resetting.eq(1))],
            STATUS: [If(data[12], self.interrupt.eq(0))],
            ADDRESS: [self.address[:32].eq(data)],
            ADDRESS_HIGH: [self.address[32:].eq(data)],
            LENGTH: [self.length.eq(data), self.starts.eq(1)],
        }[offset]


class Reader(LiteXModule):
    """Reads a range of memory and offers it as a stream of beats.

    The stream of a transfer begins when the whole transfer, or as much as the buffer holds, has been read, so that it has no gaps
    if the transfer fits.
    """

    def __init__(self, port, origin, channel, depth):
        width = port.data_width
        self.source = source = stream.Endpoint([("data", width)])
        self.fifo = fifo = stream.SyncFIFO([("data", width)], depth, buffered=True)
        shift = log2_int(width // 8)

        address = Signal(port.address_width)
        to_ask = Signal(max=2**len(channel.length))
        to_give = Signal.like(to_ask)
        reserved = Signal(max=depth + 1)
        flows = Signal()
        asks = Signal()
        gives = Signal()
        self.comb += [
            port.cmd.valid.eq((to_ask != 0) & (reserved != depth) & ~channel.resetting),
            port.cmd.addr.eq(address),
            port.cmd.last.eq(to_ask == 1),
            port.flush.eq(channel.resetting),
            asks.eq(port.cmd.valid & port.cmd.ready),
            fifo.sink.valid.eq(port.rdata.valid),
            fifo.sink.data.eq(port.rdata.data),
            port.rdata.ready.eq(1),
            source.valid.eq(fifo.source.valid & flows & ~channel.resetting),
            source.data.eq(fifo.source.data),
            source.last.eq(to_give == 1),
            fifo.source.ready.eq((source.ready & flows) | channel.resetting),
            gives.eq(fifo.source.valid & fifo.source.ready),
            channel.end.eq(gives & source.last & ~channel.resetting),
        ]
        # `empty` ends a reset: all words that were asked for have come, and were dropped.
        self.empty = Signal()
        self.comb += self.empty.eq(reserved == 0)
        arrived = Signal(max=depth + 1)
        self.sync += [
            reserved.eq(reserved + asks - gives),
            arrived.eq(arrived + (port.rdata.valid & port.rdata.ready) - gives),
            If(asks, address.eq(address + 1), to_ask.eq(to_ask - 1)),
            If(gives, to_give.eq(to_give - 1)),
            If((arrived != 0) & ((arrived == depth) | (arrived == to_give)), flows.eq(1)),
            If(channel.end, flows.eq(0)),
            If(
                channel.start,
                address.eq((channel.address - origin) >> shift),
                to_ask.eq(channel.length >> shift),
                to_give.eq(channel.length >> shift),
            ),
            If(channel.resetting, flows.eq(0), to_ask.eq(0), to_give.eq(0)),
        ]


class Writer(LiteXModule):
    """Writes a stream of beats to memory, up to its end or the length of the transfer. The length register then has the number
    of bytes."""

    def __init__(self, port, origin, channel):
        width = port.data_width
        self.sink = sink = stream.Endpoint([("data", width)])
        shift = log2_int(width // 8)

        address = Signal(port.address_width)
        room = Signal(max=2**len(channel.length))
        count = Signal.like(room)
        asked = Signal()
        last = Signal()
        takes = Signal()
        self.comb += [
            port.cmd.valid.eq(sink.valid & (room != 0) & ~asked),
            port.cmd.we.eq(1),
            port.cmd.addr.eq(address),
            port.cmd.last.eq(1),
            port.flush.eq(1),
            port.wdata.valid.eq(asked),
            port.wdata.data.eq(sink.data),
            port.wdata.we.eq(2 ** (width // 8) - 1),
            takes.eq(port.wdata.valid & port.wdata.ready),
            sink.ready.eq(takes),
            last.eq(sink.last | (room == 1)),
            channel.end.eq(takes & last & ~channel.resetting),
        ]
        self.empty = Signal()
        self.comb += self.empty.eq(~asked)
        self.sync += [
            If(port.cmd.valid & port.cmd.ready, asked.eq(1)),
            If(takes, asked.eq(0), address.eq(address + 1), room.eq(room - 1), count.eq(count + 1)),
            If(channel.end, room.eq(0), channel.length.eq((count + 1) << shift)),
            If(
                channel.start,
                address.eq((channel.address - origin) >> shift),
                room.eq(channel.length >> shift),
                count.eq(0),
            ),
            If(channel.resetting, room.eq(0)),
        ]


class AxiDma(LiteXModule):
    """DMA engine. `bus` are its registers, `source` is the stream of instructions, `sink` that of samples if there is a port for
    them.

    `origin` and `size` are the bus addresses of main memory, `length_bits` the width of the length registers, `depth` the
    number of beats that the engine reads ahead.
    """

    def __init__(self, read_port, origin, size, write_port=None, length_bits=23, depth=512):
        self.bus = bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.mm2s = Channel(origin, size, length_bits, read_port.data_width // 8)
        self.reader = Reader(read_port, origin, self.mm2s, depth)
        self.source = self.reader.source
        channels = {MM2S: self.mm2s}
        empty = self.reader.empty
        if write_port is not None:
            self.s2mm = Channel(origin, size, length_bits, write_port.data_width // 8)
            self.writer = Writer(write_port, origin, self.s2mm)
            self.sink = self.writer.sink
            channels[S2MM] = self.s2mm
            empty = empty & self.writer.empty
        self._add_bus(bus, channels)
        # A reset concerns the whole engine; it takes effect for at least a cycle.
        resets = [channel.resetting for channel in channels.values()]
        held = Signal()
        self.sync += [
            held.eq(resets[0]),
            If(sum(resets[1:], resets[0]) != 0, *[one.eq(1) for one in resets]),
            If(held & empty, held.eq(0), *[one.eq(0) for one in resets]),
        ]

    def _add_bus(self, bus, channels):
        reads = {}
        writes = {}
        for base, channel in channels.items():
            registers = {
                CONTROL: channel.control,
                STATUS: channel.status,
                ADDRESS: channel.address[:32],
                ADDRESS_HIGH: channel.address[32:],
                LENGTH: channel.length,
            }
            for offset, value in registers.items():
                reads[(base + offset) // 4] = [bus.dat_r.eq(value)]
                writes[(base + offset) // 4] = channel.writes(offset, bus.dat_w)
            self.sync += channel.starts.eq(0)
        index = bus.adr[:10]
        self.sync += [
            bus.ack.eq(bus.cyc & bus.stb & ~bus.ack),
            bus.dat_r.eq(0),
            Case(index, reads),
            If(bus.cyc & bus.stb & ~bus.ack & bus.we, Case(index, writes)),
        ]
