"""The `npu` command, for the scripts in this folder.

Main type: `Npu`, which runs the command on models and arrays and returns reports and arrays, or raises `Refusal`. The
command is `--npu`, otherwise NPUKIT_NPU, otherwise the release build of this checkout.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Refusal(Exception):
    """The command failed with a reason; `report` is the JSON that it printed nevertheless."""

    def __init__(self, why, report=None):
        super().__init__(why)
        self.report = report


class Crash(Exception):
    """The command crashed, for example by a panic or a signal."""


def add_arguments(parser):
    """Adds the option that every script has."""
    parser.add_argument("--npu", type=pathlib.Path, help="the command to test (target/release/npu)")


def default_command():
    """The default command."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return pathlib.Path(os.environ.get("NPUKIT_NPU", target / "release" / "npu"))


class Npu:
    """The command, and a folder for its inputs and outputs."""

    def __init__(self, command=None):
        self.command = pathlib.Path(command or default_command()).resolve()
        if not self.command.exists():
            raise SystemExit(f"error: {self.command} does not exist; build it with `cargo build --release`")
        self._folder = tempfile.TemporaryDirectory(prefix="npukit-")
        self.folder = pathlib.Path(self._folder.name)

    def run(self, *arguments):
        """Runs the command; returns its `--json` report. Raises `Refusal` and `Crash`."""
        command = [str(part) for part in (self.command, *arguments, "--json")]
        return answer(subprocess.run(command, **OPTIONS))

    def measured(self, *arguments):
        """Like `run`, on one core; also returns that core's seconds and the peak of memory in bytes."""
        # A small process in between: the peak of a process is at least its parent's memory when it was started, and
        # this process may hold TensorFlow.
        command = [sys.executable, "-S", "-c", MEASURE, self.command, *arguments, "--json"]
        done = subprocess.run([str(part) for part in command], **OPTIONS)
        *text, figures = done.stdout.splitlines()
        done.stdout = "\n".join(text)
        seconds, kilobytes = figures.split()
        return answer(done), float(seconds), 1024 * int(kilobytes)

    def outputs(self, verb, model, inputs, *arguments, name="arrays"):
        """Returns outputs by name, and the report, of `npu eval` or `npu run` on arrays by name.

        `name` distinguishes calls that run at the same time.
        """
        given, made = self.folder / f"{name}.in.npz", self.folder / f"{name}.out.npz"
        options = [*arguments, "--output", made]
        if inputs:
            # Through a file: names of arrays may conflict with parameters of numpy.savez.
            np.savez(given, **inputs)
            options += ["--input", given]
        try:
            report = self.run(verb, model, *options)
            with np.load(made) as arrays:
                return {key: arrays[key] for key in arrays.files}, report
        finally:
            given.unlink(missing_ok=True)
            made.unlink(missing_ok=True)


OPTIONS = {"capture_output": True, "text": True, "env": {**os.environ, "NO_COLOR": "1"}, "check": False}

# Runs a command on one core; prints its output, then its seconds and peak memory in KiB. The seconds are processor
# time, independent of other load on the machine.
MEASURE = """
import os, resource, subprocess, sys
os.environ["RAYON_NUM_THREADS"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])
done = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
sys.stdout.write(f"\\n{used.ru_utime + used.ru_stime:.3f} {used.ru_maxrss}\\n")
sys.exit(done.returncode)
"""


def answer(done):
    """Returns the report of a finished process."""
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode in (1, 2):
        report = json.loads(done.stdout) if done.stdout.startswith("{") else None
        raise Refusal(reason(done.stderr) or done.stdout.strip(), report)
    raise Crash(f"status {done.returncode}: {done.stderr.strip()}")


def reason(complaint):
    """Returns the reason of a failure in one line: the innermost cause in the command's tree."""
    blocks = [[]]
    for line in complaint.splitlines():
        if line.startswith("Error:"):
            blocks.append([])
        # A cross begins a problem, an arrow a cause; bars continue a long line.
        text = re.sub(r"^\s*(x |`-> |\|-> |\| )?\s*", "", line)
        if text and not text.startswith(("Error:", "help:")):
            blocks[-1].append(text)
    texts = [" ".join(block) for block in blocks if block]
    return "; ".join(texts[1:] or texts)
