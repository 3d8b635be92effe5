"""OVER ... ORDER BY time: each row with aggregates over the rows before it.

By event time a row waits until the watermark has passed its time; then the rows of that time enter the frame, those
too far back leave it, and the results come out:

    ROWS 2 PRECEDING            each row on its own, ties in order of arrival
    RANGE 5 s PRECEDING         all rows of one time together, with one result

Late rows: with UNBOUNDED PRECEDING a row at or behind the watermark is dropped. A bounded frame drops it only if its
key has answered for that time or a later one; otherwise it is answered at the next watermark, as in Flink. And as
there, a key that had no rows for one and a half times a RANGE is forgotten, which lets such a row begin anew. A look
whether it has to be, which finds that rows have come since, counts as an answer.

By processing time rows are answered as they come, in RANGE frames at the end of their epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.base import INSERT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import PASSED, Kept, every_row, some_rows
from penstock.delta.rows import identities, keys_of
from penstock.delta.time.attached import require_inserts
from penstock.delta.time.clock import LATE_RECORDS_DROPPED, due_in_order, times_of, watermarks_of
from penstock.delta.time.over_functions import FrameFunctions, OverFrame, OverSpec
from penstock.state.descriptors import MapStateDescriptor, ValueStateDescriptor

Timed = tuple[int, Row]


class _FrameState:
    """The frame of the current key: accumulators, and the rows that will leave it again.

    State: [accumulators, rows of a ROWS frame or times of a RANGE frame, time answered last].
    """

    def __init__(self, context: DeltaContext, frame: OverFrame, specs: Sequence[OverSpec]) -> None:
        self._functions = FrameFunctions(specs, bounded=frame.preceding is not None)
        self._functions.open(context.function_context)
        self.close = self._functions.close
        self._frame = frame
        pickled = Types.PICKLED_BYTE_ARRAY()
        backend = context.keyed_state
        self._state = backend.get_partitioned_state(ValueStateDescriptor("frame", pickled))
        self._by_time = backend.get_partitioned_state(MapStateDescriptor("frame-rows", pickled, pickled))

    def last_time(self) -> int | None:
        state = self._state.value()
        return None if state is None else state[2]

    def answered(self, time_ms: int) -> None:
        """Nothing of that time or before comes any more."""
        state = self._state.value() or [self._functions.create(), [], None]
        state[2] = time_ms
        self._state.update(state)

    def clear(self) -> None:
        self._state.clear()
        self._by_time.clear()

    def add(self, arrivals: list[Timed]) -> list[Row]:
        """Rows in the order of time enter the frame; returns them with their results."""
        state = self._state.value() or [self._functions.create(), [], None]
        output: list[Row] = []
        for time_ms, group in groupby(arrivals, key=itemgetter(0)):
            rows = [row for _, row in group]
            if self._frame.rows:
                output.extend(self._add_one_by_one(state, rows, time_ms))
            else:
                output.extend(self._add_together(state, rows, time_ms))
            state[2] = time_ms
        self._state.update(state)
        return output

    def _add_one_by_one(self, state: list[Any], rows: list[Row], time_ms: int) -> list[Row]:
        accs, kept = state[0], state[1]
        output = []
        for row in rows:
            if self._frame.preceding is not None:
                kept.append(row)
                if len(kept) > self._frame.preceding + 1:
                    self._functions.remove(accs, [kept.pop(0)])
            output.append(row + self._functions.add_row(accs, row, time_ms))
        return output

    def _add_together(self, state: list[Any], rows: list[Row], time_ms: int) -> list[Row]:
        accs, times = state[0], state[1]
        if self._frame.preceding is not None:
            while times and times[0] < time_ms - self._frame.preceding:
                gone = times.pop(0)
                self._functions.remove(accs, self._by_time.get(gone))
                self._by_time.remove(gone)
            if times and times[-1] == time_ms:  # by processing time, two epochs may have the same clock
                self._by_time.put(time_ms, self._by_time.get(time_ms) + rows)
            else:
                times.append(time_ms)
                self._by_time.put(time_ms, rows)
        results = self._functions.add_peers(accs, rows, time_ms)
        return [row + result for row, result in zip(rows, results, strict=True)]


class _OverBase(DeltaOperator):
    """Output row: the input row, then one column per function.

    Args of both forms:
        key_columns: PARTITION BY.
        frame: How far back the frame reaches.
        functions: Aggregates and order functions; see `over_functions.py`.
    """

    def __init__(self, key_columns: Sequence[int], frame: OverFrame, functions: Sequence[OverSpec]) -> None:
        self._key_columns = tuple(key_columns)
        self._frame = frame
        self._specs = tuple(functions)
        # Refuses what is not supported when the query is planned.
        FrameFunctions(self._specs, bounded=frame.preceding is not None)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def kept(self) -> tuple[Kept, ...]:
        frame = self._frame
        if frame.preceding is None:
            return (Kept("results so far", columns=()),)
        if frame.rows:
            return (Kept(some_rows(frame.preceding + 1)),)
        return every_row(until=(f"until it is {frame.preceding} ms old",))

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._frames = _FrameState(context, self._frame, self._specs)

    def close(self) -> None:
        self._frames.close()

    def _by_key(self, batch: Batch) -> list[tuple[Row, list[int]]]:
        """Keys with the indexes of their rows."""
        require_inserts(batch, type(self).__name__)
        keys = keys_of(batch.rows, self._key_columns)
        groups: dict[Any, list[int]] = {}
        for index, ident in enumerate(identities(keys)):
            groups.setdefault(ident, []).append(index)
        return [(keys[indexes[0]], indexes) for indexes in groups.values()]


class EventTimeOver(_OverBase):
    """OVER (ORDER BY the row time)."""

    def __init__(
        self, key_columns: Sequence[int], time_column: int, frame: OverFrame, functions: Sequence[OverSpec]
    ) -> None:
        super().__init__(key_columns, frame, functions)
        self._time_column = time_column

    def kept(self) -> tuple[Kept, ...]:
        return *every_row(until=(PASSED,)), *super().kept()

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        pickled = Types.PICKLED_BYTE_ARRAY()
        backend = context.keyed_state
        self._timers = backend.event_timers
        self._waiting = backend.get_partitioned_state(MapStateDescriptor("waiting", pickled, pickled))
        # When the key is forgotten: [(due, due as Flink compares it)]; the last one is the current.
        self._cleanups = backend.get_partitioned_state(ValueStateDescriptor("cleanups", pickled))
        # When that was planned before further rows came: a timer that finds nothing to do.
        self._outdated = backend.get_partitioned_state(ValueStateDescriptor("outdated-cleanups", pickled))

    # --- rows ---------------------------------------------------------------------------------------------

    def process(self, input_index: int, batch: Batch) -> None:
        times, watermarks = times_of(batch, self._time_column), watermarks_of(batch)
        for key, indexes in self._by_key(batch):
            self.context.keyed_state.set_current_key(key)
            for index in indexes:
                time_ms, watermark = times[index], watermarks[index]
                if time_ms <= watermark and self._is_late(time_ms, watermark):
                    self.context.count(LATE_RECORDS_DROPPED)
                    continue
                self._wait(batch.rows[index], time_ms, watermark)

    def _is_late(self, time_ms: int, watermark: int) -> bool:
        """Whether a row at or behind the watermark is too late."""
        if self._frame.preceding is None:
            return True
        since, answered = None, [self._frames.last_time()]
        if not self._frame.rows:
            cleanups = self._cleanups.value() or []
            if not cleanups or cleanups[-1][0] <= watermark:
                return False
            if len(cleanups) > 1:  # the frame is still that of an earlier life of the key
                since, answered = cleanups[-2][0], []
            looks = self._outdated.value() or ()
            answered.extend(
                compared for due, compared in looks if due <= watermark and (since is None or due > since)
            )
        for fires_at, arrivals in self._waiting.items():
            if fires_at <= watermark and (since is None or fires_at > since):
                answered.extend(waiting_time for waiting_time, _ in arrivals)
        return any(other is not None and time_ms <= other for other in answered)

    def _wait(self, row: Row, time_ms: int, watermark: int) -> None:
        fires_at = max(time_ms, watermark + 1)
        arrivals = self._waiting.get(fires_at)
        if arrivals is None:
            arrivals = []
            self._timers.register(fires_at)
        arrivals.append((time_ms, row))
        self._waiting.put(fires_at, arrivals)
        if self._frame.preceding is not None and not self._frame.rows:
            self._plan_cleanup(time_ms, watermark, self._frame.preceding)

    def _plan_cleanup(self, time_ms: int, watermark: int, preceding_ms: int) -> None:
        cleanups: list[tuple[int, int]] = self._cleanups.value() or []
        is_current = bool(cleanups) and cleanups[-1][0] > watermark
        if is_current and cleanups[-1][1] >= time_ms + preceding_ms + 1:
            return
        compared = time_ms + preceding_ms * 3 // 2 + 1
        due = max(compared, watermark + 1)
        if is_current:
            self._outdated.update([*(self._outdated.value() or ()), cleanups[-1]])
            cleanups[-1] = (due, compared)
        else:
            cleanups.append((due, compared))
        self._cleanups.update(cleanups)
        self._timers.register(due)

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        for timer in due_in_order(self._timers, watermark):
            self.context.keyed_state.set_current_key(timer.key)
            arrivals: list[Timed] | None = self._waiting.get(timer.time_ms)
            if arrivals is not None:
                self._waiting.remove(timer.time_ms)
                for row in self._frames.add(sorted(arrivals, key=itemgetter(0))):
                    self.output.append(row, INSERT, timer.time_ms - 1)
            cleanups = self._cleanups.value()
            if cleanups and cleanups[0][0] <= timer.time_ms:
                self._forget(cleanups)
            else:
                self._look_in_vain(timer.time_ms)

    def _look_in_vain(self, time_ms: int) -> None:
        """The key was to be forgotten now, until further rows came."""
        outdated: list[tuple[int, int]] = self._outdated.value() or []
        looks = [compared for due, compared in outdated if due <= time_ms]
        if looks:
            self._frames.answered(looks[-1])
            self._keep_looks(outdated, time_ms)

    def _keep_looks(self, outdated: list[tuple[int, int]], after_ms: int) -> None:
        left = [look for look in outdated if look[0] > after_ms]
        if left:
            self._outdated.update(left)
        else:
            self._outdated.clear()

    def _forget(self, cleanups: list[tuple[int, int]]) -> None:
        self._frames.clear()
        self._keep_looks(self._outdated.value() or [], cleanups[0][0])
        if len(cleanups) > 1:
            self._cleanups.update(cleanups[1:])
        else:
            self._cleanups.clear()


class ProcessingTimeOver(_OverBase):
    """OVER (ORDER BY processing time): the order of arrival."""

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._held = Batch()

    def process(self, input_index: int, batch: Batch) -> None:
        if self._frame.preceding is not None and not self._frame.rows:
            for index, row in enumerate(batch.rows):
                watermark = None if batch.watermarks is None else batch.watermarks[index]
                self._held.append(row, batch.kinds[index], watermark)
        else:
            self._answer(batch)

    def end_epoch(self) -> None:
        held, self._held = self._held, Batch()
        self._answer(held)
        for timer in self.context.keyed_state.processing_timers.pop_due(self.context.processing_time_ms):
            self.context.keyed_state.set_current_key(timer.key)
            last = self._frames.last_time()
            if last is not None and last + (self._frame.preceding or 0) < timer.time_ms:
                self._frames.clear()

    def _answer(self, batch: Batch) -> None:
        now, watermarks = self.context.processing_time_ms, batch.watermarks
        for key, indexes in self._by_key(batch):
            self.context.keyed_state.set_current_key(key)
            if self._frame.preceding is None:  # UNBOUNDED: each row by itself, in RANGE frames too
                arrivals = [[(now, batch.rows[index])] for index in indexes]
            else:
                arrivals = [[(now, batch.rows[index]) for index in indexes]]
            rows = [row for part in arrivals for row in self._frames.add(part)]
            for index, row in zip(indexes, rows, strict=True):
                self.output.append(row, INSERT, None if watermarks is None else watermarks[index])
            if self._frame.preceding is not None and not self._frame.rows:
                due = now + self._frame.preceding + 1
                self.context.keyed_state.processing_timers.register(due)
