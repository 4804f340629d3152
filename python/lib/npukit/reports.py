"""Reports of npukit: the keys of the command's `--json` as attributes, tables and HTML.

Their sentences name keywords, where the command has options.
"""

from __future__ import annotations

import html
import io
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from .keywords import spoken

if TYPE_CHECKING:
    import pandas

# Default table of `to_pandas`: the first of these that the report has.
TABLES = ("points", "problems", "layers", "layer_compare.layers", "findings", "targets", "tensors", "outputs")
# Columns that name a row, in the order in which tables begin with them.
NAMES = ("index", "point", "target", "name", "model", "layer", "node", "op", "tensor", "output")
# Maximum number of a table's rows shown in a notebook.
SHOWN = 30


class Report:
    """Report of a verb. Keys are attributes and items: `report.cycles`, `report["cycles"]`."""

    def __init__(self, verb: str, facts: dict[str, Any]):
        self._verb = verb
        self._facts: dict[str, Any] = spoken(facts)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._facts[name]
        except KeyError:
            known = ", ".join(self._facts)
            raise AttributeError(f"the report of {self._verb} has no key {name!r}; available: {known}") from None

    def __getitem__(self, name: str) -> Any:
        return self._facts[name]

    def __contains__(self, name: object) -> bool:
        return name in self._facts

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._facts]

    def keys(self) -> list[str]:
        """The keys, in the order of the command."""
        return list(self._facts)

    def to_dict(self) -> dict[str, Any]:
        """Returns the report as plain values."""
        facts: dict[str, Any] = json.loads(json.dumps(self._facts))
        return facts

    def to_json(self, **options: Any) -> str:
        """Returns the report as JSON. Takes the options of `json.dumps`."""
        return json.dumps(self._facts, **options)

    def tables(self) -> list[str]:
        """Returns the names of the report's tables."""
        return list(self._tables())

    def to_pandas(self, table: str | None = None) -> pandas.DataFrame:
        """Returns a table, for example `layers`, with one row per entry. Names are first, nested objects become columns,
        and missing values are NaN."""
        tables = self._tables()
        name = table or next((name for name in TABLES if tables.get(name)), next(iter(tables), None))
        if name not in tables:
            known = ", ".join(tables) or "none"
            raise KeyError(f"the report of {self._verb} has no table {table!r}; available: {known}")
        return frame(tables[name])

    def _tables(self) -> dict[str, list[dict[str, Any]]]:
        """Lists of objects by name; a list in a nested object is named like `layer_compare.layers`."""
        tables = {}
        for name, value in self._facts.items():
            within = {f"{name}.{key}": part for key, part in value.items()} if isinstance(value, dict) else {name: value}
            tables.update({name: part for name, part in within.items() if _is_table(part)})
        return tables

    def _lines(self) -> list[tuple[str, str]]:
        """Entries that fit a line."""
        lines = []
        for name, value in self._facts.items():
            if isinstance(value, dict) and value and all(_is_plain(part) for part in value.values()):
                lines += [(f"{name}.{key}", _plain(part)) for key, part in value.items()]
            elif isinstance(value, list) and value and all(isinstance(part, str) for part in value):
                lines += [(name, part) for part in value]
            elif _is_plain(value) and value is not None:
                lines.append((name, _plain(value)))
        return lines

    def __repr__(self) -> str:
        lines = self._lines()
        width = max((len(name) for name, _ in lines), default=0)
        facts = [f"  {name:<{width}}  {text}" for name, text in lines]
        tables = [f"  {name}: a table of {len(rows)}" for name, rows in self._tables().items() if rows]
        return "\n".join([self._verb, *facts, *tables])

    def _repr_html_(self) -> str:
        facts = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in self._lines())
        parts = [f"<p><b>{html.escape(self._verb)}</b></p><table>{facts}</table>"]
        parts += [html_table(name, rows) for name, rows in self._tables().items()]
        return "".join(parts)


def frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """Returns a table of rows: names first, NaN for missing values."""
    import pandas

    table = pandas.json_normalize(rows)
    table = table[_names_first(str(name) for name in table)]
    # A column with `None` has objects; one with NaN has numbers.
    numbers = [name for name in table if table[name].map(_is_number_or_missing).all()]
    return table.astype({name: "float64" for name in numbers if table[name].dtype == object})


def _names_first(columns: Iterable[str]) -> list[str]:
    known = list(columns)
    return [*(name for name in NAMES if name in known), *(name for name in known if name not in NAMES)]


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a row with one level of nested objects as columns, such as `roofline.bound`."""
    flat = {}
    for key, value in row.items():
        flat.update({f"{key}.{part}": one for part, one in value.items()} if isinstance(value, dict) else {key: value})
    return flat


def _is_number_or_missing(value: Any) -> bool:
    return value is None or (isinstance(value, (int, float)) and not isinstance(value, bool))


def _is_table(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _html_cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list) and all(_is_plain(part) for part in value):
        return html.escape(", ".join(_plain(part) for part in value))
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "; ".join(_html_cell([f"{key} {_plain(one)}" for key, one in part.items()]) for part in value)
    return html.escape(_plain(value) if _is_plain(value) else json.dumps(value)[:80])


def html_table(name: str, rows: list[dict[str, Any]]) -> str:
    """Returns a table for a notebook."""
    if not rows:
        return ""
    shown = [_flat(row) for row in rows[:SHOWN]]
    columns = _names_first(dict.fromkeys(key for row in shown for key in row))
    head = "".join(f"<th>{html.escape(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_html_cell(row[column]) if column in row else ''}</td>" for column in columns) + "</tr>"
        for row in shown
    )
    more = f"<p>… {len(rows) - SHOWN} more</p>" if len(rows) > SHOWN else ""
    return f"<details open><summary>{html.escape(name)} ({len(rows)})</summary><table><tr>{head}</tr>{body}</table>{more}</details>"


class Check(Report):
    """Problems of a model on a target. Its length is the number of `problems`; it is false if there are none."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.problems)

    def __len__(self) -> int:
        return len(self.problems)


class Comparison(Report):
    """Comparison of a run with float, with the output arrays."""

    arrays: dict[str, np.ndarray]

    def __init__(self, verb: str, facts: dict[str, Any], arrays: dict[str, np.ndarray]):
        super().__init__(verb, facts)
        self.arrays = arrays


class Proof(Report):
    """Proof of a program; true if every output is proved."""

    def __bool__(self) -> bool:
        return bool(self.proved)


class Difference(Report):
    """Comparison of two sides tensor by tensor, in layer order; true if no tensor fails."""

    def __bool__(self) -> bool:
        return not self.failures


class Trace(Report):
    """All tensors of a run, with arrays by their names in the model."""

    arrays: dict[str, np.ndarray]

    def __init__(self, verb: str, facts: dict[str, Any], arrays: dict[str, np.ndarray]):
        super().__init__(verb, facts)
        self.arrays = arrays

    @classmethod
    def of(cls, report: str, archive: bytes) -> Trace:
        """Makes a trace from a report as JSON, and the `.npz` that it describes."""
        facts = json.loads(report)
        with np.load(io.BytesIO(archive), allow_pickle=False) as members:
            arrays = {tensor["name"]: members[tensor.get("member", tensor["name"])] for tensor in facts["tensors"]}
        return cls("trace", facts, arrays)
