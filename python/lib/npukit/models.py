"""Networks and their compilation."""

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
    """An imported network, made by `load`."""

    def __init__(self, native: _npukit.Model, held: dict[str, bytes], reading: dict[str, Any]):
        self._native, self._held, self._reading = native, held, reading

    @property
    def name(self) -> str:
        """Name of its file."""
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
        quantize: str | None = None,
        progress: Progress = None,
        **options: Any,
    ) -> Check:
        """Checks whether `target` supports the network. Returns the report of `npu check`, false if there are no problems.

        `compile=True` also compiles the program, and reports memory use and cycles.
        """
        request = compilation(target, options, calibrate, preprocess, rescale, quantize)
        with Bar(progress) as shown:
            return Check("check", json.loads(self._native.check(request, compile, shown)))

    def compile(
        self,
        target: Target | str,
        *,
        calibrate: Arrays | None = None,
        preprocess: Values | None = None,
        rescale: str | None = None,
        quantize: str | None = None,
        verify: bool = False,
        progress: Progress = None,
        **options: Any,
    ) -> Program:
        """Compiles the network for `target`.

        `calibrate` holds typical samples that determine the scales: an array whose first axis is the sample, or a
        mapping of such arrays by input name. `rescale` is `auto`, `always` or `never`; `quantize` is `min-max`,
        `least-squares` or `percentile=99.9`. Other options are those of the target, with `_` for `-`.

        `verify=True` also proves the program. `report.verification` is the proof, and the last of its `files()` is a
        certificate.

        Raises `errors.Refused`, with all problems, if the target does not support the model, and `errors.NotProved`
        if the proof fails.
        """
        request = compilation(target, options, calibrate, preprocess, rescale, quantize)
        with Bar(progress) as shown:
            return Program(self._native.compile(request, verify, shown), "compile")

    def evaluate(
        self,
        x: Arrays,
        *,
        preprocess: Values | None = None,
        unlimited: bool = False,
        progress: Progress = None,
    ) -> np.ndarray | dict[str, np.ndarray]:
        """Computes the network in float, the reference of every machine. Takes and returns the same as `Program.run`."""
        return one_or_all(x, self.evaluation(x, preprocess=preprocess, unlimited=unlimited, progress=progress)[1])

    def evaluation(
        self,
        x: Arrays,
        *,
        preprocess: Values | None = None,
        unlimited: bool = False,
        progress: Progress = None,
    ) -> tuple[Report, dict[str, np.ndarray]]:
        """Returns the report of `npu eval`, and the outputs by name."""
        values = arguments.preprocess(preprocess)
        with Bar(progress) as shown:
            report, arrays = self._native.evaluate(arguments.arrays(x), values, unlimited, shown)
        return Report("eval", json.loads(report)), arrays

    def trace(
        self,
        x: Arrays,
        *,
        preprocess: Values | None = None,
        unlimited: bool = False,
        progress: Progress = None,
    ) -> Trace:
        """Computes every tensor of the network in float. `trace.arrays` maps names to arrays."""
        with Bar(progress) as shown:
            found = self._native.trace(arguments.arrays(x), arguments.preprocess(preprocess), unlimited, shown)
        return Trace.of(*found)

    def emit(self, target: Target | str, stage: str, **options: Any) -> str:
        """Returns the compiler's result after `stage` as text: `graph`, or a stage of the target."""
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
    quantize: str | None,
) -> dict[str, Any]:
    """Returns the settings of a compilation for the native part."""
    return {
        "target": str(target),
        "options": arguments.options(options),
        "numbers": arguments.numbers(calibrate, preprocess, rescale, quantize),
    }


def load(
    model: Path | bytes,
    *,
    shapes: Mapping[str, Sequence[int]] | None = None,
    batch: int | None = None,
    sizes: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = (),
    resize_mode: str | None = None,
    unlimited: bool = False,
    files: Mapping[str, bytes] | None = None,
) -> Model:
    """Reads a network: a `.onnx`, `.pb` or `.tflite` file, or the bytes of an ONNX file.

    `shapes` replaces shapes of inputs, by name. `batch` and `sizes` set dimensions that the model leaves open. `values`
    makes inputs constants. `outputs` names the wanted values. `files` are files that the model refers to, by name, if
    they are not on the disk. `resize_mode` says how to read the operator Resize of opset 10: `asymmetric` or
    `half-pixel`. `unlimited` allows constants that take far more memory than the size of the model suggests.
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
        "resize_half_pixel": half_pixel(resize_mode),
        "unlimited": unlimited,
    }
    return Model(_npukit.Model(name, held, reading), held, reading)


def half_pixel(mode: str | None) -> bool | None:
    """Returns whether the operator Resize of opset 10 has half-pixel coordinates; `None` if not given."""
    if mode not in (None, "asymmetric", "half-pixel"):
        raise ValueError(f"resize_mode is {mode!r}; legal: asymmetric, half-pixel")
    return None if mode is None else mode == "half-pixel"


def zoo(name: str, seed: int = 0) -> Model:
    """Returns a reference network with random weights from `seed`; `zoo_names` lists the networks."""
    _, content = _npukit.zoo(name, seed)
    return load(f"{name}.onnx", files={f"{name}.onnx": content})


def zoo_names() -> Report:
    """Returns the report of the reference networks."""
    return Report("zoo", {"networks": json.loads(_npukit.zoo_list())})
