"""Asks a table for the rows of each key: the processing-time join with a table that its connector can look up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.connectors.lookup import CachePolicy, Lookup, LookupSource, Retry
from penstock.delta.columns import HIDDEN
from penstock.formats.arrow_rows import RowReader, RowsToArrow
from penstock.runtime.tables.base import TableOperator


@dataclass(frozen=True)
class LookupSpec:
    """What is asked, with which columns as the key.

    `residual` decides about pairs of rows where the join keeps rows without a partner.
    """

    source: LookupSource
    cache: CachePolicy | None
    key_columns: tuple[int, ...]
    outer: bool
    residual: Callable[[Any, Any], Any] | None
    retry: Retry


class LookupTableOperator(TableOperator):
    """Appends what the table says, and whether it said anything, to every row of the input."""

    def __init__(self, spec: LookupSpec, input_type: RowType, output_type: RowType, width: int) -> None:
        self._spec = spec
        self._input_type = _with_hidden(input_type)
        self._output_type = _with_hidden(output_type)
        self._appended = len(output_type.fields) - width - 1

    def open(self) -> None:
        self._reader, self._to_arrow = RowReader(self._input_type), RowsToArrow(self._output_type)
        self._lookup = Lookup(self._spec.source, self._spec.cache, self._spec.retry)
        self._lookup.open()

    def process_table(self, input_index: int, table: pa.Table) -> None:
        rows = [row for batch in table.to_batches() for row in self._reader.rows(batch)]
        joined = list(self._to_arrow.batches(self._joined(rows)))
        if joined:
            self.output.emit_table(pa.Table.from_batches(joined))

    def close(self) -> None:
        self._lookup.close()

    def _joined(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        places, residual = self._spec.key_columns, self._spec.residual
        keys = [tuple(row[i] for i in places) for row in rows]
        answers = self._lookup.answers([k for k in dict.fromkeys(keys) if None not in k])
        for row, key in zip(rows, keys, strict=True):
            left, hidden = row[: -len(HIDDEN)], row[-len(HIDDEN) :]
            matches = [r for r in answers.get(key, ()) if residual is None or residual(left, r)]
            for match in matches:
                yield (*left, *match, True, *hidden)
            if not matches and self._spec.outer:
                yield (*left, *(None,) * self._appended, False, *hidden)


def _with_hidden(row_type: RowType) -> RowType:
    kinds = (DataTypes.TINYINT(False), DataTypes.BIGINT(False), DataTypes.BIGINT(False))
    hidden = [RowField(name, kind) for name, kind in zip(HIDDEN, kinds, strict=True)]
    return RowType([*row_type.fields, *hidden], nullable=False)
