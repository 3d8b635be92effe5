"""JSON as Flink's json format reads and writes it.

One record is one JSON object; an array of objects is several rows. Fields are found by name, whatever their
order, absent ones are NULL and unknown ones are skipped. Conversions are Jackson's: the text "12" is an INT,
4.7 into INT gives 4, any scalar or even an object can be read as STRING. With ignore-parse-errors a field
that does not fit is NULL and the row stays; a record that is no JSON at all vanishes.

Flink has two JSON readers, which differ in how a number reads as STRING; the CDC
formats, and json with `decode.json-parser.enabled = false`, use the older one. `RowReader` and `RowWriter` convert
between parsed JSON and rows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
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
    MapType,
    MultisetType,
    NullType,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from penstock.common.errors import ValidationError
from penstock.formats import values as v
from penstock.formats.base import (
    INSERT,
    BadField,
    Format,
    Option,
    RecordContext,
    Rows,
    boolean,
    malformed,
    one_of,
)

Convert = Callable[[Any], Any]

NULL_KEY_MODES = ("FAIL", "DROP", "LITERAL")


class JsonNumber(str):
    """A number with a point or an exponent, kept as it was written: 2.50 read as STRING stays '2.50'."""

    __slots__ = ()


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_float=JsonNumber, parse_constant=_refuse_constant, strict=False)
_WHITESPACE = " \t\r\n"
ESCAPED = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def parse_json(record: bytes | str) -> Any:
    """The first JSON value of a record; what follows it is not looked at.

    Raises:
        ValueError: There is none.
    """
    text = record.decode("utf-8") if isinstance(record, bytes) else record
    start = len(text) - len(text.lstrip(_WHITESPACE))
    return _DECODER.raw_decode(text, start)[0]


def compact(value: Any, number: Callable[[JsonNumber], str] = str) -> str:
    """Parsed JSON as the shortest text; numbers as they were written, unless `number` says otherwise."""
    if isinstance(value, JsonNumber):
        return number(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{quoted(k)}:{compact(item, number)}" for k, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(compact(item, number) for item in value) + "]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)


def quoted(text: str) -> str:
    return '"' + ESCAPED.sub(_escape, text) + '"' if ESCAPED.search(text) else f'"{text}"'


def _escape(found: re.Match[str]) -> str:
    c = found.group()
    return _ESCAPES.get(c) or f"\\u{ord(c):04X}"


class RowReader:
    """Parsed JSON object to a tuple of the row type's fields."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._lenient = bool(options.get("ignore-parse-errors"))
        self._strict_fields = bool(options.get("fail-on-missing-field"))
        self._iso = options.get("timestamp-format.standard") == "ISO-8601"
        self._string = _string if options.get("decode.json-parser.enabled", True) else _tree_string
        self.read = self._row(row_type)

    def _row(self, row_type: RowType) -> Convert:
        readers = [(f.name, self._guarded(self._reader(f.data_type))) for f in row_type.fields]
        strict = self._strict_fields

        def read(value: Any) -> tuple[Any, ...]:
            if type(value) is not dict:
                raise BadField(f"expected an object, found {compact(value)[:60]}")
            row: list[Any] = []
            for name, reader in readers:
                item = value.get(name)
                if item is None:
                    if strict and name not in value:
                        raise BadField(f"could not find field '{name}'")
                    row.append(None)
                    continue
                try:
                    row.append(reader(item))
                except BadField as error:
                    raise BadField(f"field '{name}': {error}") from None
            return tuple(row)

        return read

    def _guarded(self, read: Convert) -> Convert:
        if not self._lenient:
            return read

        def read_or_null(value: Any) -> Any:
            try:
                return None if value is None else read(value)
            except BadField:
                return None

        return read_or_null

    def _reader(self, data_type: DataType) -> Convert:
        if isinstance(data_type, (CharType, VarCharType)):
            return self._string
        simple = _READERS.get(type(data_type))
        if simple is not None:
            return simple
        iso = self._iso
        if isinstance(data_type, DecimalType):
            return lambda value: _decimal(value, data_type.precision, data_type.scale)
        if isinstance(data_type, TimeType):
            return lambda value: v.parse_time(_scalar(value), data_type.precision)
        if isinstance(data_type, TimestampType):
            return lambda value: v.parse_timestamp(_scalar(value), data_type.precision, iso=iso)
        if isinstance(data_type, LocalZonedTimestampType):
            return lambda value: v.parse_timestamp_ltz(_scalar(value), data_type.precision, iso=iso)
        if isinstance(data_type, ArrayType):
            return self._array(self._guarded(self._reader(data_type.element_type)))
        if isinstance(data_type, MapType):
            return self._map(self._guarded(self._reader(data_type.value_type)))
        if isinstance(data_type, MultisetType):
            return self._map(self._guarded(_READERS[IntType]))
        if isinstance(data_type, RowType):
            return self._row(data_type)
        raise _unsupported(data_type)

    def _array(self, element: Convert) -> Convert:
        def read(value: Any) -> list[Any]:
            if type(value) is not list:
                raise BadField(f"expected an array, found {compact(value)[:60]}")
            return [None if item is None else element(item) for item in value]

        return read

    def _map(self, item_reader: Convert) -> Convert:
        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                raise BadField(f"expected an object, found {compact(value)[:60]}")
            return {key: None if item is None else item_reader(item) for key, item in value.items()}

        return read


