"""The `ctx` argument of process functions: one object per operator, changed for every element.

Making a context per record would cost more than most user functions do, so there is one, and it must not be
kept beyond the call, as in Flink.
"""

from __future__ import annotations

from typing import Any

from penstock.common.ids import MIN_TIMESTAMP
from penstock.functions.timers import TimeDomain, TimerService
from penstock.state.backend import KeyedStateBackend


class ElementContext:
    """Answers `timestamp()`, `timer_service()` and, on keyed streams, `get_current_key()`.

    `timestamp_ms` is set by the operator before each call; −2⁶³ stands for "no event time".
    """

    __slots__ = ("_backend", "_timer_service", "domain", "timestamp_ms")

    def __init__(self, timer_service: TimerService, backend: KeyedStateBackend | None = None) -> None:
        self._timer_service = timer_service
        self._backend = backend
        self.timestamp_ms = MIN_TIMESTAMP
        self.domain = TimeDomain.EVENT_TIME

    def timestamp(self) -> int:
        return self.timestamp_ms

    def timer_service(self) -> TimerService:
        return self._timer_service

    def get_current_key(self) -> Any:
        return self._backend.current_key  # type: ignore[union-attr]

    def time_domain(self) -> TimeDomain:
        """In `on_timer`: which kind of timer this is."""
        return self.domain
