"""Rows as a table of text, in the layout of Flink's SQL client.

    +----+--------------------------------+
    | id |                           name |
    +----+--------------------------------+
    |  1 |                           bolt |
    +----+--------------------------------+
    1 row in set

A column is as wide as its type can need, texts at most 30; streaming results begin with a column `op`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from penstock.catalog.resolved_schema import ResolvedSchema
from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarCharType,
)
from penstock.common.types import Row
from penstock.table.value_texts import ShownText, texts_of

MAX_WIDTH = 30
_WIDTHS: dict[type, int] = {
    TinyIntType: 4,
    SmallIntType: 6,
    IntType: 11,
    BigIntType: 20,
    BooleanType: 7,
    DateType: 10,
}

NULL_TEXT = "<NULL>"


def tableau(
    schema: ResolvedSchema,
    rows: Iterable[Row],
    with_kind: bool = False,
    null: str = NULL_TEXT,
    zone: str = "UTC",
) -> Iterator[str]:
    """The lines of the table.

    Args:
        null: Stands for NULL, which Flink leaves empty unless the rows are a query's.
        zone: Where TIMESTAMP_LTZ is looked at.
    """
    names = schema.get_column_names()
    cells_of = row_texts(schema, zone, null)
    texts: list[list[str]] | None = None
    if not with_kind:
        texts = [cells_of(row) for row in rows]
        contents = [[names[i], *(r[i] for r in texts)] for i in range(len(names))]
        widths = [min(MAX_WIDTH, max(_display_width(t) for t in column)) for column in contents]
        widths = [
            w if not _fixed(t) else max(w, _display_width(n))
            for w, t, n in zip(widths, schema.get_column_data_types(), names, strict=True)
        ]
    else:
        widths = [
            min(MAX_WIDTH, max(_type_width(t), _display_width(n)))
            for t, n in zip(schema.get_column_data_types(), names, strict=True)
        ]
    head = ["op", *names] if with_kind else names
    widths = [2, *widths] if with_kind else widths
    border = "+" + "+".join("-" * (w + 2) for w in widths) + "+"
    yield border
    yield _line(head, widths)
    yield border
    count = 0
    for row in rows if texts is None else texts:
        cells = [str(row.get_row_kind()), *cells_of(row)] if isinstance(row, Row) else row
        yield _line(cells, widths)
        count += 1
    if count:
        yield border
    yield {0: "Empty set", 1: "1 row in set"}.get(count, f"{count} rows in set")


def _fixed(data_type: DataType) -> bool:
    return type(data_type) in _WIDTHS


def _type_width(data_type: DataType) -> int:
    if type(data_type) in _WIDTHS:
        return _WIDTHS[type(data_type)]
    if isinstance(data_type, (CharType, VarCharType)):
        return min(data_type.length, MAX_WIDTH)
    if isinstance(data_type, DecimalType):
        return data_type.precision + 2
    if isinstance(data_type, TimeType):
        return 8 + (data_type.precision + 1 if data_type.precision else 0)
    if isinstance(data_type, (TimestampType, LocalZonedTimestampType)):
        return 19 + (data_type.precision + 1 if data_type.precision else 0)
    return MAX_WIDTH


def _line(cells: list[str], widths: list[int]) -> str:
    return "|" + "|".join(f" {_fit(c, w)} " for c, w in zip(cells, widths, strict=True)) + "|"


def _fit(text: str, width: int) -> str:
    size = _display_width(text)
    if size <= width:
        return " " * (width - size) + text
    kept, used = "", 0
    for char in text:
        used += _display_width(char)
        if used > width - 3:
            break
        kept += char
    return kept + "..." + " " * (width - 3 - _display_width(kept))


def _display_width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def row_texts(
    schema: ResolvedSchema, zone: str = "UTC", null: str = NULL_TEXT
) -> Callable[[Iterable[Any]], list[str]]:
    """A function from a row to the texts of its values."""
    texts = texts_of(schema.get_column_data_types(), zone)

    def convert(row: Iterable[Any]) -> list[str]:
        return [
            null if v is None else v if isinstance(v, ShownText) else text(v)
            for text, v in zip(texts, row, strict=True)
        ]

    return convert
