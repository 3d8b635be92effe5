"""Reading, writing and looking up rows of SQLite tables, as tasks do it, without Spark."""

from __future__ import annotations

import datetime as dt
import pathlib
import sqlite3
from decimal import Decimal
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, MalformedRecordError
from penstock.connectors.jdbc import lookup as lookup_module
from penstock.connectors.jdbc import transaction
from penstock.connectors.jdbc.sqlite import SqliteDialect
from tests.connectors.jdbc.jdbc_tables import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    JdbcTestTable,
    SqliteFile,
)

UTC = dt.timezone.utc


@pytest.fixture
def db(tmp_path: pathlib.Path) -> SqliteFile:
    return SqliteFile(tmp_path / "shop 100%.db")


# --- reading


def test_ranges_cover_the_bounds_and_leave_out_the_rest(db: SqliteFile) -> None:
    values = ", ".join(f"({i}, 'n{i}')" for i in range(12))
    db.execute("CREATE TABLE t (id INTEGER, name TEXT)", f"INSERT INTO t VALUES {values}, (NULL, 'x')")
    table = db.table(
        "id INT, name STRING", scan__partition__column="id", scan__partition__num="3",
        **{"scan__partition__lower-bound": "1", "scan__partition__upper-bound": "10"},
    )  # fmt: skip
    parts = table.read_parts()
    assert [[row[0] for row in part] for part in parts] == [[1, 2, 3, 4], [5, 6, 7], [8, 9, 10]]


