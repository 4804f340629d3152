"""Runs our firmware on QEMU with a simulated board, and compares what it prints with `npu`.

    python firmware_qemu.py [--npu COMMAND] [--board COMMAND] [--samples N]

The firmware is that of `litex_sim.py` (`drivers/litex/firmware`) for QEMU's machine `virt`. Its accesses to the unit go through the
UART to `npukit-board-sim`, which contains npukit's machine. It takes seconds, and has no cycles of the unit.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

from circuit import ROOT
from litex_sim import Judge, digits, samples_of
from npu import add_arguments, default_command
from system import DRIVERS, pack_artifact, parse, run

TARGET = "tcu:ulx3s_85f"
# Where the firmware expects the image.
IMAGE = 0x80100000
LONGEST_SECONDS = 300


def firmware(folder):
    """Compiles the firmware, and returns its path."""
    run(["make", "--silent", "-C", DRIVERS / "firmware", f"BUILD={folder}", "qemu"])
    return folder / "qemu.elf"


def boot(program, image, board, folder):
    """Runs the firmware with a board, and returns what it prints."""
    socket = folder / "board.socket"
    command = ["qemu-system-riscv32", "-M", "virt", "-m", "128M", "-bios", "none", "-kernel", program]
    command += ["-device", f"loader,file={image},addr={IMAGE:#x},force-raw=on", "-display", "none", "-monitor", "none"]
    command += ["-serial", f"unix:{socket}", "-chardev", "stdio,id=console"]
    command += ["-semihosting-config", "enable=on,target=native,chardev=console"]
    with subprocess.Popen([board, socket, f"{TARGET}@64"], stdout=subprocess.PIPE, text=True) as simulated:
        try:
            if simulated.stdout.readline() != "ready\n":
                raise RuntimeError(f"{board}: the simulated board did not start")
            return run(command, timeout=LONGEST_SECONDS, stdin=subprocess.DEVNULL)
        finally:
            simulated.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--board", type=pathlib.Path, default=ROOT / "target/debug/npukit-board-sim", help="the simulated board")
    parser.add_argument("--samples", type=int, default=10, help="samples to run (default: 10)")
    arguments = parser.parse_args()
    npu = arguments.npu or default_command()
    judge = Judge()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        artifact, samples = digits(npu, TARGET, folder / "digits"), samples_of(folder, arguments.samples)
        image = folder / "image.bin"
        image.write_bytes(pack_artifact(None, artifact.manifest, samples))
        output = boot(firmware(folder / "build"), image, arguments.board, folder)
        judge.values(parse(output), artifact.raw(samples))
    print(f"{judge.failures} failures" if judge.failures else "the firmware computes what npu computes")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
