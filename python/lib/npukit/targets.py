"""Accelerators and their instances."""

from __future__ import annotations

import json
from typing import Any

from . import _npukit, arguments
from .reports import Report


class Target:
    """An accelerator with all its parameters: `target("tcu:ultra96v2", array_size=16)`."""

    def __init__(self, spec: str, **parameters: Any):
        settings = [(name, arguments.word(value)) for name, value in parameters.items()]
        self.spec, self.name = _npukit.resolve(spec, settings)

    @property
    def parameters(self) -> dict[str, Any]:
        """All that may be set, by full name; None is what has no value."""
        return {entry["name"]: entry["value"] for entry in json.loads(_npukit.parameters(self.spec))}

    def changed(self, **parameters: Any) -> Target:
        """The same with other parameters."""
        return Target(self.spec, **parameters)

    def isa(self, instruction: str | None = None) -> dict[str, Any]:
        """The instruction set, or one of its instructions."""
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
    """The accelerator `spec`: `NAME`, `NAME:PRESET` or `NAME:FILE`, `@SYSTEM` behind these, with other parameters.

    What is not legal is an `errors.UsageError` that says what is.
    """
    return Target(str(spec), **parameters)


def targets() -> Report:
    """The accelerators and the instances that come with npukit."""
    return Report("targets", {"targets": json.loads(_npukit.targets())})
