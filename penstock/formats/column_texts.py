"""Arrow columns to records of text, many rows at a time: the fast way of writing csv and json.

    CsvColumnEncoder(row_type, options).records(table)     one text per row, as CsvEncoder writes it
    JsonColumnEncoder(row_type, options).records(table)    the same for JsonEncoder

Both give exactly the bytes of their row-by-row encoder: a type has a kernel here only if Arrow prints it as the
encoder does; the values of every other column are written one by one with the encoder's own function. The other
direction is text_columns.py.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    BooleanType,
    CharType,
    DataType,
    DateType,
    IntegralType,
    LocalZonedTimestampType,
    RowType,
    TimestampType,
    VarCharType,
)
from penstock.formats.arrow_rows import ArrowToRows, arrow_type, columns_type
from penstock.formats.csv import LONGEST_UNQUOTED, CsvDialect, CsvEncoder
from penstock.formats.json import ESCAPED, RowWriter, quoted

ToTexts = Callable[[pa.Array], pa.Array]

_BARE = (BooleanType, IntegralType)
_WORDS = (CharType, VarCharType)


class ColumnEncoder(ABC):
    """Rows of a table to records, one text each, without an end of line."""

    def __init__(self, row_type: RowType) -> None:
        self._types = [arrow_type(f.data_type) for f in row_type.fields]

    def records(self, table: pa.Table) -> pa.Array:
        """The records of insertions; columns are taken by position."""
        columns = [
            _whole(column).cast(wanted) for column, wanted in zip(table.columns, self._types, strict=True)
        ]
        return self._joined(columns)

    @abstractmethod
    def _joined(self, columns: Sequence[pa.Array]) -> pa.Array: ...


def column_encoder(format_name: str, row_type: RowType, options: Mapping[str, Any]) -> ColumnEncoder | None:
    """The encoder of a format; None for one whose records only its row encoder can write."""
    if not row_type.fields:
        return None
    if format_name == "csv":
        return CsvColumnEncoder(row_type, options)
    if format_name == "json" and not options["encode.ignore-null-fields"]:
        return JsonColumnEncoder(row_type, options)
    return None


class CsvColumnEncoder(ColumnEncoder):
    """Records as CsvEncoder writes them."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        super().__init__(row_type)
        self._delimiter = CsvDialect.of(options).delimiter
        self._null = options["null-literal"] or ""
        encoder = CsvEncoder(row_type, options)
        self._texts = [_csv_texts(f.data_type, encoder, n) for n, f in enumerate(row_type.fields)]

    def _joined(self, columns: Sequence[pa.Array]) -> pa.Array:
        texts = [to(column).fill_null(self._null) for to, column in zip(self._texts, columns, strict=True)]
        return pc.binary_join_element_wise(*texts, self._delimiter)


class JsonColumnEncoder(ColumnEncoder):
    """Records as JsonEncoder writes them, NULLs included."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        super().__init__(row_type)
        writer = RowWriter(row_type, options)
        self._texts = [_json_texts(f.data_type, writer, n) for n, f in enumerate(row_type.fields)]
        names = [quoted(f.name) + ":" for f in row_type.fields]
        self._before = ["{" + names[0], *("," + name for name in names[1:])]

    def _joined(self, columns: Sequence[pa.Array]) -> pa.Array:
        parts: list[Any] = []
        for before, to, column in zip(self._before, self._texts, columns, strict=True):
            parts += [before, to(column).fill_null("null")]
        return pc.binary_join_element_wise(*parts, "}", "")


def _whole(column: pa.ChunkedArray) -> pa.Array:
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _csv_texts(data_type: DataType, encoder: CsvEncoder, position: int) -> ToTexts:
    plain = _plain_texts(data_type, iso=False)
    if plain is None:
        return _one_by_one(data_type, lambda value: encoder.field(position, value))
    if isinstance(data_type, _BARE):
        return plain
    quote = _csv_quoting(encoder)
    return lambda values: quote(plain(values))


def _csv_quoting(encoder: CsvEncoder) -> ToTexts:
    """Quotes around the texts that need them, by the same rule as CsvEncoder."""
    mark, escape, null = encoder.dialect.quote, encoder.dialect.escape, encoder.null_literal
    if mark is None:
        return lambda texts: texts
    unsafe = f"[\\x00-\\x{{{encoder.safe_from - 1:x}}}{re.escape(escape) if escape else ''}]"

    def quote(texts: pa.Array) -> pa.Array:
        needed = pc.or_(
            pc.greater(pc.utf8_length(texts), LONGEST_UNQUOTED), pc.match_substring_regex(texts, unsafe)
        )
        if null:
            needed = pc.or_(needed, pc.equal(texts, null))
        if not pc.any(needed).as_py():
            return texts
        inner = pc.replace_substring(texts, escape, escape * 2) if escape else texts
        inner = pc.replace_substring(inner, mark, mark * 2)
        return pc.if_else(needed, pc.binary_join_element_wise(mark, inner, mark, ""), texts)

    return quote


def _json_texts(data_type: DataType, writer: RowWriter, position: int) -> ToTexts:
    plain = _plain_texts(data_type, iso=writer.iso)
    one_by_one = _one_by_one(data_type, lambda value: writer.field(position, value))
    if plain is None:
        return one_by_one
    if isinstance(data_type, _BARE):
        return plain
    words = isinstance(data_type, _WORDS)

    def in_quotes(values: pa.Array) -> pa.Array:
        if words and pc.any(pc.match_substring_regex(values, ESCAPED.pattern)).as_py():
            return one_by_one(values)
        return pc.binary_join_element_wise('"', plain(values), '"', "")

    return in_quotes


def _plain_texts(data_type: DataType, *, iso: bool) -> ToTexts | None:
    """How values of a type are printed, before any quotes; None where Arrow's way is another one."""
    if isinstance(data_type, _WORDS):
        return lambda values: values
    if isinstance(data_type, (*_BARE, DateType)):
        return lambda values: values.cast(pa.string())
    if isinstance(data_type, TimestampType):
        return lambda values: _moments(values, iso)
    if isinstance(data_type, LocalZonedTimestampType):
        return lambda values: pc.binary_join_element_wise(_moments(values, iso), "Z", "")
    return None


def _moments(values: pa.Array, iso: bool) -> pa.Array:
    """`2020-01-02 03:04:05.6`: a fraction has no zeros at its end, and is left out where it is zero."""
    local = values.cast(pa.timestamp("us"))
    seconds = local.cast(pa.timestamp("s"), safe=False)
    texts = seconds.cast(pa.string())
    is_whole = pc.equal(local, seconds.cast(pa.timestamp("us")))
    if not pc.all(is_whole, min_count=0).as_py():
        fractions = pc.replace_substring_regex(local.cast(pa.string()), "0+$", "")
        texts = pc.if_else(is_whole, texts, fractions)
    return pc.replace_substring(texts, " ", "T") if iso else texts


def _one_by_one(data_type: DataType, write: Callable[[Any], str]) -> ToTexts:
    to_rows = ArrowToRows(columns_type([data_type]))

    def convert(values: pa.Array) -> pa.Array:
        rows = to_rows.rows(pa.record_batch([values], names=["c0"]))
        return pa.array([None if value is None else write(value) for (value,) in rows], pa.string())

    return convert
