"""Accelerators and their instances."""

from __future__ import annotations

import json
from typing import Any

from . import _npukit, arguments
from .reports import Report


class Target:
    """An instance of an accelerator: `target("tcu:ultra96v2", array_size=16)`."""

    def __init__(self, spec: str, **parameters: Any):
        settings = [(name, arguments.word(value)) for name, value in parameters.items()]
        self.spec, self.name = _npukit.resolve(spec, settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """Returns all parameters by full name; the value is `None` if it is not set."""
        return {entry["name"]: entry["value"] for entry in json.loads(_npukit.parameters(self.spec))}

    def changed(self, **parameters: Any) -> Target:
        """Returns a copy with other parameters."""
        return Target(self.spec, **parameters)

    def isa(self, instruction: str | None = None) -> dict[str, Any]:
        """Returns the instruction set, or one of its instructions."""
        page: dict[str, Any] = json.loads(_npukit.isa(self.spec, instruction))
        return page

    def __str__(self) -> str:
        return self.spec

    def __repr__(self) -> str:
        return f"npukit.target({self.spec!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Target) and other.spec == self.spec

    def __hash__(self) -> int:
        return hash(self.spec)


def target(spec: str | Target, **parameters: Any) -> Target:
    """Returns the instance `spec`: `NAME`, `NAME:PRESET` or `NAME:FILE`, optionally followed by `@SYSTEM`.

    `parameters` replaces its parameters. Raises `errors.UsageError`, which lists the legal values, for an invalid one.
    """
    return Target(str(spec), **parameters)


def targets() -> Report:
    """Returns the report of all accelerators and their built-in instances."""
    return Report("targets", {"targets": json.loads(_npukit.targets())})
