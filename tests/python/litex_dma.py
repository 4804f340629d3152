"""Tests the DMA engine of `npukit_litex` in migen's simulator: registers, errors, resets, both channels, narrow ports.

    python litex_dma.py [--npu COMMAND]

The registers are those of AXI DMA in direct register mode (PG021), as `drivers/c/src/axi_dma.c` uses them.
"""

import argparse
import random
import sys

from litedram.common import LiteDRAMNativePort
from litex.gen import LiteXModule
from migen import Signal, passive, run_simulation

import system  # noqa: F401  adds drivers/litex to the path
from npu import add_arguments
from npukit_litex.dma import ADDRESS, ADDRESS_HIGH, CONTROL, LENGTH, MM2S, S2MM, STATUS, AxiDma
from npukit_litex.ports import NarrowPort

ORIGIN, SIZE = 0x4000_0000, 1 << 20
WIDE = 128
RUN, RESET = 1, 4
HALTED, IDLE, INTERNAL, DECODE, INTERRUPT = 1, 2, 0x10, 0x40, 0x1000
LATENCY = 9


class Bench(LiteXModule):
    """The engine with ports of a width on a memory with words of 128 bits."""

    def __init__(self, width):
        self.bytes = bytearray(random.Random(1).randbytes(4096))
        self.width = width
        self.dma = AxiDma(self._port("read", width), ORIGIN, SIZE, write_port=self._port("write", 64), depth=32)
        self.received = []
        self.ready_percent = Signal(7, reset=100)

    def _port(self, mode, width):
        wide = LiteDRAMNativePort(mode, 16, WIDE)
        setattr(self, f"{mode}_memory", wide)
        if width == WIDE:
            return wide
        narrow = LiteDRAMNativePort(mode, 16 + (WIDE // width).bit_length() - 1, width)
        self.add_module(name=f"{mode}_narrow", module=NarrowPort(narrow, wide))
        return narrow

    @passive
    def reads(self):
        """Memory: answers reads in order, some later than others."""
        port, queue, cycle, rng = self.read_memory, [], 0, random.Random(2)
        while True:
            if (yield port.cmd.valid) and (yield port.cmd.ready):
                queue.append((cycle + LATENCY + rng.randrange(4), (yield port.cmd.addr)))
            yield port.cmd.ready.eq(rng.randrange(4) > 0)
            due = bool(queue) and queue[0][0] <= cycle
            yield port.rdata.valid.eq(due)
            if due:
                at = queue.pop(0)[1] * WIDE // 8
                yield port.rdata.data.eq(int.from_bytes(self.bytes[at : at + WIDE // 8], "little"))
            cycle += 1
            yield

    @passive
    def writes(self):
        """Memory: takes the data of a write some cycles after its command."""
        port, rng = self.write_memory, random.Random(3)
        yield port.cmd.ready.eq(1)
        while True:
            if (yield port.cmd.valid):
                address = (yield port.cmd.addr) * WIDE // 8
                yield port.cmd.ready.eq(0)
                for _ in range(2 + rng.randrange(5)):
                    yield
                yield port.wdata.ready.eq(1)
                yield
                assert (yield port.wdata.valid), "the data of a write are late"
                data, strobes = (yield port.wdata.data), (yield port.wdata.we)
                for lane in range(WIDE // 8):
                    if strobes >> lane & 1:
                        self.bytes[address + lane] = data >> 8 * lane & 0xFF
                yield port.wdata.ready.eq(0)
                yield port.cmd.ready.eq(1)
            yield

    @passive
    def takes(self):
        """The unit: takes beats, not always at once."""
        rng, source = random.Random(4), self.dma.source
        while True:
            if (yield source.valid) and (yield source.ready):
                self.received.append(((yield source.data), (yield source.last)))
            yield source.ready.eq(rng.randrange(100) < (yield self.ready_percent))
            yield

    def access(self, address, value=None):
        """Reads or writes a register."""
        bus = self.dma.bus
        yield bus.adr.eq(address // 4)
        yield bus.dat_w.eq(value or 0)
        yield bus.we.eq(value is not None)
        yield bus.cyc.eq(1)
        yield bus.stb.eq(1)
        yield
        while not (yield bus.ack):
            yield
        result = yield bus.dat_r
        yield bus.cyc.eq(0)
        yield bus.stb.eq(0)
        yield
        return result

    def start(self, channel, address, length):
        """Starts a transfer as the driver does."""
        yield from self.access(channel + CONTROL, RUN)
        yield from self.access(channel + STATUS, 0x7000)
        yield from self.access(channel + ADDRESS, address)
        yield from self.access(channel + ADDRESS_HIGH, 0)
        yield from self.access(channel + LENGTH, length)

    def wait(self, channel, most=2000):
        """Waits for the end of a transfer, and returns the status."""
        for _ in range(most):
            status = yield from self.access(channel + STATUS)
            if status & (IDLE | HALTED):
                return status
        return status

    def reset(self):
        """Resets the engine, and waits for the end of it."""
        yield from self.access(CONTROL, RESET)
        for _ in range(100):
            if not (yield from self.access(CONTROL)) & RESET:
                return
        raise AssertionError("a reset does not end")


def beats(bench, offset, length):
    """Beats of a range of memory; the last one ends the transfer."""
    step = bench.width // 8
    words = [int.from_bytes(bench.bytes[at : at + step], "little") for at in range(offset, offset + length, step)]
    return [(word, i == len(words) - 1) for i, word in enumerate(words)]


def equal(what, ours, expected):
    """Compares two values."""
    assert ours == expected, f"{what}: {ours!r}, expected {expected!r}"


def to_unit(bench):
    """Transfers longer and shorter than the buffer, with a unit that takes beats now and then."""
    step = bench.width // 8
    yield from bench.reset()
    equal("status after a reset", (yield from bench.access(STATUS)), HALTED)
    for percent, offset, length in ((100, 0, step), (30, 2 * step, 40 * step), (100, step, 100 * step)):
        yield bench.ready_percent.eq(percent)
        bench.received.clear()
        yield from bench.start(MM2S, ORIGIN + offset, length)
        equal("status at the end", (yield from bench.wait(MM2S)), IDLE | INTERRUPT)
        equal("beats", bench.received, beats(bench, offset, length))


def errors(bench):
    """Transfers that are not whole beats, or outside of memory, and one that a reset ends."""
    step = bench.width // 8
    yield from bench.reset()
    cases = [(ORIGIN + 1, step, INTERNAL), (ORIGIN, step + 1, INTERNAL), (ORIGIN, 0, INTERNAL)]
    cases += [(ORIGIN - step, step, DECODE), (ORIGIN + SIZE - step, 2 * step, DECODE)]
    for address, length, error in cases:
        yield from bench.start(MM2S, address, length)
        equal(f"status of {length} bytes at {address:#x}", (yield from bench.access(STATUS)), HALTED | error)
        yield from bench.reset()
        equal("status after a reset", (yield from bench.access(STATUS)), HALTED)
    yield bench.ready_percent.eq(0)
    yield from bench.start(MM2S, ORIGIN, 64 * step)
    for _ in range(50):
        yield
    equal("status of a transfer that waits", (yield from bench.access(STATUS)), 0)
    yield from bench.reset()
    yield bench.ready_percent.eq(100)
    bench.received.clear()
    yield from bench.start(MM2S, ORIGIN + step, step)
    yield from bench.wait(MM2S)
    equal("beats after a reset", bench.received, beats(bench, step, step))


def to_memory(bench):
    """Samples up to the end of the stream, and up to the length of the transfer."""
    sink = bench.dma.sink
    yield from bench.reset()
    for count, last, room in ((5, True, 8), (4, False, 4)):
        before = bytes(bench.bytes)
        yield from bench.start(S2MM, ORIGIN + 8, 8 * room)
        words = [random.Random(count).getrandbits(64) + i & (1 << 64) - 1 for i in range(count)]
        for i, word in enumerate(words):
            yield sink.valid.eq(1)
            yield sink.data.eq(word)
            yield sink.last.eq(last and i == count - 1)
            yield
            while not (yield sink.ready):
                yield
        yield sink.valid.eq(0)
        equal("status of samples", (yield from bench.wait(S2MM)), IDLE | INTERRUPT)
        equal("bytes of samples", (yield from bench.access(S2MM + LENGTH)), 8 * count)
        stored = b"".join(word.to_bytes(8, "little") for word in words)
        equal("memory", bytes(bench.bytes), before[:8] + stored + before[8 + len(stored) :])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.parse_args()
    failures = 0
    for width in (WIDE, 64, 16):
        for test in (to_unit, errors, to_memory):
            bench = Bench(width)
            try:
                run_simulation(bench, [test(bench), bench.reads(), bench.writes(), bench.takes()])
            except AssertionError as error:
                failures += 1
                print(f"  FAIL {test.__name__} with {width} bits: {error}")
    print(f"{failures} failures" if failures else "the engine has the registers of AXI DMA")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
