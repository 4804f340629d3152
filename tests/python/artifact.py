"""A model compiled by `npu compile` for the TCU, and what a driver streams for it."""

import json
import shutil
import subprocess

import numpy as np

from circuit import Layout


def run(command, **more):
    """Runs a command and returns its output; raises an error with its messages."""
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True, **more)
    if ran.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {ran.returncode}\n{ran.stdout[-2000:]}{ran.stderr[-4000:]}")
    return ran.stdout


class Artifact:
    """A model compiled for the system's instance."""

    def __init__(self, npu, target, model, folder, *options):
        self.npu, self.target = npu, target
        shutil.rmtree(folder, ignore_errors=True)
        run([npu, "compile", model, "--target", target, "-o", folder, "--quiet", *options])
        (self.manifest,) = folder.glob("*.tmodel")
        self.content = json.loads(self.manifest.read_text())
        self.program = self.manifest.with_suffix(".tprog").read_bytes()

    def raw(self, samples):
        """Raw outputs that the machine computes for samples (`.npy`), one row per sample."""
        output = self.manifest.parent / "expected.npz"
        run([self.npu, "run", self.manifest, "--input", samples, "--raw", "--output", output])
        (values,) = np.load(output).values()
        return values.reshape(len(np.load(samples)), -1)

    def streamed(self, first, probe):
        """Instructions that the driver streams for a sample: before the first one, it moves constants to local memory. `probe`
        adds the move of a vector that follows each program."""
        architecture = self.content["arch"]
        layout = Layout(architecture)
        local, vector = architecture["local_depth"] - 1, architecture["dram0_depth"] - 1
        count = sum(part["size"] for part in self.content["consts"])
        moves = first and self.content["load_consts_to_local"] and count
        constants = layout.encode(2, 2, third=count - 1) if moves else b""
        # Configure: the program counter becomes 1.
        operands = 8 * (layout.instruction_bytes - 1)
        counter = (0xF << operands + 4 | 1 << 4 | 0xA).to_bytes(layout.instruction_bytes, "little")
        last = layout.encode(2, 0, local, vector) + layout.encode(2, 1, local, vector - 1) if probe else b""
        return constants + counter + self.program + last

    def cycles(self, latency, write_latency, first=False, probe=False):
        """Cycles by `npu time` of what the driver streams for a sample."""
        path = self.manifest.parent / "streamed.tprog"
        path.write_bytes(self.streamed(first, probe))
        options = ["--latency", latency, "--write-latency", write_latency]
        report = json.loads(run([self.npu, "time", path, "--target", self.target, *options, "--json"]))
        return report["cycles"]["hw"]

    def copied_bytes(self):
        """Bytes that the host copies for a sample, by `npu time`."""
        return json.loads(run([self.npu, "time", self.manifest, "--host", "0,1e6", "--json"]))["host"]["copied_bytes"]
