"""Arrow batches as rows of plain Python values, as delta operators want them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import LocalZonedTimestampType, RowField, RowType, TimestampType
from penstock.sql.connectors.spark_types import ArrowToRows


class RowReader:
    """Record batches to rows of plain Python values; both kinds of timestamps are naive (UTC)."""

    def __init__(self, row_type: RowType) -> None:
        self._zoned = [
            i for i, f in enumerate(row_type.fields) if isinstance(f.data_type, LocalZonedTimestampType)
        ]
        plain = [
            RowField(f.name, TimestampType(6) if i in self._zoned else f.data_type)
            for i, f in enumerate(row_type.fields)
        ]
        self._to_rows = ArrowToRows(RowType(plain, nullable=False))

    def rows(self, batch: pa.RecordBatch) -> Iterator[tuple[Any, ...]]:
        for i in self._zoned:
            column = batch.column(i).cast(pa.timestamp("us"))
            batch = batch.set_column(i, batch.schema.field(i).name, column)
        return self._to_rows.rows(batch)
