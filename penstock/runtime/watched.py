"""What is collected of stages only while somebody looks at them, so that jobs that nobody looks at pay nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Watched"]

T = TypeVar("T")


class Watched(Generic[T]):
    """The driver's side: who is looked at, and what was found of each stage. May be used from any thread.

    Args:
        seconds: How long a stage is watched after each look.
        nothing: The answer as long as nothing was found.
    """

    def __init__(self, seconds: float, nothing: T, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._nothing = nothing
        self._clock = clock
        self._until: dict[int, float] = {}
        self._lock = threading.Lock()
        self._found: dict[int, T] = {}

    def look(self, stage: int) -> T:
        """What was found of a stage, which is watched for a while from now on."""
        with self._lock:
            self._until[stage] = self._clock() + self._seconds
            return self._found.get(stage, self._nothing)

    def watched(self) -> frozenset[int]:
        """The stages that somebody looks at; what was found of others is forgotten."""
        if not self._until:
            return frozenset()
        now = self._clock()
        with self._lock:
            self._until = {stage: until for stage, until in self._until.items() if until > now}
            self._found = {stage: found for stage, found in self._found.items() if stage in self._until}
            return frozenset(self._until)
