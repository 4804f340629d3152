"""The unit in a SoC: [`Tcu`] instantiates the circuit and connects it to LiteDRAM, [`add_tcu`] also to the SoC's bus."""

from litedram.frontend.axi import LiteDRAMAXI2Native
from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import ClockSignal, Constant, If, Instance, ResetSignal, Signal

from .circuit import Circuit
from .dma import SIZE, AxiDma
from .ports import get_port

# Fields of AXI channels, from ours to LiteX's.
_ADDRESS_FIELDS = ("id", "addr", "len", "size", "burst", "lock", "cache", "prot", "qos")
_FIELDS = {
    "aw": _ADDRESS_FIELDS,
    "w": ("data", "strb", "last"),
    "b": ("id", "resp"),
    "ar": _ADDRESS_FIELDS,
    "r": ("id", "data", "resp", "last"),
}
_TO_CIRCUIT = ("b", "r")


class Counter(LiteXModule):
    """Cycles of a program, counted at the unit's ports: from the first beat of its instructions to the last word that it writes.

    The driver appends a move of one vector to each program and waits for it. `cycles` is the last word before that move, `total`
    that of the move. The next beat after a write of `restart` is cycle 0.
    """

    def __init__(self, stream, buses):
        self.restart = CSRStorage(1, description="A write restarts the count with the next beat of instructions.")
        self.cycles = CSRStatus(32, description="Cycles up to the last word of the program.")
        self.total = CSRStatus(32, description="Cycles up to the last word of the driver's move.")

        count = Signal(32)
        runs = Signal()
        writes = Signal()
        begins = Signal()
        for bus in buses:
            written = Signal()
            self.comb += written.eq(bus.w.valid & bus.w.ready & bus.w.last)
            writes = writes | written
        self.comb += begins.eq(stream.valid & ~runs)
        self.sync += [
            If(begins, runs.eq(1)),
            If(runs | begins, count.eq(count + 1)),
            If(runs & writes, self.total.status.eq(count), self.cycles.status.eq(self.total.status)),
            If(self.restart.re, runs.eq(0), count.eq(0), self.total.status.eq(0), self.cycles.status.eq(0)),
        ]


class Latency(LiteXModule):
    """Latency of a bank's memory in cycles, of the first burst read and the first burst written since a restart.

    That of a read is measured at its last word, less a cycle for each word before it: the latency after which the words would have
    come one after the other. That of a write is from its last word to the response.
    """

    def __init__(self, bus):
        self.restart = CSRStorage(1, description="A write restarts the measurement.")
        self.read = CSRStatus(32, description="Latency of the first read.")
        self.write = CSRStatus(32, description="Latency of the first write.")
        came = bus.r.valid & bus.r.ready
        # Words before the last do not count.
        self._measure(self.read.status, bus.ar.valid & bus.ar.ready, came & bus.r.last, came)
        self._measure(self.write.status, bus.w.valid & bus.w.ready & bus.w.last, bus.b.valid & bus.b.ready, Constant(0))

    def _measure(self, latency, begins, comes, pauses):
        begun = Signal()
        ended = Signal()
        self.sync += [
            If(begins, begun.eq(1)),
            If((begins | begun) & ~pauses & ~ended, latency.eq(latency + 1)),
            If(begun & comes, ended.eq(1)),
            If(begun & comes & ~ended, latency.eq(latency)),
            If(self.restart.re, begun.eq(0), ended.eq(0), latency.eq(0)),
        ]


