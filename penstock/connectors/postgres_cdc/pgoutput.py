"""The messages of the plug-in `pgoutput`, protocol version 1: whole transactions, in the order of their commits.

    B  a transaction begins: where its commit is, when it was, its number       C  it ends
    R  what a table looks like from here on       I U D  a row changed       T  tables were truncated

A value is NULL, a text, or *unchanged*: PostgreSQL does not log large values (TOAST) that an update left alone. With
REPLICA IDENTITY FULL they stand in the row's old image.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ExternalSystemError, MalformedRecordError
from penstock.connectors.cdc.model import CREATE, DELETE, TRUNCATE, UPDATE, CapturedTable, Change, Values

Load = Callable[[bytes], Any]
LoaderOf = Callable[[int], Load]

_BEGIN = struct.Struct("!QqI")
_COMMIT = struct.Struct("!BQQq")
_YEAR_2000_MS = 946_684_800_000

UNCHANGED = object()


@dataclass(frozen=True)
class Begin:
    """`commit` is the place of the commit's record."""

    commit: int
    ts_ms: int
    xid: int


@dataclass(frozen=True)
class Commit:
    """`end` is the place behind the transaction."""

    end: int


class _Relation:
    """How the texts of a table's rows become the columns that are read of it."""

    def __init__(
        self,
        number: int,
        table: CapturedTable,
        columns: Sequence[tuple[str, int]],
        loader: LoaderOf,
        where: str,
    ) -> None:
        places = {name: i for i, (name, _) in enumerate(columns)}
        self.number, self.width = number, len(columns)
        self.where = f"table {table.name} of {where}"
        self.wanted: list[tuple[int, Load, str]] = []
        for column in table.columns:
            if column.name not in places:
                error = ExternalSystemError(
                    f"the table has no column '{column.name}' any more: it was dropped or renamed",
                    where=self.where,
                    do="change the table's declaration, and start without the checkpoint, which takes a new snapshot",
                )
                error.retryable = False
                raise error
            place = places[column.name]
            self.wanted.append((place, loader(columns[place][1]), column.name))

    def image(self, raw: list[Any], old: list[Any] | None = None) -> Values:
        """The wanted columns; what an update left alone is taken from the old image."""
        values = []
        for place, load, name in self.wanted:
            value = raw[place]
            if value is UNCHANGED:
                value = UNCHANGED if old is None else old[place]
                if value is UNCHANGED:
                    raise self._not_logged(name)
            try:
                values.append(None if value is None else load(value))
            except Exception as error:  # psycopg's loaders raise DataError, ValueError, OverflowError
                raise self._unreadable(name, value, error) from None
        return tuple(values)

    def _not_logged(self, name: str) -> ExternalSystemError:
        error = ExternalSystemError(
            f"the log does not have the large value of column '{name}', which an update left as it was",
            where=self.where,
            do="ALTER TABLE ... REPLICA IDENTITY FULL, then start without the checkpoint, or leave the column out",
        )
        error.retryable = False
        return error

    def _unreadable(self, name: str, value: bytes, error: Exception) -> MalformedRecordError:
        shown = value[:200].decode("utf-8", "replace")
        return MalformedRecordError(
            f"value {shown!r} of column '{name}' cannot be read: {error}",
            where=self.where,
            do="correct the value, or leave the column out",
        )


class Decoder:
    """Messages of one stream. Tables are announced once per stream, so it lives as long as that."""

    def __init__(self, tables: Sequence[CapturedTable], loader: LoaderOf, where: str) -> None:
        self._numbers = {(t.name.schema, t.name.name): i for i, t in enumerate(tables)}
        self._tables = tables
        self._loader = loader
        self._where = where
        self._relations: dict[int, _Relation | None] = {}
        self._begin = Begin(0, 0, 0)

    def decode(self, message: bytes) -> Begin | Commit | list[Change] | None:
        """What a message says; changes of tables that are not captured are an empty list."""
        kind = message[:1]
        if kind in (b"I", b"U", b"D"):
            return self._row(message)
        if kind == b"B":
            commit, micros, xid = _BEGIN.unpack_from(message, 1)
            self._begin = Begin(commit, micros // 1000 + _YEAR_2000_MS, xid)
            return self._begin
        if kind == b"C":
            return Commit(_COMMIT.unpack_from(message, 1)[2])
        if kind == b"R":
            self._relation(message)
        elif kind == b"T":
            return self._truncated(message)
        return None

    def _relation(self, message: bytes) -> None:
        (oid,) = struct.unpack_from("!I", message, 1)
        schema, at = _text(message, 5)
        name, at = _text(message, at)
        number = self._numbers.get((schema, name))
        if number is None:
            self._relations[oid] = None
            return
        (count,) = struct.unpack_from("!H", message, at + 1)
        at += 3
        columns = []
        for _ in range(count):
            column, at = _text(message, at + 1)
            (kind,) = struct.unpack_from("!I", message, at)
            columns.append((column, kind))
            at += 8
        self._relations[oid] = _Relation(number, self._tables[number], columns, self._loader, self._where)

    def _row(self, message: bytes) -> list[Change]:
        (oid,) = struct.unpack_from("!I", message, 1)
        relation = self._relations[oid]
        if relation is None:
            return []
        images: dict[bytes, list[Any]] = {}
        at = 5
        while at < len(message):
            tag = message[at : at + 1]
            images[tag], at = _tuple(message, at + 1)
        whole, key, new = images.get(b"O"), images.get(b"K"), images.get(b"N")
        old = whole or key
        after = None if new is None else relation.image(new, whole)
        before = None if old is None else relation.image(old)
        op = {b"I": CREATE, b"U": UPDATE, b"D": DELETE}[message[:1]]
        begin = self._begin
        return [
            Change(relation.number, op, before, after, begin.ts_ms, (begin.commit,), begin.xid, whole is None)
        ]

    def _truncated(self, message: bytes) -> list[Change]:
        count, _ = struct.unpack_from("!IB", message, 1)
        oids = struct.unpack_from(f"!{count}I", message, 6)
        begin = self._begin
        found = (self._relations[oid] for oid in oids)
        return [
            Change(r.number, TRUNCATE, None, None, begin.ts_ms, (begin.commit,), begin.xid)
            for r in found
            if r
        ]


def _text(message: bytes, at: int) -> tuple[str, int]:
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def _tuple(message: bytes, at: int) -> tuple[list[Any], int]:
    (count,) = struct.unpack_from("!H", message, at)
    at += 2
    values: list[Any] = []
    for _ in range(count):
        tag = message[at]
        at += 1
        if tag == 0x74:  # t
            (size,) = struct.unpack_from("!I", message, at)
            at += 4
            values.append(message[at : at + size])
            at += size
        else:
            values.append(None if tag == 0x6E else UNCHANGED)  # n, u
    return values, at
