"""CSV as Flink's csv format reads and writes it.

Reading. A record is a line, or several when a quoted field holds line ends. `CsvRecords` cuts a text into
records and each record into fields; `CsvDecoder` makes the fields values. Texts keep their blanks, numbers
and booleans lose them. ARRAY and ROW fields are lists with a delimiter of their own. Lines shorter than the
table are refused (with ignore-parse-errors: filled up with NULL), longer ones are refused (skipped).

Writing. A text is quoted when it is longer than 24 characters or holds any character up to the delimiter
(or the quote character, whichever is higher) in ASCII order: that is why texts with a blank are quoted.
Numbers never are.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.formats import values as v
from penstock.formats.base import (
    INSERT,
    UNREADABLE,
    BadField,
    Format,
    Option,
    RecordContext,
    Rows,
    boolean,
    character,
    malformed,
)

Convert = Callable[[Any], Any]

_UNESCAPED = {"0": "\0", "n": "\n", "r": "\r", "t": "\t"}
LONGEST_UNQUOTED = 24


@dataclass(frozen=True)
class CsvDialect:
    """How fields are told apart."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    comments: bool = False

    @staticmethod
    def of(options: Mapping[str, Any]) -> CsvDialect:
        return CsvDialect(
            options["field-delimiter"],
            None if options["disable-quote-character"] else options["quote-character"],
            options["escape-character"],
            options["allow-comments"],
        )


class _Broken(ValueError):
    """A record whose quotes do not match; the rest of its line is skipped."""


class CsvRecords:
    """Cuts lines (with their ends) into records: (line number, fields), or an error text for the fields."""

    def __init__(self, dialect: CsvDialect) -> None:
        self._dialect = dialect

    def read(self, lines: Iterable[str], first: int = 1) -> Iterator[tuple[int, list[str] | str]]:
        numbered = enumerate(lines, first)
        comments, delimiter = self._dialect.comments, self._dialect.delimiter
        quote, escape = self._dialect.quote, self._dialect.escape
        for number, line in numbered:
            if comments:
                line = line.lstrip(" ")
                if line.startswith("#") or not line.rstrip("\r\n"):
                    continue
            if (quote and quote in line) or (escape and escape in line):
                yield number, self._fields(line, numbered)
            else:
                yield number, line.rstrip("\r\n").split(delimiter)

    def _fields(self, line: str, more: Iterator[tuple[int, str]]) -> list[str] | str:
        scanner = _Scanner(self._dialect, line, more)
        try:
            return list(scanner.fields())
        except _Broken as error:
            return str(error)


class _Scanner:
    """Reads one record character by character; asks for further lines while inside quotes."""

    def __init__(self, dialect: CsvDialect, line: str, more: Iterator[tuple[int, str]]) -> None:
        self._dialect = dialect
        self._line = line
        self._more = more
        self._at = 0

    def fields(self) -> Iterator[str]:
        while True:
            quoted = self._dialect.quote is not None and self._peek() == self._dialect.quote
            yield self._quoted() if quoted else self._plain()
            if self._peek() != self._dialect.delimiter:
                return
            self._at += 1

    def _peek(self) -> str:
        return self._line[self._at : self._at + 1]

    def _plain(self) -> str:
        out: list[str] = []
        while (c := self._peek()) and c != self._dialect.delimiter and c not in "\r\n":
            self._at += 1
            out.append(self._escaped() if c == self._dialect.escape else c)
        return "".join(out)

    def _escaped(self) -> str:
        c = self._peek()
        self._at += 1
        return _UNESCAPED.get(c, c)

    def _quoted(self) -> str:
        quote, escape = self._dialect.quote, self._dialect.escape
        out: list[str] = []
        self._at += 1
        while True:
            c = self._peek()
            if not c:
                self._next_line()
                continue
            self._at += 1
            if c == quote:
                if self._peek() != quote:
                    break
                self._at += 1
            elif c == escape:
                c = self._escaped()
            out.append(c)
        while self._peek() == " ":
            self._at += 1
        after = self._peek()
        if after and after != self._dialect.delimiter and after not in "\r\n":
            raise _Broken(f"{after!r} follows a closing quote")
        return "".join(out)

    def _next_line(self) -> None:
        following = next(self._more, None)
        if following is None:
            raise _Broken("a quoted field is not closed")
        self._line, self._at = following[1], 0


