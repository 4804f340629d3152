"""Tests that the TCU's circuit passes Verilator's `-Wall` and slang's extra warnings on several instances, and that
FuseSoC checks and simulates the output of `npu rtl`. Names in the circuit must not be C macros, as they become names of
public signals in C++.

One of slang's extra warnings is disabled: a cast to a parameter's width is redundant on instances where the widths are
equal.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from pyslang import driver

from circuit import LIBRARY, SOURCES, files, overrides, parameters, verilator
from npu import add_arguments, default_command

BASE = {
    "data_type": "FP16BP8",
    "array_size": 8,
    "dram0_depth": 1048576,
    "dram1_depth": 1048576,
    "local_depth": 8192,
    "accumulator_depth": 2048,
    "simd_registers_depth": 1,
    "stride0_depth": 8,
    "stride1_depth": 8,
    "number_of_threads": 1,
    "thread_queue_depth": 8,
}

# A unit without the limits of the released circuit.
OVERLAP = {
    "local_queue_depth": 4,
    "overlapped_dram": 1,
    "double_weights": 1,
    "pipelined_simd": 1,
    "outstanding_bursts": 8,
}

# Differences from pynqz1, bus width, further parameters.
INSTANCES = [
    ({}, 128, {}),
    ({}, 128, {"LOSES_ADDITIONS": 1, "MOVES_WRITES": 1}),
    ({"array_size": 32, "local_depth": 16384, "accumulator_depth": 4096}, 128, {}),
    ({"array_size": 32, "local_depth": 49152, "accumulator_depth": 20480}, 512, {"CROSSES_BY_A_BEAT": 0}),
    ({"array_size": 4, "local_depth": 4096, "dram0_depth": 4096, "dram1_depth": 32768}, 64, {}),
    ({"array_size": 12, "simd_registers_depth": 0, "stride0_depth": 1, "stride1_depth": 1}, 64, {}),
    ({"array_size": 2, "data_type": "FP18BP10", "number_of_threads": 2, "simd_registers_depth": 3}, 32, {}),
    ({"array_size": 16, "data_type": "FP32BP16", "local_depth": 20480, "dram0_depth": 1 << 26}, 512, {}),
    ({"array_size": 24, "data_type": "FP8BP4", "simd_registers_depth": 16}, 512, {"SAMPLE_BLOCK_SIZE": 1}),
    ({"array_size": 65, "dram0_depth": 1 << 16, "dram1_depth": 1 << 16}, 128, {}),
    ({"array_size": 3, "registered_rows": 1}, 128, {}),
    ({"array_size": 3, "data_type": "FP8BP4", "local_depth": 100}, 1024, {}),
    ({"array_size": 5, "data_type": "FP8BP4"}, 8, {}),
    (OVERLAP | {"array_size": 12, "registered_rows": 1}, 128, {}),
    (OVERLAP, 128, {}),
    (OVERLAP | {"array_size": 6, "local_depth": 100, "local_queue_depth": 3, "overlapped_dram": 0}, 32, {}),
    ({"local_queue_depth": 2}, 128, {}),
    ({"local_queue_depth": 8, "double_weights": 1, "array_size": 2, "stride0_depth": 1}, 32, {}),
    ({"pipelined_simd": 1, "simd_registers_depth": 0}, 128, {}),
    ({"array_size": 4, "simd_registers_depth": 5}, 64, {"LOOKUP_TABLES": 3, "LOOKUP_DEPTH": 256}),
    ({"array_size": 2, "local_depth": 4, "accumulator_depth": 4, "dram0_depth": 4, "dram1_depth": 4}, 32, {}),
]


# A unit that follows the page of the instruction set.
SEED = {"reading": "seed"}
INSTANCES += [
    (SEED | {"simd_registers_depth": 3, "lookup_tables": 2}, 128, {}),
    (SEED | OVERLAP | {"array_size": 4, "dram0_depth": 1 << 31}, 64, {"SAMPLE_BLOCK_SIZE": 1}),
]

# The largest arrays, which take minutes.
LARGE = [
    ({"array_size": 64, "data_type": "FP8BP4", "simd_registers_depth": 16}, 512, {"SAMPLE_BLOCK_SIZE": 1}),
    ({"array_size": 128, "dram0_depth": 1 << 16, "dram1_depth": 1 << 16}, 512, {}),
    ({"array_size": 256, "data_type": "FP32BP16", "dram0_depth": 1 << 16, "dram1_depth": 1 << 16}, 32, {}),
]


def slang(options, paths):
    """Returns slang's messages; empty if there are none."""
    checker = driver.Driver()
    checker.addStandardArgs()
    words = ["slang", "-Wextra", "-Wno-useless-cast", "-Werror", *options, *map(str, paths)]
    read = checker.parseCommandLine(" ".join(words)) and checker.processOptions() and checker.parseAllSources()
    if not read:
        return ["slang cannot read the sources"]
    checker.reportCompilation(checker.createCompilation(), True)
    return [] if checker.reportDiagnostics(True) else ["slang warns"]


