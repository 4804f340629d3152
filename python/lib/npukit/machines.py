"""Assembly programs: conversion between text and words, and machines that run step by step."""

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
    """Words of a program, in file order. `report` is the report of `npu asm`, `target` the instance."""

    report: Report
    target: str


def assemble(text: str | Path, target: Target | str) -> Words:
    """Assembles a program, given as text or as a path object of its file.

    Raises `errors.ProgramError`, which lists all invalid lines.
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
    """Returns text that assembles to the same words, in one of the target's forms. `plain=False` adds addresses and words."""
    listing: str = json.loads(_npukit.disassemble(bytes(words), "words", str(target), form, plain))["text"]
    return listing


class Memory:
    """A memory of a machine. `memory[a]` and `memory[a:b]` are integers, one row per address."""

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
                raise IndexError("a slice of a memory must have step 1")
            return begin, max(end - begin, 0)
        index = place + self.depth if place < 0 else place
        if not 0 <= index < self.depth:
            raise IndexError(f"{self.name} has {self.depth} addresses; {place} is out of range")
        return index, 1

    def __repr__(self) -> str:
        return f"<memory {self.name}: {self.depth} addresses of {self.lanes}>"


class Machine(Mapping[str, Memory]):
    """A machine with a program, between two steps. It maps names to memories.

    A step is one instruction, or one cycle if the machine executes several instructions at a time (drra).
    """

    def __init__(self, target: Target | str, words: bytes):
        self._native = _npukit.Machine(str(target), bytes(words))
        self._memories = {name: Memory(self._native, name, *size) for name, *size in self._native.memories}

    @property
    def next(self) -> int | None:
        """Index of the next step, or `None` at the end."""
        return self._native.next

    def step(self, count: int = 1) -> int:
        """Executes `count` steps, or fewer at the end; returns how many were executed."""
        return self._native.step(count)

    def run(self) -> int:
        """Executes all remaining steps; returns how many were executed."""
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
    """Creates a machine of `target` after a reset, before the first of these words. Text is assembled first."""
    return Machine(target, assemble(words, target) if isinstance(words, (str, pathlib.PurePath)) else words)
