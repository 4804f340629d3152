"""Board for simulation: LiteDRAM's model of a memory, LiteSPI's model of a flash, and a UART that `sim.cpp` prints.

Memories: `ddr3` with 16 bits at four times the clock, so that LiteDRAM's words have 128 bits; `sdr`, that of the ULX3S, with words
of 16 bits.
"""

import contextlib
from pathlib import Path

from litedram.modules import MT41K64M16, MT48LC16M16
from litedram.phy.model import SDRAMPHYModel
from litespi.modules import S25FL128L
from litespi.opcodes import SpiNorFlashOpCodes
from litespi.phy.model import LiteSPIPHYModel
from litex.build.generic_platform import Pins, Subsignal
from litex.build.sim import SimPlatform
from litex.gen import LiteXModule
from migen import ClockDomain, Signal

_STREAM = [("source_valid", 1), ("source_ready", 1), ("source_data", 8), ("sink_valid", 1), ("sink_ready", 1), ("sink_data", 8)]
_PINS = [
    ("sys_clk", 0, Pins(1)),
    ("sys_rst", 0, Pins(1)),
    ("serial", 0, *[Subsignal(name, Pins(bits)) for name, bits in _STREAM]),
]

MEMORIES = {"ddr3": (MT41K64M16, "1:4"), "sdr": (MT48LC16M16, "1:1")}


class Platform(SimPlatform):
    """Platform that only writes Verilog: `sim.cpp` takes the place of LiteX's simulator."""

    def __init__(self):
        super().__init__("SIM", list(_PINS))

    def build(self, fragment, build_dir, build_name, **_):
        """Writes `build_name.v` and the contents of memories to a folder."""
        fragment = fragment.get_fragment()
        self.finalize(fragment)
        path = Path(build_dir) / f"{build_name}.v"
        with contextlib.chdir(build_dir):
            output = self.get_verilog(fragment, name=build_name)
            output.write(path.name)
        self.add_source(str(path))
        return output.ns


class Clocks(LiteXModule):
    """Clock and reset from the simulation."""

    def __init__(self, platform):
        self.rst = Signal()
        self.cd_sys = ClockDomain()
        self.comb += [
            self.cd_sys.clk.eq(platform.request("sys_clk")),
            self.cd_sys.rst.eq(platform.request("sys_rst") | self.rst),
        ]


def make_board(memory):
    """Returns the class of the board with a memory."""
    module, rate = MEMORIES[memory]

    class Board:
        """Parts from which `System` builds the SoC."""

        name = "sim"
        uart = "sim"
        image_offset = 0
        rom_bytes = 4 << 10

        def __init__(self, clock_hz):
            self.platform = Platform()
            self.clocks = Clocks(self.platform)
            self.module = module(clock_hz, rate)
            self.sdram_phy = SDRAMPHYModel(self.module, data_width=16, clk_freq=clock_hz)
            flash = S25FL128L(SpiNorFlashOpCodes.READ_1_1_4)
            # The contents are those of the file that the simulation reads.
            self.flash = {"mode": "4x", "module": flash, "phy": LiteSPIPHYModel(flash, init=[0])}

    return Board
