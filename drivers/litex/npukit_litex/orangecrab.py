"""OrangeCrab with an ECP5-85F, revision 0.2: pins, clocks and DDR3L memory of 256 MB, 16 bits at twice the clock.

For place and route. The loader does not train the memory, which this board needs, and says so. The UART is at pins 0 (receive)
and 1 (transmit) of the header.
"""

from litedram.modules import MT41K128M16
from litedram.phy import ECP5DDRPHY
from litespi.modules import W25Q128JV
from litespi.opcodes import SpiNorFlashOpCodes
from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal
from litex.build.lattice import LatticeECP5Platform
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, If, Instance, Signal
from migen.genlib.resetsync import AsyncResetSynchronizer

DEVICE = "LFE5U-85F-8MG285C"
INPUT_HZ = 48_000_000

_LEVEL = IOStandard("LVCMOS33")
_MEMORY = IOStandard("SSTL135_I")
_PINS = [
    ("clk48", 0, Pins("A9"), _LEVEL),
    ("button_n", 0, Pins("J17"), _MEMORY),
    # Low restarts the board with its boot loader.
    ("restart_n", 0, Pins("V17"), _LEVEL),
    ("user_led", 0, Pins("K4 M3 J3"), _LEVEL),
    ("serial", 0, Subsignal("tx", Pins("M18")), Subsignal("rx", Pins("N17")), _LEVEL),
    (
        "ddram",
        0,
        Subsignal("a", Pins("C4 D2 D3 A3 A4 D4 C3 B2 B1 D1 A7 C2 B6 C1 A2 C7"), _MEMORY),
        Subsignal("ba", Pins("D6 B7 A6"), _MEMORY),
        Subsignal("ras_n", Pins("C12"), _MEMORY),
        Subsignal("cas_n", Pins("D13"), _MEMORY),
        Subsignal("we_n", Pins("B12"), _MEMORY),
        Subsignal("cs_n", Pins("A12"), _MEMORY),
        Subsignal("dm", Pins("D16 G16"), _MEMORY),
        Subsignal("dq", Pins("C17 D15 B17 C16 A15 B13 A17 A13 F17 F16 G15 F15 J16 C18 H16 F18"), _MEMORY, Misc("TERMINATION=OFF")),
        Subsignal("dqs_p", Pins("B15 G18"), IOStandard("SSTL135D_I"), Misc("TERMINATION=OFF"), Misc("DIFFRESISTOR=100")),
        Subsignal("clk_p", Pins("J18"), IOStandard("SSTL135D_I")),
        Subsignal("cke", Pins("D18"), _MEMORY),
        Subsignal("odt", Pins("C13"), _MEMORY),
        Subsignal("reset_n", Pins("L18"), _MEMORY),
        # Pins that strengthen the supply of the memory's pins.
        Subsignal("vccio", Pins("K16 D17 K15 K17 B18 C6"), IOStandard("SSTL135_II")),
        Subsignal("gnd", Pins("L15 L16"), IOStandard("SSTL135_II")),
        Misc("SLEWRATE=FAST"),
    ),
    # The clock is the configuration clock, which is not a user pin.
    ("spiflash4x", 0, Subsignal("cs_n", Pins("U17")), Subsignal("dq", Pins("U18 T18 R18 N18")), _LEVEL),
]


class Platform(LatticeECP5Platform):
    """Pins and input clock of the board."""

    default_clk_name = "clk48"
    default_clk_period = 1e9 / INPUT_HZ

    def __init__(self):
        super().__init__(DEVICE, _PINS, name="orangecrab", toolchain="trellis")

    def do_finalize(self, fragment):
        """Adds the period of the input clock."""
        super().do_finalize(fragment)
        self.add_period_constraint(self.lookup_request("clk48", loose=True), 1e9 / INPUT_HZ)


class Clocks(LiteXModule):
    """Clock of the system, divided from that of the memory (`sys2x`), and a slow one with which the memory's pins start.

    `stop` and `reset` come from the memory's pins, which align the divider.
    """

    def __init__(self, platform, clock_hz):
        self.rst = Signal()
        self.stop = Signal()
        self.reset = Signal()
        self.cd_por = ClockDomain(reset_less=True)
        self.cd_init = ClockDomain()
        self.cd_sys = ClockDomain()
        self.cd_sys2x = ClockDomain(reset_less=True)
        self.cd_sys2x_i = ClockDomain(reset_less=True)

        clock = platform.request("clk48")
        started = Signal()
        count = Signal(16)
        self.comb += [self.cd_por.clk.eq(clock), started.eq(count == 2**16 - 1), platform.request("restart_n").eq(1)]
        self.sync.por += If(~started, count.eq(count + 1))

        self.pll = pll = ECP5PLL()
        self.comb += pll.reset.eq(~started | ~platform.request("button_n") | self.rst)
        pll.register_clkin(clock, INPUT_HZ)
        pll.create_clkout(self.cd_sys2x_i, 2 * clock_hz)
        pll.create_clkout(self.cd_init, INPUT_HZ / 2)
        selected = Signal()
        self.specials += [
            Instance("ECLKBRIDGECS", i_CLK0=self.cd_sys2x_i.clk, i_SEL=0, o_ECSOUT=selected),
            Instance("ECLKSYNCB", i_ECLKI=selected, i_STOP=self.stop, o_ECLKO=self.cd_sys2x.clk),
            Instance(
                "CLKDIVF", p_DIV="2.0", i_ALIGNWD=0, i_CLKI=self.cd_sys2x.clk, i_RST=self.reset, o_CDIVX=self.cd_sys.clk
            ),
            AsyncResetSynchronizer(self.cd_sys, ~pll.locked | self.reset),
        ]


class Board:
    """Parts from which `System` builds the SoC."""

    name = "orangecrab"
    uart = "serial"
    # The bitstream of an 85F has less than 4 MiB.
    image_offset = 4 << 20
    rom_bytes = 4 << 10

    def __init__(self, clock_hz):
        self.platform = Platform()
        self.clocks = clocks = Clocks(self.platform, clock_hz)
        self.module = MT41K128M16(clock_hz, "1:2")
        pads = self.platform.request("ddram")
        # Data masks of the two bytes are swapped on the board.
        delay = 0 if clock_hz > 64e6 else 100
        self.sdram_phy = phy = ECP5DDRPHY(pads, sys_clk_freq=clock_hz, dm_remapping={0: 1, 1: 0}, cmd_delay=delay)
        phy.settings.rtt_nom = "disabled"
        clocks.comb += [
            pads.vccio.eq(2 ** len(pads.vccio) - 1),
            pads.gnd.eq(0),
            clocks.stop.eq(phy.init.stop),
            clocks.reset.eq(phy.init.reset),
        ]
        self.flash = {"mode": "4x", "module": W25Q128JV(SpiNorFlashOpCodes.READ_1_1_4)}
        self.leds = self.platform.request("user_led")
