"""Tables that change while they are read come out as they are: PostgreSQL and MariaDB, without Spark."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.datastream.connectors.cdc import (
    JsonDebeziumDeserializationSchema,
    MySqlSource,
    PostgresIncrementalSource,
    RowDataDebeziumDeserializeSchema,
    StartupOptions,
)
from tests.connectors.cdc.captures import COLUMNS, System, fails, folded, in_order, read_all, source, stored
from tests.connectors.cdc.random_changes import RandomChanges, apply, connect
from tests.connectors.epochs import SourceLoop


@pytest.fixture(params=["postgres", "mariadb"])
def system(request: pytest.FixtureRequest) -> System:
    return System(request.getfixturevalue(request.param))


def text_key(number: int) -> str:
    return ("ä", "B", "a", "Z", "z ", "_")[number % 6] + str(number)


@pytest.mark.parametrize("key", ["BIGINT", "VARCHAR(20)"])
def test_a_table_that_changes_while_it_is_read_comes_out_equal(system: System, key: str) -> None:
    table = system.create(key)
    make = text_key if key != "BIGINT" else int
    changes = RandomChanges(table, 3000, seed=11, key=make)
    system.insert(table, changes.rows(1500))
    columns = "id BIGINT" if key == "BIGINT" else "id STRING"
    options = system.options(table, **{"scan_incremental_snapshot_chunk_size": "40"})
    loop = SourceLoop(
        source(options, f"{columns}, name STRING, price DECIMAL(10, 2), note STRING"),
        parallelism=3,
        max_records=100,
    )
    connection = connect(system.server.scheme, system.server.port)
    writer = threading.Thread(target=apply, args=(connection, changes.transactions(2500)))
    loop.run_epoch()
    writer.start()
    epochs = 0
    while writer.is_alive() or not loop.enumerator.no_more_splits:
        loop.now_ms += 2000
        loop.run_epoch(crash=epochs % 5 == 3)
        if epochs % 11 == 7:
            loop.recover()
        epochs += 1
    writer.join()
    connection.close()
    read_all(loop)
    assert folded(in_order(loop)) == stored(system, table)
    assert len(loop.collected["share-0"]) < 1500, "several shares read the snapshot"
    assert loop.collected["log"], "and the log told the rest"
    loop.enumerator.close()
    system.drop(table)


def test_a_row_that_goes_between_two_tries_of_its_chunk_is_in_no_epoch_that_counts(system: System) -> None:
    table = system.create()
    system.insert(table, [(1, "stays", None, None), (2, "goes", None, None)])
    loop = capture(system, table)
    assert loop.run_epoch(crash=True) == 2, "a sink that writes at least once may have written both"
    loop.recover()
    system.server.execute(f"DELETE FROM {table} WHERE id = 2")
    read_all(loop)
    assert [row[1] for row in in_order(loop)] == ["stays"], "and is not told that one of them is gone"
    loop.enumerator.close()
    system.drop(table)


def capture(system: System, table: str, columns: str = COLUMNS, **options: str) -> SourceLoop:
    key, metadata = options.pop("key", "id"), options.pop("metadata", "")
    made = source(
        system.options(table, **options),
        columns,
        tuple(key.split()) if key else (),
        tuple(metadata.split()),
    )
    return SourceLoop(made, parallelism=2)


def failure_text(loop: SourceLoop, kind: type[Exception] = ExternalSystemError) -> str:
    return str(fails(loop, kind))


def test_metadata_tell_where_a_row_is_from_and_when_it_changed(system: System) -> None:
    table = system.create()
    system.insert(table, [(1, "pen", None, None)])
    loop = capture(
        system, table, "id BIGINT, name STRING", metadata="table_name database_name op_ts row_kind"
    )
    read_all(loop)
    system.server.execute(f"UPDATE {table} SET name = 'ink'", f"DELETE FROM {table}")
    read_all(loop)
    found = in_order(loop)
    assert [(r[0], r[1], r[2], r[3], r[5], r[6]) for r in found] == [
        (1, "pen", table, "shop", "+I", 0),
        (1, "pen", table, "shop", "-U", 1),
        (1, "ink", table, "shop", "+U", 2),
        (1, "ink", table, "shop", "-D", 3),
    ]
    assert found[0][4].timestamp() == 0 and abs(found[3][4].timestamp() - time.time()) < 3600
    system.drop(table)


def test_a_table_can_be_read_as_every_change_ever_made(system: System) -> None:
    table = system.create()
    system.insert(table, [(1, "pen", None, None)])
    append = {"scan_read__changelog__as__append__only_enabled": "true"}
    loop = capture(system, table, "id BIGINT, name STRING", metadata="row_kind", **append)
    read_all(loop)
    system.server.execute(f"UPDATE {table} SET name = 'ink'")
    read_all(loop)
    assert in_order(loop) == [(1, "pen", "+I"), (1, "pen", "-U"), (1, "ink", "+U")]
    system.drop(table)


def test_a_regular_expression_names_several_tables(system: System) -> None:
    one = system.create(name=f"part_a_{system.connector[:2]}")
    other = system.create(name=f"part_b_{system.connector[:2]}")
    system.insert(one, [(1, "pen", None, None)])
    system.insert(other, [(1, "ink", None, None)])
    options = {**system.options(one), "table-name": f"part_[ab]_{system.connector[:2]}"}
    loop = SourceLoop(source(options, "id BIGINT, name STRING", (), ("table_name",)), parallelism=2)
    read_all(loop)
    system.server.execute(f"INSERT INTO {other} VALUES (2, 'nib', NULL, NULL)")
    read_all(loop)
    assert sorted(in_order(loop)) == [(1, "ink", other, 0), (1, "pen", one, 0), (2, "nib", other, 0)]
    system.drop(one)


def test_a_snapshot_alone_has_an_end(system: System) -> None:
    table = system.create()
    changes = RandomChanges(table, 600, seed=5)
    system.insert(table, changes.rows(300))
    options = {"scan_startup_mode": "snapshot", "scan_incremental_snapshot_chunk_size": "20"}
    loop = capture(system, table, **options)
    loop.max_records = 60
    loop.run_epoch()
    connection = connect(system.server.scheme, system.server.port)
    apply(connection, changes.transactions(200))
    while not loop.enumerator.no_more_splits:
        loop.run_epoch()
    wanted = stored(system, table)
    apply(connection, changes.transactions(50))
    connection.close()
    loop.run_to_end()
    assert folded(in_order(loop)) == wanted
    loop.enumerator.close()
    if system.is_postgres:
        assert (
            system.server.execute(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = 'slot_{table}'")
            == []
        )


def test_the_latest_offset_leaves_out_what_is_there(system: System) -> None:
    table = system.create()
    system.insert(table, [(1, "pen", None, None)])
    loop = capture(system, table, "id BIGINT, name STRING", scan_startup_mode="latest-offset")
    read_all(loop)
    system.server.execute(f"INSERT INTO {table} VALUES (2, 'ink', NULL, NULL)")
    read_all(loop)
    assert in_order(loop) == [(2, "ink", 0)]
    system.drop(table)


def test_a_large_transaction_is_read_in_pieces_and_only_once(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("postgres_cdc.wal", "mysql_cdc.binlog"):
        monkeypatch.setattr(f"penstock.connectors.{module}.BATCH_CHANGES", 30)
    table = system.create()
    loop = capture(system, table)
    read_all(loop)
    loop.max_records = 50
    with system.server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("BEGIN")
        for number in range(400):
            cursor.execute(f"INSERT INTO {table} VALUES (%s, 'x', 1.5, NULL)", (number,))
        cursor.execute("COMMIT")
    epochs = 0
    while len(in_order(loop)) < 400:
        loop.now_ms += 2000
        loop.run_epoch(crash=epochs % 3 == 1)
        if epochs % 4 == 2:
            loop.recover()
        epochs += 1
    read_all(loop)
    assert epochs > 6
    assert [r[0] for r in in_order(loop)] == list(range(400))
    system.drop(table)


def test_columns_that_come_later_do_not_matter_and_those_that_go_are_named(system: System) -> None:
    table = system.create()
    loop = capture(system, table, "id BIGINT, name STRING")
    read_all(loop)
    system.server.execute(
        f"INSERT INTO {table} VALUES (1, 'a', NULL, NULL)",
        f"ALTER TABLE {table} ADD COLUMN extra INT",
    )
    read_all(loop)
    system.server.execute(f"INSERT INTO {table} VALUES (2, 'b', NULL, NULL, 5)")
    read_all(loop)
    assert in_order(loop) == [(1, "a", 0), (2, "b", 0)]
    system.server.execute(
        f"ALTER TABLE {table} DROP COLUMN name", f"INSERT INTO {table} VALUES (3, NULL, NULL, 6)"
    )
    said = failure_text(loop)
    assert "no column 'name' any more" in said and table in said and "new snapshot" in said
    system.drop(table)


def test_truncation_is_passed_over_or_refused(system: System, caplog: pytest.LogCaptureFixture) -> None:
    table = system.create()
    system.insert(table, [(1, "a", None, None)])
    loop = capture(system, table)
    read_all(loop)
    system.server.execute(f"TRUNCATE TABLE {table}")
    read_all(loop)
    assert len(in_order(loop)) == 1 and "TRUNCATE is passed over" in caplog.text
    loop.enumerator.close()
    system.drop(table)
    strict = capture(system, table, debezium_skipped_operations="none")
    read_all(strict)
    system.server.execute(f"TRUNCATE TABLE {table}")
    assert "the table was truncated" in failure_text(strict)
    system.drop(table)


def test_errors_name_server_and_table(system: System) -> None:
    table = system.create()
    wrong = {**system.options(table, connect_max__retries="0"), "password": "wrong"}
    assert "check 'hostname'" in failure_text(SourceLoop(source(wrong)))
    missing = SourceLoop(source({**system.options(table), "table-name": "no_such_table"}))
    said = failure_text(missing, ValidationError)
    assert "no_such_table" in said and table in said
    assert "no column 'colour'" in failure_text(
        capture(system, table, "id BIGINT, colour STRING"), ValidationError
    )
    unfit = capture(system, table, "id BIGINT, name INT")
    system.insert(table, [(1, "pen", None, None)])
    said = failure_text(unfit, MalformedRecordError)
    assert "'pen' of column 'name' does not fit INT" in said and table in said
    system.drop(table)


def test_a_program_gets_what_debezium_would_write(system: System) -> None:
    table = system.create()
    system.insert(table, [(1, "pen", "1.50", None)])
    loop = SourceLoop(builder(system, table).deserializer(JsonDebeziumDeserializationSchema()).build())
    read_all(loop)
    system.server.execute(f"UPDATE {table} SET name = 'ink'")
    read_all(loop)
    first, second = map(json.loads, in_order(loop))
    pen = {"id": 1, "name": "pen", "price": "AJY=", "note": None}
    assert (first["op"], first["before"], first["after"]) == ("r", None, pen)
    assert (second["op"], second["before"], second["after"]) == ("u", pen, {**pen, "name": "ink"})
    assert second["source"]["table"] == table and second["source"]["db"] == "shop"
    system.drop(table)


def test_a_program_gets_rows_with_their_kinds(system: System) -> None:
    table = system.create()
    system.insert(table, [(1, "pen", "1.50", None)])
    types = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
    loop = SourceLoop(builder(system, table).deserializer(RowDataDebeziumDeserializeSchema(types)).build())
    read_all(loop)
    system.server.execute(f"DELETE FROM {table}")
    read_all(loop)
    assert [(str(r.get_row_kind()), r["id"], r["name"]) for r in in_order(loop)] == [
        ("+I", 1, "pen"),
        ("-D", 1, "pen"),
    ]
    system.drop(table)


def builder(system: System, table: str) -> Any:
    server = system.server
    if system.is_postgres:
        made = PostgresIncrementalSource.builder().database(server.database).table_list(rf"public\.{table}")
        made.slot_name(f"slot_{table}").debezium_properties({"publication.name": f"pub_{table}"})
    else:
        made = MySqlSource.builder().database_list(server.database).table_list(rf"shop\.{table}")
    made.hostname("127.0.0.1").port(server.port).username(server.user).password(server.password)
    return made.split_size(10).startup_options(StartupOptions.initial())
