"""The command `npu`, with which every figure of the package is compared."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import npukit as npu
from npukit.keywords import spoken

ROOT = pathlib.Path(__file__).resolve().parents[2]


def command_path():
    """Returns the path of the command: NPUKIT_NPU, or the release build of this checkout."""
    built = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return pathlib.Path(os.environ.get("NPUKIT_NPU", built / "release" / "npu"))


@pytest.fixture(scope="session")
def command():
    """Runs the command; returns its report in Python's words."""
    path = command_path()
    assert path.exists(), f"there is no command at {path}: `cargo build --release` makes it"

    def run(*arguments, status=0):
        done = subprocess.run([path, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stderr
        return spoken(json.loads(done.stdout))

    return run


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """A small network: its file, the model, and three samples."""
    folder = tmp_path_factory.mktemp("network")
    model = npu.zoo("mlp", 3)
    path = folder / "mlp.onnx"
    subprocess.run([command_path(), "zoo", "mlp", "--seed", "3", "-o", path], check=True, capture_output=True)
    ((name, shape),) = model.inputs.items()
    samples = np.random.default_rng(1).normal(0, 0.5, (3 * shape[0], *shape[1:])).astype(np.float32)
    np.save(folder / "x.npy", samples)
    return {"path": path, "model": npu.load(path), "samples": samples, "file": folder / "x.npy", "name": name}