def _scalar(value: Any) -> str:
    if not isinstance(value, str) or isinstance(value, JsonNumber):
        raise BadField(f"expected a text, found {compact(value)[:60]}")
    return value


def _integer(bits: int) -> Convert:
    def read(value: Any) -> int:
        if type(value) is int:
            return v.check_range(value, bits)
        if type(value) is JsonNumber:
            if bits < 32:  # Jackson cuts fractions off for INT and BIGINT only
                raise BadField(f"{value} is not an integer")
            return v.check_range(int(Decimal(value)), bits)
        return v.parse_integer(_scalar(value), bits)

    return read


def _double(value: Any) -> float:
    if type(value) is int:
        return float(value)
    if type(value) is JsonNumber:
        return float(value)
    return v.parse_double(_scalar(value))


def _decimal(value: Any, precision: int, scale: int) -> Decimal | None:
    if type(value) is int:
        return v.fit_decimal(Decimal(value), precision, scale)
    if type(value) is JsonNumber:
        return v.fit_decimal(Decimal(value), precision, scale)
    return v.parse_decimal(_scalar(value).strip(), precision, scale)


def _boolean(value: Any) -> bool:
    return value if type(value) is bool else v.parse_boolean(_string(value))


def _string(value: Any) -> str:
    """A scalar as it was written; an object or array as the tree of nodes prints it."""
    if type(value) is str:
        return value
    return str(value) if type(value) is JsonNumber else _tree_string(value)


def _tree_string(value: Any) -> str:
    """As Jackson's tree of nodes prints it, where numbers have become doubles: 2.50 is '2.5'."""
    return value if type(value) is str else compact(value, lambda text: v.format_double(float(text)))


_READERS: dict[type[DataType], Convert] = {
    NullType: lambda value: None,
    BooleanType: _boolean,
    TinyIntType: _integer(8),
    SmallIntType: _integer(16),
    IntType: _integer(32),
    BigIntType: _integer(64),
    FloatType: lambda value: v.to_single(_double(value)),
    DoubleType: _double,
    DateType: lambda value: v.parse_date(_scalar(value)),
    BinaryType: lambda value: v.parse_base64(_scalar(value)),
    VarBinaryType: lambda value: v.parse_base64(_scalar(value)),
}


class JsonDecoder:
    """Records of the json format."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._reader = RowReader(row_type, options)
        self._lenient = bool(options.get("ignore-parse-errors"))

    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        if not record:
            return []
        try:
            value = parse_json(record)
            read = self._reader.read
            return [(INSERT, read(item)) for item in (value if type(value) is list else (value,))]
        except ValueError as error:  # BadField, JSONDecodeError, UnicodeDecodeError
            if self._lenient:
                return []
            raise malformed(error, record, context, "json") from None


class RowWriter:
    """A row to JSON text."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self.iso = options.get("timestamp-format.standard") == "ISO-8601"
        self._null_key_mode = one_of(*NULL_KEY_MODES)(options.get("map-null-key.mode") or "FAIL")
        self._null_key = options.get("map-null-key.literal") or "null"
        self._plain = bool(options.get("encode.decimal-as-plain-number"))
        self._skip_nulls = bool(options.get("encode.ignore-null-fields"))
        self.write = self._row(row_type)
        self._writers = [self._writer(f.data_type) for f in row_type.fields]

    def field(self, position: int, value: Any) -> str:
        """How a value of a column that is not NULL stands in a record."""
        return str(self._writers[position](value))

    def _row(self, row_type: RowType) -> Convert:
        writers = [(quoted(f.name) + ":", self._writer(f.data_type)) for f in row_type.fields]
        skip_nulls = self._skip_nulls

        def write(row: Any) -> str:
            parts = []
            for (key, writer), value in zip(writers, row, strict=True):
                if value is not None:
                    parts.append(key + writer(value))
                elif not skip_nulls:
                    parts.append(key + "null")
            return "{" + ",".join(parts) + "}"

        return write

    def _writer(self, data_type: DataType) -> Convert:
        simple = _WRITERS.get(type(data_type))
        if simple is not None:
            return simple
        iso, plain = self.iso, self._plain
        if isinstance(data_type, DecimalType):
            return lambda value: v.format_decimal(value, plain=plain)
        if isinstance(data_type, TimestampType):
            return lambda value: quoted(v.format_timestamp(value, iso=iso))
        if isinstance(data_type, LocalZonedTimestampType):
            return lambda value: quoted(v.format_timestamp_ltz(value, iso=iso))
        if isinstance(data_type, ArrayType):
            element = self._writer(data_type.element_type)
            return lambda value: "[" + ",".join("null" if x is None else element(x) for x in value) + "]"
        if isinstance(data_type, MapType):
            return self._map(self._writer(data_type.value_type))
        if isinstance(data_type, MultisetType):
            return self._map(str)
        if isinstance(data_type, RowType):
            return self._row(data_type)
        raise _unsupported(data_type)

    def _map(self, item_writer: Convert) -> Convert:
        def write(value: Any) -> str:
            parts = []
            for key, item in value.items():
                name = self._key(key)
                if name is not None:
                    parts.append(f"{quoted(name)}:{'null' if item is None else item_writer(item)}")
            return "{" + ",".join(parts) + "}"

        return write

    def _key(self, key: str | None) -> str | None:
        if key is not None:
            return key
        if self._null_key_mode == "DROP":
            return None
        if self._null_key_mode == "LITERAL":
            return self._null_key
        raise ValidationError(
            "a map with a NULL key cannot be written as JSON",
            do="set 'json.map-null-key.mode' to 'DROP' or 'LITERAL'",
        )


