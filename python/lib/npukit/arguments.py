"""Conversion of Python arguments to the form of the native part."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

import numpy as np
import numpy.typing as npt

Path = Union[str, "os.PathLike[str]"]
# An array, or a mapping of arrays by input name. A text or a path is a file or a folder of samples, as for
# `npu run --input`; the text `random:SEED` is an array of random numbers.
Array = Union[npt.ArrayLike, "os.PathLike[str]"]
Arrays = Union[Array, Mapping[str, Array]]

# Speed of a host: nanoseconds for each element that it computes, and bytes that it copies in a second.
Host = tuple[float, float]


class Values(TypedDict, total=False):
    """Preprocessing of samples: `(x * scale - mean) / std`. Each is one number, or one per channel.

    Images from files are resized to `resize` (width and height) before, and with `crop` cropped to the size of the
    input, around the center. `samples` takes only the first samples.
    """

    scale: float
    mean: float | Sequence[float]
    std: float | Sequence[float]
    resize: tuple[int, int]
    crop: bool
    samples: int


def path(given: Path) -> str:
    """Returns a path as text."""
    return os.fspath(given)


def shapes(ports: Sequence[tuple[str, Sequence[int]]]) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of ports by name."""
    return {name: tuple(shape) for name, shape in ports}


def arrays(given: Arrays | None) -> list[tuple[str | None, np.ndarray]]:
    """Returns arrays with the names of their inputs; the name is `None` for a single array."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        return [(name, array(one)) for name, one in given.items()]
    return [(None, array(given))]


def array(given: Array) -> np.ndarray:
    """Returns an array; a path is an array of its text."""
    return np.asarray(os.fspath(given) if isinstance(given, os.PathLike) else given)


def labels(given: Array | None) -> tuple[str | None, np.ndarray] | None:
    """Returns labels for the native part."""
    return None if given is None else (None, array(given))


def preprocess(given: Values | None) -> dict[str, Any]:
    """Returns the preprocessing of samples for the native part."""
    values = dict(given or {})
    unknown = values.keys() - Values.__annotations__.keys()
    if unknown:
        known = ", ".join(Values.__annotations__)
        raise TypeError(f"preprocess takes {known}, not {', '.join(sorted(unknown))}")
    resize: Any = values.get("resize")

    def numbers(value: Any) -> list[float]:
        return [] if value is None else [float(number) for number in np.atleast_1d(value)]

    return {
        "scale": values.get("scale"),
        "mean": numbers(values.get("mean")),
        "std": numbers(values.get("std")),
        "resize": None if resize is None else tuple(resize),
        "crop": bool(values.get("crop")),
        "samples": values.get("samples"),
    }


def costs(host: Host | None, technology: Path | None) -> dict[str, Any]:
    """Returns the costs beyond the accelerator's cycles for the native part."""
    return {"host": host, "technology": None if technology is None else path(technology)}


def numbers(
    calibrate: Arrays | None, values: Values | None, rescale: str | None, quantize: str | None
) -> dict[str, Any]:
    """Returns the settings for number formats for the native part."""
    return {
        "calibrate": arrays(calibrate),
        "preprocess": preprocess(values),
        "rescale": rescale,
        "quantize": quantize,
    }


def word(value: Any) -> str:
    """Returns a value of an option or a parameter in the notation of the command."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)


def option(value: Any) -> str:
    """Like `word`, for options, whose truth values are `yes` and `no`."""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return word(value)


def options(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Returns options by the command's names: `clock_mhz` becomes `clock-mhz`."""
    return {name.replace("_", "-"): option(value) for name, value in (given or {}).items()}
