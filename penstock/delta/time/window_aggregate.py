"""GROUP BY a window: rows are added to slices, windows are put together from slices when they end.

    rows        -> one slice update per key, slice and epoch        state: key, slice end -> accumulators
    watermark   -> a timer per key and next window end; a fired window merges its slices, emits one row,
                   registers the next window that shares a slice, and drops the slice nobody needs any more

Rows of tumbling windows over event time are held back until the watermark of the epoch is known: windows that end
with it, and of which nothing is stored, are put out at once and never reach state or timers. Where the results of
pre-aggregated rows can be computed on columns, `delta/columnar/sliced_windows.py` does it.

A row is late for a window whose end the watermark had passed before the row. It still counts in the windows
of its slice that are open, and is dropped (and counted) when there are none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from penstock.common.typeinfo import Types
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, WEIGHT, Batch, DeltaContext, DeltaOperator, Row
from penstock.delta.kept import WINDOW_ENDS, Kept, results
from penstock.delta.rows import identities, keys_of
from penstock.delta.time.clock import (
    LATE_RECORDS_DROPPED,
    WindowClock,
    due_in_order,
    times_of,
    watermarks_of,
)
from penstock.delta.time.slices import Slice, SliceFunctions
from penstock.delta.time.windows import (
    WINDOW_END,
    WINDOW_START,
    AttachedWindow,
    WindowSpec,
    check_properties,
    window_columns,
)
from penstock.state.descriptors import MapStateDescriptor


class _Pending:
    """Rows of one key and slice in an epoch, and the first window they are in time for."""

    __slots__ = ("first_end", "key", "rows", "weights")

    def __init__(self, key: Row, first_end: int) -> None:
        self.key = key
        self.first_end = first_end
        self.rows: list[Row] = []
        self.weights: list[int] = []


class _WindowAggregateBase(DeltaOperator):
    """What both forms share: grouping an epoch's rows, state, output rows."""

    def __init__(
        self,
        key_columns: Sequence[int],
        aggregates: Sequence[AggSpec],
        *,
        properties: Sequence[str],
        zone: str | None,
        input_retracts: bool,
        row_count_column: int | None,
    ) -> None:
        check_properties(properties)
        self._key_columns = tuple(key_columns)
        self._specs = tuple(aggregates)
        self._properties = tuple(properties)
        self._clock = WindowClock(zone)
        self._retracts = input_retracts
        self._row_count_column = row_count_column
        self._make_functions()  # refuses what is not supported when the query is planned

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._key_columns

    def _make_functions(self) -> SliceFunctions:
        return SliceFunctions(self._specs, self._retracts, self._row_count_column)

    def kept(self) -> tuple[Kept, ...]:
        return (Kept(results(s.function for s in self._specs), columns=(), until=WINDOW_ENDS, windowed=True),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        pickled = Types.PICKLED_BYTE_ARRAY()
        self._functions = self._make_functions()
        self._functions.open(context.function_context)
        self._slices = context.keyed_state.get_partitioned_state(
            MapStateDescriptor("slices", pickled, pickled)
        )

    def close(self) -> None:
        self._functions.close()

    def _add_to_slices(self, pending: Iterable[tuple[Any, _Pending]]) -> None:
        """Brings the epoch's rows into state, one update per key and slice, and registers their windows."""
        backend, slices = self.context.keyed_state, self._slices
        for name, group in pending:
            backend.set_current_key(group.key)
            retracts = -1 in group.weights
            known: Slice | None = slices.get(name)
            slices.put(name, self._functions.update(known, group.rows, group.weights if retracts else None))
            self._register(group.first_end, name)

    def _drop(self, late: Row) -> None:
        column = self._row_count_column
        self.context.count(LATE_RECORDS_DROPPED, 1 if column is None else late[column])

    def _register(self, window_end: int, name: Any) -> None:
        raise NotImplementedError

    def _emit(self, key: Row, piece: Slice, start: int, end: int) -> None:
        if piece[0] == 0:  # all its rows were taken back
            return
        columns = window_columns(self._properties, start, end, self._clock)
        row = key + self._functions.results(piece) + columns
        self.output.append(row, INSERT, self._emits_behind(end))

    def _emits_behind(self, end: int) -> int:
        """The watermark before the result of a window."""
        return self._clock.fires_at(end) - 1


class WindowAggregate(_WindowAggregateBase):
    """TUMBLE, HOP or CUMULATE over rows with a time column.

    Output row: the key columns, one column per aggregate, then the window properties asked for.

    Args:
        key_columns: Grouping columns besides the window.
        time_column: The row time; None for processing time.
        window: The slices, see `windows.py`.
        properties: Which of window_start, window_end, window_time to put out, in this order.
        zone: The session zone if the time column is TIMESTAMP_LTZ, else None.
        input_retracts: Whether input rows may be taken back.
        row_count_column: With pre-aggregated input, the column that says how many rows a row stands for. Such a
            row may stand for rows of one slice that are in time for the same windows; its time is any time of
            the slice, its watermark the largest of theirs.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        time_column: int | None,
        window: WindowSpec,
        aggregates: Sequence[AggSpec],
        *,
        properties: Sequence[str] = (WINDOW_START, WINDOW_END),
        zone: str | None = None,
        input_retracts: bool = False,
        row_count_column: int | None = None,
    ) -> None:
        super().__init__(
            key_columns,
            aggregates,
            properties=properties,
            zone=zone,
            input_retracts=input_retracts,
            row_count_column=row_count_column,
        )
        self._time_column = time_column
        self._window = window
        self._holds = window.tumbles and not (time_column is None or input_retracts or self._clock.has_zone)
        self._held: list[_Pending] = []

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        state = context.keyed_state
        self._timers = state.processing_timers if self._time_column is None else state.event_timers
        self._held = []

    # --- rows ---------------------------------------------------------------------------------------------

    def process(self, input_index: int, batch: Batch) -> None:
        if self._holds:
            self._hold(batch)
        else:
            self._take(batch)

    def _hold(self, batch: Batch) -> None:
        slice_end_of = self._window.slice_end
        keys = keys_of(batch.rows, self._key_columns)
        times = self._times(batch)
        held: dict[Any, _Pending] = {}
        for row, key, ident, time_ms, watermark in zip(
            batch.rows, keys, identities(keys), times, watermarks_of(batch), strict=True
        ):
            end = slice_end_of(time_ms)
            if end - 1 <= watermark:
                self._drop(row)
                continue
            group = held.get((ident, end))
            if group is None:
                group = held[ident, end] = _Pending(key, end)
            group.rows.append(row)
        self._held += held.values()

    def _take(self, batch: Batch) -> None:
        wall, fires_at, slice_end_of = self._clock.wall, self._clock.fires_at, self._window.slice_end
        keys = keys_of(batch.rows, self._key_columns)
        times = self._times(batch)
        pending: dict[Any, _Pending] = {}
        for row, kind, key, ident, time_ms, watermark in zip(
            batch.rows, batch.kinds, keys, identities(keys), times, watermarks_of(batch), strict=True
        ):
            slice_end = slice_end_of(wall(time_ms))
            first_end = (
                slice_end if fires_at(slice_end) > watermark else self._first_open(slice_end, watermark)
            )
            if first_end is None:
                self._drop(row)
                continue
            group = pending.get((ident, slice_end, first_end))
            if group is None:
                group = pending[ident, slice_end, first_end] = _Pending(key, first_end)
            group.rows.append(row)
            group.weights.append(WEIGHT[kind])
        self._add_to_slices((_piece_name(*name[1:]), group) for name, group in pending.items())

    def _times(self, batch: Batch) -> list[int]:
        if self._time_column is None:
            return [self.context.processing_time_ms] * len(batch)
        return times_of(batch, self._time_column)

    def _first_open(self, slice_end: int, watermark: int) -> int | None:
        """The end of the first window of the slice that the watermark has not passed; the slice's own has."""
        last = self._window.last_window_end(slice_end)
        for end in range(slice_end + self._window.step_ms, last + 1, self._window.step_ms):
            if self._clock.fires_at(end) > watermark:
                return end
        return None

    def _register(self, window_end: int, name: Any) -> None:
        # Without a zone the time says which window it is; a timer without a namespace costs less.
        self._timers.register(self._clock.fires_at(window_end), window_end if self._clock.has_zone else None)

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        if self._holds:
            self._fire_held(watermark)
        elif self._time_column is not None:
            self._fire_until(watermark)

    def end_epoch(self) -> None:
        if self._time_column is None:
            self._fire_until(self.context.processing_time_ms)
        held, self._held = self._held, []
        self._add_to_slices((group.first_end, group) for group in held)

    def _fire_held(self, watermark: int) -> None:
        """Stored windows with what the epoch adds to them, and the epoch's own, in order of time."""
        fired = sorted(self._ended(watermark), key=itemgetter(0))
        results, append = self._functions.results, self.output.append
        for end, windows in groupby(fired, itemgetter(0)):
            columns = window_columns(self._properties, end - self._window.size_ms, end, self._clock)
            behind = self._emits_behind(end)
            for _, key, piece in windows:
                append(key + results(piece) + columns, INSERT, behind)

    def _ended(self, watermark: int) -> Iterator[tuple[int, Row, Slice]]:
        """The end, key and content of each window that the watermark closes."""
        update = self._functions.update
        ending = [group for group in self._held if group.first_end - 1 <= watermark]
        self._held = [group for group in self._held if group.first_end - 1 > watermark]
        due = list(due_in_order(self._timers, watermark))
        names = identities([*(group.key for group in ending), *(timer.key for timer in due)])
        added: dict[Any, list[_Pending]] = {}
        for ident, group in zip(names, ending, strict=False):
            added.setdefault((ident, group.first_end), []).append(group)
        for ident, timer in zip(names[len(ending) :], due, strict=True):
            end = timer.time_ms + 1
            self.context.keyed_state.set_current_key(timer.key)
            piece: Slice | None = self._slices.get(end)
            self._slices.remove(end)
            for group in added.pop((ident, end), ()):
                piece = update(piece, group.rows, None)
            if piece is not None:
                yield end, timer.key, piece
        for groups in added.values():
            piece = None
            for group in groups:
                piece = update(piece, group.rows, None)
            assert piece is not None
            yield groups[0].first_end, groups[0].key, piece

    def _fire_until(self, time_ms: int) -> None:
        window = self._window
        fire = self._fire_cumulated if window.cumulates else self._fire_hopping
        if window.tumbles:
            fire = self._fire_tumbling
        for timer in due_in_order(self._timers, time_ms):
            self.context.keyed_state.set_current_key(timer.key)
            fire(timer.key, timer.time_ms + 1 if timer.namespace is None else timer.namespace)

    def _fire_tumbling(self, key: Row, end: int) -> None:
        piece = self._slices.get(end)
        if piece is not None:
            self._slices.remove(end)
            self._emit(key, piece, end - self._window.size_ms, end)

    def _fire_hopping(self, key: Row, end: int) -> None:
        window = self._window
        start = end - window.size_ms
        pieces = self._pieces(start, end)
        if not pieces:
            return
        # Flink puts the newest slice first, which LISTAGG shows.
        newest_first = sorted(pieces, key=lambda pair: -_piece_order(pair[0])[0])
        self._emit(key, self._merge(newest_first), start, end)
        oldest = start + window.step_ms
        for name, _ in pieces:
            if _piece_order(name)[0] == oldest:
                self._slices.remove(name)
        if _piece_order(pieces[-1][0])[0] > oldest:
            self._register(end + window.step_ms, None)

    def _fire_cumulated(self, key: Row, end: int) -> None:
        """Merges what has come into the first slice of the window, which later steps build upon."""
        window, slices = self._window, self._slices
        start = window.window_start(end)
        pieces = self._pieces(start, end)
        if not pieces:
            return
        merged = self._merge(pieces)
        self._emit(key, merged, start, end)
        for name, _ in pieces:
            slices.remove(name)
        if end < start + window.size_ms:
            slices.put(start + window.step_ms, merged)
            self._register(end + window.step_ms, None)

    def _pieces(self, start: int, end: int) -> list[tuple[Any, Slice]]:
        """What belongs to a window, by slice; without the rows that were late for it."""
        found = []
        for name, piece in self._slices.items():
            slice_end, first_end = _piece_order(name)
            if start < slice_end and first_end <= end:
                found.append((name, piece))
        return sorted(found, key=lambda pair: _piece_order(pair[0]))

    def _merge(self, pieces: list[tuple[Any, Slice]]) -> Slice:
        return pieces[0][1] if len(pieces) == 1 else self._functions.merge(piece for _, piece in pieces)


def _piece_name(slice_end: int, first_end: int) -> Any:
    """Rows that missed windows of their slice are a piece of their own.

    The watermark that closed those windows may reach `advance` only in a later epoch, and when they fire then,
    these rows must not be in them.
    """
    return slice_end if slice_end == first_end else (slice_end, first_end)


def _piece_order(name: Any) -> tuple[int, int]:
    """(slice end, end of the first window it counts in)."""
    return name if type(name) is tuple else (name, name)


class AttachedWindowAggregate(_WindowAggregateBase):
    """Aggregates rows that carry their window, per key and window; emits when the window ends.

    The window may come from a table function (whose time may be TIMESTAMP_LTZ, then `zone` is needed) or from
    an earlier window aggregate. Output and arguments as in `WindowAggregate`; with `processing_time` the window
    ends by the clock and no row is late.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        window: AttachedWindow,
        aggregates: Sequence[AggSpec],
        *,
        properties: Sequence[str] = (WINDOW_START, WINDOW_END),
        zone: str | None = None,
        input_retracts: bool = False,
        row_count_column: int | None = None,
        processing_time: bool = False,
    ) -> None:
        super().__init__(
            key_columns,
            aggregates,
            properties=properties,
            zone=zone,
            input_retracts=input_retracts,
            row_count_column=row_count_column,
        )
        self._window = window
        self._processing = processing_time

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        state = context.keyed_state
        self._timers = state.processing_timers if self._processing else state.event_timers

    def process(self, input_index: int, batch: Batch) -> None:
        window_of = self._window.of
        keys = keys_of(batch.rows, self._key_columns)
        pending: dict[Any, _Pending] = {}
        for row, kind, key, ident, watermark in zip(
            batch.rows, batch.kinds, keys, identities(keys), watermarks_of(batch), strict=True
        ):
            window = window_of(row)
            if not self._processing and self._clock.fires_at(window[1]) <= watermark:
                self._drop(row)
                continue
            name = (ident, window)
            group = pending.get(name)
            if group is None:
                group = pending[name] = _Pending(key, window[1])
            group.rows.append(row)
            group.weights.append(WEIGHT[kind])
        self._add_to_slices((name[1], group) for name, group in pending.items())

    def _register(self, window_end: int, name: Any) -> None:
        self._timers.register(self._clock.fires_at(window_end), name)

    def _emits_behind(self, end: int) -> int:
        return self.context.watermark if self._processing else super()._emits_behind(end)

    def advance(self, watermark: int) -> None:
        if not self._processing:
            self._fire_until(watermark)

    def end_epoch(self) -> None:
        if self._processing:
            self._fire_until(self.context.processing_time_ms)

    def _fire_until(self, time_ms: int) -> None:
        for timer in due_in_order(self._timers, time_ms):
            self.context.keyed_state.set_current_key(timer.key)
            piece = self._slices.get(timer.namespace)
            if piece is not None:
                self._slices.remove(timer.namespace)
                self._emit(timer.key, piece, *timer.namespace)
