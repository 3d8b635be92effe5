"""One line at the bottom of a terminal that is written over and over, and is gone when something else is written.

The line stands on standard error. Whatever else this process writes to the terminal has to find a free line: while a
status line is in use `sys.stdout` and `sys.stderr` are stand-ins that wipe it before they pass a text on. Code that
writes to the terminal's file itself calls `wipe()`. The next `show` puts the line back below what was written.

    9,000 rows read · epoch 4 · 2 s          show
    (to,2)                                   a program prints: the line is wiped first
    (be,2)
    12,000 rows read · epoch 5 · 2 s         show
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

__all__ = ["StatusLine", "status_line", "wipe"]

_WIPE = "\r\x1b[2K"
_shown: StatusLine | None = None


def wipe() -> None:
    """Takes the status line off the terminal, if there is one: somebody is about to write there."""
    if _shown is not None:
        _shown.clear()


@contextmanager
def status_line() -> Iterator[StatusLine | None]:
    """A line to show texts on; None where nobody would see it or another one is in use.

    It needs a terminal as standard error that understands control characters. The line is gone when the block ends.
    """
    global _shown
    if _shown is not None or not _is_terminal(sys.stderr) or os.environ.get("TERM", "") in ("", "dumb"):
        yield None
        return
    originals = sys.stdout, sys.stderr
    _shown = line = StatusLine(sys.stderr)
    stand_ins = [_WipesFirst(s, line) if _is_terminal(s) else s for s in originals]
    sys.stdout, sys.stderr = stand_ins  # type: ignore[assignment]
    try:
        yield line
    finally:
        line.clear()
        _shown = None
        if sys.stdout is stand_ins[0]:  # what somebody put there meanwhile stays
            sys.stdout = originals[0]
        if sys.stderr is stand_ins[1]:
            sys.stderr = originals[1]


def _is_terminal(stream: Any) -> bool:
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # None, or closed
        return False


class StatusLine:
    """The line of a terminal. Threads may share it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lock = threading.RLock()
        self._visible = False
        self._at_line_start = True

    def show(self, text: str) -> None:
        """Writes the text over the one before, cut to the terminal's width; not into the middle of a written line."""
        with self._lock:
            if self._at_line_start and self._is_ours():
                self._write(f"{_WIPE}{text[: self._width()]}")
                self._visible = True

    def clear(self) -> None:
        """The line is free again."""
        with self._lock:
            if self._visible:
                self._visible = False
                self._write(_WIPE)

    def written(self, text: str) -> None:
        """Somebody wrote this to the terminal."""
        if text:
            self._at_line_start = text.endswith("\n")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal was closed
            self._at_line_start = False

    def _width(self) -> int:
        try:
            return (os.get_terminal_size(self._stream.fileno()).columns or 80) - 1
        except (OSError, ValueError):
            return 79

    def _is_ours(self) -> bool:
        """Whether this process is in the foreground: `job &` must not scribble over what is typed."""
        try:
            return os.tcgetpgrp(self._stream.fileno()) == os.getpgrp()
        except (OSError, ValueError):  # no terminal of a session
            return True


class _WipesFirst:
    """A stream whose texts find the status line gone."""

    def __init__(self, stream: TextIO, line: StatusLine) -> None:
        self._stream = stream
        self._line = line

    def write(self, text: str) -> int:
        with self._line._lock:
            self._line.clear()
            self._line.written(text)
            return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
