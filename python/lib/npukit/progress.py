"""Progress of long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

# Called with the name of a phase, the number of finished steps, and the total number if it is known.
Callback = Callable[[str, int, "int | None"], Any]
Progress = bool | Callback | None

# Seconds after which the bar appears.
LONG = 1.0


class Bar:
    """Shows a tqdm bar when work takes long and a user can see it; used in `with`."""

    def __init__(self, progress: Progress):
        self._begin = time.monotonic()
        self._progress = progress
        self._bar: Any = None

    def __enter__(self) -> Callback | None:
        if callable(self._progress):
            return self._progress
        if self._progress is False or (self._progress is None and not is_seen()):
            return None
        return self._show

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.close()

    def _show(self, name: str, done: int, total: int | None) -> None:
        if time.monotonic() - self._begin < LONG:
            return
        if self._bar is None:
            try:
                from tqdm.auto import tqdm  # type: ignore[import-untyped, unused-ignore]
            except ImportError:
                return
            self._bar = tqdm(leave=False, bar_format="{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}]")
        if self._bar.desc != name or self._bar.total != (total or 1):
            self._bar.reset(total or 1)
            self._bar.set_description(name, refresh=False)
        self._bar.n = done
        self._bar.refresh()


def is_seen() -> bool:
    """Whether a user can see a bar: on a terminal, or in a notebook."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", lambda: False)())
