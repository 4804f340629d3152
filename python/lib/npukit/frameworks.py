"""Conversion of networks of other packages, which are imported on first use."""

from __future__ import annotations

import importlib
import pathlib
import tempfile
from typing import Any

from .models import Model, load


def needed(package: str, what: str, install: str) -> Any:
    """Imports a package; the `ImportError` says how to install it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise ImportError(f"{what} needs {package}: install it with `pip install {install}`") from error


def from_torch(module: Any, example: Any, *, name: str = "model", **options: Any) -> Model:
    """Exports a PyTorch module to ONNX and loads it. `example` is an input tensor, or a tuple of them.

    Takes the options of `load`.
    """
    torch = needed("torch", "from_torch", "torch onnx onnxscript")
    needed("onnxscript", "from_torch", "onnx onnxscript")
    inputs = example if isinstance(example, tuple) else (example,)
    with torch.no_grad(), tempfile.TemporaryDirectory(prefix="npukit-") as folder:
        program = torch.onnx.export(module.eval(), inputs, dynamo=True, verbose=False)
        program.save(pathlib.Path(folder, f"{name}.onnx"))
        files = {path.name: path.read_bytes() for path in pathlib.Path(folder).iterdir()}
    return load(f"{name}.onnx", files=files, **options)


def from_keras(model: Any, *, name: str = "model", **options: Any) -> Model:
    """Loads a Keras model as a frozen TensorFlow graph. Takes the options of `load`."""
    tensorflow = needed("tensorflow", "from_keras", "tensorflow")
    convert = importlib.import_module("tensorflow.python.framework.convert_to_constants")
    specs = [tensorflow.TensorSpec([1, *port.shape[1:]], port.dtype, name=port.name.split(":")[0]) for port in model.inputs]
    function = tensorflow.function(lambda *ports: model(ports[0] if len(ports) == 1 else list(ports)), autograph=False)
    frozen = convert.convert_variables_to_constants_v2(function.get_concrete_function(*specs))
    outputs = [tensor.name.removesuffix(":0") for tensor in frozen.outputs]
    content = frozen.graph.as_graph_def().SerializeToString()
    return load(f"{name}.pb", files={f"{name}.pb": content}, **{"outputs": outputs, **options})
