"""Local Top-N: of an epoch's new rows only the first n of each partition can enter the result.

    ROW_NUMBER() OVER (PARTITION BY p ORDER BY o) <= n

The rows are sorted once, by numbers that order as the columns do; which rows survive is seen by comparing each with
the one n places before it. They go on in order of arrival, because that decides between equal rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)
from penstock.delta.local.aggregate import can_group
from penstock.delta.local.base import LocalStage

_ORDERED = (
    IntegralType, DateType, DecimalType, TimestampType, LocalZonedTimestampType, CharType, VarCharType,
)  # fmt: skip


def can_rank(partition: Sequence[DataType], order: Sequence[DataType]) -> bool:
    """Whether Arrow orders these columns as the operator does; it sees floats and NaN in another way."""
    return can_group(partition) and all(isinstance(t, _ORDERED) for t in order)


class LocalTopN(LocalStage):
    """Drops the rows that cannot be among the first `end` of their partition.

    Args:
        partition_columns: None for a Top-N over everything.
        order: (column, ascending) pairs; NULL is the smallest value.
        end: The last rank of the result.
        types: The types of the input's columns.
    """

    def __init__(
        self,
        partition_columns: Sequence[int],
        order: Sequence[tuple[int, bool]],
        end: int,
        types: Sequence[DataType],
    ) -> None:
        self._partition = tuple(partition_columns)
        self._order = tuple(order)
        self._end = end
        self._types = list(types)

    def output_types(self) -> list[DataType]:
        return self._types

    def __call__(self, table: pa.Table) -> pa.Table:
        if table.num_rows <= self._end:
            return table
        codes = group_codes([table.column(i) for i in self._partition], table.num_rows)
        ranks = [order_codes(table.column(i), ascending) for i, ascending in self._order]
        sorted_rows = np.lexsort([*reversed(ranks), codes])  # stable: equal rows stay in order of arrival
        found = codes[sorted_rows]
        first = np.ones(len(found), bool)
        first[self._end :] = found[self._end :] != found[: -self._end]
        return table.take(pa.array(np.sort(sorted_rows[first])))


def group_codes(columns: Sequence[pa.ChunkedArray], rows: int) -> np.ndarray[Any, Any]:
    """A number per row, equal for equal values of all columns; NULL equals NULL."""
    codes = np.zeros(rows, np.int64)
    for column in columns:
        encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
        count = len(encoded.dictionary)
        if len(columns) == 1:
            return np.asarray(encoded.indices).astype(np.int64)
        _, codes = np.unique(codes * count + np.asarray(encoded.indices), return_inverse=True)
    return codes


def order_codes(column: pa.ChunkedArray, ascending: bool) -> np.ndarray[Any, Any]:
    """A number per row that sorts as the column does."""
    if pa.types.is_integer(column.type) and not column.null_count:
        codes = np.asarray(column.combine_chunks()).astype(np.int64)
    else:
        codes = np.asarray(pc.rank(column, sort_keys="ascending", tiebreaker="dense")).astype(np.int64)
        if column.null_count:
            codes = np.where(np.asarray(pc.is_null(column)), -1, codes)
    return codes if ascending else ~codes
