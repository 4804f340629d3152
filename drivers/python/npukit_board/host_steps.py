"""Host steps between the segments of a model, computed with NumPy in float32.

For operators that are missing here, or that have a faster form on the board's processor, pass a hook by their kind.
"""

import math
from typing import Any, Callable, Dict, List, Mapping, Sequence

import numpy as np

from .errors import UnsupportedError

Array = np.ndarray
# Takes the attributes and operands of a node, and returns its results.
Hook = Callable[[Any, List[Array]], Sequence[Array]]

_erf = np.vectorize(math.erf, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    # Avoids powers of large numbers.
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _gelu(x: Array, form: str) -> Array:
    if form == "Exact":
        return x * 0.5 * (1 + _erf(x / math.sqrt(2)))
    return x * 0.5 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


_UNARY: Dict[str, Callable[..., Array]] = {
    "Neg": np.negative,
    "Abs": np.abs,
    "Sign": np.sign,
    "Not": np.logical_not,
    "Sqrt": np.sqrt,
    "Exp": np.exp,
    "Log": np.log,
    "Reciprocal": lambda x: 1 / x,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Round": np.rint,
    "Sin": np.sin,
    "Cos": np.cos,
    "Tan": np.tan,
    "Asin": np.arcsin,
    "Acos": np.arccos,
    "Atan": np.arctan,
    "Sinh": np.sinh,
    "Cosh": np.cosh,
    "Tanh": np.tanh,
    "Asinh": np.arcsinh,
    "Acosh": np.arccosh,
    "Atanh": np.arctanh,
    "Erf": _erf,
    "Sigmoid": _sigmoid,
    "HardSigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Swish": lambda x, alpha: x * _sigmoid(alpha * x),
    "Mish": lambda x: x * np.tanh(_softplus(x)),
    "Gelu": _gelu,
    "Elu": lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "Celu": lambda x, alpha: np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(np.minimum(x, 0) / alpha)),
    "Selu": lambda x, alpha, gamma: gamma * np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "ThresholdedRelu": lambda x, alpha: np.where(x > alpha, x, 0),
    "Softplus": _softplus,
    "Softsign": lambda x: x / (1 + np.abs(x)),
}

_BINARY: Dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Max": np.maximum,
    "Min": np.minimum,
}

_REDUCE: Dict[str, Callable[..., Array]] = {
    "Mean": np.mean,
    "Sum": np.sum,
    "Prod": np.prod,
    "Max": np.max,
    "Min": np.min,
    "L1": lambda x, **axes: np.sum(np.abs(x), **axes),
    "L2": lambda x, **axes: np.sqrt(np.sum(x * x, **axes)),
    "SumSquare": lambda x, **axes: np.sum(x * x, **axes),
}


def _unary(attributes: Any, x: List[Array]) -> Sequence[Array]:
    kind = attributes["kind"]
    name, values = (kind, {}) if isinstance(kind, str) else next(iter(kind.items()))
    if name not in _UNARY:
        raise UnsupportedError(f"function {name} is not supported: give a hook for it")
    return [_UNARY[name](x[0].astype(np.float64) if x[0].dtype.kind == "f" else x[0], **values)]


def _binary(attributes: Any, x: List[Array]) -> Sequence[Array]:
    kind = attributes["kind"]
    if kind == "Div" and x[0].dtype.kind == "f":
        return [x[0] / x[1]]
    if kind not in _BINARY:
        raise UnsupportedError(f"{kind} of {x[0].dtype} is not supported: give a hook for it")
    return [_BINARY[kind](x[0], x[1])]


def _reduce(attributes: Any, x: List[Array]) -> Sequence[Array]:
    kind, axes = attributes["kind"], tuple(attributes["axes"])
    if kind not in _REDUCE:
        raise UnsupportedError(f"Reduce{kind} is not supported: give a hook for it")
    return [_REDUCE[kind](x[0].astype(np.float64), axis=axes, keepdims=attributes["keep_dims"])]


def softmax(x: Array, axis: int, axis_end: int) -> Array:
    """Softmax over the axes from `axis` to `axis_end`, exclusive."""
    axes = tuple(range(axis, axis_end))
    powers = np.exp(x.astype(np.float64) - x.max(axis=axes, keepdims=True))
    return powers / powers.sum(axis=axes, keepdims=True)


