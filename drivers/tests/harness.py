"""Shared parts of the tests: the simulated board, programs, and results of `npu run`. Needs NumPy only."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "drivers" / "python"))


def environment(name):
    """Returns a path that drivers/test sets."""
    value = os.environ.get(name)
    if not value:
        raise SystemExit(f"error: {name} is not set; run drivers/test")
    return value


def npu(*arguments, check=True):
    """Runs npu; returns its output."""
    done = subprocess.run([environment("NPUKIT_NPU"), *map(str, arguments)], capture_output=True, text=True)
    if check and done.returncode != 0:
        raise AssertionError(f"npu {' '.join(map(str, arguments))}: {done.stderr}")
    return done


class Boards:
    """Simulated boards by name, started on first use."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="npukit-boards-")
        self.path = pathlib.Path(self.folder.name)
        self.processes = {}

    def socket(self, board):
        """Returns the socket of a board, for example `tcu:pynqz1@64`."""
        if board not in self.processes:
            path = self.path / f"{len(self.processes)}.socket"
            command = [environment("NPUKIT_BOARD_SIM"), str(path), board]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            if process.stdout.readline() != "ready\n":
                raise AssertionError(f"{command} does not start")
            self.processes[board] = (process, path)
        return self.processes[board][1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, _ in self.processes.values():
            process.terminate()
            process.wait()
            process.stdout.close()
        self.folder.cleanup()


def tcu_board_file(path, socket, stream_bytes=8, **changed):
    """Writes the board file of npukit-tcu for a simulated board."""
    region = lambda address, size: {"address": address, "bytes": size}
    board = {
        "socket": str(socket),
        "instruction_dma": "0x40400000",
        "sample_dma": 0x40410000,
        "dram0": region("0x10000000", 1 << 28),
        "dram1": region(0x20000000, 1 << 28),
        "staging": region(0x30000000, 1 << 16),
        "samples": region(0x31000000, 1 << 20),
        "stream_bytes": stream_bytes,
        "max_transfer": (1 << 16) - 1,
        **changed,
    }
    pathlib.Path(path).write_text(json.dumps(board))
    return path


def read_npz(path):
    """Returns arrays by name. NumPy would return `x` for a member called `x.npy`, whatever it holds."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            with archive.open(member) as file:
                arrays[member[: -len(".npy")]] = np.lib.format.read_array(file)
    return arrays


def runner():
    """Returns the command before a compiled test: empty, or an emulator with its arguments."""
    return os.environ.get("NPUKIT_RUNNER", "").split()


def shared():
    """Returns the folder of published programs, or `None` if it does not exist."""
    folder = pathlib.Path(os.environ.get("NPUKIT_SHARED", ROOT.parent / "shared"))
    return folder if folder.is_dir() else None


def programs():
    """Returns the folder of programs compiled for the tests."""
    folder = pathlib.Path(environment("NPUKIT_PROGRAMS"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
