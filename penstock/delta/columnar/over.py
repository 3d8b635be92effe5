"""OVER (... UNBOUNDED PRECEDING AND CURRENT ROW) on columns: each row with what was counted up to it.

What comes out is what `delta/time/over.py` gives. By processing time rows are answered as they come. By event time
they wait in a log until the watermark has passed their time, and are answered in order of time, those of one time in
their order of arrival; in a RANGE frame they have one result. A row that comes behind the watermark is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import BigIntType, DataType, DoubleType
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import INSERT, DeltaContext
from penstock.delta.columnar.base import ColumnarOperator
from penstock.delta.columnar.results import columnar_result, has_columnar_result
from penstock.delta.columnar.rows import in_order
from penstock.delta.columnar.running import RunningResults
from penstock.delta.columnar.table_log import StoredTable, TableLog, same_tables
from penstock.delta.columns import HIDDEN, WATERMARK, Ints, can_group, filled, millis, named
from penstock.delta.kept import PASSED, Kept, every_row
from penstock.delta.local.aggregate import PreAggregate, can_be_partial
from penstock.delta.time.clock import LATE_RECORDS_DROPPED
from penstock.delta.time.over_functions import OrderFunction, OverFrame, OverSpec

_ROW_NUMBER = AggSpec("COUNT", (), BigIntType(False))


def can_be_running(
    frame: OverFrame, specs: Sequence[OverSpec], types: Sequence[DataType], keys: Sequence[int]
) -> bool:
    """Whether an OVER window can be computed on columns with the same results."""
    if frame.preceding is not None or not can_group([types[key] for key in keys]):
        return False
    return all(_is_columnar(spec, types) for spec in specs)


def _is_columnar(spec: OverSpec, types: Sequence[DataType]) -> bool:
    if isinstance(spec, OrderFunction):
        return spec.function == "ROW_NUMBER"
    if not can_be_partial(spec, types, floats=True):
        return False
    doubles = isinstance(spec.result_type, DoubleType) and isinstance(types[spec.args[0]], DoubleType)
    return has_columnar_result(spec) or doubles


class ColumnarOver(ColumnarOperator):
    """Output row: the input row, then one column per function.

    Args:
        key_columns: PARTITION BY.
        time_column: The row time; None by processing time.
        frame: Rows one by one, or those of one time together.
        specs: The functions, as `can_be_running` allows them.
        types: The types of the input's columns.
    """

    keeps_columns = True

    def __init__(
        self,
        key_columns: Sequence[int],
        time_column: int | None,
        frame: OverFrame,
        specs: Sequence[OverSpec],
        types: Sequence[DataType],
    ) -> None:
        self._keys = tuple(key_columns)
        self._time_column = time_column
        self._together = time_column is not None and not frame.rows
        # A row has a number of its own among those of its time.
        self._alone = [isinstance(spec, OrderFunction) for spec in specs]
        calls = [_ROW_NUMBER if isinstance(spec, OrderFunction) else spec for spec in specs]
        self._partials = PreAggregate(self._keys, calls, types)
        self._specs = self._partials.partial_specs()

    def key_columns(self, input_index: int) -> tuple[int, ...]:
        return self._keys

    def kept(self) -> tuple[Kept, ...]:
        waiting = () if self._time_column is None else every_row(until=(PASSED,))
        return *waiting, Kept("results so far", columns=())

    def open(self, context: DeltaContext) -> None:
        super().open(context)
        self._results = RunningResults(context, "results", self._keys, self._partials)
        types, columns = self._partials.key_types, context.names_of(0)
        self._log = TableLog(context, "waiting", self._keys, types, columns)
        self._version: list[StoredTable] | None = None
        self._waiting: pa.Table | None = None
        self._waiting_since = self.context.watermark

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._now = self._answered = self.context.watermark
        self._new: pa.Table | None = None
        if self._time_column is not None:
            self._load()

    def process_table(self, input_index: int, table: pa.Table) -> None:
        table = in_order(table)
        if self._time_column is None:
            self._answer(table.drop_columns(list(HIDDEN)), table.column(WATERMARK))
            return
        late = millis(table.column(self._time_column)) <= np.asarray(table.column(WATERMARK))
        if late.any():
            self.context.count(LATE_RECORDS_DROPPED, int(late.sum()))
            table = table.filter(pa.array(~late))
        self._new = table.drop_columns(list(HIDDEN))

    def advance(self, watermark: int) -> None:
        self._now = watermark

    def end_epoch(self) -> None:
        if self._time_column is None:
            return
        due, self._waiting = self._cut(self._waiting)
        due_now, later = self._cut(self._new)
        found = [table for table in (due, due_now) if table is not None and table.num_rows]
        if found:
            self._answer_in_time(pa.concat_tables(found))
        self._store(later)

    # --- rows that wait -----------------------------------------------------------------------------------

    def _times(self, table: pa.Table) -> Ints:
        assert self._time_column is not None
        return millis(table.column(self._time_column))

    def _load(self) -> None:
        """The rows that wait: those of the epoch before, unless the state is another than it left.

        An epoch may answer rows of a batch that stays for others. If it ran in vain, the batches are those that it
        left, but more rows wait in them.
        """
        version = self._log.version()
        same = self._version is not None and same_tables(self._version, version)
        if not same or self._waiting_since != self._answered:
            batches = list(self._log.batches().values())
            self._waiting = self._not_answered(pa.concat_tables(batches)) if batches else None
            self._version, self._waiting_since = version, self._answered

    def _not_answered(self, table: pa.Table) -> pa.Table:
        return table.filter(pa.array(self._times(table) > self._answered))

    def _cut(self, table: pa.Table | None) -> tuple[pa.Table | None, pa.Table | None]:
        """The rows whose time has come, and the others."""
        if table is None or not table.num_rows:
            return None, None
        come = self._times(table) <= self._now
        return table.filter(pa.array(come)), table.filter(pa.array(~come))

    def _store(self, later: pa.Table | None) -> None:
        """Keeps the rows whose time has not come; batches that nobody waits in any more go as a whole."""
        self._answered = self._now
        for number, batch in self._log.batches().items():
            if self._times(batch).max() <= self._now:
                self._log.remove(number)
        if later is not None and later.num_rows:
            self._log.append(later, self._not_answered)
            parts = [later] if self._waiting is None else [self._waiting, later]
            self._waiting = pa.concat_tables(parts)
        self._version, self._waiting_since = self._log.version(), self._now

    # --- results ------------------------------------------------------------------------------------------

    def _answer_in_time(self, table: pa.Table) -> None:
        times = self._times(table)
        order = np.argsort(times, kind="stable")
        self._answer(table.take(pa.array(order)), pa.array(times[order] - 1))

    def _answer(self, table: pa.Table, watermarks: pa.Array) -> None:
        """Rows in their order, with their results."""
        if not table.num_rows:
            return
        running, codes = self._results.add(table)
        shared = running
        if self._together:
            shared = running.take(pa.array(_last_of_its_time(codes, self._times(table))))
        columns = [
            columnar_result(spec, running if alone else shared)
            for spec, alone in zip(self._specs, self._alone, strict=True)
        ]
        rows = table.num_rows
        hidden = [filled(INSERT, rows, np.int8), watermarks, filled(0, rows)]
        self.output_tables.append(named([*table.columns, *columns, *hidden]))


def _last_of_its_time(codes: Ints, times: Ints) -> Ints:
    """For each row the last one with its key and its time."""
    order = np.lexsort((times, codes))
    ends = np.append((np.diff(codes[order]) != 0) | (np.diff(times[order]) != 0), True)
    last = np.flatnonzero(ends)[np.append(0, np.cumsum(ends)[:-1])]
    found = np.empty(len(codes), np.int64)
    found[order] = order[last]
    return found
