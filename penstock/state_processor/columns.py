"""Values of state as columns of a DataFrame.

A declared type becomes the SQL type that a table would have for it (`Types.LONG()` a BIGINT, a row a struct). For
values of no declared type, or of one that SQL does not have, there are two columns: `value` with JSON to read, and
`value_bytes` with the exact bytes.

BIG_DEC and BIG_INT have no bounds in a program, but DECIMAL(38, 18) and DECIMAL(38, 0) have: a number that does not
fit is an error that names it, never rounded. `Decimals.STRING` makes such columns, and fields inside others, texts.
"""

from __future__ import annotations

import decimal
import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.checkpoint.entries import Unreadable
from penstock.checkpoint.savepoint_rows import to_json
from penstock.common.datatypes import (
    ArrayType,
    DataType,
    DataTypes,
    DecimalType,
    MapType,
    RowField,
    RowType,
)
from penstock.common.errors import NotSupportedError, StateError, ValidationError
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    ExternalTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.connectors.row_types import data_type_of
from penstock.formats.arrow_rows import RowsToArrow
from penstock.windowing.windows import TimeWindow

BATCH_ROWS = 4096
Convert = Callable[[Any], Any]


class Decimals(enum.Enum):
    """What columns of BIG_DEC and BIG_INT are."""

    DECIMAL = "decimal"
    STRING = "string"

    @classmethod
    def of(cls, name: str | Decimals) -> Decimals:
        """What a caller or a setting says.

        Raises:
            ValidationError: It says neither.
        """
        try:
            return cls(name)
        except ValueError:
            raise ValidationError(
                f"decimals of state cannot be read as {name!r}", do="say 'decimal' or 'string'"
            ) from None


@dataclass(frozen=True)
class Column:
    """One column: its type, and how a value becomes one of it."""

    name: str
    data_type: DataType
    convert: Convert | None = None


def columns_of(
    name: str, type_info: TypeInformation | None, decimals: Decimals = Decimals.DECIMAL
) -> list[Column]:
    """The column of a declared type; two columns where there is none. The second takes bytes."""
    data_type = _sql_type(type_info)
    if data_type is None:
        bytes_column = Column(f"{name}_bytes", DataTypes.BYTES())
        return [Column(name, DataTypes.STRING(), _text), bytes_column]
    assert type_info is not None
    if decimals is Decimals.DECIMAL:
        return [Column(name, data_type, _converter(type_info, _plain(data_type, _fitted)))]
    return [Column(name, _with_texts(data_type), _converter(type_info, _plain(data_type, _in_digits)))]


def row_columns(type_info: TypeInformation, decimals: Decimals = Decimals.DECIMAL) -> list[Column]:
    """A column per field of a row or tuple; one called `value` for anything else."""
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
    elif isinstance(type_info, TupleTypeInfo):
        names = [f"f{i}" for i in range(len(type_info.get_field_types()))]
    else:
        return columns_of("value", type_info, decimals)[:1]
    pairs = zip(names, type_info.get_field_types(), strict=True)
    return [columns_of(name, field, decimals)[0] for name, field in pairs]


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
    """Makes record batches of rows of values, in the order of the columns.

    `where` names operator and state for errors; the column, and the key if there is one, are added.
    """

    def __init__(self, columns: Sequence[Column], where: str = "") -> None:
        fields = [RowField(c.name, c.data_type.nullable()) for c in columns]
        self._to_arrow = RowsToArrow(RowType(fields, nullable=False), BATCH_ROWS)
        self._columns = columns
        self._convert = [c.convert for c in columns]
        self._where = where

    @property
    def schema(self) -> pa.Schema:
        """The columns of the batches."""
        return self._to_arrow.schema

    def of(self, rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
        """The rows as batches of columns."""
        return self._to_arrow.batches(map(self._converted, rows))

    def _converted(self, row: Sequence[Any]) -> tuple[Any, ...]:
        cells: list[Any] = []
        try:
            for convert, value in zip(self._convert, row, strict=True):
                cells.append(value if value is None or convert is None else convert(value))
        except StateError as error:
            error.where = self._place(len(cells), row)
            raise
        return tuple(cells)

    def _place(self, position: int, row: Sequence[Any]) -> str:
        names = [column.name for column in self._columns]
        key = [f"key {row[names.index('key')]!r}"] if "key" in names else []
        return ", ".join(filter(None, [self._where, *key, f"column {names[position]!r}"]))


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


def _converter(type_info: TypeInformation, inside: Convert) -> Convert:
    def convert(value: Any) -> Any:
        if isinstance(value, Unreadable):
            raise StateError(
                f"a value cannot be read as {type_info!r}: {value.reason}",
                do="give the type with which the state was declared",
            )
        return inside(value)

    return convert


def _plain(data_type: DataType, of_decimal: Callable[[DecimalType], Convert]) -> Convert:
    """How values become those that Arrow knows, wherever they are: instants times, decimals as the caller says."""
    if isinstance(data_type, RowType):
        fields = [_plain(f.data_type, of_decimal) for f in data_type.fields]
        return lambda row: [None if v is None else f(v) for f, v in zip(fields, row, strict=True)]
    if isinstance(data_type, ArrayType):
        element = _plain(data_type.element_type, of_decimal)
        return lambda items: (
            items if isinstance(items, (bytes, str)) else [None if i is None else element(i) for i in items]
        )
    if isinstance(data_type, MapType):
        key, value = _plain(data_type.key_type, of_decimal), _plain(data_type.value_type, of_decimal)
        return lambda entries: {key(k): None if v is None else value(v) for k, v in entries.items()}
    return of_decimal(data_type) if isinstance(data_type, DecimalType) else _leaf


def _leaf(value: Any) -> Any:
    return value.to_datetime() if isinstance(value, Instant) else value


def _fitted(data_type: DecimalType) -> Convert:
    """The same number with the scale of the column, or an error: Arrow's own names neither key nor way out."""
    exact = decimal.Context(prec=data_type.precision, traps=[decimal.Inexact, decimal.InvalidOperation])
    unit = decimal.Decimal(1).scaleb(-data_type.scale)

    def fit(value: Any) -> decimal.Decimal:
        number = decimal.Decimal(value)
        try:
            if number.is_finite():
                return number.quantize(unit, context=exact)
        except (decimal.Inexact, decimal.InvalidOperation):
            pass
        raise StateError(
            f"{number} does not fit into {data_type.as_summary()}",
            do="read decimals as texts: SavepointReader.read(env, path, decimals='string'),\n"
            "or SET 'penstock.state.decimals' = 'string' for penstock_state(...)",
        )

    return fit


def _in_digits(_: DecimalType) -> Convert:
    return lambda value: f"{decimal.Decimal(value):f}"


def _with_texts(data_type: DataType) -> DataType:
    """The same type with STRING in the place of DECIMAL."""
    if isinstance(data_type, RowType):
        fields = [DataTypes.FIELD(f.name, _with_texts(f.data_type)) for f in data_type.fields]
        return DataTypes.ROW(fields)
    if isinstance(data_type, ArrayType):
        return DataTypes.ARRAY(_with_texts(data_type.element_type))
    if isinstance(data_type, MapType):
        return DataTypes.MAP(_with_texts(data_type.key_type), _with_texts(data_type.value_type))
    return DataTypes.STRING() if isinstance(data_type, DecimalType) else data_type
