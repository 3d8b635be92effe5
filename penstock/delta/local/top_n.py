"""Local Top-N: of an epoch's new rows only the first n of each partition can enter the result.

    ROW_NUMBER() OVER (PARTITION BY p ORDER BY o) <= n

The rows are sorted once, by numbers that order as the columns do; which rows survive is seen by comparing each with
the one n places before it. They go on in order of arrival, because that decides between equal rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import DataType
from penstock.common.group_codes import group_codes
from penstock.delta.columns import order_codes
from penstock.delta.local.base import LocalStage


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

    def apart(self, table: pa.Table) -> pa.Table:
        return table

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
