"""Two sides of one network, tensor by tensor."""

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

# A model in float, a program on its machine, arrays by the names of tensors, or a side as the command names it: an `.npz`,
# `NAME=FILE.npy`, or a memory of a board as `dram0=FILE`.
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
    """Where two sides part, and how the error grows from there, as `npu diff` says it: false where something fails.

    `x` is what the sides compute on that compute; `model` is the one that an artifact was compiled from, where no side is
    it; `program` the one whose memory an image is, where the other side is none. `threshold` is the largest error of a
    tensor that passes, in percent of its range: without it what rounding does not explain fails.
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
    """A side for the native part; arrays become a file that it holds."""
    if isinstance(side, (Model, Program)):
        return side._native
    if isinstance(side, Trace):
        side = side.arrays
    if isinstance(side, Mapping):
        held[f"{name}.npz"] = _archive(side)
        return f"{name}.npz"
    return arguments.path(side)


def _archive(arrays: Mapping[str, npt.ArrayLike]) -> bytes:
    """The arrays as an `.npz`, whatever their names are."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
    return buffer.getvalue()
