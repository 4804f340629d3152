"""Boots a system with VexRiscv, LiteDRAM and the TCU in Verilator, and compares what our firmware prints with `npu`.

    python litex_sim.py [--npu COMMAND] [--quick] [--samples N]

The firmware (`drivers/litex/firmware`, with the C driver) is loaded from the SPI flash and runs the digits of `npu demo`. Judged:

- classes and raw outputs equal `npu run --raw`;
- with a memory of constant latency (`npukit_litex.steady`), the unit's cycles of every sample, with and without the driver's own
  move, equal `npu time` at this latency;
- with LiteDRAM alone, they equal `npu time` at the latencies that counters at the unit's ports measured in the same run, from
  the second sample on, in which the program has one transfer in each direction.

Then the host's speed is calibrated with the digits, and the time of a sample of another network estimated with it. `--quick` boots an array of 4 x 4 with one sample.
"""

import argparse
import json
import sys

import numpy as np

from circuit import ROOT
from npu import add_arguments, default_command
from system import CLOCK_HZ, Artifact, System, run

ASSETS = ROOT / "crates/npukit/assets"
# Longer than LiteDRAM needs for the longest series of bursts of the digits, with refreshes.
LATENCY = (1500, 300)
SMALL = {
    "data_type": "FP16BP8",
    "array_size": 4,
    "dram0_depth": 65536,
    "dram1_depth": 65536,
    "local_depth": 4096,
    "accumulator_depth": 512,
    "simd_registers_depth": 1,
    "stride0_depth": 8,
    "stride1_depth": 8,
    "number_of_threads": 1,
    "thread_queue_depth": 8,
    "system": {"axi_width_bits": 64},
}


class Judge:
    """Counts comparisons that fail."""

    def __init__(self):
        self.failures = 0

    def equal(self, what, ours, theirs):
        """Compares a result of the system with one of `npu`."""
        if ours != theirs:
            self.failures += 1
            print(f"  FAIL {what}: the system has {ours}, npu {theirs}")

    def values(self, results, expected):
        """Compares raw outputs and classes of all samples."""
        for i, (result, row) in enumerate(zip(results, expected.tolist(), strict=True)):
            self.equal(f"raw output of sample {i}", result["raw"], row)
            self.equal(f"class of sample {i}", result["class"], int(np.argmax(row)))

    def steady_cycles(self, artifact, results):
        """Compares cycles with a memory of constant latency."""
        for i, result in enumerate(results):
            self.equal(f"late cycles of sample {i}", result["late"], 0)
            self.equal(f"read latency of sample {i}", result["read"], LATENCY[0])
            self.equal(f"write latency of sample {i}", result["write"], LATENCY[1])
            self.equal(f"cycles of sample {i}", result["cycles"], artifact.cycles(*LATENCY, first=i == 0))
            self.equal(f"cycles of sample {i} with the driver's move", result["total"], artifact.cycles(*LATENCY, i == 0, True))

    def measured_cycles(self, artifact, results):
        """Compares cycles with LiteDRAM at the latencies that were measured."""
        for i, result in enumerate(results[1:], 1):
            self.equal(f"cycles of sample {i}", result["cycles"], artifact.cycles(result["read"], result["write"]))


def samples_of(folder, count):
    """Writes the first held-out images of the digits."""
    path = folder / "samples.npy"
    np.save(path, np.load(ASSETS / "digits_images.npy")[:count])
    return path


def digits(npu, target, folder):
    """Compiles the network of `npu demo`."""
    return Artifact(npu, target, ASSETS / "digits.onnx", folder, "--calibrate", ASSETS / "digits_calibration.npy")


def figures(name, results):
    """Prints the range of each number."""
    for key in ("cycles", "read", "write", "input", "run", "output", "host"):
        values = [result[key] for result in results]
        print(f"  {name}: {key} {min(values):,} to {max(values):,}")


