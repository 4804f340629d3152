"""Conversion of Python arguments to the form of the native part."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Union

import numpy as np
import numpy.typing as npt

# An array, or a mapping of arrays by input name.
# The text `random:SEED` is an array of random numbers.
Arrays = Union[npt.ArrayLike, Mapping[str, npt.ArrayLike]]
Path = Union[str, "os.PathLike[str]"]


class Values(TypedDict, total=False):
    """Preprocessing of samples: `(x * scale - mean) / std`. Each is one number, or one per channel.

    `samples` takes only the first samples.
    """

    scale: float
    mean: float | Sequence[float]
    std: float | Sequence[float]
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
        return [(name, np.asarray(array)) for name, array in given.items()]
    return [(None, np.asarray(given))]


def preprocess(given: Values | None) -> dict[str, Any]:
    """Returns the preprocessing of samples for the native part."""
    values = dict(given or {})
    unknown = values.keys() - {"scale", "mean", "std", "samples"}
    if unknown:
        raise TypeError(f"preprocess takes scale, mean, std and samples, not {', '.join(sorted(unknown))}")

    def numbers(value: Any) -> list[float]:
        return [] if value is None else [float(number) for number in np.atleast_1d(value)]

    return {
        "scale": values.get("scale"),
        "mean": numbers(values.get("mean")),
        "std": numbers(values.get("std")),
        "samples": values.get("samples"),
    }


def numbers(
    calibrate: Arrays | None, values: Values | None, rescale: str | None, quantise: str | None
) -> dict[str, Any]:
    """Returns the settings for number formats for the native part."""
    return {
        "calibrate": arrays(calibrate),
        "preprocess": preprocess(values),
        "rescale": rescale,
        "quantise": quantise,
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