def test_only_the_columns_that_are_wanted_are_read(db: SqliteFile) -> None:
    db.execute("CREATE TABLE t (id INTEGER, name TEXT)", "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    table = db.table("id INT, missing STRING, name STRING")
    assert table.read(["name"]) == [(None, None, "a"), (None, None, "b")]
    assert table.read([]) == [(None, None, None)] * 2


def test_names_are_found_whatever_their_case_and_characters(db: SqliteFile) -> None:
    db.execute('CREATE TABLE "odd ""name%s" ("Id" INTEGER, "50% ""off""" TEXT)', "SELECT 1")
    table = db.table('id INT, `50% "off"` STRING', name='odd "name%s')
    table.write([(1, "x")])
    assert table.read() == [(1, "x")]


def test_values_of_all_types_come_back_as_they_were_written(db: SqliteFile) -> None:
    db.execute(
        "CREATE TABLE t (i INTEGER, b BOOLEAN, s TEXT, f REAL, d TEXT, day DATE, tm TIME, ts TIMESTAMP, "
        "z TIMESTAMP, bin BLOB)"
    )
    table = db.table(
        "i BIGINT, b BOOLEAN, s STRING, f DOUBLE, d DECIMAL(20, 4), day DATE, tm TIME(3), ts TIMESTAMP(6), "
        "z TIMESTAMP_LTZ(3), bin BYTES"
    )
    rows = [
        (
            1 << 40, True, "it's ünïcode %s ?", 0.1, Decimal("1234567890123456.7890"), dt.date(1969, 12, 31),
            dt.time(23, 59, 59, 999000), dt.datetime(2024, 2, 29, 1, 2, 3, 4), dt.datetime(2024, 1, 1, tzinfo=UTC),
            b"\x00\xff",
        ),
        (None,) * 10,
    ]  # fmt: skip
    assert table.write(rows) == 2
    assert table.read() == rows


def test_values_are_read_as_what_the_table_declares(db: SqliteFile) -> None:
    db.execute(
        "CREATE TABLE t (n, d, ts, day, s)",
        "INSERT INTO t VALUES ('17', 2.345, 1704067200123, '2024-01-02T00:00:00', 12)",
        "INSERT INTO t VALUES (3.0, 1, '2024-01-01 01:02:03.5', 0, x'6162')",
    )
    table = db.table("n SMALLINT, d DECIMAL(4, 2), ts TIMESTAMP(3), day DATE, s STRING")
    assert table.read() == [
        (17, Decimal("2.35"), dt.datetime(2024, 1, 1, 0, 0, 0, 123000), dt.date(2024, 1, 2), "12"),
        (3, Decimal("1.00"), dt.datetime(2024, 1, 1, 1, 2, 3, 500000), dt.date(1970, 1, 1), "ab"),
    ]


@pytest.mark.parametrize(
    ("declared", "value", "reason"),
    [
        ("TINYINT", "300", "out of range"),
        ("INT", "'abc'", "invalid literal"),
        ("INT", "1.5", "no whole number"),
        ("DECIMAL(4, 2)", "123.4", "too many digits"),
        ("DATE", "'soon'", "Invalid isoformat"),
        ("BYTES", "5", "no byte string"),
        ("BOOLEAN", "'perhaps'", "neither true nor false"),
    ],
)
def test_a_value_that_does_not_fit_names_table_and_column(
    db: SqliteFile, declared: str, value: str, reason: str
) -> None:
    db.execute("CREATE TABLE t (v)", f"INSERT INTO t VALUES (NULL), ({value})")
    with pytest.raises(MalformedRecordError, match=reason) as error:
        db.table(f"v {declared}").read()
    assert "column 'v' does not fit" in error.value.what
    assert error.value.where == f"table cat.db.t, that is 't' of {db.url}"


def test_a_missing_table_a_missing_column_and_a_missing_database_are_told_apart(db: SqliteFile) -> None:
    db.execute("CREATE TABLE t (id INTEGER, name TEXT)")
    with pytest.raises(ExternalSystemError, match="no such table: nope"):
        db.table("id INT", name="nope").read()
    with pytest.raises(ExternalSystemError, match="no column 'age'") as error:
        db.table("id INT, age INT").read()
    assert error.value.do == "its columns are id, name"
    elsewhere = JdbcTestTable("id INT", {"url": f"{db.url}.gone?password=secret", "table-name": "t"})
    with pytest.raises(ExternalSystemError, match="cannot connect") as error:
        elsewhere.read()
    assert "secret" not in str(error.value) and str(error.value.where).endswith("?password=***")


# --- writing


def test_without_a_key_rows_are_appended(db: SqliteFile) -> None:
    db.execute("CREATE TABLE t (id INTEGER, name TEXT)")
    table = db.table("id INT, name STRING", **{"sink__buffer-flush__max-rows": "2"})
    table.write([(1, "a"), (1, "a"), (2, None)])
    table.write([])
    assert db.execute("SELECT * FROM t") == [(1, "a"), (1, "a"), (2, None)]


def test_with_a_key_the_last_change_of_each_row_counts(db: SqliteFile) -> None:
    db.execute(
        "CREATE TABLE t (id INTEGER, name TEXT, PRIMARY KEY (id))",
        "INSERT INTO t VALUES (1, 'old'), (5, 'e')",
    )
    for rows_at_once in ("1", "2", "100", "0"):
        table = db.table("id INT, name STRING", key=["id"], **{"sink__buffer-flush__max-rows": rows_at_once})
        changes = [
            (INSERT, (1, "a")), (INSERT, (2, "b")), (UPDATE_BEFORE, (1, "a")), (UPDATE_AFTER, (1, "c")),
            (DELETE, (2, "b")), (INSERT, (3, "d")), (DELETE, (3, "d")), (INSERT, (3, "z")), (DELETE, (5, "e")),
        ]  # fmt: skip
        table.write([row for _, row in changes], [kind for kind, _ in changes])
        assert db.execute("SELECT * FROM t ORDER BY id") == [(1, "c"), (3, "z")]


def test_a_table_of_nothing_but_its_key_takes_a_row_twice(db: SqliteFile) -> None:
    db.execute("CREATE TABLE t (a INTEGER, b INTEGER, PRIMARY KEY (a, b))")
    table = db.table("a INT, b INT", key=["b", "a"])
    table.write([(1, 2), (1, 2)])
    table.write([(1, 2)])
    assert db.execute("SELECT * FROM t") == [(1, 2)]


def test_a_task_that_fails_leaves_nothing(db: SqliteFile) -> None:
    db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)", "INSERT INTO t VALUES (3, 'c')")
    table = db.table("id INT, name STRING", **{"sink__buffer-flush__max-rows": "1"})
    with pytest.raises(
        ExternalSystemError, match=r"cannot write to the table: UNIQUE constraint failed: t\.id"
    ):
        table.write([(1, "a"), (2, "b"), (3, "c")])
    assert db.execute("SELECT * FROM t") == [(3, "c")]


