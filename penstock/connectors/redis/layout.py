"""Which commands a row becomes.

    data-type   a row that comes                        a row that goes
    hash        DEL key; HSET key column text …         DEL key       NULL: the column is not in the hash
    string      SET key row                             DEL key
    list        RPUSH name row
    stream      XADD name * column text …
    channel     PUBLISH name row

Keys are the prefix and the values of the primary key. Rows of strings, lists and channels are in the table's format.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import RowType
from penstock.connectors.message_part import MessagePart
from penstock.connectors.redis.client import Command
from penstock.connectors.redis.texts import from_text, to_text
from penstock.formats.base import INSERT, RecordContext

__all__ = ["BY_KEY", "Layout", "RowCommands", "RowReader"]

BY_KEY = ("hash", "string")
"""Kinds of data that have a key for each row."""

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Layout:
    """How rows lie in Redis; picklable.

    Attributes:
        name: Of the list, stream or channel.
        message: The row in its format, for kinds that have one text.
        ttl_ms: How long a key stays after it was written.
        max_length: How long a stream may become, about.
    """

    data_type: str
    row_type: RowType
    message: MessagePart | None = None
    key_prefix: str = ""
    key_delimiter: str = ":"
    name: str = ""
    ttl_ms: int | None = None
    max_length: int | None = None

    def key_text(self, places: Sequence[int], key: Sequence[Any]) -> str | bytes:
        """The key of a row, whose key columns are at these places."""
        converts = [to_text(self.row_type.fields[place].data_type) for place in places]
        parts = [convert(value) for convert, value in zip(converts, key, strict=True)]
        return self.key_prefix + self.key_delimiter.join(
            part.decode("latin-1") if isinstance(part, bytes) else part for part in parts
        )


class RowCommands:
    """Rows to commands."""

    def __init__(self, layout: Layout, key_places: Sequence[int]) -> None:
        self._layout = layout
        self._key_places = tuple(key_places)
        self._encoder = None if layout.message is None else layout.message.encoder()
        self._columns = [(f.name, to_text(f.data_type)) for f in layout.row_type.fields]

    def come(self, row: Row, key: Row) -> tuple[list[Command], int]:
        """What makes the row be there, and about how many bytes that is."""
        layout = self._layout
        if layout.data_type in ("hash", "stream"):
            pairs = self._pairs(row, () if layout.data_type == "stream" else self._key_places)
            size = sum(map(len, pairs)) + 64
            return (self._hash(key, pairs) if layout.data_type == "hash" else self._entry(pairs)), size
        assert self._encoder is not None, f"a {layout.data_type} has a format"
        body = self._encoder.encode(INSERT, row)
        if layout.data_type == "string":
            lives = () if layout.ttl_ms is None else ("PX", layout.ttl_ms)
            return [("SET", layout.key_text(self._key_places, key), body, *lives)], len(body) + 64
        command = "RPUSH" if layout.data_type == "list" else "PUBLISH"
        return [(command, layout.name, body)], len(body) + 64

    def gone(self, key: Row) -> list[Command]:
        return [("DEL", self._layout.key_text(self._key_places, key))]

    def _pairs(self, row: Row, without: Sequence[int]) -> list[Any]:
        """Names and texts of the columns that are not NULL, one after the other."""
        found: list[Any] = []
        for place, ((name, convert), value) in enumerate(zip(self._columns, row, strict=True)):
            if value is not None and place not in without:
                found += [name, convert(value)]
        return found

    def _hash(self, key: Row, pairs: list[Any]) -> list[Command]:
        """A row of nothing but its key is a hash with a field that no column has: an empty one does not exist."""
        name = self._layout.key_text(self._key_places, key)
        commands: list[Command] = [("DEL", name), ("HSET", name, *(pairs or ["", ""]))]
        if self._layout.ttl_ms is not None:
            commands.append(("PEXPIRE", name, self._layout.ttl_ms))
        return commands

    def _entry(self, pairs: list[Any]) -> list[Command]:
        limit = self._layout.max_length
        bound = () if limit is None else ("MAXLEN", "~", limit)
        return [("XADD", self._layout.name, *bound, "*", *(pairs or ["", ""]))]


class RowReader:
    """What is stored under a key, to rows."""

    def __init__(self, layout: Layout, key_places: Sequence[int]) -> None:
        self._layout = layout
        self._key_places = tuple(key_places)
        self._decoder = None if layout.message is None else layout.message.decoder()
        self._columns = [(f.name.encode(), from_text(f.data_type)) for f in layout.row_type.fields]

    def question(self, key: Row) -> Command:
        name = self._layout.key_text(self._key_places, key)
        return ("HGETALL" if self._layout.data_type == "hash" else "GET", name)

    def rows(self, key: Row, stored: Any) -> list[Row]:
        if not stored:
            return []
        if self._decoder is not None:
            where = RecordContext(f"Redis key {self._layout.key_text(self._key_places, key)!r}")
            return [self._with_key(row, key) for _, row in self._decoder.decode(stored, where)]
        fields = dict(zip(stored[::2], stored[1::2], strict=True)) if isinstance(stored, list) else stored
        row = tuple(None if name not in fields else convert(fields[name]) for name, convert in self._columns)
        return [self._with_key(row, key)]

    def _with_key(self, row: Row, key: Row) -> Row:
        values = list(row)
        for place, value in zip(self._key_places, key, strict=True):
            values[place] = value
        return tuple(values)