def _number_or_text(text: str) -> str:
    """NaN and the infinities have no JSON number and are written as texts."""
    return f'"{text}"' if text[-1] in "Ny" else text


_WRITERS: dict[type[DataType], Convert] = {
    NullType: lambda value: "null",
    CharType: quoted,
    VarCharType: quoted,
    BooleanType: lambda value: "true" if value else "false",
    TinyIntType: str,
    SmallIntType: str,
    IntType: str,
    BigIntType: str,
    FloatType: lambda value: _number_or_text(v.format_single(value)),
    DoubleType: lambda value: _number_or_text(v.format_double(value)),
    DateType: lambda value: quoted(value.isoformat()),
    TimeType: lambda value: quoted(v.format_time(value)),
    BinaryType: lambda value: quoted(v.format_base64(value)),
    VarBinaryType: lambda value: quoted(v.format_base64(value)),
}


class JsonEncoder:
    """Rows to records of the json format."""

    def __init__(self, row_type: RowType, options: Mapping[str, Any]) -> None:
        self._write = RowWriter(row_type, options).write

    def encode(self, kind: int, row: Any) -> bytes:
        return self._write(row).encode("utf-8")


def check(row_type: RowType, options: Mapping[str, Any]) -> None:
    """Refuses types without a JSON form and options that contradict each other."""
    if options.get("fail-on-missing-field") and options.get("ignore-parse-errors"):
        raise ValidationError("fail-on-missing-field and ignore-parse-errors shouldn't both be true")
    for column in row_type.fields:
        check_type(column.data_type)


def check_type(data_type: DataType) -> None:
    if isinstance(data_type, MapType):
        _check_key(data_type.key_type, data_type)
        check_type(data_type.value_type)
    elif isinstance(data_type, MultisetType):
        _check_key(data_type.element_type, data_type)
    elif isinstance(data_type, ArrayType):
        check_type(data_type.element_type)
    elif isinstance(data_type, RowType):
        for part in data_type.field_types():
            check_type(part)
    elif type(data_type) not in _READERS and not isinstance(
        data_type, (CharType, VarCharType, DecimalType, TimeType, TimestampType, LocalZonedTimestampType)
    ):
        raise _unsupported(data_type)


def _check_key(key_type: DataType, data_type: DataType) -> None:
    if not isinstance(key_type, (CharType, VarCharType)):
        raise ValidationError(
            f"the json format needs text as key type of a map, but the type is {data_type.as_summary()}"
        )


def _unsupported(data_type: DataType) -> ValidationError:
    return ValidationError(f"the json format has no form for type {data_type.as_summary()}")


def _timestamp_standard(text: str) -> str:
    if text not in ("SQL", "ISO-8601"):
        raise ValueError("supported values are SQL, ISO-8601")
    return text


TIMESTAMP_FORMAT = Option("timestamp-format.standard", _timestamp_standard, "SQL")
IGNORE_PARSE_ERRORS = Option("ignore-parse-errors", boolean, False)
ENCODING_OPTIONS = (
    Option("map-null-key.mode", str, "FAIL"),  # looked at only when something is written, as in Flink
    Option("map-null-key.literal", str, "null"),
    Option("encode.decimal-as-plain-number", boolean, False),
    Option("encode.ignore-null-fields", boolean, False),
)

JSON = Format(
    name="json",
    options=(
        Option("fail-on-missing-field", boolean, False),
        IGNORE_PARSE_ERRORS,
        TIMESTAMP_FORMAT,
        *ENCODING_OPTIONS,
        Option("decode.json-parser.enabled", boolean, True),
    ),
    decoder=JsonDecoder,
    encoder=JsonEncoder,
    check=check,
)

__all__ = ["JSON", "JsonDecoder", "JsonEncoder", "RowReader", "RowWriter", "parse_json"]
