"""What operators over tables have in common."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from penstock.common.errors import InvariantError
from penstock.delta.columns import HIDDEN, names
from penstock.operators.base import Operator

SUBTASK_BITS = 44
"""`__pos`, the order of arrival, is the producing subtask << 44 | a running number within the epoch."""


class TableOperator(Operator):
    """An operator whose inputs are tables of changes."""

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        raise InvariantError(f"'{self.context.name}' takes tables, not elements")

    @property
    def first_position(self) -> int:
        """The order of arrival of the first row that this subtask makes in an epoch."""
        return self.context.subtask_index << SUBTASK_BITS


def width_of(table: pa.Table) -> int:
    """The number of visible columns."""
    width: int = table.num_columns - len(HIDDEN)
    return width


def renamed(table: pa.Table) -> pa.Table:
    """The same columns under the names that tables of changes have."""
    return table.rename_columns(names(width_of(table)))
