"""Asks a table for the rows of each key: the processing-time join with a table that its connector can look up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.common.group_codes import group_codes
from penstock.connectors.lookup import CachePolicy, Lookup, LookupSource, Retry, Rows
from penstock.delta.columnar.pairs import portions, spread
from penstock.delta.columns import HIDDEN, Ints, can_group
from penstock.formats.arrow_rows import RowReader, RowsToArrow
from penstock.runtime.tables.base import TableOperator

_PAIRS_AT_ONCE = 200_000


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
    """Appends what the table says, and whether it said anything, to every row of the input.

    Each distinct key of a table of rows is asked once; answers are then joined to the rows in columns. Only if a
    condition on pairs decides, or Arrow cannot tell the keys apart, it is done row by row.
    """

    def __init__(self, spec: LookupSpec, input_type: RowType, output_type: RowType, width: int) -> None:
        self._spec = spec
        self._input_type = _with_hidden(input_type)
        self._output_type = _with_hidden(output_type)
        self._width = width
        self._keys_type = RowType([input_type.fields[i] for i in spec.key_columns], nullable=False)
        self._answer_type = RowType(output_type.fields[width:-1], nullable=False)

    def open(self) -> None:
        self._reader, self._to_arrow = RowReader(self._input_type), RowsToArrow(self._output_type)
        self._key_reader, self._answers_to_arrow = RowReader(self._keys_type), RowsToArrow(self._answer_type)
        self._lookup = Lookup(self._spec.source, self._spec.cache, self._spec.retry)
        self._lookup.open()

    def process_table(self, input_index: int, table: pa.Table) -> None:
        if self._spec.residual is not None or not can_group(self._keys_type.field_types()):
            rows = [row for batch in table.to_batches() for row in self._reader.rows(batch)]
            for batch in self._to_arrow.batches(self._joined(rows)):
                self.output.emit_table(pa.Table.from_batches([batch]))
        elif table.num_rows:
            self._join_columns(table)

    def close(self) -> None:
        self._lookup.close()

    def _join_columns(self, table: pa.Table) -> None:
        keys = table.select(list(self._spec.key_columns)).combine_chunks()
        codes = group_codes(keys.columns, keys.num_rows)
        _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
        found = self._ask(keys.take(pa.array(first)))
        answers = [row for rows in found for row in rows]
        counts = np.array([len(rows) for rows in found], np.int64)
        starts = np.cumsum(counts) - counts
        if self._spec.outer:  # who found nothing gets a row of NULLs, which stands behind all answers
            starts[counts == 0], counts[counts == 0] = len(answers), 1
        right = self._answers_to_arrow.batch([*answers, (None,) * len(self._answer_type.fields)])
        order = np.arange(right.num_rows)
        for rows in portions(counts[inverse], _PAIRS_AT_ONCE):
            mine, partners = spread(rows, starts[inverse], counts[inverse], order)
            self.output.emit_table(self._side_by_side(table, mine, right, partners, len(answers)))

    def _ask(self, keys: pa.Table) -> list[Rows]:
        """The answers for each key, none for one with a NULL in it."""
        wanted = [key for batch in keys.to_batches() for key in self._key_reader.rows(batch)]
        answers = self._lookup.answers([key for key in wanted if None not in key])
        return [answers.get(key, ()) for key in wanted]

    def _side_by_side(
        self, left: pa.Table, mine: Ints, right: pa.RecordBatch, partners: Ints, answers: int
    ) -> pa.Table:
        rows = left.take(pa.array(mine))
        columns = [
            *rows.columns[: self._width],
            *right.take(pa.array(partners)).columns,
            pa.array(partners < answers),
            *rows.columns[self._width :],
        ]
        return pa.table(columns, names=self._output_type.field_names())

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
                yield (*left, *(None,) * len(self._answer_type.fields), False, *hidden)


def _with_hidden(row_type: RowType) -> RowType:
    kinds = (DataTypes.TINYINT(False), DataTypes.BIGINT(False), DataTypes.BIGINT(False))
    hidden = [RowField(name, kind) for name, kind in zip(HIDDEN, kinds, strict=True)]
    return RowType([*row_type.fields, *hidden], nullable=False)
