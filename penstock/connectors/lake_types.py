"""Which columns a table of a lake can have: the formats keep microseconds, and have no type for some of ours."""

from __future__ import annotations

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    LocalZonedTimestampType,
    MapType,
    RowType,
    TimestampType,
)
from penstock.common.errors import ValidationError

__all__ = ["check_columns"]


def check_columns(system: str, row_type: RowType, lacking: tuple[type[DataType], ...]) -> None:
    """Refuses columns of the `lacking` types, and times finer than microseconds, also inside of other types."""
    for field in row_type.fields:
        _check(system, field.name, field.data_type, lacking)


def _check(system: str, name: str, data_type: DataType, lacking: tuple[type[DataType], ...]) -> None:
    if isinstance(data_type, lacking):
        raise ValidationError(
            f"{system} has no type for the column '{name}' of type {data_type.as_summary()}"
        )
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)) and data_type.precision > 6:
        raise ValidationError(
            f"{system} keeps microseconds, and the column '{name}' is {data_type.as_summary()}",
            do="declare it with (6)",
        )
    for part in _inside(data_type):
        _check(system, name, part, lacking)


def _inside(data_type: DataType) -> list[DataType]:
    if isinstance(data_type, ArrayType):
        return [data_type.element_type]
    if isinstance(data_type, MapType):
        return [data_type.key_type, data_type.value_type]
    if isinstance(data_type, RowType):
        return [field.data_type for field in data_type.fields]
    return []
