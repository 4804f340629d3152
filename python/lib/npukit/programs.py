"""Programs of accelerators."""

from __future__ import annotations

import json
import os
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _npukit, arguments
from .arguments import Array, Arrays, Host, Path, Values
from .progress import Bar, Progress
from .reports import Comparison, Proof, Report, Trace

if TYPE_CHECKING:
    from .models import Model


class Program:
    """A program, made by `Model.compile` or `read`."""

    def __init__(self, native: _npukit.Program, verb: str):
        self._native = native
        self.report = Report(verb, json.loads(native.report))

    @property
    def target(self) -> str:
        """Target and instance, for example `tcu:ultra96v2`."""
        return self._native.target

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of one sample's inputs by name."""
        return arguments.shapes(self._native.inputs)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of one sample's outputs by name."""
        return arguments.shapes(self._native.outputs)

    def run(
        self,
        x: Arrays,
        *,
        preprocess: Values | None = None,
        stateful: bool = False,
        integers: bool = False,
        meaning: str | None = None,
        progress: Progress = None,
    ) -> np.ndarray | dict[str, np.ndarray]:
        """Runs the program bit-exactly, as the accelerator would.

        `x` is an array for the only input, or a mapping of arrays by input name; the first axis may hold several
        samples. A path is a file or a folder of samples, such as images. Returns an array if `x` is one and there is one output, otherwise a mapping. `integers` returns the
        machine's integers. `meaning` (`agreed`, `sequential`, `hardware`) selects the result if hardware computes
        something other than the instructions in sequence.
        """
        found = self.compare(
            x, preprocess=preprocess, stateful=stateful, integers=integers, meaning=meaning, progress=progress
        )
        return one_or_all(x, found.arrays)

    def compare(
        self,
        x: Arrays,
        *,
        layers: bool = False,
        max_error: float | str | None = None,
        preprocess: Values | None = None,
        stateful: bool = False,
        integers: bool = False,
        meaning: str | None = None,
        check_memory: bool = False,
        labels: Array | None = None,
        progress: Progress = None,
    ) -> Comparison:
        """Like `run`, but returns the report of `npu run`: errors against float, saturation and cycles; with `layers`, by layer.

        With `labels` (an array of classes, or the path of a file), `accuracy` is the accuracy on the samples.
        Outputs with an error above `max_error` (a number, or text such as `5%`) are listed in `failures`.
        """
        running = {
            "inputs": arguments.arrays(x),
            "preprocess": arguments.preprocess(preprocess),
            "stateful": stateful,
            "integers": integers,
            "compare": layers,
            "max_error": None if max_error is None else str(max_error),
            "meaning": meaning,
            "check_memory": check_memory,
            "labels": arguments.labels(labels),
        }
        with Bar(progress) as shown:
            report, arrays = self._native.run(running, shown)
        return Comparison("run", json.loads(report), arrays)

    def time(
        self,
        *,
        clock: float | str | None = None,
        meaning: str | None = None,
        host: Host | None = None,
        technology: Path | None = None,
        progress: Progress = None,
        **options: Any,
    ) -> Report:
        """Returns the report of `npu time`: the time of one sample, by layer and unit.

        `clock` is a frequency in MHz, or the name of one of the target's clocks. `host` is the speed of the host, as
        `(5, 400e6)`: 5 ns for each element of its steps, and copies of 400 MB in a second. `report.host` is then its
        estimated time. `technology` is `horowitz-45nm` or the path of a table of energies; `report.energy` is then the
        energy by layer and memory. Other options are those of the target.
        """
        given = arguments.options(options)
        if clock is not None:
            given["clock" if isinstance(clock, str) else "clock-mhz"] = arguments.word(clock)
        costs = arguments.costs(host, technology)
        with Bar(progress) as shown:
            return Report("time", json.loads(self._native.time(given, meaning, costs, shown)))

    def to_html(
        self,
        x: Arrays | None = None,
        *,
        labels: Array | None = None,
        against: Path | None = None,
        preprocess: Values | None = None,
        host: Host | None = None,
        technology: Path | None = None,
        progress: Progress = None,
    ) -> str:
        """Returns the page of `npu report`: layers, units, memories, the network and, with inputs, values and errors by layer.

        `labels` of the inputs (an array of classes, or the path of a file) add the accuracy. `host` and `technology`
        add the host's time and the energy, as for `time`.

        `against` is the file of another program's page, to compare with. The page is one file, which needs no network
        connection: `pathlib.Path("report.html").write_text(program.to_html(x))`.
        """
        paging = {
            "inputs": arguments.arrays(x),
            "preprocess": arguments.preprocess(preprocess),
            "labels": arguments.labels(labels),
            "against": None if against is None else arguments.path(against),
            "costs": arguments.costs(host, technology),
        }
        with Bar(progress) as shown:
            return self._native.page(paging, shown)

    def verify(
        self,
        model: Model | None = None,
        *,
        seeds: Sequence[int] = (),
        certificate: Path | None = None,
        progress: Progress = None,
    ) -> Proof:
        """Proves that the program computes its model for all inputs. Returns the report of `npu verify`, true if all
        outputs are proved.

        For an artifact, `model` is the model from which it was compiled. `seeds` are random seeds of inputs, with
        one run per seed. `certificate` is a file to check; its seeds are used first.
        """
        native = None if model is None else model._native
        file = None if certificate is None else arguments.path(certificate)
        proving = {"model": native, "seeds": [int(seed) for seed in seeds], "certificate": file}
        with Bar(progress) as shown:
            return Proof("verify", json.loads(self._native.verify(proving, shown)))

    def trace(
        self,
        x: Arrays,
        *,
        model: Model | None = None,
        preprocess: Values | None = None,
        progress: Progress = None,
    ) -> Trace:
        """Records every tensor of a run on the machine. `trace.arrays` maps names in the model to arrays in the model's scale.

        For an artifact, `model` is the model from which it was compiled. It determines the results of layers.
        """
        native = None if model is None else model._native
        with Bar(progress) as shown:
            found = self._native.trace(arguments.arrays(x), arguments.preprocess(preprocess), native, shown)
        return Trace.of(*found)

    def lint(self) -> Report:
        """Returns the report of `npu lint`: problems found without running the program."""
        return Report("lint", json.loads(self._native.lint()))

    def files(self) -> dict[str, bytes]:
        """Returns the files that drivers load, the manifest first."""
        return dict(self._native.files())

    def save(self, folder: Path) -> list[pathlib.Path]:
        """Writes the files to a folder, which is created if needed. Returns their paths, the manifest's first.

        Each file is written completely or not at all.
        """
        place = pathlib.Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        with tempfile.TemporaryDirectory(prefix=".npukit-", dir=place) as scratch:
            for name, content in self.files().items():
                pathlib.Path(scratch, name).write_bytes(content)
                written.append(name)
            # The manifest is last, so that the files that it names exist.
            for name in reversed(written):
                os.replace(pathlib.Path(scratch, name), place / name)
        return [place / name for name in written]

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __repr__(self) -> str:
        return f"<npukit.Program of {self.report['name']} for {self.target}>"


def one_or_all(x: Arrays, arrays: dict[str, np.ndarray]) -> np.ndarray | dict[str, np.ndarray]:
    """Returns the only array if one was given, otherwise all by name."""
    if len(arrays) == 1 and not isinstance(x, Mapping):
        return next(iter(arrays.values()))
    return arrays


def read(path: Path, *, files: Mapping[str, bytes] | None = None, progress: Progress = None) -> Program:
    """Reads the program of an artifact by its manifest, for example `x.tmodel`. Entries of `files` take precedence over the disk."""
    with Bar(progress) as shown:
        return Program(_npukit.read(arguments.path(path), dict(files or {}), shown), "read")