class Tcu(LiteXModule):
    """The unit, its two AXI masters on ports of LiteDRAM, and the DMA engine of its instructions.

    `crossbar` is LiteDRAM's, `origin` and `size` are the bus addresses of main memory. `between(bus)` may return an AXI bus to put
    between the unit and memory. With `samples`, the DMA engine writes performance samples to memory; otherwise they are dropped.
    """

    def __init__(self, platform, circuit, crossbar, origin, size, samples=False, length_bits=23, depth=512, between=None):
        self.circuit = circuit = circuit if isinstance(circuit, Circuit) else Circuit.read(circuit)
        self.control = CSRStorage(fields=[CSRField("reset", 1, pulse=True, description="Resets the unit.")])
        self.flags = CSRStatus(
            fields=[
                CSRField("timeout", description="The decoder waits for longer than its limit."),
                CSRField("tracepoint", description="The program counter is at the tracepoint."),
                CSRField("bus_error", description="A response was not OKAY."),
            ]
        )
        data_width = circuit.width("m_axi_dram0_rdata")
        self.dma = AxiDma(
            read_port=get_port(self, crossbar, "read", circuit.width("instruction_tdata")),
            write_port=get_port(self, crossbar, "write", circuit.width("sample_tdata")) if samples else None,
            origin=origin,
            size=size,
            length_bits=length_bits,
            depth=depth,
        )
        self.buses = []
        for bank in range(2):
            bus = axi.AXIInterface(
                data_width=data_width,
                address_width=circuit.width(f"m_axi_dram{bank}_araddr"),
                id_width=circuit.width(f"m_axi_dram{bank}_arid"),
            )
            self.buses.append(bus)
            memory = bus
            if between is not None:
                part = between(bus)
                self.add_module(name=f"memory{bank}", module=part)
                memory = part.memory
            port = get_port(self, crossbar, "both", data_width)
            self.submodules += LiteDRAMAXI2Native(memory, port, w_buffer_depth=32, r_buffer_depth=32, base_address=origin)
        self.counter = Counter(self.dma.source, self.buses)
        self.latency0 = Latency(self.buses[0])
        self.latency1 = Latency(self.buses[1])
        self._instantiate(platform, samples)

    def _instantiate(self, platform, samples):
        circuit = self.circuit
        stream = self.dma.source
        connections = {
            circuit.clock: ("i", ClockSignal()),
            circuit.reset: ("i", ResetSignal() | self.control.fields.reset),
            "timeout": ("o", self.flags.fields.timeout),
            "tracepoint": ("o", self.flags.fields.tracepoint),
            "bus_error": ("o", self.flags.fields.bus_error),
            "instruction_tvalid": ("i", stream.valid),
            "instruction_tready": ("o", stream.ready),
            "instruction_tdata": ("i", stream.data),
            "instruction_tkeep": ("i", 2 ** circuit.width("instruction_tkeep") - 1),
            "instruction_tlast": ("i", stream.last),
            "sample_tready": ("i", self.dma.sink.ready if samples else 1),
        }
        if samples:
            sink = self.dma.sink
            connections.update(
                sample_tvalid=("o", sink.valid), sample_tdata=("o", sink.data), sample_tlast=("o", sink.last)
            )
        for bank, bus in enumerate(self.buses):
            for channel, fields in _FIELDS.items():
                ours, theirs = ("i", "o") if channel in _TO_CIRCUIT else ("o", "i")
                signals = getattr(bus, channel)
                prefix = f"m_axi_dram{bank}_{channel}"
                connections[f"{prefix}valid"] = (ours, signals.valid)
                connections[f"{prefix}ready"] = (theirs, signals.ready)
                for field in fields:
                    connections[f"{prefix}{field}"] = (ours, getattr(signals, field))
        for name, (direction, _) in connections.items():
            if name not in circuit.ports or circuit.ports[name][0][0] != direction:
                raise ValueError(f"{circuit.top} has no {'input' if direction == 'i' else 'output'} {name}")
        missing = [name for name, (direction, _) in circuit.ports.items() if direction == "input" and name not in connections]
        if missing:
            raise ValueError(f"{circuit.top}: unknown inputs {', '.join(missing)}")
        self.specials += Instance(circuit.top, **{f"{d}_{name}": signal for name, (d, signal) in connections.items()})
        for source in circuit.sources:
            platform.add_source(str(source), language="systemverilog")


# Banks begin at a multiple of this, as the unit's offsets are in units of it.
WINDOW = 64 << 10
STAGING_BYTES = 1 << 20
# Memory before the staging buffer that is left to the processor.
LEAST_REST = 2 << 20


def _places(region, circuit):
    """Bus addresses of DRAM1 at the end of main memory, DRAM0 below it, and the staging buffer below that."""
    end = region.origin + region.size
    places = {}
    for name, size in (("DRAM1", circuit.bank_bytes(1)), ("DRAM0", circuit.bank_bytes(0)), ("STAGING", STAGING_BYTES)):
        end = (end - size) // WINDOW * WINDOW
        places[name] = (end, size)
    if end < region.origin + LEAST_REST:
        needed = region.size + region.origin + LEAST_REST - end
        raise ValueError(
            f"main memory has {region.size:,} bytes, the banks and the program need {needed:,}: choose lower DRAM depths"
        )
    return places


def add_tcu(soc, circuit, name="tcu", dma_origin=0x9000_0000, **options):
    """Adds the unit to a SoC that has LiteDRAM as `soc.sdram`, and returns it.

    `circuit` is the folder that `npu rtl` wrote. The DMA engine's registers are at `dma_origin`, in a range that the processor does
    not cache. Main memory must not be behind an L2 cache (`l2_cache_size=0`), as the unit accesses LiteDRAM directly. The unit's
    banks are at its end; `tcu.board` has all addresses with the keys of `board.json`.
    """
    region = soc.bus.regions["main_ram"]
    tcu = Tcu(soc.platform, circuit, soc.sdram.crossbar, region.origin, region.size, **options)
    soc.add_module(name=name, module=tcu)
    soc.bus.add_slave(f"{name}_dma", tcu.dma.bus, SoCRegion(origin=dma_origin, size=SIZE, cached=False))
    places = _places(region, tcu.circuit)
    for place, (address, size) in places.items():
        soc.add_constant(f"{name}_{place}_BASE", address)
        soc.add_constant(f"{name}_{place}_BYTES", size)
    tcu.board = {
        "instruction_dma": f"{dma_origin:#x}",
        **{place.lower(): {"address": f"{address:#x}", "bytes": size} for place, (address, size) in places.items()},
        "stream_bytes": tcu.circuit.width("instruction_tdata") // 8,
        "max_transfer": 2 ** len(tcu.dma.mm2s.length) - 1,
    }
    soc.add_constant(f"{name}_DMA_BASE", dma_origin)
    soc.add_constant(f"{name}_STREAM_BYTES", tcu.board["stream_bytes"])
    soc.add_constant(f"{name}_MAX_TRANSFER", tcu.board["max_transfer"])
    return tcu
