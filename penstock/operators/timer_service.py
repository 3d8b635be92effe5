"""What user code sees of time: the watermark, the epoch's processing time, and timers of the current key.

There is one `KeyedTimerService` per operator subtask, shared by all elements; "the current key" is whatever
the operator last told the state backend. Without keys there are no timers, and asking for one says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.errors import ValidationError
from penstock.functions.timers import TimerService
from penstock.state.backend import KeyedStateBackend

if TYPE_CHECKING:
    from penstock.operators.base import Operator


class UnkeyedTimerService(TimerService):
    """Tells the time only; registering a timer is refused."""

    def __init__(self, operator: Operator) -> None:
        self._operator = operator
        self._clock = operator.context.clock

    def current_processing_time(self) -> int:
        return self._clock.processing_time_ms

    def current_watermark(self) -> int:
        return self._operator.current_watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise _no_key("registering a processing-time timer")

    def register_event_time_timer(self, timestamp: int) -> None:
        raise _no_key("registering an event-time timer")

    def delete_processing_time_timer(self, timestamp: int) -> None:
        raise _no_key("deleting a processing-time timer")

    def delete_event_time_timer(self, timestamp: int) -> None:
        raise _no_key("deleting an event-time timer")


class KeyedTimerService(UnkeyedTimerService):
    """Timers for the current key, without a window namespace."""

    def __init__(self, operator: Operator, backend: KeyedStateBackend) -> None:
        super().__init__(operator)
        self._event_timers = backend.event_timers
        self._processing_timers = backend.processing_timers

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._processing_timers.register(timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        self._event_timers.register(timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._processing_timers.delete(timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._event_timers.delete(timestamp)


def _no_key(action: str) -> ValidationError:
    return ValidationError(
        f"{action} on a stream without keys",
        do="call key_by(...) before process(...): timers belong to a key",
    )
