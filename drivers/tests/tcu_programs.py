"""Programs of the TCU for the tests: published ones with their published results, and ones compiled here."""

import json
from typing import Any, Dict, NamedTuple

import numpy as np

from harness import npu, programs, read_npz, shared

# Published programs: folder, board, input, and the number of runs to test.
PUBLISHED = [
    ("resnet20v2_zcu104", "zcu104@128", "x:0", "Identity:0", "cifar_10x32.csv", 10),
    ("speech_commands", "speech_robot@64", "input_1", "dense_1", "speech_commands_input_1x8.csv", 1),
]

# Placeholder for a file with samples far beyond the range of the number format.
SAMPLES = "samples"

# Compiled programs: network, changes of the instance pynqz1, options of the compiler.
COMPILED = {
    "mlp": ("mlp", {}, []),
    "lenet5": ("lenet5", {}, []),
    "lenet5_local": ("lenet5", {"local_depth": 32768}, ["--strategy", "local-vars-and-consts"]),
    "mlp_scaled": ("mlp", {}, ["--calibrate", SAMPLES, "--rescale", "always"]),
    "mlp_8bit": ("mlp", {"data_type": "FP8BP4"}, []),
    "mlp_18bit": ("mlp", {"data_type": "FP18BP10"}, []),
    "mlp_32bit": ("mlp", {"data_type": "FP32BP16", "array_size": 4}, []),
    "lenet5_12x12": ("lenet5", {"array_size": 12, "local_depth": 20480}, []),
    "decoder": ("decoder", {"local_depth": 16384, "lookup_tables": 2, "simd_registers_depth": 3}, []),
}

PYNQZ1 = {
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


class Program(NamedTuple):
    """An artifact, its board, and runs of inputs and raw outputs."""

    name: str
    manifest: Any
    board: str
    stream_bytes: int
    runs: list  # of (inputs: Dict[str, array], raw outputs: Dict[str, array])
    judge: str


def published() -> list:
    """Returns the published programs, with their published results."""
    folder = shared()
    if folder is None:
        return []
    return [_published(folder / "golden" / "tcu" / "programs" / row[0], *row) for row in PUBLISHED]


def _published(folder, name, board, input_name, output_name, csv, count):
    outputs = json.loads((folder / "outputs.json").read_text())
    manifest = next(folder.glob("*.tmodel"))
    lanes = json.loads(manifest.read_text())["arch"]["array_size"]
    values = np.loadtxt(folder / csv, delimiter=",", dtype=np.float32).reshape(len(outputs["runs"]), -1, lanes)
    runs = []
    for run, vectors in list(zip(outputs["runs"], values))[:count]:
        output = np.array(run["output_raw"], dtype=np.int32).reshape(-1, lanes)
        runs.append(({input_name: vectors}, {output_name: output}))
    return Program(name, manifest, f"tcu:{board}", int(board.split("@")[1]) // 8, runs, "published results")


def compiled(name: str) -> Program:
    """Compiles a network of the zoo; its results are those of `npu run`. Compiled once for all tests of drivers/test."""
    network, changes, options = COMPILED[name]
    folder = programs()
    model, tarch, output = folder / f"{network}.onnx", folder / f"{name}.tarch", folder / name
    if not (output / "raw.npz").exists():
        npu("zoo", network, "-o", model)
        tarch.write_text(json.dumps({**PYNQZ1, **changes}))
        samples = folder / "samples.npy"
        np.save(samples, np.linspace(-300, 300, 4 * 784, dtype=np.float32).reshape(4, 784))
        options = [samples if option == SAMPLES else option for option in options]
        npu("compile", model, "--target", f"tcu:{tarch}", "-o", output, "--test-vectors", *options)
    manifest = next(output.glob("*.tmodel"))
    sample = output / f"{manifest.name[: -len('.tmodel')]}.test_input.npy"
    if not (output / "raw.npz").exists():
        npu("run", manifest, "--input", sample, "--raw", "-o", output / "raw.npz")
    (name_of_input,) = [entry["name"] for entry in json.loads(manifest.read_text())["inputs"]]
    raw: Dict[str, np.ndarray] = read_npz(output / "raw.npz")
    return Program(name, manifest, f"tcu:{tarch}@64", 8, [({name_of_input: np.load(sample)}, raw)], "npu run")
