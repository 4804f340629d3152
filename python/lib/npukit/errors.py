"""Exceptions of npukit. `docs/errors.md` explains the codes."""

from __future__ import annotations

import json
from typing import Any

from .keywords import spoken


class Error(Exception):
    """Base class of all exceptions of npukit.

    `code` identifies the kind of error and does not change between versions. `diagnostics` has one entry per problem,
    with `code`, `severity`, `message`, `help` and its place: `file`, `line` and `column`, `offset`, `node`,
    `instruction`, `layer`.
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
            message = diagnostic["message"]
            if not any(message.startswith(line.removeprefix("  because ")) or message in line for line in lines):
                lines.append(f"  {place(diagnostic)}{message}")
            if diagnostic.get("help"):
                lines.append(f"  help: {diagnostic['help']}")
        return "\n".join(lines)


def place(diagnostic: dict[str, Any]) -> str:
    """Returns the place of a diagnostic as a prefix of its message: `file:line:column: ` or `node: `."""
    parts = [str(diagnostic[key]) for key in ("file", "line", "column") if diagnostic.get(key) is not None]
    parts = parts if diagnostic.get("node") is None else [diagnostic["node"]]
    return ":".join(parts) + ": " if parts else ""


class UsageError(Error, ValueError):
    """An argument is invalid, for example a target, an option or a parameter."""


class FileError(Error, OSError):
    """A file cannot be read or written."""

    def __init__(self, message: str, facts: dict[str, Any] | None = None):
        Error.__init__(self, message, facts)


class ModelError(Error, ValueError):
    """The model cannot be imported or computed."""


class Refused(Error):
    """The target does not support the model. `report` is the result of `Model.check`."""

    report: dict[str, Any]

    def __init__(self, message: str, facts: dict[str, Any] | None = None):
        super().__init__(message, facts)
        self.report = {key: value for key, value in (facts or {}).items() if key not in ("error", "causes")}

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The unsupported nodes, each with `node`, `op`, `reason` and `hint`."""
        problems: list[dict[str, Any]] = self.report.get("problems", [])
        return problems


class InputError(Error, ValueError):
    """The input arrays do not fit the network."""


class ProgramError(Error, RuntimeError):
    """The program, its words or its text are invalid, or the machine that runs it fails."""


class NotProved(ProgramError):
    """A program could not be proved. `report` is the result of `Program.verify`."""

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
    """Makes the exception of a kind from the JSON that `--json` would print."""
    facts = spoken(json.loads(text))
    return KINDS.get(kind, Error)(facts["error"], facts)
