"""The `npu` command, as the scripts beside this file use it.

Main type: `Npu`, which runs the command on models and arrays and gives reports and arrays, or
raises `Refusal`. The command is the one that `--npu` names, else the environment's NPUKIT_NPU,
else the release build of this checkout.
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
    """The command said no, and why; `report` is what `--json` printed all the same."""

    def __init__(self, why, report=None):
        super().__init__(why)
        self.report = report


class Crash(Exception):
    """The command did not end as commands end: a panic, a signal."""


def add_arguments(parser):
    """The option that every script has."""
    parser.add_argument("--npu", type=pathlib.Path, help="the command to judge (target/release/npu)")


def default_command():
    """The command when none is named."""
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return pathlib.Path(os.environ.get("NPUKIT_NPU", target / "release" / "npu"))


class Npu:
    """The command, and a folder for what goes in and comes out."""

    def __init__(self, command=None):
        self.command = pathlib.Path(command or default_command()).resolve()
        if not self.command.exists():
            raise SystemExit(f"error: no command at {self.command}; `cargo build --release` makes it")
        self._folder = tempfile.TemporaryDirectory(prefix="npukit-")
        self.folder = pathlib.Path(self._folder.name)

    def run(self, *arguments):
        """Runs the command; gives its `--json` report. Raises `Refusal` and `Crash`."""
        command = [str(part) for part in (self.command, *arguments, "--json")]
        return answer(subprocess.run(command, **OPTIONS))

    def measured(self, *arguments):
        """As `run`, on one core; also gives that core's seconds and the peak of memory in bytes."""
        # A small process in between: the peak of a process is at least that of its parent's
        # memory when it was started, and ours may hold TensorFlow.
        command = [sys.executable, "-S", "-c", MEASURE, self.command, *arguments, "--json"]
        done = subprocess.run([str(part) for part in command], **OPTIONS)
        *text, figures = done.stdout.splitlines()
        done.stdout = "\n".join(text)
        seconds, kilobytes = figures.split()
        return answer(done), float(seconds), 1024 * int(kilobytes)

    def outputs(self, verb, model, inputs, *arguments, name="arrays"):
        """Outputs by name, and the report, of `npu eval` or `npu run` on arrays by name.

        `name` keeps calls apart that run at the same time.
        """
        given, made = self.folder / f"{name}.in.npz", self.folder / f"{name}.out.npz"
        options = [*arguments, "--output", made]
        if inputs:
            # Through a file: names of arrays may not be those of numpy.savez's own parameters.
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

# Runs a command on one core; prints what it prints, then its seconds and peak memory in KiB. The
# seconds are those that it had the core for: what else the machine does is no matter.
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
    """The report of a process that ended."""
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode in (1, 2):
        report = json.loads(done.stdout) if done.stdout.startswith("{") else None
        raise Refusal(reason(done.stderr) or done.stdout.strip(), report)
    raise Crash(f"status {done.returncode}: {done.stderr.strip()}")


def reason(complaint):
    """What went wrong, in a line: the innermost of the causes that the command draws as a tree."""
    blocks = [[]]
    for line in complaint.splitlines():
        if line.startswith("Error:"):
            blocks.append([])
        # A cross begins a problem, an arrow a cause; bars continue a line that was too long.
        text = re.sub(r"^\s*(x |`-> |\|-> |\| )?\s*", "", line)
        if text and not text.startswith(("Error:", "help:")):
            blocks[-1].append(text)
    texts = [" ".join(block) for block in blocks if block]
    return "; ".join(texts[1:] or texts)