class HostTime:
    """Mean time of a sample after the first one, in seconds: all of it, the unit, and the rest, which is the host's."""

    def __init__(self, results):
        later = results[1:] or results
        mean = lambda key: sum(result[key] for result in later) / len(later) / CLOCK_HZ
        self.whole, self.unit = mean("host"), mean("cycles")
        self.host = self.whole - self.unit
        self.copies = mean("input") + mean("output")


def second_network(npu, system, judge):
    """Runs two random samples of another network."""
    model = system.folder / "mlp.onnx"
    run([npu, "zoo", "mlp", "-o", model])
    artifact = Artifact(npu, system.target, model, system.folder / "mlp")
    shape = json.loads(artifact.manifest.with_suffix(".npukit.json").read_text())["inputs"][0]["model_shape"]
    samples = system.folder / "mlp.npy"
    np.save(samples, np.random.default_rng(1).random((2, *shape[1:]), dtype=np.float32))
    results = system.run(artifact, samples)
    judge.values(results, artifact.raw(samples))
    figures("mlp", results)
    return artifact, results


def host(npu, system, artifact, results, judge):
    """Calibrates the host's speed with the digits, and estimates another network with it.

    `npu time --host` counts the bytes of inputs and outputs. The driver also copies the program for each sample, which the second
    estimate counts by its bytes.
    """
    digits_time = HostTime(results)
    rate = artifact.copied_bytes() / digits_time.host
    print(f"  digits: {digits_time.whole * 1e3:.2f} ms a sample, unit {digits_time.unit * 1e3:.3f} ms: --host 0,{rate:.0f}")
    other, found = second_network(npu, system, judge)
    time = HostTime(found)
    per_byte = digits_time.copies / artifact.copied_bytes()
    per_program_byte = (digits_time.host - digits_time.copies) / len(artifact.program)
    estimates = {
        "by --host": other.copied_bytes() / rate,
        "with the program's copy": other.copied_bytes() * per_byte + len(other.program) * per_program_byte,
    }
    for name, estimate in estimates.items():
        whole = time.unit + estimate
        print(f"  mlp {name}: {whole * 1e3:.2f} ms a sample, measured {time.whole * 1e3:.2f} ms, {whole / time.whole - 1:+.1%}")


def quick(npu, judge):
    """A small array with one sample, and memory of constant latency."""
    path = ROOT / "target/soc/small.tarch"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(SMALL))
    system = System(npu, "small", f"tcu:{path}", latency=LATENCY)
    artifact, samples = digits(npu, system.target, system.folder / "digits"), samples_of(system.folder, 1)
    results = system.run(artifact, samples)
    judge.values(results, artifact.raw(samples))
    judge.steady_cycles(artifact, results)


def full(npu, count, judge):
    """The instance of the ULX3S: LiteDRAM alone, and with a constant latency."""
    for name, latency in (("steady", LATENCY), ("litedram", None)):
        system = System(npu, name, "tcu:ulx3s_85f", latency=latency)
        artifact, samples = digits(npu, system.target, system.folder / "digits"), samples_of(system.folder, count)
        results = system.run(artifact, samples)
        judge.values(results, artifact.raw(samples))
        figures(name, results)
        if latency:
            judge.steady_cycles(artifact, results)
        else:
            judge.measured_cycles(artifact, results)
            host(npu, system, artifact, results, judge)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--quick", action="store_true", help="a small array with one sample")
    parser.add_argument("--samples", type=int, default=10, help="samples of the full run (default: 10)")
    arguments = parser.parse_args()
    npu = arguments.npu or default_command()
    judge = Judge()
    if arguments.quick:
        quick(npu, judge)
    else:
        full(npu, arguments.samples, judge)
    print(f"{judge.failures} failures" if judge.failures else "the system computes what npu computes, in its cycles")
    return 1 if judge.failures else 0


if __name__ == "__main__":
    sys.exit(main())
