"""Keeps quiet what the workers of a cancelled statement write while they are being ended.

Spark's Python workers write to the standard error that the JVM was started with, and one whose task is taken
away complains with a traceback. A JVM started with `StderrGate.open()` as its standard error writes to a pipe
instead; its lines are passed on, except for a moment after `mute()`.
"""

from __future__ import annotations

import os
import threading
import time

__all__ = ["StderrGate"]

_MUTE_SECONDS = 3.0


class StderrGate:
    """A pipe in front of our standard error."""

    def __init__(self) -> None:
        self._muted_until = 0.0

    def mute(self) -> None:
        self._muted_until = time.monotonic() + _MUTE_SECONDS

    def open(self) -> int:
        """The end of the pipe to write to, which the caller closes; our standard error stays as it is."""
        read_end, write_end = os.pipe()
        threading.Thread(target=self._pass_on, args=(read_end, os.dup(2)), daemon=True).start()
        return write_end

    def _pass_on(self, read_end: int, target: int) -> None:
        with os.fdopen(read_end, "rb", buffering=0) as pipe:
            while data := pipe.read(65536):
                if time.monotonic() >= self._muted_until:
                    os.write(target, data)
