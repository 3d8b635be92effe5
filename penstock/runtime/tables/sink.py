"""The end of a table: a connector's writer takes the changes of an epoch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import InvariantError
from penstock.connectors.rows import column_writer
from penstock.connectors.sink import Sink
from penstock.delta.columns import HIDDEN
from penstock.operators.sink import SinkOperator


class TableSinkOperator(SinkOperator):
    """Hands tables to the sink's writer, in columns if it takes them (`connectors/rows.py`)."""

    def __init__(self, sink: Sink, row_type: RowType, changelog: bool) -> None:
        super().__init__(sink, None)
        self._row_type = row_type
        self._changelog = changelog

    def begin_epoch(self) -> None:
        super().begin_epoch()
        self._write = column_writer(self.writer, self._row_type, self._changelog)

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        raise InvariantError(f"'{self.context.name}' takes tables, not elements")

    def process_table(self, input_index: int, table: pa.Table) -> None:
        width = table.num_columns - len(HIDDEN)
        self._write(table.select([*range(width + 1), width + 2]))