class CsvDecoder:
    """One record's fields to a row of the given type.

    Args:
        wanted: Positions of the columns that are converted; the others stay NULL and may hold anything,
            as when Flink reads only the columns that a query needs.
    """

    def __init__(
        self, row_type: RowType, options: Mapping[str, Any], wanted: Sequence[int] | None = None
    ) -> None:
        self.dialect = CsvDialect.of(options)
        self._records = CsvRecords(self.dialect)
        self._lenient = bool(options["ignore-parse-errors"])
        self._null = options["null-literal"]
        readers = [reader(f.data_type, _of_column(f.name, options)) for f in row_type.fields]
        positions = range(len(readers)) if wanted is None else wanted
        self._readers = [(i, readers[i], row_type.fields[i].name) for i in positions]
        self._arity = len(readers)

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        """One whole record, line ends inside quotes included."""
        text = record.decode("utf-8") if isinstance(record, bytes) else record
        rows: Rows = []
        for _, fields in self._records.read(io.StringIO(text, newline="") if text else [""]):
            rows.extend(self.decode_fields(fields, context))
        return rows

    def decode_lines(
        self, lines: Iterable[str], context: RecordContext, first: int = 1, keep_unreadable: bool = False
    ) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """All records of a text, given as lines with their ends, the first of which has that number."""
        for number, fields in self._records.read(lines, first):
            context.number = number
            try:
                yield from self.decode_fields(fields, context)
            except MalformedRecordError as error:
                if not keep_unreadable:
                    raise
                text = fields if isinstance(fields, str) else self.dialect.delimiter.join(fields)
                yield UNREADABLE, (text.encode(), number, error)

    def decode_fields(self, fields: list[str] | str, context: RecordContext) -> Rows:
        if isinstance(fields, str):
            return self._broken(fields, fields, context)
        if len(fields) > self._arity:
            # One empty field too many is a delimiter at the line's end, which is fine.
            if len(fields) > self._arity + 1 or fields[-1]:
                return self._broken(f"{len(fields)} fields, but the table has {self._arity}", fields, context)
        elif len(fields) < self._arity and not self._lenient:
            raise self._error(
                f"row length mismatch: {self._arity} fields expected, {len(fields)} found", fields, context
            )
        row: list[Any] = [None] * self._arity
        for i, read, name in self._readers:
            if i < len(fields) and fields[i] != self._null:
                try:
                    row[i] = read(fields[i])
                except BadField as error:
                    if not self._lenient:
                        raise self._error(f"field '{name}': {error}", fields, context) from None
        return [(INSERT, tuple(row))]

    def _broken(self, reason: str, fields: list[str] | str, context: RecordContext) -> Rows:
        if self._lenient:
            return []
        raise self._error(reason, fields, context)

    def _error(self, reason: str, fields: list[str] | str, context: RecordContext) -> Exception:
        text = fields if isinstance(fields, str) else self.dialect.delimiter.join(fields)
        return malformed(reason, text, context, "csv")


_SIMPLE_READERS: dict[type[DataType], Convert] = {
    CharType: str,
    VarCharType: str,
    BooleanType: v.parse_boolean,
    TinyIntType: lambda text: v.parse_integer(text, 8),
    SmallIntType: lambda text: v.parse_integer(text, 16),
    IntType: lambda text: v.parse_integer(text, 32),
    BigIntType: lambda text: v.parse_integer(text, 64),
    FloatType: lambda text: v.to_single(v.parse_double(text)),
    DoubleType: v.parse_double,
    DateType: v.parse_lenient_date,
    BinaryType: v.parse_base64,
    VarBinaryType: v.parse_base64,
}


COLUMN_SEPARATORS = "array-element-delimiters"
"""Separators of single columns, by name: what a `CsvSchema` declares and no option of a table can say."""