# Verilator of the Python package under the name that FuseSoC calls, without itself in the path.
VERILATOR = """#!/bin/sh
PATH='{path}' exec '{python}' -m verilator "$@"
"""


def fusesoc(npu, instance):
    """Returns FuseSoC's messages about a written circuit; empty if it passes the check and its simulator builds and starts."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([npu, "rtl", f"tcu:{instance}", "-o", folder / "circuit"], check=True, capture_output=True)
        (core,) = (folder / "circuit").glob("*.core")
        name = core.read_text().split("name: ")[1].split()[0]
        tool = folder / "bin/verilator"
        tool.parent.mkdir()
        tool.write_text(VERILATOR.format(path=os.environ["PATH"], python=sys.executable))
        tool.chmod(0o755)
        # The package's makefile lacks a compiler flag.
        own = {"PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}", "MAKEFLAGS": "CFG_CXXFLAGS_PCH_I=-include"}
        run = [pathlib.Path(sys.executable).with_name("fusesoc"), "--cores-root", "circuit", "run"]
        for words in (["--target=lint"], ["--target=sim", "--build"]):
            seen = subprocess.run([*run, *words, name], cwd=folder, env=os.environ | own, capture_output=True, text=True)
            if seen.returncode or "%Warning" in seen.stdout + seen.stderr:
                return [f"{' '.join(words)}: {seen.stdout[-1000:]}{seen.stderr[-1000:]}"]
        (simulator,) = folder.glob("build/*/sim/Vtcu_bench")
        helped = subprocess.run([simulator, "--help"], capture_output=True, text=True)
        return [] if helped.returncode == 0 and "--program" in helped.stdout else [f"--help: {helped}"]


# Headers that Verilator's C++ includes, and that a harness may include.
HEADERS = "cassert cerrno cfloat climits cmath csignal cstdint cstdio cstdlib cstring ctime unistd.h sys/types.h"


def macros():
    """Returns the names in the sources that are C macros."""
    included = "".join(f"#include <{header}>\n" for header in HEADERS.split())
    seen = subprocess.run(["c++", "-dM", "-E", "-x", "c++", "-"], input=included, capture_output=True, text=True, check=True)
    defined = {re.split(r"[ (]", line, maxsplit=2)[1] for line in seen.stdout.splitlines()}
    code = [re.sub(r"//.*", "", path.read_text()) for path in [*files(), *LIBRARY.glob("sim/*.sv"), *SOURCES.glob("sim/*.sv")]]
    # Keywords of SystemVerilog are not names.
    return sorted((defined - {"assert"}) & set(re.findall(r"[A-Za-z_]\w*", "\n".join(code))))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    add_arguments(parser)
    parser.add_argument("--large", action="store_true", help="also test the largest arrays, which takes minutes")
    options = parser.parse_args()
    npu = options.npu or default_command()
    failed = 0
    instances = INSTANCES + LARGE * options.large
    for different, bus, more in instances:
        given = parameters(npu, BASE | different, bus) | more
        named = f"{different} bus {bus} {more}"
        seen = verilator(["--lint-only", "-Wall", "--top-module", "tcu", *overrides(given), *files()])
        if seen.returncode or seen.stderr.strip():
            failed += 1
            print(f"{named}: {seen.stderr}")
        # An unsized literal has 32 bits and is signed; slang interprets quotes in its command.
        sized = {key: f"64\\'d{value}" if value >= 1 << 31 else value for key, value in given.items()}
        words = [f"-G{key}={value}" for key, value in sized.items()]
        for difference in slang([*words, "--top", "tcu"], files()):
            failed += 1
            print(f"{named}: {difference}")
    for name in macros():
        failed += 1
        print(f"`{name}` is a C macro")
    for difference in fusesoc(npu, "cmoda7+overlap"):
        failed += 1
        print(f"FuseSoC, {difference}")
    print(f"{len(instances)} instances and one by FuseSoC, {failed} with warnings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
