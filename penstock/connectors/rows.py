"""Sources and sinks of tables in columns, whatever they can do themselves.

An engine that works on Arrow asks here; a reader or writer without that capability is given a conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.connectors.sink import ArrowWriter, SinkWriter
from penstock.connectors.source import ArrowBatch, ArrowReader, ReadLimit, SourceReader, SourceSplit
from penstock.formats.arrow_rows import ArrowToRows, RowsToArrow


def read_columns(
    reader: SourceReader, row_type: RowType, split: SourceSplit, position: Any, limit: ReadLimit
) -> Iterator[ArrowBatch]:
    """What `read` gives, as Arrow columns of `row_type`; like it, it may go beyond `limit.max_records` by a batch."""
    if isinstance(reader, ArrowReader):
        yield from reader.read_arrow(split, position, limit)
        return
    to_arrow = RowsToArrow(row_type)
    for found in reader.read(split, position, limit):
        batch = to_arrow.batch([tuple(row) for row in found.values])
        yield ArrowBatch(batch, found.position, found.may_stop)


def column_writer(writer: SinkWriter, row_type: RowType, changelog: bool) -> Callable[[pa.Table], None]:
    """A function that writes a table of changes: the columns of `row_type`, then `__kind` and `__pos`."""
    if isinstance(writer, ArrowWriter):
        return writer.write_arrow
    to_rows, width = ArrowToRows(row_type), len(row_type.fields)

    def write(table: pa.Table) -> None:
        for batch in table.to_batches():
            rows = to_rows.rows(batch.select(range(width)))
            if changelog:
                kinds = batch.column(width).to_pylist()
                writer.write([(*row, kind) for row, kind in zip(rows, kinds, strict=True)], None)
            else:
                writer.write(list(rows), None)

    return write
