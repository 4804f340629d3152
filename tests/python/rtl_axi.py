"""Tests that the AXI checker of the TCU's simulation finds every broken rule, and that the circuit breaks none.

    python rtl_axi.py [--npu COMMAND] [--only WORD ...]

First, `formal/axi_cases.cpp` drives the checker alone, with legal accesses and each violation. Then a circuit, or the
memory that answers it, is built with one defect at a time; the run must end with the rule that the defect breaks. The
circuit's own assertions, which end a run at the same defects, are left out. Last, each of some assertions must end a run.
`--only` selects defects by words of their rules.
"""

import argparse
import shutil
import subprocess
import sys

from circuit import LIBRARY, ROOT, SOURCES, Circuit, verilator
from npu import add_arguments, default_command

ARCHITECTURE = {
    "data_type": "FP32BP16",
    "array_size": 2,
    "dram0_depth": 4096,
    "dram1_depth": 4096,
    "local_depth": 512,
    "accumulator_depth": 64,
    "simd_registers_depth": 1,
    "stride0_depth": 8,
    "stride1_depth": 8,
    "number_of_threads": 1,
    "thread_queue_depth": 8,
}

AXI_BITS = 64
# Number of vectors in 4 KiB.
PAGE = 512

RESET, CROSSES, SHAPE = "VALID is high in a reset", "crosses 4 KiB", "not of whole aligned words"
MASTER, MEMORY = "the master changes or takes back", "memory changes or takes back"
READS, WRITES = "more bursts read are under way", "more bursts written are under way"
RLAST, WLAST, RESPONSE = "RLAST is not", "WLAST is not", "a response to no burst"

# The broken rule and its changes: file, old text, new text.
DEFECTS = [
    (RESET, ("npu_read_master.sv", "ar.valid = taken_valid[0]", "ar.valid = taken_valid[0] || reset")),
    # Only detected if registers have arbitrary values before the reset.
    (RESET, ("npu_counted_queue.sv", "if (reset)", "if (1'b0)")),
    (CROSSES, ("npu_burst_splitter.sv", "CROSSES_BY_A_BEAT && ", "")),
    (CROSSES, ("npu_burst_splitter.sv", "/ 13'(BEAT_BYTES)", "/ 13'(BEAT_BYTES) + 13'd1")),
    (SHAPE, ("tcu.sv", "m_axi_dram0_arburst} = {2{INCREMENTING}}", "m_axi_dram0_arburst} = {INCREMENTING, 2'b10}")),
    (SHAPE, ("tcu.sv", "m_axi_dram0_awsize} = {2{WORD_SIZE}}", "m_axi_dram0_awsize} = {3'd1, WORD_SIZE}")),
    (SHAPE, ("npu_burst_splitter.sv", "+ ADDRESS_BITS'(done_bytes)", "+ ADDRESS_BITS'(done_bytes + 32'd4)")),
    (MASTER, ("npu_read_master.sv", "ar.valid = taken_valid[0]", "ar.valid = taken_valid[0] && !r_valid")),
    (MASTER, ("npu_write_master.sv", "w_last = index == known_beats", "w_last = index == known_beats && w_ready")),
    (MASTER, ("npu_write_master.sv", "aw.valid = taken_valid[0]", "aw.valid = taken_valid[0] && !b_valid")),
    # The circuit accepts every word and response at once; this makes it wait sometimes.
    (
        MEMORY,
        ("npu_read_master.sv", "r_ready = known && data_ready", "r_ready = known && data_ready && ar_ready"),
        ("bank.h", "if (!reading_) reading_", "reading_"),
    ),
    (
        MEMORY,
        ("npu_write_master.sv", "b_ready = awaited", "b_ready = awaited && aw_ready"),
        ("bank.h", "if (!responding_) responding_", "responding_"),
    ),
    (READS, ("npu_read_master.sv", "{part_first, 1'b1}", "2'b01")),
    (RLAST, ("bank.h", "reads_.front().beats == 1;", "reads_.front().beats <= 2;")),
    (RLAST, ("bank.h", "reads_.front().beats == 1;", "false;")),
    (WRITES, ("npu_write_master.sv", "3'b111", "3'b011")),
    (WLAST, ("npu_write_master.sv", "w_last = index == known_beats", "w_last = index == 8'd1")),
    (WLAST, ("npu_write_master.sv", ".in_data(beats)", ".in_data(beats + 1'b1)")),
    (RESPONSE, ("bank.h", "responses_.push_back(cycle", "responses_.push_back(cycle + 1), responses_.push_back(cycle")),
]

# Assertions of modules, and the change that breaks each.
ASSERTIONS = [
    ("reads.addresses_stay.valid_stays", ("npu_read_master.sv", "ar.valid = taken_valid[0]", "ar.valid = taken_valid[0] && !r_valid")),
    ("writes.data_stays.data_stays", ("npu_write_master.sv", "w_last = index == known_beats", "w_last = index == known_beats && w_ready")),
    ("port.word_has_room", ("npu_memory_port.sv", "count < 2'd2", "count < 2'd3")),
]


