"""TUMBLE, HOP and CUMULATE on columns: pre-aggregated slices are logged, windows are added up from them.

    epoch      rows pre-aggregated per key and slice  ->  one batch of the log, nothing is looked up
    watermark  passes the ends of windows             ->  each is one grouping over the slices it has

What a window is, and which rows are late for it, says `delta/time/window_aggregate.py`; the results are the same.
No timers are kept: the windows that end between two watermarks are told
by the slices that are there, and every subtask advances to the same watermarks.

Slices that have begun and ended within an epoch never reach the state. A slice that no window needs any more goes
with the batch it is in; of CUMULATE, what a window has had so far is put together as its batches are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.delta.base import INSERT, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.results import added_up, columnar_result, has_columnar_result
from penstock.delta.columnar.table_log import TableLog
from penstock.delta.columns import WATERMARK, Ints, filled, millis, named
from penstock.delta.kept import WINDOW_ENDS, Kept, results
from penstock.delta.local.aggregate import PreAggregate
from penstock.delta.time.clock import LATE_RECORDS_DROPPED, WindowClock
from penstock.delta.time.windows import WindowSpec, check_properties, window_columns

_END, _FIRST = "__end", "__first"
"""The end of a piece's slice, and of the first window it is in time for."""
_FAR = 1 << 60
"""Beyond all times there are, with room for a window behind it."""


def can_be_columns(local: PreAggregate) -> bool:
    """Whether windows over what a pre-aggregation sends have their results in columns."""
    return all(map(has_columnar_result, local.partial_specs()))


