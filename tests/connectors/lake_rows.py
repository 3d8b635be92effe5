"""Rows for the sinks of lakes, which take columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from penstock.connectors.rows import column_writer
from penstock.connectors.sink import Sink, SinkWriter
from penstock.connectors.table import KIND_COLUMN, POSITION_COLUMN
from penstock.formats.arrow_rows import RowsToArrow
from tests.connectors.scripted import INSERT


class RowsToColumns(Sink):
    """Lets a loop write rows, with their kinds at the end, to a sink of columns."""

    def __init__(self, sink: Any) -> None:
        self.sink = sink

    def create_writer(self, context: Any, restored: Sequence[Any] = ()) -> SinkWriter:
        return _Columns(self.sink.create_writer(context, restored), self.sink)

    def create_committer(self) -> Any:
        return self.sink.create_committer()

    def create_coordinator(self) -> Any:
        return self.sink.create_coordinator()


class _Columns(SinkWriter):
    def __init__(self, writer: Any, sink: Any) -> None:
        self._writer, self._sink = writer, sink
        self._write = column_writer(writer, sink.row_type, sink.changelog)

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        kinds = [row[-1] if self._sink.changelog else INSERT for row in values]
        rows = [tuple(row[:-1]) if self._sink.changelog else tuple(row) for row in values]
        batch = RowsToArrow(self._sink.row_type).batch(rows)
        extra = [pa.array(kinds, pa.int8()), pa.array(range(len(rows)), pa.int64())]
        names = [*self._sink.row_type.names, KIND_COLUMN, POSITION_COLUMN]
        self._write(pa.table([*batch.columns, *extra], names=names))

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return self._writer.prepare_commit(end_of_input)