class _Flaky(SqliteDialect):
    """Connections whose statements fail as if the line were cut, so many times."""

    failures = 0

    def connect(self, login: Any, zoned: bool = False) -> Any:
        return sqlite3.connect(login.url.database, factory=_FlakyConnection)


class _FlakyConnection(sqlite3.Connection):
    def cursor(self, *args: Any) -> Any:
        return super().cursor(_FlakyCursor)


class _FlakyCursor(sqlite3.Cursor):
    def executemany(self, sql: str, rows: Any) -> Any:
        if rows[0][0] == 3 and _Flaky.failures:
            _Flaky.failures -= 1
            raise sqlite3.OperationalError("the line is cut")
        return super().executemany(sql, rows)


@pytest.mark.parametrize(("failures", "retries", "written"), [(2, "2", 4), (2, "1", 0)])
def test_a_lost_connection_is_made_anew_and_gets_everything_again(
    db: SqliteFile, monkeypatch: pytest.MonkeyPatch, failures: int, retries: str, written: int
) -> None:
    monkeypatch.setattr(transaction, "_PAUSE_S", 0.0)
    monkeypatch.setattr(_Flaky, "failures", failures)
    db.execute("CREATE TABLE t (id INTEGER)")
    table = db.table("id INT", **{"sink__buffer-flush__max-rows": "1", "sink__max-retries": retries})
    table.connector.dialect = _Flaky()
    rows = [(1,), (2,), (3,), (4,)]
    if written:
        table.write(rows)
    else:
        with pytest.raises(ExternalSystemError, match="the line is cut"):
            table.write(rows)
    assert db.execute("SELECT count(*) FROM t") == [(written,)]


# --- looking up


def test_keys_are_asked_for_together_and_answered_apart(db: SqliteFile) -> None:
    db.execute(
        "CREATE TABLE t (id INTEGER, name TEXT COLLATE NOCASE, at TIMESTAMP)",
        "INSERT INTO t VALUES (1, 'Ann', '2024-01-01 00:00:00'), (2, 'ann', NULL), (3, 'bob', NULL)",
    )
    table = db.table("id INT, name STRING, at TIMESTAMP_LTZ(3)")
    ann = [(1, "Ann", dt.datetime(2024, 1, 1)), (2, "ann", None)]
    assert table.lookup(["name"], ("ANN",), ("eve",), ("bob",)) == [ann, [], [(3, "bob", None)]]
    assert table.lookup(["name", "id"], ("ann", 2)) == [[(2, "ann", None)]]
    assert table.lookup(["at"], (dt.datetime(2024, 1, 1),)) == [[(1, "Ann", dt.datetime(2024, 1, 1))]]
    many = table.lookup(["id"], *((i,) for i in range(200)))
    assert [len(rows) for rows in many] == [0, 1, 1, 1, *[0] * 196]


def test_a_lookup_tries_again_what_may_pass_and_only_that(
    db: SqliteFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(lookup_module.time, "sleep", pauses.append)
    table = db.table("id INT", name="gone", **{"lookup__max-retries": "2"})
    with pytest.raises(ExternalSystemError, match="no such table"):
        table.lookup(["id"], (1,))
    assert pauses == [1.0, 2.0]  # for SQLite a missing table is an OperationalError, as is a locked file
    monkeypatch.setattr(SqliteDialect, "passing_errors", lambda self: (OSError,))
    with pytest.raises(ExternalSystemError, match="no such table"):
        table.lookup(["id"], (1,))
    assert len(pauses) == 2
