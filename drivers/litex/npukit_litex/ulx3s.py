"""ULX3S with an ECP5-85F, revision 2.0 or 3.0: pins, clocks and SDRAM.

Pins are those of the schematics. SDRAM: 32 MB, 16 bits.
"""

from litedram.modules import MT48LC16M16
from litedram.phy import GENSDRPHY
from litespi.modules import IS25LP128
from litespi.opcodes import SpiNorFlashOpCodes
from litex.build.generic_platform import IOStandard, Misc, Pins, Subsignal
from litex.build.io import DDROutput
from litex.build.lattice import LatticeECP5Platform
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockSignal, Signal

DEVICE = "LFE5U-85F-6BG381C"
INPUT_HZ = 25_000_000

_LEVEL = IOStandard("LVCMOS33")
_PINS = [
    ("clk25", 0, Pins("G2"), _LEVEL),
    ("reset_button", 0, Pins("R1"), _LEVEL, Misc("PULLMODE=DOWN")),
    # Keeps the ESP32 from loading another bitstream.
    ("wifi_gpio0", 0, Pins("F1"), _LEVEL),
    ("user_led", 0, Pins("B2 C2 C1 D2 D1 E2 E1 H3"), _LEVEL),
    ("serial", 0, Subsignal("tx", Pins("L4")), Subsignal("rx", Pins("M1")), _LEVEL),
    ("sdram_clock", 0, Pins("F19"), _LEVEL),
    (
        "sdram",
        0,
        Subsignal("a", Pins("M20 M19 L20 L19 K20 K19 K18 J20 J19 H20 N19 G20 G19")),
        Subsignal("dq", Pins("J16 L18 M18 N18 P18 T18 T17 U20 E19 D20 D19 C20 E18 F18 J18 J17")),
        Subsignal("ba", Pins("P19 N20")),
        Subsignal("dm", Pins("U19 E20")),
        Subsignal("cs_n", Pins("P20")),
        Subsignal("ras_n", Pins("R20")),
        Subsignal("cas_n", Pins("T19")),
        Subsignal("we_n", Pins("T20")),
        Subsignal("cke", Pins("F20")),
        _LEVEL,
        Misc("SLEWRATE=FAST"),
    ),
    # The clock is the configuration clock, which is not a user pin.
    ("spiflash4x", 0, Subsignal("cs_n", Pins("R2")), Subsignal("dq", Pins("W2 V2 Y2 W1")), _LEVEL),
]


class Platform(LatticeECP5Platform):
    """Pins and input clock of the board."""

    default_clk_name = "clk25"
    default_clk_period = 1e9 / INPUT_HZ

    def __init__(self):
        super().__init__(DEVICE, _PINS, name="ulx3s", toolchain="trellis")

    def do_finalize(self, fragment):
        """Adds the period of the input clock."""
        super().do_finalize(fragment)
        self.add_period_constraint(self.lookup_request("clk25", loose=True), 1e9 / INPUT_HZ)


class Clocks(LiteXModule):
    """Clock of the system, and the same a quarter of a period later for the SDRAM."""

    def __init__(self, platform, clock_hz):
        self.rst = Signal()
        self.cd_sys = ClockDomain()
        self.cd_sys_ps = ClockDomain()
        self.pll = pll = ECP5PLL()
        self.comb += pll.reset.eq(platform.request("reset_button") | self.rst)
        pll.register_clkin(platform.request("clk25"), INPUT_HZ)
        pll.create_clkout(self.cd_sys, clock_hz)
        pll.create_clkout(self.cd_sys_ps, clock_hz, phase=90)
        self.specials += DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sys_ps"))
        self.comb += platform.request("wifi_gpio0").eq(1)


class Board:
    """Parts from which [`System`] builds the SoC."""

    name = "ulx3s"
    uart = "serial"
    # The bitstream of an 85F has less than 4 MiB.
    image_offset = 4 << 20
    rom_bytes = 4 << 10
    flash = {"mode": "4x", "module": IS25LP128(SpiNorFlashOpCodes.READ_1_1_4)}

    def __init__(self, clock_hz):
        self.platform = Platform()
        self.clocks = Clocks(self.platform, clock_hz)
        self.module = MT48LC16M16(clock_hz, "1:1")
        self.sdram_phy = GENSDRPHY(self.platform.request("sdram"), clock_hz)
        self.leds = self.platform.request("user_led")
