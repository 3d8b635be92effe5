"""What a format is: bytes of one record to rows, and rows back to bytes.

    Decoder.decode(record, context)  -> [(kind, (value, ...)), ...]   none for a record that says nothing
    Encoder.encode(kind, row)        -> bytes of one record, without a delimiter

`kind` is the number of a `RowKind` (0 +I, 1 -U, 2 +U, 3 -D). Values are plain Python: Decimal, date, time,
datetime (aware for TIMESTAMP_LTZ), bytes, list, dict, and tuple for ROW. Formats know nothing of Spark or of
tables: file readers, streaming sources and the DataStream API all use the same ones.

A record that cannot be read raises `MalformedRecordError` naming the source, the record's number and the
value, unless the format was told to ignore parse errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.common.datatypes import RowType
from penstock.common.errors import MalformedRecordError, ValidationError

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3
UNREADABLE = -1
"""Stands where the kind of a change would be, for a record that cannot be decoded, with its bytes, its place and the
error instead of a row. Only readers see it that ask for it."""

Rows = list[tuple[int, tuple[Any, ...]]]

_SHOWN = 200


class BadField(ValueError):
    """A value does not fit its column; the decoder turns it into NULL or a MalformedRecordError."""


@dataclass
class RecordContext:
    """Where the record that is being decoded came from. One object is reused for all records of a source."""

    source: str = "record"
    number: int = 0
    unit: str = "line"

    def where(self) -> str:
        return f"{self.source}, {self.unit} {self.number}" if self.number else self.source


class Decoder(Protocol):
    def decode(self, record: bytes | str, context: RecordContext) -> Rows:
        """The changes that one record makes."""


class Encoder(Protocol):
    def encode(self, kind: int, row: Any) -> bytes:
        """One record for one change."""


def malformed(
    reason: object, record: bytes | str, context: RecordContext, format_name: str
) -> MalformedRecordError:
    """The error for a record that cannot be read, with the record itself, shortened."""
    text = record.decode("utf-8", "replace") if isinstance(record, bytes) else record
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return MalformedRecordError(
        f"{format_name} record cannot be read: {reason}; the record is {shown!r}",
        where=context.where(),
        do=f"correct the data, or set '{format_name}.ignore-parse-errors' = 'true' to go on without it",
    )


@dataclass(frozen=True)
class Option:
    """One option of a format or connector: how its text is read and what holds without it."""

    name: str
    parse: Callable[[str], Any] = str
    default: Any = None
    required: bool = False


@dataclass(frozen=True)
class Format:
    """A format by name: its options and how to make its two halves.

    `changelog` says that records carry row kinds; `framing` how records lie in a file: one per line, by the
    format's own rule ("csv"), or the whole file at once ("file"); "message": they never do.
    """

    name: str
    options: tuple[Option, ...]
    decoder: Callable[[RowType, Mapping[str, Any]], Decoder] | None
    encoder: Callable[[RowType, Mapping[str, Any]], Encoder] | None
    check: Callable[[RowType, Mapping[str, Any]], None] = field(default=lambda row_type, options: None)
    changelog: bool = False
    framing: str = "line"

    def read_options(self, options: Mapping[str, str]) -> dict[str, Any]:
        """The format's options out of a table's, without the prefix `<name>.`; unknown ones are left out."""
        prefix = self.name + "."
        return read_options(self.options, options, prefix)


def read_options(known: tuple[Option, ...], options: Mapping[str, str], prefix: str = "") -> dict[str, Any]:
    """Parses the known options.

    Raises:
        ValidationError: A value cannot be read, or a required option is missing.
    """
    values: dict[str, Any] = {}
    for option in known:
        key = prefix + option.name
        if key in options:
            try:
                values[option.name] = option.parse(options[key])
            except ValueError as error:
                reason = "expected a whole number" if option.parse is int else str(error)
                raise ValidationError(
                    f"invalid value {options[key]!r} for option '{key}': {reason}",
                    do="correct the value in the WITH clause",
                ) from None
        elif option.required:
            raise ValidationError(
                f"the required option '{key}' is missing", do=f"add '{key}' = '...' to the WITH clause"
            )
        else:
            values[option.name] = option.default
    return values


def boolean(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise ValueError("expected true or false")
    return lowered == "true"


def one_of(*allowed: str) -> Callable[[str], str]:
    """A parser for an option with a few allowed values, in any case of letters."""

    def parse(text: str) -> str:
        for value in allowed:
            if value.lower() == text.lower():
                return value
        raise ValueError(f"supported values are {', '.join(allowed)}")

    return parse


def character(text: str) -> str:
    """One character; `\\t` and other backslash escapes count as one."""
    unescaped = text.encode("latin-1", "backslashreplace").decode("unicode_escape") if len(text) > 1 else text
    if len(unescaped) != 1:
        raise ValueError("expected a single character")
    return unescaped
