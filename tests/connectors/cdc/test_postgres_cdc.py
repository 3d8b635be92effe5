"""What is PostgreSQL's own: types, replica identity, slots and publications."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from tests.connectors.cdc.captures import System, captured, fails, in_order, read_all
from tests.connectors.epochs import SourceLoop
from tests.servers.postgres import PostgresServer

TYPES = (
    ("a", "SMALLINT", "SMALLINT", "-7", -7),
    ("b", "NUMERIC(12,3)", "DECIMAL(12, 3)", "123.45", decimal.Decimal("123.450")),
    ("c", "NUMERIC(60,2)", "STRING", "1e50", "1" + "0" * 50 + ".00"),
    ("d", "REAL", "FLOAT", "0.1", 0.1),
    ("e", "DOUBLE PRECISION", "DOUBLE", "1e300", 1e300),
    ("f", "BOOLEAN", "BOOLEAN", "true", True),
    ("g", "DATE", "DATE", "'2024-02-29'", dt.date(2024, 2, 29)),
    ("h", "TIME(3)", "TIME(3)", "'12:34:56.789'", dt.time(12, 34, 56, 789_000)),
    ("i", "TIMESTAMP", "TIMESTAMP(6)", "'2024-01-02 03:04:05.123456'", dt.datetime(2024, 1, 2, 3, 4, 5, 123_456)),
    (
        "j", "TIMESTAMPTZ", "TIMESTAMP_LTZ(3)", "'2024-01-02 03:04:05+09'",
        dt.datetime(2024, 1, 1, 18, 4, 5, tzinfo=dt.timezone.utc),
    ),
    ("k", "TIMESTAMPTZ", "TIMESTAMP(3)", "'2024-01-02 03:04:05+09'", dt.datetime(2024, 1, 1, 18, 4, 5)),
    ("l", "JSONB", "STRING", """'{"a": [1, 2]}'""", '{"a": [1, 2]}'),
    ("m", "BYTEA", "BYTES", "'\\x00ff'", b"\x00\xff"),
    ("n", "INT[]", "ARRAY<INT>", "'{1,NULL,3}'", [1, None, 3]),
    ("o", "TEXT[]", "ARRAY<STRING>", """'{"a b",NULL}'""", ["a b", None]),
    ("p", "UUID", "STRING", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    ("q", "mood", "STRING", "'sad'", "sad"),
    ("r", "CHAR(5)", "CHAR(5)", "'ab'", "ab   "),
    ("s", "INTERVAL", "STRING", "'1 day 2 hours'", "1 day 02:00:00"),
    ("t", "BIT(3)", "STRING", "B'101'", "101"),
)  # fmt: skip


@pytest.fixture
def system(postgres: PostgresServer) -> System:
    return System(postgres)


def test_values_of_the_snapshot_and_of_the_log_are_the_same(system: System) -> None:
    system.server.execute("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    columns = ", ".join(f"{name} {kind}" for name, kind, *_ in TYPES)
    system.server.execute(f"CREATE TABLE every_type (id INT PRIMARY KEY, {columns})")
    system.whole_images("every_type")
    values = ", ".join(literal for *_, literal, _ in TYPES)
    nulls = ", ".join("NULL" for _ in TYPES)
    system.server.execute(f"INSERT INTO every_type VALUES (1, {values}), (2, {nulls})")
    declared = ", ".join(f"{name} {flink}" for name, _, flink, *_ in TYPES)
    loop = captured(system, "every_type", f"id INT, {declared}")
    read_all(loop)
    system.server.execute(
        f"INSERT INTO every_type VALUES (3, {values}), (4, {nulls})", "DELETE FROM every_type WHERE id = 3"
    )
    read_all(loop)
    wanted = tuple(value for *_, value in TYPES)
    empty = tuple(None for _ in TYPES)
    rows = {(row[0], row[-1]): row[1:-1] for row in in_order(loop)}
    assert rows == {(1, 0): wanted, (2, 0): empty, (3, 0): wanted, (4, 0): empty, (3, 3): wanted}
    system.drop("every_type")


def test_shapes_and_generated_columns_are_refused(system: System) -> None:
    system.server.execute(
        "CREATE TABLE shapes (id INT PRIMARY KEY, place POINT, twice INT GENERATED ALWAYS AS (id * 2) STORED)"
    )
    assert "column 'place' of type point" in str(
        fails(captured(system, "shapes", "id INT, place STRING"), NotSupportedError)
    )
    assert "column 'twice' is generated" in str(
        fails(captured(system, "shapes", "id INT, twice INT"), ValidationError)
    )
    read_all(captured(system, "shapes", "id INT"))
    system.drop("shapes")


def test_without_old_images_an_update_is_refused_and_upserts_are_not(system: System) -> None:
    system.server.execute(
        "CREATE TABLE thin (id INT PRIMARY KEY, v TEXT)", "INSERT INTO thin VALUES (1, 'a')"
    )
    loop = captured(system, "thin", "id INT, v STRING")
    upserts = captured(system, "thin", "id INT, v STRING", changelog__mode="upsert", slot_name="thin_upserts")
    read_all(loop)
    read_all(upserts)
    system.server.execute(
        "UPDATE thin SET v = 'b'",
        "UPDATE thin SET id = 2, v = 'c'",
        "DELETE FROM thin",
        "INSERT INTO thin VALUES (5, 'e')",
    )
    error = fails(loop)
    assert "what an updated row was before" in str(error) and "REPLICA IDENTITY FULL" in str(error)
    assert not error.retryable
    read_all(upserts)
    assert in_order(upserts) == [
        (1, "a", 2),
        (1, "b", 2),
        (1, None, 3),
        (2, "c", 2),
        (2, None, 3),
        (5, "e", 2),
    ]
    system.drop("thin")
    system.server.execute("SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active")


def test_large_values_that_an_update_leaves_alone_are_kept(system: System) -> None:
    table = system.create()
    system.server.execute(f"ALTER TABLE {table} ALTER COLUMN note SET STORAGE EXTERNAL")
    long = "long " * 4000
    system.insert(table, [(1, "pen", None, long)])
    loop = captured(system, table, "id BIGINT, name STRING, note STRING")
    read_all(loop)
    system.server.execute(f"UPDATE {table} SET name = 'ink'")
    read_all(loop)
    assert in_order(loop)[1:] == [(1, "pen", long, 1), (1, "ink", long, 2)]
    system.drop(table)


def test_a_table_without_a_key_is_one_chunk_or_cut_by_a_column(system: System) -> None:
    system.server.execute(
        "CREATE TABLE heap (n INT, v TEXT)", "INSERT INTO heap SELECT g / 2, 'v' FROM generate_series(1, 99) g",
        "INSERT INTO heap VALUES (NULL, 'null')",
    )  # fmt: skip
    system.whole_images("heap")
    whole = captured(system, "heap", "n INT, v STRING", ())
    read_all(whole)
    cut = captured(
        system, "heap", "n INT, v STRING", (), slot_name="heap_cut",
        scan_incremental_snapshot_chunk_size="7", **{"scan_incremental_snapshot_chunk_key__column": "n"},
    )  # fmt: skip
    read_all(cut)
    system.server.execute("UPDATE heap SET n = 1000 WHERE n = 3", "DELETE FROM heap WHERE v = 'null'")
    read_all(whole)
    read_all(cut)
    assert sorted(map(repr, in_order(whole))) == sorted(map(repr, in_order(cut)))
    assert len(in_order(cut)) == 100 + 2 * 2 + 1
    needed = captured(
        system, "heap", "n INT", (), slot_name="heap_x", scan_incremental_snapshot_enabled="true"
    )
    assert "no primary key" in str(fails(needed, ValidationError))
    for loop in (whole, cut):
        loop.enumerator.close()
    system.drop("heap")


def test_a_chunk_key_outside_the_primary_key_needs_whole_images(system: System) -> None:
    system.server.execute("CREATE TABLE keyed (id INT PRIMARY KEY, n INT)")
    loop = captured(system, "keyed", "id INT", **{"scan_incremental_snapshot_chunk_key__column": "n"})
    assert "no part of the primary key" in str(fails(loop, ValidationError))


# --- slots


def test_a_slot_is_confirmed_only_behind_what_was_committed(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT", **{"scan_lsn__commit_checkpoints__num__delay": "0"})
    read_all(loop)

    def confirmed() -> Any:
        asked = (
            f"SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = 'slot_{table}'"
        )
        return system.server.execute(asked)[0][0]

    before = confirmed()
    system.server.execute(f"INSERT INTO {table} VALUES (1, 'a', 1, NULL)")
    loop.now_ms += 2000
    loop.run_epoch(crash=True)
    loop.run_epoch(crash=True)
    assert confirmed() == before, "nothing was committed"
    read_all(loop)
    at = loop._splits["log"].position.place[0]
    assert before <= confirmed() <= at
    system.server.execute(f"INSERT INTO {table} VALUES (2, 'a', 1, NULL)")
    read_all(loop)
    assert before < confirmed() and [r[0] for r in in_order(loop)] == [1, 2]
    system.drop(table)


def test_a_slot_that_is_gone_or_moved_on_is_no_place_to_go_on_from(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT")
    read_all(loop)
    system.server.execute(f"INSERT INTO {table} VALUES (1, 'a', 1, NULL)")
    system.server.execute(f"SELECT pg_replication_slot_advance('slot_{table}', pg_current_wal_flush_lsn())")
    loop.recover()
    error = fails(loop)
    assert "was moved on" in str(error) and f"slot_{table}" in str(error) and not error.retryable
    system.drop(table)
    loop.recover()
    error = fails(loop)
    assert "slot is gone" in str(error) and "new snapshot" in str(error) and not error.retryable


def test_a_slot_that_another_program_reads_is_left_to_it(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT", connect_timeout="1 s")
    read_all(loop)
    other = captured(system, table, "id BIGINT", connect_timeout="1 s")
    reader = _holding(loop)
    system.server.execute(f"INSERT INTO {table} VALUES (1, 'a', 1, NULL)")
    said = str(fails(other))
    assert f"slot 'slot_{table}' is in use by process" in said and "choose another 'slot.name'" in said
    read_all(loop)  # a reader of the same job takes the slot over
    assert [r[0] for r in in_order(loop)] == [1]
    reader.close()
    system.drop(table)


def _holding(loop: SourceLoop) -> Any:
    """A reader that keeps the slot, as one does whose process has nothing to do any more."""
    state = loop._splits["log"]
    reader = loop.source.create_reader()
    limit = loop.enumerator.plan_read(state.split, state.position, loop.now_ms + 5000)
    end = loop.enumerator.control.log_end()
    from penstock.connectors.cdc.model import LogPlan
    from penstock.connectors.source import ReadLimit

    list(reader.read(state.split, state.position, limit or ReadLimit(end_position=end, payload=LogPlan())))
    return reader


def test_a_stream_that_the_server_cut_off_is_opened_again(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT")
    read_all(loop)
    reader = _holding(loop)
    system.server.execute(
        f"SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = 'slot_{table}'",
        f"INSERT INTO {table} VALUES (1, 'a', 1, NULL)",
    )
    state = loop._splits["log"]
    limit = loop.enumerator.plan_read(state.split, state.position, loop.now_ms + 9000)
    [batch] = list(reader.read(state.split, state.position, limit))
    assert batch.values == [(1, 0)]
    reader.close()
    system.drop(table)


def test_the_committed_offset_needs_a_slot_and_goes_on_from_it(system: System) -> None:
    table = system.create()
    loop = captured(system, table, "id BIGINT", scan_startup_mode="committed-offset")
    assert "no such replication slot" in str(fails(loop))
    read_all(captured(system, table, "id BIGINT", scan_startup_mode="latest-offset"))
    system.server.execute(f"INSERT INTO {table} VALUES (7, 'a', 1, NULL)")
    loop = captured(system, table, "id BIGINT", scan_startup_mode="committed-offset")
    read_all(loop)
    assert in_order(loop) == [(7, 0)]
    system.drop(table)


def test_a_publication_that_others_care_for_is_not_touched(system: System) -> None:
    table = system.create()
    disabled = {"debezium_publication_autocreate_mode": "disabled"}
    said = str(fails(captured(system, table, "id BIGINT", **disabled), ValidationError))
    assert f'CREATE PUBLICATION "pub_{table}" FOR TABLE "public"."{table}"' in said
    system.server.execute(f"CREATE PUBLICATION pub_{table}")
    said = str(fails(captured(system, table, "id BIGINT", **disabled), ValidationError))
    assert f'ALTER PUBLICATION "pub_{table}" ADD TABLE "public"."{table}"' in said
    read_all(captured(system, table, "id BIGINT"))  # 'filtered' adds it
    system.drop(table)


def test_a_slot_of_another_plug_in_is_refused(system: System) -> None:
    table = system.create()
    system.server.execute(f"SELECT pg_create_logical_replication_slot('slot_{table}', 'test_decoding')")
    assert "one of plug-in 'test_decoding'" in str(
        fails(captured(system, table, "id BIGINT"), ValidationError)
    )
    system.drop(table)
