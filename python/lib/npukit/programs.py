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
from .arguments import Arrays, Path, Values
from .progress import Bar, Progress
from .reports import Comparison, Proof, Report, Trace

if TYPE_CHECKING:
    from .models import Model


class Program:
    """A program: what `Model.compile` made, or `read` read."""

    def __init__(self, native: _npukit.Program, verb: str):
        self._native = native
        self.report = Report(verb, json.loads(native.report))

    @property
    def target(self) -> str:
        """Target and instance."""
        return self._native.target

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs by name, of one sample."""
        return arguments.shapes(self._native.inputs)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs by name, of one sample."""
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
        """What the accelerator computes, bit by bit.

        `x` is an array for the only input, or a mapping of arrays by the names of inputs; the first axis may count
        several samples. Gives an array where `x` is one and there is one output, else a mapping. `integers` gives the
        machine's own; `meaning` (`agreed`, `sequential`, `hardware`) says what counts where hardware computes
        something else than the instructions say.
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
        progress: Progress = None,
    ) -> Comparison:
        """As `run`, with the report of `npu run`: how far from float, what saturates, how long; `layers` layer by layer.

        `max_error` (a number, or as `5%`) puts what is further from float into `failures`.
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
        }
        with Bar(progress) as shown:
            report, arrays = self._native.run(running, shown)
        return Comparison("run", json.loads(report), arrays)

    def time(
        self,
        *,
        clock: float | str | None = None,
        meaning: str | None = None,
        progress: Progress = None,
        **options: Any,
    ) -> Report:
        """How long a sample takes and where the time goes, as `npu time` says it.

        `clock` is a frequency in MHz, or the name of one of the target's clocks; other options are the target's own.
        """
        told = arguments.options(options)
        if clock is not None:
            told["clock" if isinstance(clock, str) else "clock-mhz"] = arguments.word(clock)
        with Bar(progress) as shown:
            return Report("time", json.loads(self._native.time(told, meaning, shown)))

    def to_html(
        self,
        x: Arrays | None = None,
        *,
        against: Path | None = None,
        preprocess: Values | None = None,
        progress: Progress = None,
    ) -> str:
        """The page of `npu report`: layers, units, memories, the network and, with inputs, values and errors of each layer.

        `against` is the file of such a page of another program, to stand beside this one. The page is one file, which opens
        without a network: `pathlib.Path("report.html").write_text(program.to_html(x))`.
        """
        inputs = [] if x is None else arguments.arrays(x)
        other = None if against is None else arguments.path(against)
        with Bar(progress) as shown:
            return self._native.page(inputs, arguments.preprocess(preprocess), other, shown)

    def verify(
        self,
        model: Model | None = None,
        *,
        seeds: Sequence[int] = (),
        certificate: Path | None = None,
        progress: Progress = None,
    ) -> Proof:
        """Whether it computes its model, for all inputs, as `npu verify` shows it: true where every output is proved.

        Of an artifact `model` is the one that it was compiled from. `seeds` are what inputs are made of, one run for each;
        `certificate` is a file to check, whose own seeds come first.
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
        """Every tensor of a run on the machine, by its name in the model: `trace.arrays`, in the model's scale.

        Of an artifact `model` is the one that it was compiled from, which says what its layers end in.
        """
        native = None if model is None else model._native
        with Bar(progress) as shown:
            found = self._native.trace(arguments.arrays(x), arguments.preprocess(preprocess), native, shown)
        return Trace.of(*found)

    def lint(self) -> Report:
        """What is wrong with it, without running it."""
        return Report("lint", json.loads(self._native.lint()))

    def files(self) -> dict[str, bytes]:
        """The files that drivers load, the manifest first."""
        return dict(self._native.files())

    def save(self, folder: Path) -> list[pathlib.Path]:
        """Writes these files to a folder, which is made; gives their paths, the manifest's first.

        Every file is complete or not there.
        """
        place = pathlib.Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        with tempfile.TemporaryDirectory(prefix=".npukit-", dir=place) as scratch:
            for name, content in self.files().items():
                pathlib.Path(scratch, name).write_bytes(content)
                written.append(name)
            # The manifest last: what it names is there.
            for name in reversed(written):
                os.replace(pathlib.Path(scratch, name), place / name)
        return [place / name for name in written]

    def _repr_html_(self) -> str:
        return self.report._repr_html_()

    def __repr__(self) -> str:
        return f"<npukit.Program of {self.report['name']} for {self.target}>"


def one_or_all(x: Arrays, arrays: dict[str, np.ndarray]) -> np.ndarray | dict[str, np.ndarray]:
    """The only array where one was given, else all by name."""
    if len(arrays) == 1 and not isinstance(x, Mapping):
        return next(iter(arrays.values()))
    return arrays


def read(path: Path, *, files: Mapping[str, bytes] | None = None, progress: Progress = None) -> Program:
    """The program of an artifact by its manifest, as `x.tmodel`; `files` are taken instead of the disk's, by name."""
    with Bar(progress) as shown:
        return Program(_npukit.read(arguments.path(path), dict(files or {}), shown), "read")
