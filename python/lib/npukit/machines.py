"""Programs by hand: text to words and back, and machines step by step."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _npukit, arguments
from .arguments import Path
from .reports import Report
from .targets import Target


class Words(bytes):
    """The words of a program, in file order; `report` is that of `npu asm`, `target` what they are for."""

    report: Report
    target: str


def assemble(text: str | Path, target: Target | str) -> Words:
    """The words of a program in assembly: its text, or a path object of its file.

    Raises `errors.ProgramError` with every line that is wrong.
    """
    if isinstance(text, str):
        name, content = "text", text.encode()
    else:
        name, content = arguments.path(text), pathlib.Path(text).read_bytes()
    report, words = _npukit.assemble(content, name, str(target))
    made = Words(words)
    made.report, made.target = Report("asm", json.loads(report)), str(target)
    return made


def disassemble(words: bytes, target: Target | str, *, form: str | None = None, plain: bool = True) -> str:
    """Text that assembles to the same words, in one of the target's forms; `plain=False` adds addresses and words."""
    listing: str = json.loads(_npukit.disassemble(bytes(words), "words", str(target), form, plain))["text"]
    return listing


class Memory:
    """A memory of a machine. `memory[a]` and `memory[a:b]` are its integers, a row for each address."""

    def __init__(self, native: _npukit.Machine, name: str, depth: int, lanes: int):
        self._native = native
        self.name, self.depth, self.lanes = name, depth, lanes

    def __len__(self) -> int:
        return self.depth

    def __getitem__(self, place: int | slice) -> np.ndarray:
        begin, count = self._range(place)
        rows = self._native.read(self.name, begin, count)
        return rows if isinstance(place, slice) else rows[0]

    def __setitem__(self, place: int | slice, values: npt.ArrayLike) -> None:
        begin, count = self._range(place)
        rows = np.broadcast_to(np.asarray(values, dtype=np.int64), (count, self.lanes))
        self._native.write(self.name, begin, rows.ravel().tolist())

    def _range(self, place: int | slice) -> tuple[int, int]:
        if isinstance(place, slice):
            begin, end, step = place.indices(self.depth)
            if step != 1:
                raise IndexError("a memory is read in steps of 1")
            return begin, max(end - begin, 0)
        index = place + self.depth if place < 0 else place
        if not 0 <= index < self.depth:
            raise IndexError(f"{self.name} has {self.depth} addresses, {place} is none of them")
        return index, 1

    def __repr__(self) -> str:
        return f"<memory {self.name}: {self.depth} addresses of {self.lanes}>"


class Machine(Mapping[str, Memory]):
    """A machine with a program, between two of its steps; its memories by name.

    A step is an instruction, or a cycle where a machine executes several instructions at a time (drra).
    """

    def __init__(self, target: Target | str, words: bytes):
        self._native = _npukit.Machine(str(target), bytes(words))
        self._memories = {name: Memory(self._native, name, *size) for name, *size in self._native.memories}

    @property
    def next(self) -> int | None:
        """Index of the step that comes next; None at the end."""
        return self._native.next

    def step(self, count: int = 1) -> int:
        """Takes so many steps, fewer at the end; gives how many it were."""
        return self._native.step(count)

    def run(self) -> int:
        """Takes all that are left; gives how many it were."""
        return self._native.step(None)

    def __getitem__(self, name: str) -> Memory:
        return self._memories[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._memories)

    def __len__(self) -> int:
        return len(self._memories)

    def __repr__(self) -> str:
        memories = ", ".join(f"{memory.name} {memory.depth}x{memory.lanes}" for memory in self._memories.values())
        return f"<npukit.Machine at {'the end' if self.next is None else self.next}: {memories}>"


def machine(target: Target | str, words: bytes | str | Any) -> Machine:
    """A machine of `target`, reset, before the first of these words; text is assembled first."""
    return Machine(target, assemble(words, target) if isinstance(words, (str, pathlib.PurePath)) else words)
