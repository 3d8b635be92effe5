"""Time as a function sees it: its two domains and the service that registers timers."""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod

__all__ = ["TimeDomain", "TimerService"]


class TimeDomain(enum.Enum):
    """Which clock a timer waits for."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1


class TimerService(ABC):
    """Tells the time and registers timers for the current key.

    A timer registered twice for the same key and time fires once. Times are milliseconds since 1970.
    Registering and deleting is possible on keyed streams only.
    """

    @abstractmethod
    def current_processing_time(self) -> int:
        """The epoch's processing time."""

    @abstractmethod
    def current_watermark(self) -> int:
        """The event time up to which this operator has seen everything; -2**63 before the first watermark."""

    @abstractmethod
    def register_processing_time_timer(self, timestamp: int) -> None:
        """`on_timer` is called when processing time reaches `timestamp`."""

    @abstractmethod
    def register_event_time_timer(self, timestamp: int) -> None:
        """`on_timer` is called when the watermark reaches `timestamp`."""

    @abstractmethod
    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Forgets the timer; nothing happens if there is none."""

    @abstractmethod
    def delete_event_time_timer(self, timestamp: int) -> None:
        """Forgets the timer; nothing happens if there is none."""
