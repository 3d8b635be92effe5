"""The type of edges that carry tables of changes instead of elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.basic_types import TypeInformation

if TYPE_CHECKING:
    from penstock.common.datatypes import RowType


class TableTypeInfo(TypeInformation):
    """Changes in Arrow columns: those of `row_type`, then kind, watermark and position (`delta/columns.py`)."""

    def __init__(self, row_type: RowType) -> None:
        self.row_type = row_type

    def __repr__(self) -> str:
        return f"Table({', '.join(f.name for f in self.row_type.fields)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableTypeInfo) and self.row_type == other.row_type

    def __hash__(self) -> int:
        return hash(repr(self))
