"""SoC with the unit: VexRiscv, LiteDRAM, UART and a SPI flash.

    python -m npukit_litex.soc ulx3s --circuit CIRCUIT --output FOLDER [--hertz 50e6]

writes Verilog, constraints, `files.txt`, the list of files to synthesize, `soc.json` with the same, the part and addresses, and
`board.json`. It only runs make and a compiler for RISC-V, for the loader in ROM (`boot.bin`) and the firmware for the SPI flash
(`firmware.bin`); with `--rom` it runs no tools.
"""

import argparse
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

from litex.soc.integration.builder import Builder
from litex.soc.integration.common import get_mem_data
from litex.soc.integration.soc_core import SoCCore

from .circuit import CircuitError
from .dma import SIZE
from . import orangecrab, ulx3s
from .sim import MEMORIES, make_board
from .steady import SteadyMemory
from .tcu import add_tcu


class System(SoCCore):
    """SoC on a board."""

    def __init__(self, board, clock_hz, circuit, rom=None, samples=True, **options):
        self.crg = board.clocks
        SoCCore.__init__(
            self,
            board.platform,
            clk_freq=clock_hz,
            ident="npukit",
            cpu_type="vexriscv",
            cpu_variant="standard",
            uart_name=board.uart,
            integrated_rom_size=board.rom_bytes,
            integrated_rom_init=get_mem_data(str(rom), data_width=32, endianness="little") if rom else [],
            integrated_sram_size=8 << 10,
            timer_uptime=True,
        )
        self.sdrphy = board.sdram_phy
        self.add_sdram("sdram", phy=self.sdrphy, module=board.module, l2_cache_size=0)
        if "phy" in board.flash:
            self.spiflash_phy = board.flash["phy"]
        self.add_spi_flash(**board.flash, with_master=False)
        self.add_constant("IMAGE_OFFSET", board.image_offset)
        self.tcu = add_tcu(self, circuit, samples=samples, **options)
        if getattr(board, "leds", None) is not None:
            self.comb += board.leds.eq(self.tcu.flags.status)


def board_file(system):
    """Contents of `board.json` of `drivers/README.md`, for a Linux on the SoC that maps `/dev/mem`."""
    board = system.tcu.board
    memory = system.bus.regions["main_ram"]
    ranges = [(int(board["instruction_dma"], 16), SIZE), (int(board["staging"]["address"], 16), None)]
    windows = []
    for address, size in ranges:
        size = size or memory.origin + memory.size - address
        windows.append({"file": "/dev/mem", "offset": f"{address:#x}", "address": f"{address:#x}", "bytes": size})
    return {"windows": windows, **board, "timeout_us": 5_000_000}


FIRMWARE = Path(__file__).resolve().parent.parent / "firmware"


def write(system, output, name):
    """Writes the SoC to a folder: `name.v`, constraints, memory contents, sources, `include/generated`, `csr.json`. Returns the
    files to synthesize."""
    output = Path(output).resolve()
    builder = Builder(
        system,
        output_dir=str(output),
        gateware_dir=str(output),
        include_dir=str(output / "include"),
        compile_software=False,
        compile_gateware=False,
        csr_json=str(output / "csr.json"),
    )
    builder.build(build_name=name, run=False)
    shutil.rmtree(output / "software", ignore_errors=True)
    files = []
    for source, *_ in system.platform.sources:
        target = output / Path(source).name
        if Path(source).resolve() != target:
            shutil.copy(source, target)
        files.append(target.name)
    for script in [output / f"build_{name}.sh", output / f"{name}.ys"]:
        script.unlink(missing_ok=True)
    (output / "files.txt").write_text("".join(f"{file}\n" for file in files))
    summary = {"top": name, "device": system.platform.device, "clock_hz": int(system.sys_clk_freq), "sources": files}
    summary["constraints"] = f"{name}.lpf"
    summary["board"] = system.tcu.board
    (output / "board.json").write_text(json.dumps(board_file(system), indent=2) + "\n")
    (output / "soc.json").write_text(json.dumps(summary, indent=2) + "\n")
    return files


def compiler():
    """Variables of the Makefile that select the compiler that is installed."""
    if shutil.which("riscv64-unknown-elf-gcc"):
        return []
    if importlib.util.find_spec("ziglang"):
        return [f"ZIG={sys.executable} -m ziglang"]
    raise OSError("the loader needs a compiler for RISC-V: `pip install ziglang`, or `apt-get install gcc-riscv64-unknown-elf`")


def compile_firmware(output):
    """Compiles the loader and the firmware for the headers in `output/include`, and returns the path of the loader."""
    output = Path(output).resolve()
    folder = output / "firmware"
    command = ["make", "--silent", "-C", str(FIRMWARE), f"SOC={output}", f"BUILD={folder}", *compiler()]
    try:
        subprocess.run(command, check=True)
    except FileNotFoundError:
        raise OSError("the loader needs `make`: `apt-get install make`") from None
    except subprocess.CalledProcessError as error:
        raise OSError(f"the loader could not be compiled: make ended with status {error.returncode}") from None
    for name in ("boot.bin", "firmware.bin"):
        shutil.copy(folder / name, output / name)
    shutil.rmtree(folder)
    return output / "boot.bin"


def generate(make_board, clock_hz, circuit, output, rom=None, **options):
    """Writes the SoC of a board, twice if the loader must be compiled for its headers first. Returns the files to synthesize."""
    if rom is None:
        board = make_board(clock_hz)
        write(System(board, clock_hz, circuit, **options), output, board.name)
        rom = compile_firmware(output)
    board = make_board(clock_hz)
    return write(System(board, clock_hz, circuit, rom=rom, **options), output, board.name)


BOARDS = {board.name: board for board in (orangecrab.Board, ulx3s.Board)}


def board_of(name, memory="ddr3"):
    """Returns the class of a board; `memory` is that of the simulation."""
    if name in BOARDS:
        return BOARDS[name]
    if name == "sim":
        return make_board(memory)
    raise ValueError(f"unknown board {name}; boards: {', '.join([*sorted(BOARDS), 'sim'])}")


def main(arguments=None):
    """Writes the SoC of a board."""
    parser = argparse.ArgumentParser(prog="npukit_litex.soc", description="Write the SoC of a board: Verilog and constraints.")
    parser.add_argument("board", help="orangecrab or ulx3s, or sim for Verilator")
    parser.add_argument("--memory", default="ddr3", choices=sorted(MEMORIES), help="memory of the simulation (default: ddr3)")
    parser.add_argument("--circuit", required=True, help="folder that `npu rtl tcu:X -o FOLDER` wrote")
    parser.add_argument("--output", required=True, help="folder for the files")
    parser.add_argument("--hertz", type=float, default=50e6, help="clock of the system in Hz (default: 50e6)")
    latency = "hold memory back to these latencies in cycles"
    parser.add_argument("--latency", type=int, nargs=2, metavar=("READ", "WRITE"), help=latency)
    parser.add_argument("--rom", help="loader as plain bytes, instead of compiling it")
    parsed = parser.parse_args(arguments)
    between = (lambda bus: SteadyMemory(bus, *parsed.latency)) if parsed.latency else None
    try:
        board = board_of(parsed.board, parsed.memory)
        generate(board, int(parsed.hertz), parsed.circuit, parsed.output, rom=parsed.rom, between=between)
    except (CircuitError, OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