class ColumnarWindowAggregate(ColumnarOperator):
    """Input: what `local` sends. Output row: the keys, one column per aggregate, then the window properties.

    Args:
        local: The pre-aggregation, by slices of `window`, or by none for processing time.
        window: Which windows; only TUMBLE for processing time, by which an epoch is one moment.
        properties: Which of window_start, window_end, window_time to put out, in this order.
        zone: The session zone by whose wall clock windows of processing time are cut.
        processing_time: Whether windows end by the clock.
    """

    def __init__(
        self,
        local: PreAggregate,
        window: WindowSpec,
        properties: Sequence[str],
        *,
        zone: str | None = None,
        processing_time: bool = False,
    ) -> None:
        check_properties(properties)
        self._local = local
        self._key_types = local.key_types
        self._key_names = [f"c{i}" for i in range(len(self._key_types))]
        self._specs = local.partial_specs()
        self._adding = local.adding()
        self._row_count = f"c{local.row_count_column}"
        self._time_column = None if processing_time else local.time_column
        self._window = window
        self._properties = tuple(properties)
        self._clock = WindowClock(zone)

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return tuple(range(len(self._key_types)))

    def kept(self) -> tuple[Kept, ...]:
        return (Kept(results(s.function for s in self._specs), columns=(), until=WINDOW_ENDS, windowed=True),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        names = context.names_of(0)
        columns = None if names is None else self._local.stored_names(names)
        self._log = TableLog(context, "pieces", self.key_columns(0), self._key_types, columns)

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._new: pa.Table | None = None
        self._until: int | None = None
        # By the clock, what is there is open: tumbling windows leave nothing behind.
        self._opened = -_FAR if self._time_column is None else self._first_open(self.context.watermark)

    # --- rows ---------------------------------------------------------------------------------------------

    def process_table(self, input_index: int, table: pa.Table) -> None:
        if self._time_column is None:
            end = self._window.slice_end(self._clock.wall(self.context.processing_time_ms))
            ends = firsts = np.full(table.num_rows, end, np.int64)
        else:
            ends = millis(table.column(self._time_column)) + 1
            firsts = self._first_windows(ends, np.asarray(table.column(WATERMARK)))
        in_time = firsts <= self._window.last_window_end(ends)
        pieces = table.select([*self._key_names, *(name for name, _ in self._adding)])
        pieces = pieces.append_column(_END, pa.array(ends)).append_column(_FIRST, pa.array(firsts))
        if not in_time.all():
            late = pa.array(~in_time)
            dropped = pc.sum(pieces.column(self._row_count).filter(late)).as_py()
            self.context.count(LATE_RECORDS_DROPPED, dropped)
            pieces = pieces.filter(pa.array(in_time))
        self._new = self._merged(pieces)

    def _first_windows(self, ends: Ints, watermarks: Ints) -> Ints:
        """The end of the first window of each slice that the watermark before it had not passed."""
        late = ends - 1 <= watermarks
        if not late.any():
            return ends
        following = self._window.slice_end(np.where(late, watermarks + 1, 0))
        return np.where(late, following, ends)

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        if self._time_column is not None:
            self._until = watermark

    def end_epoch(self) -> None:
        if self._time_column is None:
            self._until = self.context.processing_time_ms
            self.context.keyed_state.processing_timers.pop_due(self._until)
        if self._until is not None:
            self._close(self._first_open(self._until))
        if self._new is not None and self._new.num_rows:
            self._log.append(self._new, self._merged)
            if self._time_column is None:
                self._wake_up(pc.max(self._new.column(_END)).as_py())

    def _wake_up(self, end: int) -> None:
        state = self.context.keyed_state
        state.set_current_key(self._log.any_name)
        state.processing_timers.register(self._clock.fires_at(end))

    def _first_open(self, until: int) -> int:
        """The end of the first window that is open when all is closed that ends by `until`."""
        until = min(max(until, -_FAR), _FAR)  # which may be the end of time
        end: int = self._window.slice_end(until if abs(until) == _FAR else self._clock.wall(until))
        while self._clock.fires_at(end) <= until:
            end += self._window.step_ms
        return end

    def _close(self, open_end: int) -> None:
        """Puts out the windows that end before `open_end`, and lets go of what no later window needs."""
        if open_end == self._opened:
            return
        batches = self._log.batches()
        tables = [*batches.values(), *([] if self._new is None else [self._new])]
        if tables:
            self._put_out(self._merged(pa.concat_tables(tables)), open_end)
        for number, table in batches.items():
            if not self._needed(table, open_end).any():
                self._log.remove(number)
        if self._new is not None:
            self._new = self._new.filter(pa.array(self._needed(self._new, open_end)))
        self._opened = open_end

    def _needed(self, pieces: pa.Table, open_end: int) -> Ints:
        """Which pieces are in a window that ends at `open_end` or later."""
        needed: Ints = self._window.last_window_end(np.asarray(pieces.column(_END))) >= open_end
        return needed

    # --- windows ------------------------------------------------------------------------------------------

    def _merged(self, pieces: pa.Table) -> pa.Table:
        """Pieces of the same key, slice and windows as one."""
        if self._window.cumulates:
            pieces = self._so_far(pieces)
        return added_up(pieces, [*self._key_names, _END, _FIRST], self._adding)

    def _so_far(self, pieces: pa.Table) -> pa.Table:
        """Of CUMULATE, what closed windows had is for all later ones the same as the slice that is open."""
        ends, firsts = (np.asarray(pieces.column(name)) for name in (_END, _FIRST))
        over = (firsts < self._opened) & (self._window.last_window_end(ends) >= self._opened)
        moved = [pa.array(np.where(over, self._opened, column)) for column in (ends, firsts)]
        pieces = pieces.drop_columns([_END, _FIRST])
        return pieces.append_column(_END, moved[0]).append_column(_FIRST, moved[1])

    def _put_out(self, pieces: pa.Table, open_end: int) -> None:
        pieces = pieces.take(pc.sort_indices(pieces, sort_keys=[(_END, "ascending")]))
        ends, firsts = (np.asarray(pieces.column(name)) for name in (_END, _FIRST))
        late = bool((firsts != ends).any())
        for end in self._ending(ends, firsts, open_end):
            start = np.searchsorted(ends, self._window.window_start(end), "right")
            stop = np.searchsorted(ends, end, "right")
            inside = pieces.slice(start, stop - start)
            self._emit(inside.filter(pa.array(firsts[start:stop] <= end)) if late else inside, end)

    def _ending(self, ends: Ints, firsts: Ints, open_end: int) -> list[int]:
        """Ends of the windows that have pieces and end now, in order."""
        step, found = self._window.step_ms, set[int]()
        lasts = self._window.last_window_end(ends)
        for first, last in np.unique(np.stack([firsts, lasts]), axis=1).T.tolist():
            found.update(range(max(first, self._opened), min(last + step, open_end), step))
        return sorted(found)

    def _emit(self, pieces: pa.Table, end: int) -> None:
        table = added_up(pieces, self._key_names, self._adding)
        rows = table.num_rows
        columns = [table.column(name) for name in self._key_names]
        columns += [columnar_result(spec, table) for spec in self._specs]
        start = self._window.window_start(end)
        for moment in window_columns(self._properties, start, end, self._clock):
            columns.append(pa.repeat(pa.scalar(moment, pa.timestamp("us")), rows))
        behind = self.context.watermark if self._time_column is None else self._clock.fires_at(end) - 1
        hidden = [filled(INSERT, rows, np.int8), filled(behind, rows), filled(0, rows)]
        self.output_tables.append(named([*columns, *hidden]))
