"""Replacement of the command's options in messages by Python's keywords."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any


def _text(value: str) -> str:
    return repr(value).replace("'", '"')


def _named(value: str) -> str:
    """Converts `NAME=VALUE` to a dictionary; several numbers become a tuple."""
    name, _, said = value.partition("=")
    return "{" + _text(name) + ": " + (f"({said.replace(',', ', ')})" if "," in said else said) + "}"


def _size(value: str) -> str:
    """Converts `WIDTHxHEIGHT` to an entry of `preprocess`."""
    return '{"resize": (' + value.replace("x", ", ") + ")}"


def _pair(value: str) -> str:
    return "(" + value.replace(",", ", ") + ")"


def _entry(name: str) -> Callable[[str], str]:
    return lambda value: "{" + _text(name) + ": " + value + "}"


def _option(value: str) -> str:
    """Converts the value of a target's option to Python: a number or a text."""
    return value if value.isdigit() else _text(value)


# By option: the keyword, the conversion of the value to Python, and the value of an option without one.
_KEYWORDS: dict[str, tuple[str, Callable[[str], str], str]] = {
    "batch": ("batch", str, ""),
    "calibrate": ("calibrate", str, ""),
    "check": ("check_memory", str, "True"),
    "const": ("values", _named, ""),
    "clock": ("clock", _option, ""),
    "color-by": ("color_by", _text, ""),
    "compare": ("layers", str, "True"),
    "crop": ("preprocess", str, '{"crop": True}'),
    "dim": ("sizes", _named, ""),
    "draft": ("draft", str, ""),
    "halve": ("halve", str, "True"),
    "hardware": ("meaning", _text, '"hardware"'),
    "host": ("host", _pair, ""),
    "input": ("x", str, ""),
    "input-shape": ("shapes", _named, ""),
    "label-by": ("label_by", _text, ""),
    "labels": ("labels", str, ""),
    "max-error": ("max_error", str, ""),
    "mean": ("preprocess", _entry("mean"), '{"mean": ...}'),
    "no-limit": ("unlimited", str, "True"),
    "outputs": ("outputs", lambda value: f"[{_text(value)}]", ""),
    "program": ("program", str, ""),
    "quantize": ("quantize", _text, ""),
    "raw": ("integers", str, "True"),
    "rescale": ("rescale", _text, ""),
    "resize": ("preprocess", _size, '{"resize": (WIDTH, HEIGHT)}'),
    "resize-mode": ("resize_mode", _text, ""),
    "sample": ("sample", str, ""),
    "samples": ("preprocess", _entry("samples"), '{"samples": ...}'),
    "scale": ("preprocess", _entry("scale"), '{"scale": ...}'),
    "sequential": ("meaning", _text, '"sequential"'),
    "stateful": ("stateful", str, "True"),
    "std": ("preprocess", _entry("std"), '{"std": ...}'),
    "strategy": ("strategy", _text, ""),
    "target": ("target", _text, ""),
    "technology": ("technology", _text, ""),
    "verify": ("verify", str, "True"),
}

# Options without a value, whatever follows them.
_ALONE = {name for name, (_, _, alone) in _KEYWORDS.items() if alone == "True" or name in ("hardware", "sequential")}

# A value is only recognized in backticks, which mark its end. Other text in backticks, such as a command, stays.
_OPTION = re.compile(r"`--([a-z-]+)(?:[ =]([^` ]+))?`|`[^`]*`|(?<![\w-])--([a-z-]+)")


def _keyword(found: re.Match[str]) -> str:
    quoted, value, bare = found.groups()
    if quoted == "option" and value:
        name, _, value = value.partition("=")
        return f"`{name.replace('-', '_')}={_option(value)}`"
    keyword, form, alone = _KEYWORDS.get(quoted or bare, ("", str, ""))
    if not keyword:
        return found.group()
    said = f"{keyword}={form(value) if value and quoted not in _ALONE else alone}"
    return f"`{said}`"


# Keys of errors and reports whose values are sentences.
_SENTENCES = {"error", "causes", "message", "help", "reason", "hint", "notes", "suggestions", "warnings"}


def spoken(facts: Any, is_sentence: bool = False) -> Any:
    """Returns the facts of an error or a report with keywords instead of options in their sentences."""
    if isinstance(facts, str):
        return _OPTION.sub(_keyword, facts) if is_sentence else facts
    if isinstance(facts, list):
        return [spoken(fact, is_sentence) for fact in facts]
    if isinstance(facts, dict):
        return {key: spoken(fact, key in _SENTENCES) for key, fact in facts.items()}
    return facts