def cases():
    """Whether the checker detects each violation, and none in legal accesses."""
    make = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0"
    folder = ROOT / "target/rtl/axi.cases"
    folder.parent.mkdir(parents=True, exist_ok=True)
    built = verilator(
        ["--cc", "--exe", "--build", "-O3", "--top-module", "npu_axi_checker", "-o", "cases", "--Mdir", folder]
        + ["-MAKEFLAGS", make, "-GDATA_BITS=64", "-GMOST_READS=5", "-GMOST_WRITES=3"]
        + [LIBRARY / "sim/npu_axi_checker.sv", LIBRARY / "formal/axi_cases.cpp"]
    )
    if built.returncode:
        raise RuntimeError(f"the checker could not be built\n{built.stdout[-2000:]}{built.stderr[-2000:]}")
    ran = subprocess.run([folder / "cases"], capture_output=True, text=True)
    print(ran.stdout.strip(), flush=True)
    return ran.returncode == 0


def program(circuit):
    """Transfers of both banks in both directions: across pages, short ones, and vector by vector."""
    layout = circuit.layout
    move = lambda kind, local, other, size: layout.encode(2, kind, local, other, size - 1)
    strided = 1 << layout.second
    own = []
    for read in (0, 2):
        own += [move(read, 0, 7 | strided, 30), move(read, 0, PAGE - 56, 100), move(read, 100, PAGE - 1, 2)]
        own += [move(read + 1, 0, 600 | strided, 30), move(read + 1, 0, PAGE - 26, 300), move(read + 1, 9, 2 * PAGE - 1, 2)]
        own += [move(read, i, i, 1) for i in range(12)] + [move(read + 1, i, 2 * i, 1) for i in range(12)]
    return b"".join(own)


def runs(circuit):
    """Settings: fast or slow memory, with and without waits, registers with arbitrary or zero initial values."""
    own = program(circuit)
    for seed in range(1, 7):
        options = {"latency": (1, 30)[seed % 2], "random_start": seed if seed > 2 else 0}
        options |= {"stalls": seed, "stall_percent": 60} if seed != 1 else {}
        circuit.run(own, dump_vectors=0, max_cycles=20_000, **options)


def breach(npu, name, asserts=False, **sources):
    """Returns the message of the checker or of an assertion about a circuit; empty if it breaks no rule."""
    circuit = Circuit(npu, name, ARCHITECTURE, AXI_BITS, optimized=False, asserts=asserts, **sources)
    try:
        runs(circuit)
    except RuntimeError as error:
        return str(error).strip()
    return ""


def seeded(npu, changes, asserts=False):
    """Returns the message about changed sources."""
    paths = [(path, folder) for folder in (LIBRARY, SOURCES) for kind in ("*.sv", "sim/*") for path in folder.glob(kind)]
    texts = {path.relative_to(folder): path.read_text() for path, folder in paths}
    for file, old, new in changes:
        name = next(name for name in texts if name.name == file)
        if old not in texts[name]:
            raise RuntimeError(f"`{old}` was not found in {file}: update the defect")
        texts[name] = texts[name].replace(old, new, 1)
    # All runs share a folder, so that unchanged files are not compiled again.
    sources = ROOT / "target/rtl/axi.sources"
    for name, text in texts.items():
        place = sources / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if not place.exists() or place.read_text() != text:
            place.write_text(text)
    return breach(npu, "axi", asserts, sources=[sources], bench=[sources / "sim"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    npu = options.npu or default_command()
    failed = not cases()
    # The build of an earlier run may use other files.
    for name in ("axi", "axi.sources"):
        shutil.rmtree(ROOT / "target/rtl" / name, ignore_errors=True)
    found = breach(npu, "axi.whole")
    failed += found != ""
    print(f"circuit: {found or 'no broken rule'}", flush=True)
    chosen = [defect for defect in DEFECTS if all(word in defect[0] for word in options.only)]
    for rule, *changes in chosen:
        found = seeded(npu, changes)
        seen = rule in found and "AXI on the bus of DRAM" in found
        failed += not seen
        defect = ", ".join(f"{file} with `{new}` for `{old}`" for file, old, new in changes)
        print(f"{defect}: {found if seen else f'NOT FOUND, {rule}: {found}'}", flush=True)
    for name, change in ASSERTIONS * (not options.only):
        found = seeded(npu, [change], asserts=True)
        seen = name in found
        failed += not seen
        print(f"assertion {name}: {'fails as it must' if seen else f'NOT FOUND {found}'}", flush=True)
    print(f"{len(chosen)} defects, {int(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