def _of_column(name: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options as they are for one column."""
    separators = options.get(COLUMN_SEPARATORS) or {}
    return {**options, "array-element-delimiter": separators[name]} if name in separators else options


def reader(data_type: DataType, options: Mapping[str, Any]) -> Convert:
    """How the text of one field becomes a value; it raises BadField where it cannot."""
    simple = _SIMPLE_READERS.get(type(data_type))
    if simple is not None:
        return simple
    if isinstance(data_type, DecimalType):
        return lambda text: v.parse_decimal(text, data_type.precision, data_type.scale)
    if isinstance(data_type, TimeType):
        return lambda text: v.parse_time(text, data_type.precision, short=True)
    if isinstance(data_type, TimestampType):
        return lambda text: v.parse_timestamp(text.strip(), data_type.precision)
    if isinstance(data_type, LocalZonedTimestampType):
        return lambda text: v.parse_timestamp_ltz(text.strip(), data_type.precision)
    if isinstance(data_type, ArrayType):
        return _array_reader(reader(data_type.element_type, options), options)
    if isinstance(data_type, RowType):
        return _row_reader([reader(f.data_type, options) for f in data_type.fields], options)
    raise _unsupported(data_type)


def _array_reader(element: Convert, options: Mapping[str, Any]) -> Convert:
    separator, null = options["array-element-delimiter"], options["null-literal"]
    element = _lenient(element) if options["ignore-parse-errors"] else element

    def read(text: str) -> list[Any]:
        return [None if part == null else element(part) for part in text.split(separator)] if text else []

    return read


def _row_reader(readers: list[Convert], options: Mapping[str, Any]) -> Convert:
    separator, null = options["array-element-delimiter"], options["null-literal"]
    lenient = options["ignore-parse-errors"]
    if lenient:
        readers = [_lenient(reader) for reader in readers]

    def read(text: str) -> tuple[Any, ...] | None:
        parts = text.split(separator) if text else []
        if not parts:
            return None
        if len(parts) != len(readers) and not lenient:
            raise BadField(f"row length mismatch: {len(readers)} fields expected, {len(parts)} found")
        found = [None if part == null else read(part) for read, part in zip(readers, parts, strict=False)]
        return tuple(found + [None] * (len(readers) - len(found)))

    return read


def _lenient(read: Convert) -> Convert:
    def read_or_null(text: str) -> Any:
        try:
            return read(text)
        except BadField:
            return None

    return read_or_null


@dataclass(frozen=True)
class _Quoted:
    """A text that the writer may have to quote; numbers come as bare `str`."""

    text: str


class CsvEncoder:
    """A row to one CSV record."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self.dialect = CsvDialect.of(options)
        self.null_literal = options["null-literal"] or ""
        self._writers = [_writer(f.data_type, _of_column(f.name, options)) for f in row_type.fields]
        # Every character below this one makes quotes necessary, whether it does any harm or not.
        self.safe_from = max(ord(self.dialect.delimiter), ord(self.dialect.quote or "\0"), ord("\n")) + 1

    def encode(self, kind: int, row: Any) -> bytes:
        texts = (
            self.null_literal if value is None else self._text(write(value))
            for write, value in zip(self._writers, row, strict=True)
        )
        return self.dialect.delimiter.join(texts).encode("utf-8")

    def field(self, position: int, value: Any) -> str:
        """How a value of a column that is not NULL stands in a record."""
        return self._text(self._writers[position](value))

    def _text(self, written: str | _Quoted) -> str:
        if isinstance(written, str):
            return written
        text, quote = written.text, self.dialect.quote
        if quote is None or not self._needs_quotes(text):
            return text
        if self.dialect.escape:
            text = text.replace(self.dialect.escape, self.dialect.escape * 2)
        return quote + text.replace(quote, quote * 2) + quote

    def _needs_quotes(self, text: str) -> bool:
        if len(text) > LONGEST_UNQUOTED or (self.null_literal and text == self.null_literal):
            return True
        return any(ord(c) < self.safe_from or c == self.dialect.escape for c in text)


_SIMPLE_WRITERS: dict[type[DataType], Convert] = {
    CharType: _Quoted,
    VarCharType: _Quoted,
    BooleanType: lambda value: "true" if value else "false",
    TinyIntType: str,
    SmallIntType: str,
    IntType: str,
    BigIntType: str,
    FloatType: v.format_single,
    DoubleType: v.format_double,
    DateType: lambda value: _Quoted(value.isoformat()),
    TimeType: lambda value: _Quoted(v.format_time(value)),
    TimestampType: lambda value: _Quoted(v.format_timestamp(value)),
    LocalZonedTimestampType: lambda value: _Quoted(v.format_timestamp_ltz(value)),
    BinaryType: lambda value: _Quoted(v.format_base64(value)),
    VarBinaryType: lambda value: _Quoted(v.format_base64(value)),
}


def _writer(data_type: DataType, options: Mapping[str, Any]) -> Convert:
    simple = _SIMPLE_WRITERS.get(type(data_type))
    if simple is not None:
        return simple
    if isinstance(data_type, DecimalType):
        plain = not options["write-bigdecimal-in-scientific-notation"]
        return lambda value: v.format_decimal(value, plain=plain)
    if isinstance(data_type, ArrayType):
        element = _writer(data_type.element_type, options)
        return lambda value: _joined([element] * len(value), value, options)
    if isinstance(data_type, RowType):
        writers = [_writer(f.data_type, options) for f in data_type.fields]
        return lambda value: _joined(writers, value, options)
    raise _unsupported(data_type)


def _joined(writers: Sequence[Convert], items: Any, options: Mapping[str, Any]) -> _Quoted:
    parts = []
    for write, item in zip(writers, items, strict=True):
        written = (options["null-literal"] or "") if item is None else write(item)
        parts.append(written.text if isinstance(written, _Quoted) else written)
    return _Quoted(options["array-element-delimiter"].join(parts))


def check(row_type: RowType, options: Mapping[str, Any]) -> None:
    """Refuses types that have no CSV form, before anything is read."""
    if options["disable-quote-character"] and options["quote-character"] != '"':
        raise ValidationError(
            "'csv.quote-character' and 'csv.disable-quote-character' contradict each other",
            do="set only one of them",
        )
    for column in row_type.fields:
        _check_type(column.data_type, column.name, nested=False)


def _check_type(data_type: DataType, column: str, nested: bool) -> None:
    if isinstance(data_type, (ArrayType, RowType)):
        if nested:
            raise ValidationError(
                f"only simple types are supported in the second level of column '{column}', "
                f"but found {data_type.as_summary()}",
                do="use another format, such as json",
            )
        if isinstance(data_type, ArrayType):
            inner = [data_type.element_type]
        else:
            inner = data_type.field_types()
        for part in inner:
            _check_type(part, column, nested=True)
    elif type(data_type) not in _SIMPLE_READERS and not isinstance(
        data_type, (DecimalType, TimeType, TimestampType, LocalZonedTimestampType)
    ):
        raise _unsupported(data_type, column)


def _unsupported(data_type: DataType, column: str | None = None) -> ValidationError:
    where = f" of column '{column}'" if column else ""
    return ValidationError(
        f"the csv format has no form for type {data_type.as_summary()}{where}",
        do="use another format, such as json",
    )


CSV = Format(
    name="csv",
    options=(
        Option("field-delimiter", character, ","),
        Option("disable-quote-character", boolean, False),
        Option("quote-character", character, '"'),
        Option("allow-comments", boolean, False),
        Option("ignore-parse-errors", boolean, False),
        Option("array-element-delimiter", str, ";"),
        Option("escape-character", character, None),
        Option("null-literal", str, None),
        Option("write-bigdecimal-in-scientific-notation", boolean, True),
    ),
    decoder=CsvDecoder,
    encoder=CsvEncoder,
    check=check,
    framing="csv",
)

__all__ = ["CSV", "CsvDecoder", "CsvDialect", "CsvEncoder", "CsvRecords"]