def _normalized(x: Array, axes: Sequence[int], epsilon: float) -> Array:
    x = x.astype(np.float64)
    centered = x - x.mean(axis=tuple(axes), keepdims=True)
    return centered / np.sqrt((centered * centered).mean(axis=tuple(axes), keepdims=True) + epsilon)


def _layer_normalization(attributes: Any, x: List[Array]) -> Sequence[Array]:
    result = _normalized(x[0], range(attributes["axis"], x[0].ndim), attributes["epsilon"]) * x[1]
    return [result + x[2] if len(x) > 2 else result]


def _rms_normalization(attributes: Any, x: List[Array]) -> Sequence[Array]:
    axes = tuple(range(attributes["axis"], x[0].ndim))
    squares = (x[0].astype(np.float64) ** 2).mean(axis=axes, keepdims=True)
    return [x[0] / np.sqrt(squares + attributes["epsilon"]) * x[1]]


def _slice(attributes: Any, x: List[Array]) -> Sequence[Array]:
    result = x[0]
    for part in attributes["ranges"]:
        places = part["start"] + part["step"] * np.arange(part["length"])
        result = result.take(places, axis=part["axis"])
    return [result]


def _gather(attributes: Any, x: List[Array]) -> Sequence[Array]:
    # Indices along one axis; negative ones count from the end.
    return [x[0].take(x[1], axis=attributes["axis"])]


def _clip(attributes: Any, x: List[Array]) -> Sequence[Array]:
    return [np.minimum(np.maximum(x[0], float(attributes["min"])), float(attributes["max"]))]


def _average_pool(attributes: Any, x: List[Array]) -> Sequence[Array]:
    window = attributes["window"]
    is_whole = list(window["kernel"]) == list(x[0].shape[1:3]) and not any(window["pads"])
    if not is_whole:
        raise UnsupportedError("AveragePool over parts of images is not supported: give a hook for it")
    return [x[0].astype(np.float64).mean(axis=(1, 2), keepdims=True)]


# Functions by the operator name in a manifest's `op`.
OPERATORS: Mapping[str, Hook] = {
    "AveragePool": _average_pool,
    "Binary": _binary,
    "Clip": _clip,
    "Concat": lambda attributes, x: [np.concatenate(x, axis=attributes["axis"])],
    "Gather": _gather,
    "LayerNormalization": _layer_normalization,
    "LeakyRelu": lambda attributes, x: [np.where(x[0] >= 0, x[0], attributes["alpha"] * x[0])],
    "LogSoftmax": lambda attributes, x: [np.log(softmax(x[0], **attributes))],
    "MatMul": lambda _, x: [np.matmul(x[0], x[1])],
    "Reduce": _reduce,
    "Relu": lambda _, x: [np.maximum(x[0], 0)],
    "Reshape": lambda attributes, x: [x[0].reshape(attributes["shape"])],
    "RmsNormalization": _rms_normalization,
    "Slice": _slice,
    "Softmax": lambda attributes, x: [softmax(x[0], **attributes)],
    "Split": lambda attributes, x: np.split(x[0], np.cumsum(attributes["sizes"])[:-1], axis=attributes["axis"]),
    "Transpose": lambda attributes, x: [x[0].transpose(attributes["perm"])],
    "Unary": _unary,
    "Where": lambda _, x: [np.where(x[0], x[1], x[2])],
}


def numbers(attributes: Any) -> Any:
    """Converts infinities and NaN in attributes to numbers: JSON stores them as names."""
    if isinstance(attributes, dict):
        return {key: numbers(value) for key, value in attributes.items()}
    if isinstance(attributes, list):
        return [numbers(value) for value in attributes]
    return float(attributes) if attributes in ("inf", "-inf", "nan") else attributes


def closing_step(step: Mapping[str, Any], values: Array) -> Array:
    """A host step at the end of a segment, in the form of its `.npukit.json`."""
    kind = step["op"]
    if kind in ("Softmax", "LogSoftmax"):
        result = softmax(values, step["axis"], step["axis_end"])
        return (np.log(result) if kind == "LogSoftmax" else result).astype(values.dtype)
    attributes = {key: numbers(step[key]) for key in ("alpha", "gamma") if key in step}
    if kind == "Gelu":
        attributes["form"] = "Exact" if step["approximate"] == "none" else "Tanh"
    return _UNARY[kind](values.astype(np.float64), **attributes).astype(values.dtype)
