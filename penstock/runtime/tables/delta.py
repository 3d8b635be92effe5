"""Hosts an operator of `penstock.delta` in a stage.

A delta operator sees an epoch as a whole: the tables that arrive are kept until the epoch ends, then the operator
takes the changes of each input, advances to the watermark that has arrived meanwhile, and its output goes on,
followed by that watermark. So a result leaves in the epoch whose data completed it, through any number of operators.
A small epoch may be handed over in pieces, each of which is an epoch to the delta operator (`detail.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.common.pickling import unship
from penstock.delta.base import Batch, DeltaContext, DeltaOperator
from penstock.delta.columns import in_type, names, numbered
from penstock.delta.local.base import LocalStage
from penstock.formats.arrow_rows import RowReader, RowsToArrow
from penstock.operators.runtime_context import StreamingRuntimeContext
from penstock.runtime.tables.base import TableOperator
from penstock.runtime.tables.detail import NET, Detail

_BATCH_ROWS = 1 << 16


class DeltaTableOperator(TableOperator):
    """Runs a delta operator over the tables of an epoch.

    Args:
        delta: The operator, as `ship` packs it: an aggregate of the user may come from a module of the program.
        input_types: Visible columns of each input as they arrive.
        output_type: Visible and hidden columns of the result.
        local: The local stage of each input, whose second half (`combine`) runs here, behind the exchange.
        detail: Up to which size an epoch's changes are shown one by one.
        input_names: What the query calls the columns of each input, before its local stage.
    """

    def __init__(
        self,
        delta: bytes,
        input_types: Sequence[RowType],
        output_type: RowType,
        local: Sequence[LocalStage | None] = (),
        detail: Detail = NET,
        input_names: Sequence[Sequence[str]] = (),
    ) -> None:
        self.input_count = len(input_types)
        self._shipped = delta
        self._input_types = tuple(input_types)
        self._output_type = output_type
        self._local = tuple(local)
        self._detail = detail
        self._input_names = tuple(map(tuple, input_names))
        self._emitted = 0
        self._tables: list[list[pa.Table]] = [[] for _ in input_types]
        self._advanced = MIN_WATERMARK

    # -- lifecycle -----------------------------------------------------------------------------------

    def open(self) -> None:
        c = self.context
        if c.keyed_state is None:
            raise InvariantError(f"'{c.name}' has no keyed state")
        self._delta: DeltaOperator = unship(self._shipped)
        self._readers = [RowReader(t) for t in self._input_types]
        self._to_arrow = RowsToArrow(self._output_type)
        self._delta_context = DeltaContext(
            c.keyed_state,
            c.subtask_index,
            c.parallelism,
            c.max_parallelism,
            c.clock.processing_time_ms,
            self._advanced,
            metrics=_Counts(c.metrics),
            function_context=StreamingRuntimeContext(c),
            input_names=self._input_names,
        )
        self._delta.open(self._delta_context)

    def begin_epoch(self) -> None:
        self._tables = [[] for _ in self._input_types]
        self._delta_context.processing_time_ms = self.context.clock.processing_time_ms
        self._delta_context.watermark = self._advanced
        self._emitted = 0
        self._delta.begin_epoch()

    def process_table(self, input_index: int, table: pa.Table) -> None:
        self._tables[input_index].append(table)

    def on_watermark(self, watermark: int) -> None:
        """Passed on when the epoch ends, behind the changes that belong before it."""
        self.current_watermark = watermark

    def end_epoch(self) -> None:
        watermark = self.current_watermark
        for index, tables in enumerate(self._tables):
            if tables:
                self._take(index, pa.concat_tables(tables), watermark)
        self._tables = [[] for _ in self._input_types]
        if watermark > self._advanced:
            self._delta.advance(watermark)
            self._delta_context.watermark = self._advanced = watermark
        self._delta.end_epoch()
        self._emit()
        self.output.emit_watermark(self._shown(watermark))

    def _shown(self, watermark: int) -> int:
        """Operators that keep rows waiting hold their output's watermark back by as much."""
        delay: int = getattr(self._delta, "watermark_delay_ms", 0)
        return watermark if watermark in (MIN_WATERMARK, MAX_WATERMARK) else watermark - delay

    def close(self) -> None:
        self._delta.close()

    def snapshot(self) -> Any:
        return {**super().snapshot(), "advanced": self._advanced}

    def restore(self, states: Sequence[Any]) -> None:
        super().restore(states)
        self._advanced = min((s["advanced"] for s in states), default=MIN_WATERMARK)

    # -- rows in and out -----------------------------------------------------------------------------

    def _take(self, index: int, table: pa.Table, watermark: int) -> None:
        pieces = self._detail.pieces(table, self._delta.key_columns(index))
        if pieces is None:
            local = self._local[index] if self._local else None
            self._take_piece(index, table if local is None else local.combine(table), watermark)
            return
        for piece in pieces[:-1]:
            self._take_piece(index, piece, self._advanced)
            self._delta.end_epoch()
            self._emit()
            self._delta.begin_epoch()
        self._take_piece(index, pieces[-1], watermark)

    def _take_piece(self, index: int, table: pa.Table, watermark: int) -> None:
        rest = self._delta.take_columns(index, table, watermark)
        if rest.num_rows:
            self._delta.process(index, self._rows(index, rest))

    def _rows(self, index: int, table: pa.Table) -> Batch:
        """An input's rows in arrival order."""
        found: list[tuple[int, int, int, tuple[Any, ...]]] = []
        reader, width = self._readers[index], len(self._input_types[index].fields)
        for batch in table.to_batches():
            rows = reader.rows(batch.select(range(width))) if width else iter([()] * batch.num_rows)
            hidden = [batch.column(width + i).to_pylist() for i in (2, 0, 1)]
            found.extend(zip(*hidden, rows, strict=True))
        if self.context.parallelism > 1:
            found.sort(key=itemgetter(0))
        return Batch([r[3] for r in found], [r[1] for r in found], [r[2] for r in found])

    def _emit(self) -> None:
        output, position = self._delta.output, self.first_position + self._emitted
        if len(output):
            watermarks = output.watermarks or [MIN_WATERMARK] * len(output)
            places = range(position, position + len(output))
            hidden = zip(output.rows, output.kinds, watermarks, places, strict=True)
            rows = [(*row, kind, wm, pos) for row, kind, wm, pos in hidden]
            self.output.emit_table(pa.Table.from_batches(list(self._to_arrow.batches(iter(rows)))))
        position += len(output)
        for table in self._delta.output_tables:
            if table.num_rows:
                self.output.emit_table(self._numbered(table, position))
                position += table.num_rows
        self._emitted = position - self.first_position

    def _numbered(self, table: pa.Table, position: int) -> pa.Table:
        """An output table with its order of arrival, which is behind that of the output rows."""
        columns = [*table.columns[:-1], numbered(position, table.num_rows)]
        typed = list(map(in_type, columns, self._to_arrow.schema.types))
        return pa.table(typed, names=names(len(columns) - 3))


class _Counts(dict[str, int]):
    """A delta operator's counters, kept as the metrics of its operator."""

    def __init__(self, metrics: Any) -> None:
        super().__init__()
        self._metrics = metrics

    def __setitem__(self, name: str, count: int) -> None:
        self._metrics.counter(name).inc(count - self.get(name, 0))
        super().__setitem__(name, count)
