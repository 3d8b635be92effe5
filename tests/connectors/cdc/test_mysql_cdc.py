"""What is MySQL's and MariaDB's own: types, the binary log, startup modes."""

from __future__ import annotations

import datetime as dt
import decimal
import time
from typing import Any

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.mysql_cdc.work import MySqlWork
from tests.connectors.cdc.captures import System, captured, fails, folded, in_order, read_all, stored
from tests.connectors.cdc.random_changes import RandomChanges, apply, connect
from tests.servers.mariadb import MariaDbServer

TYPES = (
    ("a", "TINYINT", "TINYINT", "-7", -7),
    ("b", "TINYINT(1)", "BOOLEAN", "1", True),
    ("c", "TINYINT UNSIGNED", "SMALLINT", "255", 255),
    ("d", "SMALLINT UNSIGNED", "INT", "65535", 65535),
    ("e", "MEDIUMINT", "INT", "-8388608", -8388608),
    ("f", "INT UNSIGNED", "BIGINT", "4294967295", 4294967295),
    ("g", "BIGINT UNSIGNED", "DECIMAL(20, 0)", "18446744073709551615", decimal.Decimal(18446744073709551615)),
    ("h", "DECIMAL(12,3)", "DECIMAL(12, 3)", "-123.45", decimal.Decimal("-123.450")),
    ("i", "DECIMAL(50,2)", "STRING", "1.5", "1.50"),
    ("j", "DOUBLE", "DOUBLE", "1e300", 1e300),
    ("k", "DATE", "DATE", "'2024-02-29'", dt.date(2024, 2, 29)),
    ("l", "TIME(3)", "TIME(3)", "'12:34:56.789'", dt.time(12, 34, 56, 789_000)),
    ("m", "DATETIME(6)", "TIMESTAMP(6)", "'2024-01-02 03:04:05.123456'", dt.datetime(2024, 1, 2, 3, 4, 5, 123_456)),
    (
        "n", "TIMESTAMP(3) NULL", "TIMESTAMP_LTZ(3)", "'2024-01-02 03:04:05'",
        dt.datetime(2024, 1, 1, 18, 4, 5, tzinfo=dt.timezone.utc),
    ),
    ("o", "TIMESTAMP NULL", "TIMESTAMP(0)", "'2024-01-02 03:04:05'", dt.datetime(2024, 1, 2, 2, 4, 5)),
    ("p", "BIT(1)", "BOOLEAN", "b'1'", True),
    ("q", "BIT(12)", "BYTES", "b'101010101010'", b"\x0a\xaa"),
    ("r", "ENUM('a','it''s')", "STRING", "'it''s'", "it's"),
    ("s", "SET('x','y','z')", "ARRAY<STRING>", "'z,x'", ["x", "z"]),
    ("t", "SET('x','y')", "ARRAY<STRING>", "''", []),
    ("u", "BINARY(4)", "BYTES", "X'0102'", b"\x01\x02\x00\x00"),
    ("v", "VARBINARY(9)", "BYTES", "X'00FF'", b"\x00\xff"),
    ("w", "BLOB", "BYTES", "X'FE00'", b"\xfe\x00"),
    ("x", "LONGTEXT", "STRING", "'grüße 😀'", "grüße 😀"),
    ("y", "VARCHAR(10) CHARACTER SET latin1", "STRING", "'grüße'", "grüße"),
    ("z", "YEAR", "INT", "2024", 2024),
    ("aa", "JSON", "STRING", """'{"a": 1}'""", '{"a": 1}'),
    ("ab", "CHAR(5)", "STRING", "'ab'", "ab"),
    ("ac", "FLOAT", "FLOAT", "16777217.5", 16777218.0),
)  # fmt: skip


@pytest.fixture
def system(mariadb: MariaDbServer) -> System:
    return System(mariadb)


@pytest.mark.parametrize("metadata", ["NO_LOG", "FULL"])
def test_values_of_the_snapshot_and_of_the_log_are_the_same(system: System, metadata: str) -> None:
    table = f"typed_{metadata.lower()}"
    columns = ", ".join(f"{name} {kind}" for name, kind, *_ in TYPES)
    values = ", ".join(literal for *_, literal, _ in TYPES)
    nulls = ", ".join("NULL" for _ in TYPES)
    system.server.execute(
        f"CREATE TABLE {table} (id INT PRIMARY KEY, {columns}) CHARACTER SET utf8mb4",
        f"INSERT INTO {table} VALUES (1, {values}), (2, {nulls})",
    )
    declared = ", ".join(f"{name} {flink}" for name, _, flink, *_ in TYPES)
    loop = captured(system, table, f"id INT, {declared}", **{"server__time__zone": "+08:00"})
    read_all(loop)
    try:
        system.server.execute(f"SET GLOBAL binlog_row_metadata = '{metadata}'")
        system.server.execute(
            f"INSERT INTO {table} VALUES (3, {values}), (4, {nulls})", f"DELETE FROM {table} WHERE id = 3"
        )
    finally:
        system.server.execute("SET GLOBAL binlog_row_metadata = 'NO_LOG'")
    read_all(loop)
    wanted = tuple(value for *_, value in TYPES)
    empty = tuple(None for _ in TYPES)
    rows = {(row[0], row[-1]): row[1:-1] for row in in_order(loop)}
    assert rows == {(1, 0): wanted, (2, 0): empty, (3, 0): wanted, (4, 0): empty, (3, 3): wanted}


