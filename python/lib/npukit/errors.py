"""What can go wrong, by whose concern it is. `docs/errors.md` explains the codes."""

from __future__ import annotations

import json
from typing import Any

from .keywords import spoken


class Error(Exception):
    """Anything that npukit refuses or cannot do.

    `code` is a word that stays the same, `diagnostics` has an entry for everything that is wrong, each with `code`,
    `severity`, `message`, `help` and its place: `file`, `line` and `column`, `offset`, `node`, `instruction`, `layer`.
    """

    message: str
    code: str
    causes: list[str]
    diagnostics: list[dict[str, Any]]

    def __init__(self, message: str, facts: dict[str, Any] | None = None):
        super().__init__(message)
        facts = facts or {}
        self.message = message
        self.causes = facts.get("causes", [])
        self.diagnostics = facts.get("diagnostics", [])
        self.code = self.diagnostics[0]["code"] if self.diagnostics else ""

    def __str__(self) -> str:
        lines = [self.message, *(f"  because {cause}" for cause in self.causes if cause != self.message)]
        for diagnostic in self.diagnostics:
            told = diagnostic["message"]
            if not any(told.startswith(line.removeprefix("  because ")) or told in line for line in lines):
                lines.append(f"  {place(diagnostic)}{told}")
            if diagnostic.get("help"):
                lines.append(f"  help: {diagnostic['help']}")
        return "\n".join(lines)


def place(diagnostic: dict[str, Any]) -> str:
    """Where it is, before a message: `file:line:column: ` or `node: `."""
    parts = [str(diagnostic[key]) for key in ("file", "line", "column") if diagnostic.get(key) is not None]
    parts = parts if diagnostic.get("node") is None else [diagnostic["node"]]
    return ":".join(parts) + ": " if parts else ""


class UsageError(Error, ValueError):
    """What was asked for is not legal: a target, an option, a parameter."""


class FileError(Error, OSError):
    """A file cannot be read or written."""

    def __init__(self, message: str, facts: dict[str, Any] | None = None):
        Error.__init__(self, message, facts)


class ModelError(Error, ValueError):
    """The model is not one that is read, or cannot be computed."""


class Refused(Error):
    """The target does not take the model: `report` is what `Model.check` gives."""

    report: dict[str, Any]

    def __init__(self, message: str, facts: dict[str, Any] | None = None):
        super().__init__(message, facts)
        self.report = {key: value for key, value in (facts or {}).items() if key not in ("error", "causes")}

    @property
    def problems(self) -> list[dict[str, Any]]:
        """Each node that stands in the way: `node`, `op`, `reason` and `hint`."""
        problems: list[dict[str, Any]] = self.report.get("problems", [])
        return problems


class InputError(Error, ValueError):
    """What the network is to compute on does not fit it."""


class ProgramError(Error, RuntimeError):
    """The program, its words or its text, or the machine that runs it."""


class NotProved(ProgramError):
    """A program that was to be proved is not: `report` is what `Program.verify` gives."""

    report: dict[str, Any]

    def __init__(self, message: str, facts: dict[str, Any] | None = None):
        super().__init__(message, facts)
        self.report = (facts or {}).get("verification", {})


KINDS: dict[str, type[Error]] = {
    "usage": UsageError,
    "file": FileError,
    "model": ModelError,
    "refused": Refused,
    "input": InputError,
    "not-proved": NotProved,
    "program": ProgramError,
}


def made(kind: str, text: str) -> Error:
    """The exception of a kind, of what `--json` would print."""
    facts = spoken(json.loads(text))
    return KINDS.get(kind, Error)(facts["error"], facts)
