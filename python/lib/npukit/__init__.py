"""Compile networks for open neural-network accelerators, run them bit-exactly and see where the time goes.

    import npukit as npu

    model = npu.load("model.onnx")
    chip = npu.target("tcu:ultra96v2", array_size=16)
    program = model.compile(chip)
    y = program.run(x)
    print(program.time().latency_ms)

Functions and reports correspond to the verbs of the command `npu`; reports have the keys of its `--json`.
"""

from . import errors, frameworks
from ._npukit import version as _version
from .differences import diff
from .errors import Error
from .exploration import Exploration, explore, search
from .frameworks import from_keras, from_torch
from .languages import Answer, LanguageModel, Token, generate, language_model
from .machines import Machine, Words, assemble, disassemble, machine
from .models import Model, load, zoo, zoo_names
from .programs import Program, read
from .reports import Check, Comparison, Difference, Proof, Report, Trace
from .targets import Target, target, targets

__version__ = _version()

__all__ = [
    "Answer",
    "Check",
    "Comparison",
    "Difference",
    "Error",
    "Exploration",
    "LanguageModel",
    "Machine",
    "Model",
    "Program",
    "Proof",
    "Report",
    "Target",
    "Token",
    "Trace",
    "Words",
    "assemble",
    "diff",
    "disassemble",
    "errors",
    "explore",
    "frameworks",
    "from_keras",
    "from_torch",
    "generate",
    "language_model",
    "load",
    "machine",
    "read",
    "search",
    "target",
    "targets",
    "zoo",
    "zoo_names",
]
