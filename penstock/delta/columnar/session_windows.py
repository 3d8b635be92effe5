"""GROUP BY SESSION on columns: an epoch's rows and the open sessions of their keys are sorted, gaps cut them.

    key a      |stored session----|  r   r r          r             gap: ------
               '---- one session -------------'      '- another

What a session is says `delta/time/session.py`, which takes one row after the other: a row joins the sessions it
touches and that were not closed when it came; a row that was late itself and touches none is dropped. Neighbours in
order of time join whatever their order of arrival if the first of them was open when either came:

    1. the later of the two to arrive finds a session that ends at or after the first one's end;
    2. that end is behind the watermark it came with, so it joins;
    3. and neither is late by itself, since both end there or later.

Nearly all rows are like that. The keys of which two neighbours are not are gone through row by row.

State: a log of open sessions with their partial results. A key that was touched is in the epoch's batch with all its
sessions, which replace those of earlier batches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import BigIntType, DataType
from penstock.common.group_codes import group_codes
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.results import added_up, columnar_result
from penstock.delta.columnar.sessions import assigned
from penstock.delta.columnar.table_log import StoredTable, TableLog, same_tables
from penstock.delta.columns import HIDDEN, WATERMARK, Ints, filled, millis, named
from penstock.delta.kept import WINDOW_ENDS, Kept, results
from penstock.delta.local.aggregate import PreAggregate
from penstock.delta.time.clock import LATE_RECORDS_DROPPED
from penstock.delta.time.windows import WINDOW_START, WINDOW_TIME, check_properties

_START, _END, _EPOCH = "__start", "__end", "__epoch"


class ColumnarSessionAggregate(ColumnarOperator):
    """Output row: the keys, one column per aggregate, then the window properties.

    Args:
        key_columns: Columns whose values have sessions of their own.
        time_column: The row time.
        gap_ms: A session ends so long after its last row.
        specs: The calls, all with partial forms and results in columns.
        types: The types of the input's columns.
        properties: Which of window_start, window_end, window_time to put out, in this order.
    """

    def __init__(
        self,
        key_columns: Sequence[int],
        time_column: int,
        gap_ms: int,
        specs: Sequence[AggSpec],
        types: Sequence[DataType],
        properties: Sequence[str],
    ) -> None:
        check_properties(properties)
        self._keys = tuple(key_columns)
        self._time_column = time_column
        self._gap_ms = gap_ms
        self._properties = tuple(properties)
        self._key_types = [types[k] for k in self._keys]
        # The number of a row's session stands behind the input's columns.
        self._partials = PreAggregate((*self._keys, len(types)), specs, [*types, BigIntType()])
        self._specs = self._partials.partial_specs()
        self._adding = self._partials.adding()
        self._key_names = [f"c{i}" for i in range(len(self._keys))]
        self._number = f"c{len(self._keys)}"

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys

    def kept(self) -> tuple[Kept, ...]:
        return (Kept(results(s.function for s in self._specs), columns=(), until=WINDOW_ENDS, windowed=True),)

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        names = context.names_of(0)
        columns = None if names is None else self._partials.stored_names((*names, self._number))
        if columns is not None:
            del columns[len(self._keys)]  # the number of the session
        self._log = TableLog(context, "sessions", range(len(self._keys)), self._key_types, columns)
        self._version: list[StoredTable] | None = None
        self._open: pa.Table | None = None
        self._open_since = self.context.watermark

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._now = self.context.watermark
        self._load()
        self._touched: pa.Table | None = None

    # --- state --------------------------------------------------------------------------------------------

    def _load(self) -> None:
        """The open sessions: those of the epoch before, unless the state is another than it left.

        An epoch may end sessions of a batch that stays for others. If it ran in vain, the batches are those that it
        left, but more sessions of them are open.
        """
        version = self._log.version()
        same = self._version is not None and same_tables(self._version, version)
        if not same or self._open_since != self._now:
            batches = list(self._log.batches().values())
            self._open = self._latest(pa.concat_tables(batches)) if batches else None
            self._version, self._open_since = version, self._now

    def _latest(self, sessions: pa.Table) -> pa.Table:
        """Of each key those of its last epoch, unless they are over."""
        columns = [sessions.column(name) for name in self._key_names]
        codes = group_codes(columns, sessions.num_rows)
        epochs = np.asarray(sessions.column(_EPOCH))
        last = np.full(int(codes.max(initial=-1)) + 1, -1, np.int64)
        np.maximum.at(last, codes, epochs)
        ends = np.asarray(sessions.column(_END))
        return sessions.filter(pa.array((epochs == last[codes]) & (ends - 1 > self._now)))

    # --- rows ---------------------------------------------------------------------------------------------

    def process_table(self, input_index: int, table: pa.Table) -> None:
        """Takes the epoch's rows into the sessions of their keys."""
        stored = self._take_out(table)
        count = 0 if stored is None else stored.num_rows
        codes = self._codes(stored, table)
        times = millis(table.column(self._time_column))
        starts, ends, marks = times, times + self._gap_ms, np.asarray(table.column(WATERMARK))
        if stored is not None:
            starts = np.concatenate([np.asarray(stored.column(_START)), starts])
            ends = np.concatenate([np.asarray(stored.column(_END)), ends])
            marks = np.concatenate([np.full(count, MIN_WATERMARK, np.int64), marks])
        numbers = assigned(codes, starts, ends, marks, count)
        late = int((numbers < 0).sum())
        if late:
            self.context.count(LATE_RECORDS_DROPPED, late)
        self._touched = self._sessions(stored, table, numbers, starts, ends)

    def _take_out(self, table: pa.Table) -> pa.Table | None:
        """The open sessions of the table's keys (and perhaps of others); they are open no more."""
        if self._open is None or not self._open.num_rows:
            return None
        if not self._keys:
            taken, self._open = self._open, None
            return taken
        values = table.column(self._keys[0]).unique()
        mine = pc.is_in(self._open.column(0), value_set=values, skip_nulls=False)
        taken = self._open.filter(mine)
        self._open = self._open.filter(pc.invert(mine))
        return taken if taken.num_rows else None

    def _codes(self, stored: pa.Table | None, table: pa.Table) -> Ints:
        columns = []
        for name, key in zip(self._key_names, self._keys, strict=True):
            column = table.column(key)
            if stored is not None:
                column = pa.chunked_array([*stored.column(name).chunks, *column.chunks])
            columns.append(column)
        return group_codes(columns, table.num_rows + (0 if stored is None else stored.num_rows))

    def _sessions(
        self, stored: pa.Table | None, table: pa.Table, numbers: Ints, starts: Ints, ends: Ints
    ) -> pa.Table:
        """A row per session: its key, partial results, bounds and the epoch."""
        count = 0 if stored is None else stored.num_rows
        kept = numbers >= 0
        total = int(numbers.max(initial=-1)) + 1
        first, last = np.full(total, np.iinfo(np.int64).max), np.full(total, np.iinfo(np.int64).min)
        np.minimum.at(first, numbers[kept], starts[kept])
        np.maximum.at(last, numbers[kept], ends[kept])
        width = table.num_columns - len(HIDDEN)
        visible = [*table.columns[:width], pa.array(numbers[count:]), *table.columns[width:]]
        rows = named(visible).filter(pa.array(kept[count:]))
        names = [*self._key_names, self._number, *(name for name, _ in self._adding)]
        parts = [self._partials(rows).select(names)] if rows.num_rows else []
        if stored is not None:
            before = stored.select([*self._key_names, *(name for name, _ in self._adding)])
            parts.append(before.append_column(self._number, pa.array(numbers[:count])).select(names))
        if not parts:
            parts = [self._partials(named(visible)).select(names).slice(0, 0)]
        found = added_up(pa.concat_tables(parts), [*self._key_names, self._number], self._adding)
        sessions = np.asarray(found.column(self._number))
        bounds = [pa.array(first[sessions]), pa.array(last[sessions])]
        columns = [
            c for name, c in zip(found.column_names, found.columns, strict=True) if name != self._number
        ]
        kinds = [name for name in found.column_names if name != self._number]
        return pa.table([*columns, *bounds], names=[*kinds, _START, _END])

    # --- time ---------------------------------------------------------------------------------------------

    def advance(self, watermark: int) -> None:
        self._now = watermark

    def end_epoch(self) -> None:
        ended = [self._ended("_open"), self._ended("_touched")]
        over = [table for table in ended if table is not None and table.num_rows]
        if over:
            self._put_out(pa.concat_tables([table.select(over[0].column_names) for table in over]))
        for number, table in self._log.batches().items():
            if pc.max(table.column(_END)).as_py() - 1 <= self._now:
                self._log.remove(number)
        if self._touched is not None:
            self._store(self._touched)
        self._version, self._open_since = self._log.version(), self._now

    def _ended(self, name: str) -> pa.Table | None:
        """Takes the sessions that are over out of a table of this object."""
        table: pa.Table | None = getattr(self, name)
        if table is None:
            return None
        over = np.asarray(table.column(_END)) - 1 <= self._now
        if not over.any():
            return None
        setattr(self, name, table.filter(pa.array(~over)))
        ended = table.filter(pa.array(over))
        return ended.drop_columns([_EPOCH]) if _EPOCH in ended.column_names else ended

    def _store(self, touched: pa.Table) -> None:
        if not touched.num_rows:
            return
        known = [0, *(pc.max(t.column(_EPOCH)).as_py() for t in self._log.batches().values())]
        touched = touched.append_column(_EPOCH, filled(max(known) + 1, touched.num_rows))
        self._log.append(touched, self._latest)
        self._open = touched if self._open is None else pa.concat_tables([self._open, touched])

    def _put_out(self, sessions: pa.Table) -> None:
        sessions = sessions.sort_by([(_END, "ascending"), (_START, "ascending")])
        starts, ends = (np.asarray(sessions.column(name)) for name in (_START, _END))
        columns = [sessions.column(name) for name in self._key_names]
        columns += [columnar_result(spec, sessions) for spec in self._specs]
        for name in self._properties:
            times = starts if name == WINDOW_START else ends - (name == WINDOW_TIME)
            columns.append(pa.array(times, pa.timestamp("ms")).cast(pa.timestamp("us")))
        rows = sessions.num_rows
        hidden = [filled(INSERT, rows, np.int8), pa.array(ends - 2), filled(0, rows)]
        self.output_tables.append(named([*columns, *hidden]))
