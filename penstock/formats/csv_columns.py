"""CSV records to Arrow columns, many records at a time: the fast way of the csv format.

    end_of_records(data)   how much of a piece of a file is whole records
    well_quoted(block)     whether every quote opens, closes or is doubled; else only the codec may go on
    columns(block)         the wanted columns; raises NotCertain where the codec must read this block

A block is cut where the number of quotes is even, so a line end inside quotes does not end it. Arrow's parser agrees
with Jackson's on well-quoted records that have the table's number of fields; text_columns.py says which values are
certain.
"""

from __future__ import annotations

import functools
import io
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from penstock.common.datatypes import DataType, RowType
from penstock.formats.base import BadField
from penstock.formats.csv import CsvDialect, reader
from penstock.formats.text_columns import NotCertain, ToColumn, text_converter


class CsvColumns:
    """Blocks of records to columns.

    Args:
        wanted: Positions of the columns to give; the others are not even looked at.
        build: Makes an Arrow column of a position's Python values, for types that are converted value by value.
    """

    def __init__(
        self,
        row_type: RowType,
        options: Mapping[str, Any],
        wanted: Sequence[int] | None,
        build: Callable[[int, list[Any]], pa.Array],
    ) -> None:
        dialect = CsvDialect.of(options)
        self._quote = dialect.quote.encode() if dialect.quote else b""
        self._null = options["null-literal"]
        self._names = [str(i) for i in range(len(row_type))]
        self.wanted = list(range(len(row_type)) if wanted is None else wanted)
        fields = row_type.fields
        self._convert = [
            _converter(fields[i].data_type, options, functools.partial(build, i)) for i in self.wanted
        ]
        self._parse = csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=dialect.quote or False,
            newlines_in_values=True,
            ignore_empty_lines=False,
        )
        shown = [self._names[i] for i in self.wanted]
        self._texts = csv.ConvertOptions(
            column_types=dict.fromkeys(shown, pa.string()),
            include_columns=shown,
            null_values=[],
            strings_can_be_null=False,
        )
        # It begins with a literal, so that the search skips from quote to quote; the look back comes after it.
        quote, comma = re.escape(self._quote), re.escape(dialect.delimiter.encode())
        self._quoted = re.compile(
            rb"%b(?<![^\n%b]%b)[^%b]*(?:%b%b[^%b]*)*%b(?=[%b\r\n]|\Z)"
            % (quote, comma, quote, quote, quote, quote, quote, quote, comma)
        )

    @staticmethod
    def reads(options: Mapping[str, Any]) -> bool:
        """Whether the dialect is one that Arrow reads: no escapes, no comments, plain ASCII marks."""
        dialect = CsvDialect.of(options)
        marks = dialect.delimiter + (dialect.quote or "")
        unusual = dialect.escape or dialect.comments or dialect.delimiter == dialect.quote
        return not unusual and marks.isascii() and not any(mark in "\r\n\0" for mark in marks)

    def end_of_records(self, data: bytes) -> int:
        """Where the last whole record ends; 0 if there is none."""
        end = data.rfind(b"\n") + 1
        if not self._quote:
            return end
        quotes = data.count(self._quote, 0, end)
        while end and quotes % 2:
            before = data.rfind(b"\n", 0, end - 1) + 1
            quotes -= data.count(self._quote, before, end)
            end = before
        return end

    def well_quoted(self, block: bytes) -> bool:
        if not self._quote or self._quote not in block:
            return True
        return self._quote not in self._quoted.sub(b"", block)

    def columns(self, block: bytes) -> list[pa.Array]:
        """The wanted columns of a well-quoted block."""
        if not _plain_lines(block):
            raise NotCertain
        read = csv.ReadOptions(use_threads=False, column_names=self._names, block_size=len(block) + 1)
        try:
            table = csv.read_csv(io.BytesIO(block), read, self._parse, self._texts)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            raise NotCertain from None
        return [
            convert(self._with_nulls(column.combine_chunks()))
            for column, convert in zip(table.columns, self._convert, strict=True)
        ]

    def _with_nulls(self, texts: pa.Array) -> pa.Array:
        if self._null is None:
            return texts
        return pc.if_else(pc.equal(texts, self._null), pa.scalar(None, pa.string()), texts)


def _plain_lines(block: bytes) -> bool:
    """Whether lines end as Arrow and the codec both understand, none is empty, and all is UTF-8."""
    if block.startswith((b"\n", b"\r")) or b"\n\n" in block or b"\0" in block:
        return False
    if b"\r" in block and (block.count(b"\r") != block.count(b"\r\n") or b"\n\r" in block):
        return False
    try:
        return block.isascii() or bool(block.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _converter(
    data_type: DataType, options: Mapping[str, Any], build: Callable[[list[Any]], pa.Array]
) -> ToColumn:
    """By Arrow where possible, else value by value with the codec's function."""
    fast = text_converter(data_type)
    if fast is not None:
        return fast
    read = reader(data_type, options)

    def convert(texts: pa.Array) -> pa.Array:
        try:
            return build([None if text is None else read(text) for text in texts.to_pylist()])
        except BadField:
            raise NotCertain from None

    return convert
