"""The rows of a page as JSON text, in the two forms of Flink's gateway.

JSON         numbers are numbers, arrays arrays, moments ISO texts; a DECIMAL keeps all its digits
PLAIN_TEXT   every value is the text that a client shows
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.common import datatypes as t
from penstock.common.logical_type_json import logical_type_json
from penstock.common.types import Row, RowKind
from penstock.formats import values as v
from penstock.formats.json import JsonNumber, compact
from penstock.table.value_texts import at_zone, milliseconds, text_of, texts_of

__all__ = ["JSON", "PLAIN_TEXT", "ROW_FORMATS", "results_text"]

JSON, PLAIN_TEXT = "JSON", "PLAIN_TEXT"
ROW_FORMATS = (JSON, PLAIN_TEXT)

ToJson = Callable[[Any], Any]
_KINDS = {
    RowKind.INSERT: "INSERT",
    RowKind.UPDATE_BEFORE: "UPDATE_BEFORE",
    RowKind.UPDATE_AFTER: "UPDATE_AFTER",
    RowKind.DELETE: "DELETE",
}


def results_text(schema: ResolvedSchema, rows: Iterable[Row], row_format: str, zone: str) -> str:
    """The object `results` of an answer: columns, format and data."""
    columns = [
        {"name": c.name, "logicalType": logical_type_json(c.data_type), "comment": c.comment}
        for c in schema.get_columns()
    ]
    types = schema.get_column_data_types()
    converters: Sequence[ToJson] = (
        [json_value(data_type, zone) for data_type in types] if row_format == JSON else texts_of(types, zone)
    )
    data = ",".join(_row_text(row, converters) for row in rows)
    return f'{{"columns":{_dumps(columns)},"rowFormat":"{row_format}","data":[{data}]}}'


def _row_text(row: Row, converters: Sequence[ToJson]) -> str:
    fields = [None if x is None else c(x) for c, x in zip(converters, row, strict=True)]
    return f'{{"kind":"{_KINDS[row.get_row_kind()]}","fields":{compact(fields)}}}'


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_value(data_type: t.DataType, zone: str) -> ToJson:
    """A function for values of the type that are not NULL; numbers with their own digits are `JsonNumber`s."""
    if isinstance(data_type, (t.FloatType, t.DoubleType)):
        return _floating(v.format_single if isinstance(data_type, t.FloatType) else v.format_double)
    if isinstance(data_type, t.ArrayType):
        element = _or_null(json_value(data_type.element_type, zone))
        return lambda value: [element(x) for x in value]
    if isinstance(data_type, t.MapType):
        return _map(data_type.key_type, json_value(data_type.value_type, zone), zone)
    if isinstance(data_type, t.MultisetType):
        return _map(data_type.element_type, int, zone)
    if isinstance(data_type, t.RowType):
        return _row(data_type, zone)
    if isinstance(data_type, t.LocalZonedTimestampType):
        return lambda value: v.format_timestamp(at_zone(value, zone), iso=True) + "Z"
    return _SIMPLE.get(type(data_type)) or text_of(data_type, zone)


def _floating(text: Callable[[float], str]) -> ToJson:
    """NaN and the infinities are texts: JSON has no such numbers."""

    def convert(value: float) -> Any:
        shown = text(value)
        return shown if shown[-1] in "Ny" else JsonNumber(shown)

    return convert


def _map(key_type: t.DataType, item: ToJson, zone: str) -> ToJson:
    key, to_item = text_of(key_type, zone), _or_null(item)
    return lambda value: {"null" if k is None else key(k): to_item(x) for k, x in value.items()}


def _row(data_type: t.RowType, zone: str) -> ToJson:
    fields = [(f.name, _or_null(json_value(f.data_type, zone))) for f in data_type.fields]
    return lambda row: {name: convert(x) for (name, convert), x in zip(fields, row, strict=True)}


def _or_null(convert: ToJson) -> ToJson:
    return lambda value: None if value is None else convert(value)


def _base64(value: Any) -> str:
    return base64.b64encode(bytes(value)).decode("ascii")


_SIMPLE: dict[type[t.DataType], ToJson] = {
    t.CharType: str,
    t.VarCharType: str,
    t.BooleanType: bool,
    t.TinyIntType: int,
    t.SmallIntType: int,
    t.IntType: int,
    t.BigIntType: int,
    t.DecimalType: lambda value: JsonNumber(v.format_decimal(value)),
    t.DateType: lambda value: value.isoformat(),
    t.TimeType: v.format_time,
    t.TimestampType: lambda value: v.format_timestamp(value, iso=True),
    t.BinaryType: _base64,
    t.VarBinaryType: _base64,
    t.YearMonthIntervalType: int,
    t.DayTimeIntervalType: milliseconds,
}
