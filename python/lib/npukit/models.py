"""Networks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from . import _npukit, arguments
from .arguments import Arrays, Path, Values
from .programs import Program, one_or_all
from .progress import Bar, Progress
from .reports import Check, Report, Trace
from .targets import Target


class Model:
    """A network as it was imported; `load` makes one."""

    def __init__(self, native: _npukit.Model, held: dict[str, bytes], reading: dict[str, Any]):
        self._native, self._held, self._reading = native, held, reading

    @property
    def name(self) -> str:
        """The file it is of."""
        return self._native.path

    @property
    def inputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the inputs by name."""
        return arguments.shapes(self._native.inputs)

    @property
    def outputs(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the outputs by name."""
        return arguments.shapes(self._native.outputs)

    def check(
        self,
        target: Target | str,
        *,
        compile: bool = False,
        calibrate: Arrays | None = None,
        preprocess: Values | None = None,
        rescale: str | None = None,
        quantise: str | None = None,
        progress: Progress = None,
        **options: Any,
    ) -> Check:
        """What stands in the way on `target`, as `npu check` says it: false where nothing does.

        `compile=True` makes the program, too, and tells how full memories are and how long it takes.
        """
        told = compilation(target, options, calibrate, preprocess, rescale, quantise)
        with Bar(progress) as shown:
            return Check("check", json.loads(self._native.check(told, compile, shown)))

    def compile(
        self,
        target: Target | str,
        *,
        calibrate: Arrays | None = None,
        preprocess: Values | None = None,
        rescale: str | None = None,
        quantise: str | None = None,
        verify: bool = False,
        progress: Progress = None,
        **options: Any,
    ) -> Program:
        """The program for `target`.

        `calibrate` holds typical samples, by which scales are chosen: an array whose first axis counts them, or a
        mapping of such by the names of inputs. `rescale` is `auto`, `always` or `never`, `quantise` is `min-max`,
        `least-squares` or `percentile=99.9`; other options are the target's own, with `_` for `-`.

        `verify=True` proves it, too: `report.verification` has the proof, and a certificate is the last of its `files()`.

        Raises `errors.Refused` where the target does not take the model, with everything that stands in the way, and
        `errors.NotProved` where a program that is to be proved is not.
        """
        told = compilation(target, options, calibrate, preprocess, rescale, quantise)
        with Bar(progress) as shown:
            return Program(self._native.compile(told, verify, shown), "compile")

    def evaluate(self, x: Arrays, *, unlimited: bool = False, progress: Progress = None) -> np.ndarray | dict[str, np.ndarray]:
        """What the network computes in float: what every machine is compared with. As for `Program.run`."""
        return one_or_all(x, self.evaluation(x, unlimited=unlimited, progress=progress)[1])

    def evaluation(self, x: Arrays, *, unlimited: bool = False, progress: Progress = None) -> tuple[Report, dict[str, np.ndarray]]:
        """The same by name, behind the report of `npu eval`."""
        with Bar(progress) as shown:
            report, arrays = self._native.evaluate(arguments.arrays(x), unlimited, shown)
        return Report("eval", json.loads(report)), arrays

    def trace(
        self,
        x: Arrays,
        *,
        preprocess: Values | None = None,
        unlimited: bool = False,
        progress: Progress = None,
    ) -> Trace:
        """Every tensor of the network in float, by its name: `trace.arrays`."""
        with Bar(progress) as shown:
            found = self._native.trace(arguments.arrays(x), arguments.preprocess(preprocess), unlimited, shown)
        return Trace.of(*found)

    def emit(self, target: Target | str, stage: str, **options: Any) -> str:
        """What the compiler has after `stage`, as text: `graph`, or a stage of the target."""
        return self._native.emit(compilation(target, options, None, None, None, None), stage)

    def __repr__(self) -> str:
        def ports(shapes: dict[str, tuple[int, ...]]) -> str:
            return ", ".join(f"{name}{list(shape)}" for name, shape in shapes.items())

        return f"<npukit.Model {self.name}: {ports(self.inputs)} to {ports(self.outputs)}>"


def compilation(
    target: Target | str,
    options: Mapping[str, Any],
    calibrate: Arrays | None,
    preprocess: Values | None,
    rescale: str | None,
    quantise: str | None,
) -> dict[str, Any]:
    """What a compilation is told."""
    return {
        "target": str(target),
        "options": arguments.options(options),
        "numbers": arguments.numbers(calibrate, preprocess, rescale, quantise),
    }


def load(
    model: Path | bytes,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    sizes: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = (),
    resize_half_pixel: bool | None = None,
    unlimited: bool = False,
    files: Mapping[str, bytes] | None = None,
) -> Model:
    """Reads a network: a `.onnx`, `.pb` or `.tflite` file, or the bytes of an ONNX file.

    `shapes` are those of inputs, by name, instead of the model's; `batch` and `sizes` those of dimensions that it
    leaves open; `values` makes inputs constants; `outputs` names the values that are wanted; `files` are files that
    the model refers to, by name, where they are not on the disk; `unlimited` makes constants of a model that take far more
    memory than its size suggests.
    """
    held = {name: bytes(content) for name, content in (files or {}).items()}
    if isinstance(model, (bytes, bytearray, memoryview)):
        name = "model.onnx"
        held[name] = bytes(model)
    else:
        name = arguments.path(model)
    reading = {
        "batch": batch,
        "sizes": dict(sizes or {}),
        "shapes": {name: list(shape) for name, shape in (shapes or {}).items()},
        "values": {name: str(value) for name, value in (values or {}).items()},
        "outputs": list(outputs),
        "resize_half_pixel": resize_half_pixel,
        "unlimited": unlimited,
    }
    return Model(_npukit.Model(name, held, reading), held, reading)


def zoo(name: str, seed: int = 0) -> Model:
    """A reference network with weights for `seed`; `zoo_names` lists them."""
    _, content = _npukit.zoo(name, seed)
    return load(f"{name}.onnx", files={f"{name}.onnx": content})


def zoo_names() -> Report:
    """The reference networks."""
    return Report("zoo", {"networks": json.loads(_npukit.zoo_list())})
