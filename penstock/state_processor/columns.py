"""Values of state as columns of a DataFrame.

A declared type becomes the SQL type that a table would have for it (`Types.LONG()` a BIGINT, a row a struct). For
values of no declared type, or of one that SQL does not have, there are two columns: `value` with JSON to read, and
`value_bytes` with the exact bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.checkpoint.entries import Unreadable
from penstock.checkpoint.savepoint_rows import to_json
from penstock.common.datatypes import DataType, DataTypes, RowField, RowType
from penstock.common.errors import NotSupportedError, StateError
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    ExternalTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    SequenceTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.connectors.row_types import data_type_of
from penstock.formats.arrow_rows import RowsToArrow
from penstock.windowing.windows import TimeWindow

BATCH_ROWS = 4096
Convert = Callable[[Any], Any]


@dataclass(frozen=True)
class Column:
    """One column: its type, and how a value becomes one of it."""

    name: str
    data_type: DataType
    convert: Convert | None = None


def columns_of(name: str, type_info: TypeInformation | None) -> list[Column]:
    """The column of a declared type; two columns where there is none. The second takes bytes."""
    data_type = _sql_type(type_info)
    if data_type is None:
        bytes_column = Column(f"{name}_bytes", DataTypes.BYTES())
        return [Column(name, DataTypes.STRING(), _text), bytes_column]
    assert type_info is not None
    return [Column(name, data_type, _converter(type_info))]


def row_columns(type_info: TypeInformation) -> list[Column]:
    """A column per field of a row or tuple; one called `value` for anything else."""
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
    elif isinstance(type_info, TupleTypeInfo):
        names = [f"f{i}" for i in range(len(type_info.get_field_types()))]
    else:
        return columns_of("value", type_info)[:1]
    pairs = zip(names, type_info.get_field_types(), strict=True)
    return [columns_of(name, field)[0] for name, field in pairs]


def namespace_columns() -> list[Column]:
    """The window that a value belongs to; of other kinds of windows only the text."""
    return [
        Column("window_start", DataTypes.BIGINT()),
        Column("window_end", DataTypes.BIGINT()),
        Column("window", DataTypes.STRING()),
    ]


def namespace_values(namespace: Any) -> tuple[Any, Any, Any]:
    """Start, end and text of a namespace, as far as it has them."""
    if isinstance(namespace, TimeWindow):
        return namespace.start, namespace.end, to_json({"start": namespace.start, "end": namespace.end})
    return None, None, None if namespace is None else to_json(namespace)


class Batches:
    """Makes record batches of rows of values, in the order of the columns."""

    def __init__(self, columns: Sequence[Column]) -> None:
        fields = [RowField(c.name, c.data_type.nullable()) for c in columns]
        self._to_arrow = RowsToArrow(RowType(fields, nullable=False), BATCH_ROWS)
        self._convert = [c.convert for c in columns]

    @property
    def schema(self) -> pa.Schema:
        """The columns of the batches."""
        return self._to_arrow.schema

    def of(self, rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
        """The rows as batches of columns."""
        return self._to_arrow.batches(map(self._converted, rows))

    def _converted(self, row: Sequence[Any]) -> tuple[Any, ...]:
        pairs = zip(self._convert, row, strict=True)
        return tuple(v if v is None or convert is None else convert(v) for convert, v in pairs)


def _sql_type(type_info: TypeInformation | None) -> DataType | None:
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return None
    try:
        return data_type_of(type_info)
    except (NotSupportedError, KeyError):
        return None


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, Unreadable) else to_json(value)


def _converter(type_info: TypeInformation) -> Convert:
    inside = _plain(type_info)

    def convert(value: Any) -> Any:
        if isinstance(value, Unreadable):
            raise StateError(
                f"a value cannot be read as {type_info!r}: {value.reason}",
                do="give the type with which the state was declared",
            )
        return inside(value)

    return convert


def _plain(type_info: TypeInformation) -> Convert:
    """Instants, which Arrow does not know, become times, wherever they are."""
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        fields = [_plain(kind) for kind in type_info.get_field_types()]
        return lambda row: [None if v is None else f(v) for f, v in zip(fields, row, strict=True)]
    if isinstance(type_info, SequenceTypeInfo) and not isinstance(type_info, TupleTypeInfo):
        element = _plain(type_info.element_type)
        return lambda items: (
            items if isinstance(items, (bytes, str)) else [None if i is None else element(i) for i in items]
        )
    return _leaf


def _leaf(value: Any) -> Any:
    return value.to_datetime() if isinstance(value, Instant) else value
