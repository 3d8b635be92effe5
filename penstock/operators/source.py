"""Reads the splits of one source subtask and gives their elements timestamps and watermarks.

Each split has a watermark generator of its own, and the subtask's watermark is the minimum over the splits
that are neither finished nor idle: a split that is read late, or lags, is never overtaken by its neighbours.
Periodic generators speak at the end of an epoch; punctuated ones whenever they like, and the batch is cut there.

When the subtask's time is over, what was read and not emitted waits for the next epoch, as part of the state: a
connector can go on behind a batch, not in the middle of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from penstock.common.ids import MAX_WATERMARK, MIN_TIMESTAMP, MIN_WATERMARK
from penstock.common.watermark_strategy import (
    BoundedOutOfOrdernessWatermarks,
    NoWatermarksGenerator,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from penstock.connectors.source import ReaderContext, ReadLimit, SourceReader, SourceSplit
from penstock.operators.base import Operator
from penstock.operators.dead_letters import bury_record
from penstock.operators.time_box import TimeBox, cut
from penstock.operators.timestamps import assign_times


class SplitWatermarks(WatermarkOutput):
    """Watermark and idleness of one split, kept from epoch to epoch."""

    def __init__(self, generator: WatermarkGenerator, now_ms: int) -> None:
        self.generator = generator
        self.watermark = MIN_WATERMARK
        self.idle = False
        self.active_since_ms = now_ms

    def emit_watermark(self, watermark: Watermark) -> None:
        self.watermark = max(self.watermark, watermark.timestamp)
        self.idle = False

    def mark_idle(self) -> None:
        self.idle = True

    def mark_active(self) -> None:
        self.idle = False


class SourceOperator(Operator):
    """Drives a `SourceReader`. It has no inputs: the stage calls `read` for each split of the epoch."""

    input_count = 0

    def __init__(self, reader: SourceReader, strategy: WatermarkStrategy | None, bounded: bool) -> None:
        self._reader = reader
        self._strategy = strategy
        self._bounded = bounded
        self._opened = False
        self._splits: dict[str, SplitWatermarks] = {}
        self._box = TimeBox()
        self._waiting: list[tuple[str, Any, list[int] | None]] = []
        self._event_time_lag_ms: int | None = None

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        raise AssertionError("a source has no input")

    def begin_epoch(self) -> None:
        if not self._opened:
            self._opened = True
            c = self.context
            if self._strategy is not None:
                c.metrics.gauge("currentEmitEventTimeLag", lambda: self._event_time_lag_ms)
            poison = None if c.dead_letters is None else partial(bury_record, c)
            self._reader.open(
                ReaderContext(
                    c.subtask_index, c.parallelism, c.configuration, c.clock.processing_time_ms, poison
                )
            )

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[tuple[Any, int, bool]]:
        """Reads one split and emits; yields (position, records so far, finished) after every batch.

        The last yield of a split that was read to its end says finished. Stops at `limit.max_records`, and when the
        time is over.
        """
        count = 0
        if self._waiting:
            return
        for batch in self._reader.read(split, position, limit):
            self._emit_in_time(split.split_id, batch.values, batch.timestamps)
            position = batch.position
            count += len(batch.values)
            yield position, count, False
            if batch.may_stop and self._enough(limit, count):
                return
        finished = (self._bounded if limit.split_ends is None else limit.split_ends) and not self._waiting
        if (
            finished
        ):  # a split that something waits of is not: who is finished belongs to nobody in the next epoch
            self._splits.pop(split.split_id, None)
            self._emit_combined()
        yield position, count, finished

    def _enough(self, limit: ReadLimit, count: int) -> bool:
        return (limit.max_records is not None and count >= limit.max_records) or self._box.over

    def begin_reading(self, limit_ms: float | None) -> None:
        """The subtask's time for reading begins."""
        self._box.open(limit_ms)

    @property
    def waiting(self) -> int:
        """How many elements were read and not emitted."""
        return sum(len(values) for _, values, _ in self._waiting)

    def emit_waiting(self) -> Iterator[None]:
        """Emits what the epoch before had no time for, as far as there is time now."""
        waiting, self._waiting = self._waiting, []
        for split_id, values, timestamps in waiting:
            self._emit_in_time(split_id, values, timestamps)
            yield

    def _emit_in_time(self, split_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        marks = self._watermarks_of(split_id)
        sent, total = 0, len(values)
        while sent < total:
            size = 0 if self._waiting else self._box.portion(total - sent)
            if size == 0:
                self._waiting.append((split_id, *cut(values, timestamps, sent, total)))
                return
            self._emit(*cut(values, timestamps, sent, sent + size), marks)
            sent += size

    def assign(self, split_ids: Iterable[str]) -> None:
        """These splits belong here from now on: each holds the watermark back even before it is read."""
        wanted = set(split_ids)
        self._waiting = [rest for rest in self._waiting if rest[0] in wanted]
        for split_id in [s for s in self._splits if s not in wanted]:
            del self._splits[split_id]
        for split_id in wanted:
            self._watermarks_of(split_id)

    def _watermarks_of(self, split_id: str) -> SplitWatermarks | None:
        if self._strategy is None:
            return None
        marks = self._splits.get(split_id)
        if marks is None:
            now_ms = self.context.clock.processing_time_ms
            marks = self._splits[split_id] = SplitWatermarks(self._strategy.create_generator(), now_ms)
        return marks

    def _emit(self, values: list[Any], timestamps: list[int] | None, marks: SplitWatermarks | None) -> None:
        if not values:
            return
        if marks is None or self._strategy is None:
            self.output.emit(values, timestamps)
            return
        assigner = self._strategy.timestamp_assigner
        if assigner is not None:
            values, timestamps = assign_times(assigner, values, timestamps, self.context)
            if not values:
                return
        if timestamps:
            # by the time of emitting: an element may be made after the moment that its epoch has for a clock
            self._event_time_lag_ms = int(time.time() * 1000) - timestamps[-1]
        was_idle = marks.idle
        marks.idle = False
        marks.active_since_ms = self.context.clock.processing_time_ms
        if was_idle:
            self._emit_combined()
        self._generate(values, timestamps, marks)

    def _generate(self, values: list[Any], timestamps: list[int] | None, marks: SplitWatermarks) -> None:
        generator = marks.generator
        clock = timestamps or [MIN_TIMESTAMP] * len(values)
        if isinstance(generator, NoWatermarksGenerator):
            self.output.emit(values, timestamps)
            return
        if isinstance(generator, BoundedOutOfOrdernessWatermarks):
            generator.on_event(None, max(clock), marks)
            self.output.emit(values, timestamps)
            return
        sent = 0
        for i, (value, timestamp) in enumerate(zip(values, clock, strict=True)):
            before = marks.watermark
            generator.on_event(value, timestamp, marks)
            if marks.watermark > before and self._combined() > self.current_watermark:
                self.output.emit(values[sent : i + 1], timestamps and timestamps[sent : i + 1])
                sent = i + 1
                self._emit_combined()
        if sent < len(values):
            self.output.emit(values[sent:], timestamps and timestamps[sent:])

    def end_epoch(self) -> None:
        if self._strategy is None or self.current_watermark == MAX_WATERMARK:
            return
        now_ms = self.context.clock.processing_time_ms
        timeout_ms = self._strategy.idle_timeout_ms
        for marks in self._splits.values():
            marks.generator.on_periodic_emit(marks)
            if timeout_ms is not None and now_ms - marks.active_since_ms >= timeout_ms:
                marks.idle = True
        self._emit_combined()

    def _combined(self) -> int:
        active = [m.watermark for m in self._splits.values() if not m.idle]
        return min(active, default=MIN_WATERMARK)

    def _emit_combined(self) -> None:
        if self._splits:
            self.output.emit_idle(all(m.idle for m in self._splits.values()))
        combined = self._combined()
        if combined > self.current_watermark:
            self.current_watermark = combined
            self.output.emit_watermark(combined)

    def next_processing_timer(self) -> int | None:
        """An epoch is due when the first active split reaches its idle timeout."""
        if self._strategy is None or self._strategy.idle_timeout_ms is None:
            return None
        active = [m.active_since_ms for m in self._splits.values() if not m.idle]
        return min(active) + self._strategy.idle_timeout_ms if active else None

    def close(self) -> None:
        if self._opened:
            self._reader.close()

    def snapshot(self) -> Any:
        return {**super().snapshot(), "splits": self._splits, "waiting": self._waiting}

    def restore(self, states: Sequence[Any]) -> None:
        super().restore(states)
        self._splits = {split: marks for state in states for split, marks in state["splits"].items()}
        self._waiting = [rest for state in states for rest in state.get("waiting", ())]
