"""Runs npukit's artifacts of the TCU on a board.

    from npukit_board import Model, Tcu
    from npukit_board.pynq import PynqBoard

    model = Model.read("mlp_onnx_pynqz1.tmodel")
    with PynqBoard("design.bit", model.arch) as board:
        tcu = Tcu(board)
        tcu.load(model)
        outputs = tcu.run({"x": pixels})

The same driver as drivers/c, with the same errors. Only NumPy is needed; `npukit_board.pynq` imports pynq.
"""

from .artifact import Arch, Layout, Model, Piece
from .board import Board, Region
from .errors import (
    ArchitectureError,
    ArgumentError,
    BoardError,
    BusError,
    DataError,
    DmaError,
    ManifestError,
    ProgramError,
    StateError,
    StreamTimeout,
    UnsupportedError,
)
from .segments import SegmentedModel, on_tcu
from .tcu import Register, Tcu

__all__ = [
    "Arch",
    "ArchitectureError",
    "ArgumentError",
    "Board",
    "BoardError",
    "BusError",
    "DataError",
    "DmaError",
    "Layout",
    "ManifestError",
    "Model",
    "Piece",
    "ProgramError",
    "Region",
    "Register",
    "SegmentedModel",
    "StateError",
    "StreamTimeout",
    "Tcu",
    "UnsupportedError",
    "on_tcu",
]