def test_shapes_and_tables_without_a_key_are_refused(system: System) -> None:
    system.server.execute("CREATE TABLE odd (id INT PRIMARY KEY, place POINT)", "CREATE TABLE heap (n INT)")
    assert "column 'place' of type point" in str(
        fails(captured(system, "odd", "id INT, place STRING"), NotSupportedError)
    )
    read_all(captured(system, "odd", "id INT"))
    assert "a table without a primary key" in str(
        fails(captured(system, "heap", "n INT", ()), NotSupportedError)
    )


def test_servers_that_do_not_say_what_a_transaction_shows_are_read_exactly_too(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MySQL has no `binlog_snapshot_position`: the log is looked at from a place that was seen a while ago."""
    monkeypatch.setattr(MySqlWork, "_begin", _begin_like_mysql)
    table = system.create()
    changes = RandomChanges(table, 1000, seed=3)
    system.insert(table, changes.rows(500))
    loop = captured(
        system, table, "id BIGINT, name STRING, price DECIMAL(10, 2), note STRING",
        scan_incremental_snapshot_chunk_size="50",
    )  # fmt: skip
    loop.max_records = 100
    connection = connect("mysql", system.server.port)
    while not loop.enumerator.no_more_splits:
        apply(connection, changes.transactions(60))
        loop.run_epoch()
    connection.close()
    read_all(loop)
    assert folded(in_order(loop)) == stored(system, table)


def _begin_like_mysql(self: MySqlWork, connection: Any, mark: Any) -> Any:
    """The transaction as MySQL has it, which does not say what it shows."""
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    return mark.settled, max(self._database.log_end(connection), mark.place)


def test_the_log_can_be_read_from_its_beginning_from_a_place_and_from_a_time(system: System) -> None:
    table = system.create()
    system.server.execute(f"INSERT INTO {table} VALUES (1, 'a', NULL, NULL)")
    [place] = system.server.execute("SHOW MASTER STATUS")
    time.sleep(1.1)  # the log counts seconds
    since_ms = int(time.time() * 1000)
    system.server.execute("FLUSH BINARY LOGS", f"INSERT INTO {table} VALUES (2, 'b', NULL, NULL)")

    def keys(mode: str, **options: str) -> list[int]:
        loop = captured(system, table, "id BIGINT", scan_startup_mode=mode, **options)
        read_all(loop)
        return [row[0] for row in in_order(loop)]

    offset = {
        "scan_startup_specific__offset_file": place[0],
        "scan_startup_specific__offset_pos": str(place[1]),
    }
    assert keys("earliest-offset") == [1, 2]
    assert keys("specific-offset", **offset) == [2]
    assert keys("timestamp", **{"scan_startup_timestamp__millis": str(since_ms // 1000 * 1000)}) == [2]
    assert keys("latest-offset") == []


def test_a_log_that_was_purged_is_no_place_to_go_on_from(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT")
    read_all(loop)
    system.server.execute(f"INSERT INTO {table} VALUES (1, 'a', 1, NULL)", "FLUSH BINARY LOGS")
    [place] = system.server.execute("SHOW MASTER STATUS")
    purge(system, place[0])
    error = fails(loop)
    assert "has no log from file" in str(error) and "new snapshot" in str(error) and not error.retryable
    loop.recover()
    error = fails(loop)
    assert "has no file" in str(error) and "binlog_expire_logs_seconds" in str(error) and not error.retryable


def purge(system: System, file: str) -> None:
    """Removes the files before `file`; the server keeps them as long as it thinks that somebody reads them."""
    deadline = time.monotonic() + 60
    while system.server.execute("SHOW BINARY LOGS")[0][0] != file:
        assert time.monotonic() < deadline, system.server.execute("SHOW PROCESSLIST")
        system.server.execute(f"PURGE BINARY LOGS TO '{file}'")
        time.sleep(0.1)


def test_a_server_that_logs_too_little_is_refused(system: System) -> None:
    table = system.create()
    try:
        system.server.execute("SET GLOBAL binlog_row_image = 'MINIMAL'")
        said = str(fails(captured(system, table, "id BIGINT"), ValidationError))
    finally:
        system.server.execute("SET GLOBAL binlog_row_image = 'FULL'")
    assert "binlog_row_image is 'MINIMAL'" in said and "SET GLOBAL binlog_row_image = 'FULL'" in said


def test_rows_from_before_a_column_was_renamed_are_understood_also_after_a_restart(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT, name STRING")
    read_all(loop)
    system.server.execute(
        f"INSERT INTO {table} VALUES (1, 'a', NULL, NULL)",
        f"ALTER TABLE {table} ADD COLUMN first INT FIRST",
        f"INSERT INTO {table} VALUES (9, 2, 'b', NULL, NULL)",
    )
    read_all(loop)
    loop.recover()
    system.server.execute(
        f"INSERT INTO {table} VALUES (9, 3, 'c', NULL, NULL)",
        f"ALTER TABLE {table} RENAME COLUMN name TO title",
    )
    read_all(loop)
    assert in_order(loop) == [(1, "a", 0), (2, "b", 0), (3, "c", 0)]
    system.server.execute(f"INSERT INTO {table} VALUES (9, 4, 'd', NULL, NULL)")
    assert "no column 'name' any more" in str(fails(loop))


def test_a_layout_that_nobody_knows_any_more_is_not_guessed(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT, name STRING")
    read_all(loop)
    system.server.execute(
        f"ALTER TABLE {table} ADD COLUMN first INT FIRST",
        f"INSERT INTO {table} VALUES (9, 1, 'a', NULL, NULL)",
        f"ALTER TABLE {table} DROP COLUMN first",
    )
    said = str(fails(loop))
    assert "5 columns that do not fit" in said and table in said and "binlog_row_metadata = FULL" in said
