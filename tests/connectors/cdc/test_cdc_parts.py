"""The parts of change data capture that need no server."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, NotSupportedError, ValidationError
from penstock.connectors.cdc.chunks import ChunkBooks
from penstock.connectors.cdc.database import Work
from penstock.connectors.cdc.model import (
    CREATE,
    DELETE,
    UPDATE,
    CapturedTable,
    Change,
    Column,
    SharePosition,
    TableMarks,
    TableName,
)
from penstock.connectors.cdc.reader import not_shown
from penstock.connectors.mysql_cdc.control import LogMark
from penstock.connectors.mysql_cdc.rewind import Touched, rewound
from penstock.connectors.postgres_cdc.control import SnapshotMark
from penstock.connectors.postgres_cdc.pgoutput import Begin, Commit, Decoder
from penstock.connectors.registry import find_connector

TABLE = CapturedTable(TableName("db", "public", "t"), (Column("id", "bigint"), Column("v", "text")), (0,), 0)


def at(place: int) -> LogMark:
    return LogMark((place,), (place,))


class NoServer(Work):
    """Compares keys, and nothing else."""

    def chunks(self, tables: Any, chunks: Any, mark: Any) -> Iterator[Any]:
        raise AssertionError

    def changes(self, tables: Any, position: Any, end: Any, confirmed: Any) -> Iterator[Any]:
        raise AssertionError

    def ask_where(self, table: CapturedTable, keys: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
        raise AssertionError

    def close(self) -> None: ...


# --- chunks


def test_chunks_are_found_when_they_are_asked_for_and_cover_all_keys() -> None:
    books = ChunkBooks((TABLE,))
    asked = []

    def next_bound(table: CapturedTable, start: Any) -> Any:
        asked.append(start)
        return {None: 10, 10: 20, 20: None}[start]

    first = books.take(1, set(), next_bound)
    assert [(c.start, c.end) for c in first] == [(None, 10)] and asked == [None]
    rest = books.take(5, {first[0].id}, next_bound)
    assert [(c.start, c.end) for c in rest] == [(10, 20), (20, None)] and books.all_found


def test_chunks_that_an_epoch_did_not_reach_are_given_out_again() -> None:
    books = ChunkBooks((TABLE,))
    bounds = {None: 10, 10: None}
    taken: set[int] = set()
    chunks = books.take(2, taken, lambda _, start: bounds[start])
    assert books.take(2, taken, lambda _, start: bounds[start]) == []
    books.book(SharePosition((chunks[0].id,), at(5)))
    books.book(SharePosition((chunks[0].id,), at(9)))  # told again: the first word counts
    assert books.take(2, set(), lambda _, start: bounds[start]) == [chunks[1]]
    assert books.table_marks() == {0: TableMarks((), (at(5),))} and not books.finished


def test_neighbours_with_the_same_mark_become_one_entry() -> None:
    books = ChunkBooks((TABLE,))
    bounds = {None: 10, 10: 20, 20: None}
    chunks = books.take(3, set(), lambda _, start: bounds[start])
    books.book(SharePosition((chunks[2].id,), at(7)))
    books.book(SharePosition((chunks[0].id, chunks[1].id), at(5)))
    assert books.table_marks() == {0: TableMarks((20,), (at(5), at(7)))}
    assert books.until() == (7,) and books.finished


# --- what chunks show already


def kept(*changes: Change) -> list[tuple[str, Any, Any]]:
    """What is left where keys below 10 were read at place 5 and others at place 8."""
    marks = {0: TableMarks((10,), (at(5), at(8)))}
    return [(c.op, c.before, c.after) for c in not_shown(NoServer(), [TABLE], changes, marks)]


def test_changes_that_a_chunk_shows_are_left_out() -> None:
    one, two = (1, "a"), (12, "b")
    assert kept(Change(0, CREATE, None, one, place=(5,)), Change(0, DELETE, two, None, place=(8,))) == []
    assert kept(Change(0, CREATE, None, one, place=(6,))) == [(CREATE, None, one)]
    assert kept(Change(0, DELETE, two, None, place=(9,))) == [(DELETE, two, None)]


def test_a_key_that_moves_to_a_chunk_that_shows_it_only_goes() -> None:
    assert kept(Change(0, UPDATE, (1, "a"), (12, "a"), place=(7,))) == [(DELETE, (1, "a"), None)]


def test_a_key_that_moves_from_a_chunk_that_shows_it_is_new() -> None:
    assert kept(Change(0, UPDATE, (12, "a"), (1, "a"), place=(7,))) == [(CREATE, None, (1, "a"))]


def test_an_update_without_its_old_image_is_judged_by_its_key() -> None:
    assert kept(Change(0, UPDATE, None, (1, "a"), place=(7,))) == [(UPDATE, None, (1, "a"))]
    assert kept(Change(0, UPDATE, None, (12, "a"), place=(7,))) == []


def test_a_snapshot_shows_transactions_by_their_numbers() -> None:
    mark = SnapshotMark(100, 110, frozenset({103}), (900,))

    def shown(xid: int, place: int = 800) -> bool:
        return mark.shows(Change(0, CREATE, None, (1, "a"), place=(place,), transaction=xid))

    assert shown(99) and shown(102)
    assert not shown(103) and not shown(110)
    assert not shown(102, place=900), "it was committed later, whatever its number"


def test_transaction_numbers_of_the_log_are_halves() -> None:
    whole = (3 << 32) + 5
    mark = SnapshotMark(whole - 10, whole, frozenset(), (900,))
    assert mark.shows(Change(0, CREATE, None, None, place=(1,), transaction=(1 << 32) - 7)), (
        "from before the turn"
    )
    assert not mark.shows(Change(0, CREATE, None, None, place=(1,), transaction=6))


# --- rows at a place of the log


def test_rows_are_taken_back_to_a_place() -> None:
    touched = Touched(TABLE, (10,))
    touched.add(Change(0, UPDATE, (1, "old"), (1, "new"), place=(8,)))  # the query did not show it yet
    touched.add(Change(0, UPDATE, (2, "then"), (2, "later"), place=(11,)))
    touched.add(Change(0, UPDATE, (2, "later"), (2, "now"), place=(12,)))
    touched.add(Change(0, CREATE, None, (3, "c"), place=(13,)))
    touched.add(Change(0, DELETE, (4, "d"), None, place=(14,)))
    touched.add(Change(0, UPDATE, (5, "e"), (6, "e"), place=(15,)))
    shown = [(1, "old"), (2, "now"), (3, "c"), (6, "e"), (7, "untouched")]
    inside = [row for row in touched.rows().values() if row is not None]
    assert sorted(rewound(shown, touched, inside)) == [
        (1, "new"), (2, "then"), (4, "d"), (5, "e"), (7, "untouched"),
    ]  # fmt: skip


def test_a_row_that_was_touched_on_both_sides_of_the_place_is_as_the_earlier_change_left_it() -> None:
    touched = Touched(TABLE, (10,))
    touched.add(Change(0, DELETE, (1, "a"), None, place=(9,)))
    touched.add(Change(0, CREATE, None, (1, "b"), place=(11,)))
    assert rewound([(1, "b")], touched, []) == []


# --- pgoutput


def text(value: bytes | str | None) -> bytes:
    if value is None:
        return b"n"
    return b"u" if value == "unchanged" else b"t" + struct.pack("!I", len(value)) + value  # type: ignore[operator]


def row(*values: bytes | str | None) -> bytes:
    return struct.pack("!H", len(values)) + b"".join(map(text, values))


def decoder(*columns: str) -> Decoder:
    made = Decoder([TABLE], lambda oid: lambda value: value.decode(), "here")
    named = b"".join(b"\0" + name.encode() + b"\0" + struct.pack("!Ii", 25, -1) for name in columns)
    relation = b"R" + struct.pack("!I", 7) + b"public\0t\0d" + struct.pack("!H", len(columns)) + named
    assert made.decode(relation) is None
    assert made.decode(b"B" + struct.pack("!QqI", 500, 0, 9)) == Begin(500, 946_684_800_000, 9)
    return made


def test_messages_of_pgoutput_are_changes() -> None:
    made = decoder("extra", "id", "v")
    [new] = made.decode(b"I" + struct.pack("!I", 7) + b"N" + row(b"x", b"1", None))  # type: ignore[misc]
    assert (new.op, new.before, new.after, new.place, new.transaction) == (
        CREATE,
        None,
        ("1", None),
        (500,),
        9,
    )
    [moved] = made.decode(
        b"U" + struct.pack("!I", 7) + b"K" + row(None, b"1", None) + b"N" + row(b"x", b"2", b"b")
    )  # type: ignore[misc]
    assert (moved.op, moved.before, moved.after, moved.key_only) == (UPDATE, ("1", None), ("2", "b"), True)
    [gone] = made.decode(b"D" + struct.pack("!I", 7) + b"O" + row(b"x", b"2", b"b"))  # type: ignore[misc]
    assert (gone.op, gone.before, gone.key_only) == (DELETE, ("2", "b"), False)
    assert made.decode(b"C" + struct.pack("!BQQq", 0, 500, 600, 0)) == Commit(600)


def test_a_large_value_that_was_left_alone_is_taken_from_the_old_image() -> None:
    made = decoder("id", "v")
    both = b"O" + row(b"1", b"long") + b"N" + row(b"1", "unchanged")
    [change] = made.decode(b"U" + struct.pack("!I", 7) + both)  # type: ignore[misc]
    assert change.after == ("1", "long")
    with pytest.raises(ExternalSystemError, match="large value of column 'v'"):
        made.decode(b"U" + struct.pack("!I", 7) + b"N" + row(b"1", "unchanged"))


def test_a_column_that_is_gone_from_the_log_is_named() -> None:
    with pytest.raises(ExternalSystemError, match=r"no column 'v' any more(.|\n)*public\.t"):
        decoder("id", "w")


# --- options

POSTGRES = {
    "connector": "postgres-cdc", "hostname": "h", "username": "u", "password": "p", "database-name": "d",
    "schema-name": "public", "table-name": "t", "slot.name": "s",
}  # fmt: skip
MYSQL = {
    "connector": "mysql-cdc", "hostname": "h", "username": "u", "password": "p", "database-name": "d",
    "table-name": "t",
}  # fmt: skip


@pytest.mark.parametrize(
    ("base", "more", "said"),
    [
        (POSTGRES, {"decoding.plugin.name": "wal2json"}, "'decoding.plugin.name' = 'wal2json', because"),
        (POSTGRES, {"slot.name": "My-Slot"}, "no name of a slot"),
        (POSTGRES, {"scan.startup.mode": "timestamp"}, "scan.startup.mode"),
        (POSTGRES, {"changelog-mode": "retract"}, "changelog-mode"),
        (POSTGRES, {"debezium.snapshot.mode": "never"}, "'debezium.snapshot.mode', because"),
        (POSTGRES, {"debezium.skipped.operations": "x"}, "debezium.skipped.operations"),
        (POSTGRES, {"scan.newly-added-table.enabled": "true"}, "scan.newly-added-table.enabled"),
        (POSTGRES, {"table-name": "t("}, "no regular expression"),
        (POSTGRES, {"server-id": "1"}, "no option 'server-id'"),
        (MYSQL, {"server-id": "9-5"}, "server-id"),
        (MYSQL, {"server-time-zone": "Nowhere/Town"}, "no such time zone"),
        (MYSQL, {"scan.startup.mode": "specific-offset"}, "specific-offset.file' is required"),
        (MYSQL, {"scan.startup.mode": "timestamp"}, "timestamp-millis' is required"),
        (MYSQL, {"scan.startup.specific-offset.gtid-set": "0-1-2"}, "gtid-set', because"),
        (MYSQL, {"scan.startup.mode": "committed-offset"}, "scan.startup.mode"),
        (MYSQL, {"scan.incremental.snapshot.chunk.size": "1"}, "chunk.size"),
    ],
)
def test_options_that_mean_nothing_are_refused_by_name(
    base: dict[str, str], more: dict[str, str], said: str
) -> None:
    with pytest.raises((ValidationError, NotSupportedError)) as refused:
        find_connector({**base, **more}, "cat.db.t")
    assert said in str(refused.value)
    assert "cat.db.t" in str(refused.value)
