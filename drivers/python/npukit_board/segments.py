"""Models in segments: `NAME.segments.json`. Segments run on the board, host steps run here."""

import hashlib
import os
from typing import Any, Callable, Dict, List, Mapping, Optional

import numpy as np

from .artifact import Model, _bytes, _fail, _json, _sidecar, _take
from .errors import ArgumentError, ManifestError, UnsupportedError
from .host_steps import OPERATORS, Hook, closing_step, numbers
from .tcu import Tcu

__all__ = ["SegmentedModel", "on_tcu"]

_FORMAT = "npukit.segments.1"
_TYPES = {
    "F32": np.float32,
    "F64": np.float64,
    "F16": np.float16,
    "I64": np.int64,
    "I32": np.int32,
    "I16": np.int16,
    "I8": np.int8,
    "U64": np.uint64,
    "U32": np.uint32,
    "U16": np.uint16,
    "U8": np.uint8,
    "Bool": np.bool_,
}
Values = Dict[str, np.ndarray]
# Runs the segment whose manifest is at a path. Takes inputs and returns outputs by name, as real values.
Runner = Callable[[str, Values], Values]


class SegmentedModel:
    """A manifest and the constants of its host steps. The caller provides the function that runs a segment: `on_tcu`
    for the TCU.
    """

    def __init__(self, path: str, manifest: Any, constants: Values) -> None:
        self.path = path
        self.name = _take(path, manifest, "name", str)
        self.target = _take(path, manifest, "target", str)
        self.inputs = [_take(path, entry, "name", str) for entry in _take(path, manifest, "inputs", list)]
        self.outputs = [_take(path, entry, "name", str) for entry in _take(path, manifest, "outputs", list)]
        self.parts: List[Any] = _take(path, manifest, "parts", list)
        self._constants = constants

    @classmethod
    def read(cls, path: str) -> "SegmentedModel":
        """Reads the model whose manifest is at `path`. All of its files must be of the same compilation."""
        file, folder = os.path.basename(path), os.path.dirname(path)
        manifest = _json(file, _bytes(path))
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise _fail(file, "format", f"must be `{_FORMAT}`")
        for name, expected in _take(file, manifest, "sha256", dict).items():
            if os.path.basename(name) != name:
                raise _fail(file, "sha256", f"names {name!r}, which is not a plain file name")
            if hashlib.sha256(_bytes(os.path.join(folder, name))).hexdigest() != expected:
                raise ManifestError(f"{file}: `{name}` is of another compilation: compile again")
        parts = [part for part in _take(file, manifest, "parts", list) if isinstance(part, dict)]
        named = [part["manifest"] for part in parts if part.get("on") == "chip" and "manifest" in part]
        for name in named + [manifest["constants"]] * (manifest.get("constants") is not None):
            if name not in manifest["sha256"]:
                raise _fail(file, "sha256", f"has no hash of {name!r}: compile again")
        constants: Values = {}
        if manifest.get("constants") is not None:
            with np.load(os.path.join(folder, _take(file, manifest, "constants", str)), allow_pickle=False) as found:
                constants = {name: found[name] for name in found.files}
        return cls(path, manifest, constants)

    def run(self, inputs: Mapping[str, np.ndarray], segment: Runner, hooks: Optional[Mapping[str, Hook]] = None) -> Values:
        """Runs all parts in order. `hooks` replace our operators by the name of their kind (the `kind` of a node). Each
        takes the operator's attributes and operands, and returns its results.
        """
        missing = [name for name in self.inputs if name not in inputs]
        if missing:
            raise ArgumentError(f"inputs are missing: {', '.join(missing)}")
        values: Values = {name: np.asarray(inputs[name]) for name in self.inputs}
        for part in self.parts:
            if _take(self.path, part, "on", str) == "chip":
                manifest = _take(self.path, part, "manifest", str)
                if os.path.basename(manifest) != manifest:
                    raise _fail(self.path, "manifest", f"is {manifest!r}, must be a plain file name")
                given = {name: values[name] for name in _take(self.path, part, "inputs", list)}
                values.update(segment(os.path.join(os.path.dirname(self.path), manifest), given))
            else:
                self._host(part, values, hooks or {})
        return {name: values[name] for name in self.outputs}

    def _host(self, part: Any, values: Values, hooks: Mapping[str, Hook]) -> None:
        """Computes the nodes of a part, and adds its results."""
        infos = {entry["name"]: entry for entry in _take(self.path, part, "values", list)}
        known: Values = {}
        for name, info in infos.items():
            if info.get("constant") is not None:
                known[name] = self._constants[info["constant"]]
            elif name in values:
                known[name] = values[name].astype(self._type(info), copy=False)
        for node in _take(self.path, part, "nodes", list):
            results = self._node(node, [known[name] for name in node["inputs"]], hooks)
            for name, result in zip(node["outputs"], results):
                info = infos[name]
                known[name] = np.asarray(result).astype(self._type(info)).reshape(info["shape"])
        values.update({name: known[name] for name in _take(self.path, part, "outputs", list)})

    def _node(self, node: Any, operands: List[np.ndarray], hooks: Mapping[str, Hook]) -> Any:
        op = node["op"]
        operator, attributes = next(iter(op.items())) if isinstance(op, dict) else (op, None)
        compute = hooks.get(node["kind"]) or OPERATORS.get(operator)
        if compute is None:
            raise UnsupportedError(f"host step `{node['name']}`: {node['kind']} is not supported, give a hook for it")
        return compute(numbers(attributes), operands)

    def _type(self, info: Any) -> Any:
        if info["element"] not in _TYPES:
            raise UnsupportedError(f"{self.path}: `{info['name']}` has type {info['element']}, which NumPy does not support")
        return _TYPES[info["element"]]


def on_tcu(tcu: Tcu) -> Runner:
    """Returns a function that runs segments on a board, with the host steps at their ends. Programs are read once."""
    models: Dict[str, Model] = {}

    def run(path: str, inputs: Values) -> Values:
        if path not in models:
            models[path] = Model.read(path)
        tcu.load(models[path])
        outputs = tcu.run({name: np.asarray(values, np.float32) for name, values in inputs.items()})
        for step in (_sidecar(path) or {}).get("host_steps", []):
            outputs[step["output"]] = closing_step(step, outputs[step["output"]])
        return outputs

    return run
