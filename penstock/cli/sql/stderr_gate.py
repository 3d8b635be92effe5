"""Keeps quiet what the workers of a cancelled statement write while they are being ended.

Spark's Python workers write to the standard error that the JVM was started with, and one whose task is taken
away complains with a traceback. A JVM started inside `StderrGate.around()` writes to a pipe instead; its
lines are passed on, except for a moment after `mute()`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

__all__ = ["StderrGate"]

_MUTE_SECONDS = 3.0


class StderrGate:
    """A pipe in front of our standard error."""

    def __init__(self) -> None:
        self._muted_until = 0.0

    def mute(self) -> None:
        self._muted_until = time.monotonic() + _MUTE_SECONDS

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """Processes started inside write through the gate, for as long as they live."""
        sys.stderr.flush()
        original = os.dup(2)
        read_end, write_end = os.pipe()
        threading.Thread(target=self._pass_on, args=(read_end, os.dup(original)), daemon=True).start()
        os.dup2(write_end, 2)
        os.close(write_end)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(original, 2)
            os.close(original)

    def _pass_on(self, read_end: int, target: int) -> None:
        with os.fdopen(read_end, "rb", buffering=0) as pipe:
            while data := pipe.read(65536):
                if time.monotonic() >= self._muted_until:
                    os.write(target, data)
