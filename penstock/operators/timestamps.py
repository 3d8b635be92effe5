"""assign_timestamps_and_watermarks: event time begins here.

Timestamps come from the strategy's assigner. The generator sees every element in order; what it emits in
`on_event` splits the batch at that element, what it emits in `on_periodic_emit` comes once, at the end of the
epoch, so that a small bounded input is followed by the final watermark only. Watermarks from upstream mean
nothing here, except MAX: the input has ended. For the built-in generators a batch costs one `max`.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from penstock.common.errors import TypeMismatchError
from penstock.common.ids import MAX_WATERMARK, MIN_TIMESTAMP, MIN_WATERMARK
from penstock.common.watermark_generators import (
    AscendingTimestampsWatermarks,
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkOutput,
)
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.operators.base import Operator, OperatorContext, Output
from penstock.operators.dead_letters import POISONED, bury, time_at
from penstock.operators.failures import describe_place, raise_user_error

_BY_MAXIMUM = (BoundedOutOfOrdernessWatermarks, AscendingTimestampsWatermarks)


class _PendingWatermark(WatermarkOutput):
    """Takes what a generator says; the operator asks afterwards."""

    def __init__(self) -> None:
        self.watermark: int | None = None
        self.idle: bool | None = None

    def emit_watermark(self, watermark: Watermark) -> None:
        time = watermark.timestamp
        self.watermark = time if self.watermark is None else max(time, self.watermark)
        self.idle = False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False


class TimestampsAndWatermarksOperator(Operator):
    """Assigns timestamps and generates watermarks by a `WatermarkStrategy`.

    Args:
        strategy: Assigner, generator and idleness.
        auto_watermark_interval_ms: 0 switches `on_periodic_emit` off, as in Flink.
    """

    def __init__(self, strategy: WatermarkStrategy, auto_watermark_interval_ms: int = 200) -> None:
        self.strategy = strategy
        self.auto_watermark_interval_ms = auto_watermark_interval_ms

    def setup(self, context: OperatorContext, output: Output) -> None:
        super().setup(context, output)
        self._generator = self.strategy.create_generator()
        self._pending = _PendingWatermark()
        self._idle = False
        self._last_element_ms: int | None = None

    # -- elements -------------------------------------------------------------------------------------------

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if not values:
            return
        self._last_element_ms = self.context.clock.processing_time_ms
        self._set_idle(False)
        assigner = self.strategy.timestamp_assigner
        assigned = timestamps
        if assigner is not None:
            values, assigned = assign_times(assigner, values, timestamps, self.context)
            if not values:
                return
        kind = type(self._generator)
        if kind in _BY_MAXIMUM or kind is NoWatermarksGenerator or self.context.batch_mode:
            if assigned is not None and kind in _BY_MAXIMUM:
                self._generator.on_event(None, self._latest(assigned), self._pending)
            self.output.emit(values, assigned)
        else:
            self._emit_by_generator(values, assigned)

    def _latest(self, timestamps: list[int]) -> int:
        """The largest event time; times that do not compare are what an assigner of the user's gave."""
        try:
            return max(timestamps) + 0
        except TypeError:
            wrong = next(time for time in timestamps if not isinstance(time, int))
            raise TypeMismatchError(
                f"the timestamp assigner gave {wrong!r} ({type(wrong).__name__}), not a number of milliseconds",
                where=describe_place(self.context),
                do="return an int: milliseconds since 1970, such as int(moment.timestamp() * 1000)",
            ) from None

    def _emit_by_generator(self, values: list[Any], timestamps: list[int] | None) -> None:
        on_event, pending = self._generator.on_event, self._pending
        start = 0
        value = None
        for index, value in enumerate(values):
            time = MIN_TIMESTAMP if timestamps is None else timestamps[index]
            try:
                on_event(value, time, pending)
            except Exception as error:
                raise_user_error(error, self.context, self._generator, value)
            if pending.watermark is not None or pending.idle is not None:
                self._emit_slice(values, timestamps, start, index + 1)
                start = index + 1
                self._take_pending()
        self._emit_slice(values, timestamps, start, len(values))

    def _emit_slice(self, values: list[Any], timestamps: list[int] | None, start: int, end: int) -> None:
        if start < end:
            self.output.emit(values[start:end], None if timestamps is None else timestamps[start:end])

    # -- watermarks and idleness ----------------------------------------------------------------------------

    def on_watermark(self, watermark: int) -> None:
        if watermark == MAX_WATERMARK:
            self._advance_to(watermark)

    def on_idle(self, idle: bool) -> None:
        """Idleness is decided here, by this operator's own strategy."""

    def end_epoch(self) -> None:
        if self.context.batch_mode or self.current_watermark == MAX_WATERMARK:
            return
        if self.auto_watermark_interval_ms > 0:
            try:
                self._generator.on_periodic_emit(self._pending)
            except Exception as error:
                raise_user_error(error, self.context, self._generator, during="on_periodic_emit()")
            self._take_pending()
        due = self.next_processing_timer()
        if due is not None and due <= self.context.clock.processing_time_ms:
            self._set_idle(True)

    def next_processing_timer(self) -> int | None:
        timeout = self.strategy.idle_timeout_ms
        if timeout is None or self._idle or self.current_watermark == MAX_WATERMARK:
            return None
        if self._last_element_ms is None:
            self._last_element_ms = self.context.clock.processing_time_ms
        return self._last_element_ms + timeout

    def _take_pending(self) -> None:
        pending = self._pending
        watermark, idle = pending.watermark, pending.idle
        pending.watermark = pending.idle = None
        if idle:
            self._set_idle(True)
        if watermark is not None and watermark > self.current_watermark:
            self._advance_to(watermark)

    def _advance_to(self, watermark: int) -> None:
        self._set_idle(False)
        self.current_watermark = watermark
        self.output.emit_watermark(watermark)

    def _set_idle(self, idle: bool) -> None:
        if idle != self._idle:
            self._idle = idle
            self.output.emit_idle(idle)

    # -- state ----------------------------------------------------------------------------------------------

    def snapshot(self) -> Any:
        return {
            "watermark": self.current_watermark,
            "generator": copy.deepcopy(vars(self._generator)),
            "idle": self._idle,
            "last_element_ms": self._last_element_ms,
        }

    def restore(self, states: Sequence[Any]) -> None:
        self._generator = self.strategy.create_generator()
        self._idle, self._last_element_ms, self.current_watermark = False, None, MIN_WATERMARK
        if len(states) == 1:
            super().restore(states)
            vars(self._generator).update(copy.deepcopy(states[0]["generator"]))
            self._idle, self._last_element_ms = states[0]["idle"], states[0]["last_element_ms"]


def assign_times(
    assigner: Any, values: list[Any], timestamps: list[int] | None, context: OperatorContext
) -> tuple[list[Any], list[int]]:
    """Elements and their event times, but for those on which the assigner raises, if they can be dead letters."""
    extract = assigner.extract_timestamp
    before = [MIN_TIMESTAMP] * len(values) if timestamps is None else timestamps
    assigned: list[Any] = []
    append = assigned.append
    rest, poisoned = zip(values, before, strict=True), False
    while True:
        try:
            for value, old in rest:
                append(extract(value, old))
            break
        except Exception as error:
            bury(error, context, assigner, value, time_at(timestamps, len(assigned)))
            append(POISONED)
            poisoned = True
    if poisoned:
        values = [v for v, time in zip(values, assigned, strict=True) if time is not POISONED]
        assigned = [time for time in assigned if time is not POISONED]
    return values, assigned
