"""A system with a processor around the TCU: generates it, builds it with Verilator, and runs artifacts on it.

Used by `litex_sim.py`. The system is `npukit_litex` of `drivers/litex`, with LiteDRAM's model of a memory and LiteSPI's of a flash.
"""

import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import time

import numpy as np

from artifact import Artifact, run
from circuit import ROOT, verilator

DRIVERS = ROOT / "drivers/litex"
sys.path.insert(0, str(DRIVERS))

from npukit_litex.image import pack_artifact  # noqa: E402

CLOCK_HZ = 100_000_000
# Longest simulation of a program, in cycles.
MOST_CYCLES = 200_000_000
SIMULATOR = ["-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
SIMULATOR += ["-Wno-TIMESCALEMOD", "-Wno-BLKANDNBLK", "-Wno-COMBDLY"]


class System:
    """A simulated system with an instance of the unit, built below `target/soc`."""

    def __init__(self, npu, name, target, memory="ddr3", latency=None):
        self.target = target
        self.folder = ROOT / "target/soc" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        circuit = self.folder / "circuit"
        self.folder.mkdir(parents=True)
        run([npu, "rtl", target, "-o", circuit, "--quiet"])
        command = [sys.executable, "-m", "npukit_litex.soc", "sim", "--circuit", circuit, "--output", self.folder]
        command += ["--hertz", CLOCK_HZ, "--memory", memory, *(["--latency", *latency] if latency else [])]
        run(command, cwd=DRIVERS)
        self._build()
        # Only the flash has this number of words, so the size identifies it.
        text = (self.folder / "sim.v").read_text()
        (self.flash,) = re.findall(r'reg \[31:0\] \w+\[0:4194303\];\s*initial begin\s*\$readmemh\("([^"]+)"', text)

    def _build(self):
        sources = [self.folder / name for name in (self.folder / "files.txt").read_text().split()]
        make = "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O2 OPT_SLOW=-O0 OPT_GLOBAL=-O1"
        built = verilator(
            ["--cc", "--exe", "--build", "-j", "2", "--top-module", "sim", "-o", "simulator", *SIMULATOR, "-MAKEFLAGS", make]
            + ["--Mdir", self.folder / "simulator", *sources, DRIVERS / "npukit_litex/sim.cpp"]
        )
        if built.returncode:
            raise RuntimeError(f"{self.folder.name}: the system could not be built\n{built.stdout[-4000:]}{built.stderr[-4000:]}")

    def run(self, artifact, samples):
        """Runs samples (`.npy`) and returns, for each, the numbers of its line and its raw output."""
        image = pack_artifact(self.folder / "firmware.bin", artifact.manifest, samples)
        image += bytes(-len(image) % 4)
        words = struct.unpack(f">{len(image) // 4}I", image)
        (self.folder / self.flash).write_text("".join(f"{word:08x}\n" for word in words))
        begin = time.monotonic()
        output = run([self.folder / "simulator/simulator", MOST_CYCLES], cwd=self.folder)
        results = parse(output)
        simulated = int(re.search(r"^simulated (\d+)$", output, re.MULTILINE)[1])
        print(f"  {self.folder.name}: {simulated:,} cycles in {time.monotonic() - begin:.0f} s", flush=True)
        return results


def parse(output):
    """Parses what the firmware prints: for each sample, a dictionary of numbers, with the list `raw`."""
    samples = {}
    done = None
    for line in output.splitlines():
        word, *rest = line.split()
        if word == "sample":
            fields = dict(zip(rest[1::2], map(int, rest[2::2])))
            samples[int(rest[0])] = fields
        elif word == "raw":
            samples[int(rest[0])]["raw"] = list(map(int, rest[1:]))
        elif word == "done":
            done = int(rest[0])
    if done is None or sorted(samples) != list(range(done)) or any("raw" not in one for one in samples.values()):
        raise RuntimeError(f"the firmware printed no complete results:\n{output[-2000:]}")
    return [samples[i] for i in range(done)]
