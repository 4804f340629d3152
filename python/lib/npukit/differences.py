"""Comparison of two sides of one network, tensor by tensor."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _npukit, arguments
from .arguments import Arrays, Path, Values
from .models import Model
from .programs import Program
from .progress import Bar, Progress
from .reports import Difference, Trace

# A float model, a program on its machine, arrays by tensor name, or a side in the notation of the command: an `.npz`,
# `NAME=FILE.npy`, or a memory of a board, for example `dram0=FILE`.
Side = Union[Model, Program, Trace, Mapping[str, npt.ArrayLike], Path]


def diff(
    before: Side,
    after: Side,
    x: Arrays | None = None,
    *,
    model: Model | None = None,
    program: Program | None = None,
    preprocess: Values | None = None,
    threshold: float | None = None,
    progress: Progress = None,
) -> Difference:
    """Compares two sides and returns the report of `npu diff`, which is false if a tensor fails.

    `x` is the input for the sides that compute. `model` is the model from which an artifact was compiled, if it is not
    a side. `program` is the program of a memory image, if the other side is not a program. `threshold` is the largest
    error of a passing tensor, in percent of its range; without it, a tensor fails if rounding does not explain its error.
    """
    held: dict[str, bytes] = {}
    differing = {
        "before": _side(before, "before", held),
        "after": _side(after, "after", held),
        "model": None if model is None else model._native,
        "program": None if program is None else program._native,
        "inputs": arguments.arrays(x),
        "preprocess": arguments.preprocess(preprocess),
        "threshold": threshold,
        "held": held,
    }
    with Bar(progress) as shown:
        return Difference("diff", json.loads(_npukit.diff(differing, shown)))


def _side(side: Side, name: str, held: dict[str, bytes]) -> Any:
    """Returns a side for the native part; arrays are added to `held` as a file."""
    if isinstance(side, (Model, Program)):
        return side._native
    if isinstance(side, Trace):
        side = side.arrays
    if isinstance(side, Mapping):
        held[f"{name}.npz"] = _archive(side)
        return f"{name}.npz"
    return arguments.path(side)


def _archive(arrays: Mapping[str, npt.ArrayLike]) -> bytes:
    """Returns the arrays as an `.npz`. Their names may be arbitrary."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()
