"""Watermark generators: what turns the timestamps of elements into watermarks.

A watermark W says: no element with a timestamp of W or less is expected any more. Generators see every
element (`on_event`) and are asked regularly (`on_periodic_emit`, each `pipeline.auto-watermark-interval`);
they may answer either time. For a delay of 3:

    timestamps   5    7    6    9
    watermark    1    3    3    5        (greatest so far − 3 − 1)

A generator's attributes travel in checkpoints, so they must pickle; the runtime never lets a watermark go
back, whatever a generator says.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.time import Duration, to_millis

__all__ = [
    "AscendingTimestampsWatermarks",
    "BoundedOutOfOrdernessWatermarks",
    "NoWatermarksGenerator",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarksWithIdleness",
]


class Watermark:
    """How far event time has come, in milliseconds since 1970 (UTC)."""

    __slots__ = ("timestamp",)

    MAX_WATERMARK: Watermark
    UNINITIALIZED: Watermark

    def __init__(self, timestamp: int) -> None:
        self.timestamp = timestamp

    def get_timestamp(self) -> int:
        """The event time up to which everything has been seen, in milliseconds."""
        return self.timestamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Watermark) and self.timestamp == other.timestamp

    def __hash__(self) -> int:
        return hash(self.timestamp)

    def __repr__(self) -> str:
        return f"Watermark @ {self.timestamp}"


Watermark.MAX_WATERMARK = Watermark(MAX_WATERMARK)
Watermark.UNINITIALIZED = Watermark(MIN_WATERMARK)


class WatermarkOutput(ABC):
    """Where a generator puts its watermarks; the runtime implements it."""

    @abstractmethod
    def emit_watermark(self, watermark: Watermark) -> None:
        """Announce a watermark; one that is not ahead of the last is ignored. Ends idleness."""

    @abstractmethod
    def mark_idle(self) -> None:
        """Nothing is expected here for now: do not hold others back."""

    @abstractmethod
    def mark_active(self) -> None:
        """Elements are expected again."""


class WatermarkGenerator(ABC):
    """Subclass it for watermarks of one's own and pass it to `WatermarkStrategy.for_generator`."""

    @abstractmethod
    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        """Called for every element, in order; may emit (punctuated watermarks) or only remember."""

    @abstractmethod
    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Called at regular intervals and at the end of an epoch; may emit."""


class BoundedOutOfOrdernessWatermarks(WatermarkGenerator):
    """The greatest timestamp so far, less the delay and one millisecond."""

    def __init__(self, max_out_of_orderness_ms: int) -> None:
        self.max_out_of_orderness_ms = max_out_of_orderness_ms
        # so that the first watermark is the smallest there is, and nothing overflows 64 bits
        self.max_timestamp = MIN_WATERMARK + max_out_of_orderness_ms + 1

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        if event_timestamp > self.max_timestamp:
            self.max_timestamp = event_timestamp

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(Watermark(self.current_watermark()))

    def current_watermark(self) -> int:
        """What it would emit now: the highest timestamp, less the allowed disorder, less 1 ms."""
        return self.max_timestamp - self.max_out_of_orderness_ms - 1


class AscendingTimestampsWatermarks(BoundedOutOfOrdernessWatermarks):
    """For timestamps that never go back: no delay."""

    def __init__(self) -> None:
        super().__init__(0)


class WatermarksWithIdleness(WatermarkGenerator):
    """Wraps a generator and says `mark_idle` once no element came for a while.

    `WatermarkStrategy.with_idleness` does this for whole splits; wrap by hand for rules of one's own.

    Args:
        watermarks: The generator that knows the watermarks.
        idle_timeout: How long without elements counts as idle.
        clock: Gives the processing time in milliseconds. It must pickle with the generator.
    """

    def __init__(
        self, watermarks: WatermarkGenerator, idle_timeout: Duration, clock: Callable[[], int] | None = None
    ) -> None:
        self.watermarks = watermarks
        self.idle_timeout_ms = to_millis(idle_timeout)
        self._clock = clock or _wall_clock_ms
        self._last_event_ms = self._clock()
        self._idle = False

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        self._last_event_ms = self._clock()
        if self._idle:
            self._idle = False
            output.mark_active()
        self.watermarks.on_event(event, event_timestamp, output)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self._clock() - self._last_event_ms >= self.idle_timeout_ms:
            if not self._idle:
                self._idle = True
                output.mark_idle()
        else:
            self.watermarks.on_periodic_emit(output)


def _wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


class NoWatermarksGenerator(WatermarkGenerator):
    """Emits nothing."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        pass

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        pass
