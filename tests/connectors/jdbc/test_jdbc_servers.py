"""Reading, writing and looking up rows of real PostgreSQL and MariaDB servers, as tasks do it, without Spark."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from penstock.catalog.conditions import Clause, Condition
from penstock.common.errors import ExternalSystemError, MalformedRecordError
from tests.connectors.jdbc.jdbc_tables import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, JdbcTestTable
from tests.servers.mariadb import MariaDbServer
from tests.servers.postgres import PostgresServer

UTC = dt.timezone.utc
Server = PostgresServer | MariaDbServer


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.fixture
def name() -> str:
    return f"t_{uuid.uuid4().hex[:12]}"


def declared(
    server: Server, name: str, columns: str, key: Sequence[str] = (), **options: str
) -> JdbcTestTable:
    given = {
        "url": f"{server.base_url}/{server.database}",
        "table-name": name,
        "username": server.user,
        "password": server.password,
    }
    return JdbcTestTable(columns, {**given, **options}, key)


# --- what holds for every server


def test_values_of_common_types_come_back_as_they_were_written(server: Server, name: str) -> None:
    moment = "timestamptz(3)" if isinstance(server, PostgresServer) else "timestamp(3) NULL"
    binary = "bytea" if isinstance(server, PostgresServer) else "blob"
    server.execute(
        f"CREATE TABLE {name} (i BIGINT, n SMALLINT, b BOOLEAN, s VARCHAR(50), f FLOAT, g DOUBLE PRECISION, "
        f"d DECIMAL(20, 4), day DATE, tm TIME(3), ts TIMESTAMP(6) NULL, z {moment}, bin {binary})"
    )
    table = declared(
        server, name,
        "i BIGINT, n SMALLINT, b BOOLEAN, s STRING, f FLOAT, g DOUBLE, d DECIMAL(20, 4), day DATE, tm TIME(3), "
        "ts TIMESTAMP(6), z TIMESTAMP_LTZ(3), bin BYTES",
    )  # fmt: skip
    rows = [
        (
            1 << 40, -7, True, "it's \\ ünï %s ?", 0.5, 0.1, Decimal("-1234567890123456.7890"), dt.date(1969, 12, 31),
            dt.time(23, 59, 59, 999000), dt.datetime(2024, 2, 29, 1, 2, 3, 4),
            dt.datetime(2024, 1, 1, 12, 0, 0, 5000, tzinfo=UTC), b"\x00\xff'",
        ),
        (None,) * 12,
    ]  # fmt: skip
    assert table.write(rows) == 2
    assert table.read() == rows
    found = table.lookup(["z", "d"], (dt.datetime(2024, 1, 1, 12, 0, 0, 5000), rows[0][6]))
    assert [row[0] for row in found[0]] == [1 << 40]


def test_ranges_columns_and_portions(server: Server, name: str) -> None:
    server.execute(f"CREATE TABLE {name} (id INT, val VARCHAR(20))")
    plain = declared(server, name, "id INT, val STRING", **{"sink.buffer-flush.max-rows": "5000"})
    plain.write([(i, f"v{i}") for i in range(20_000)])
    bounds = {
        "scan.partition.column": "ID", "scan.partition.num": "2", "scan.partition.lower-bound": "0",
        "scan.partition.upper-bound": "19999", "scan.fetch-size": "1000",
    }  # fmt: skip
    parts = declared(server, name, "val STRING, id INT", **bounds).read_parts(["id"])
    assert [sorted(row[1] for row in part) for part in parts] == [[*range(10_000)], [*range(10_000, 20_000)]]
    assert {row[0] for part in parts for row in part} == {None}


def test_the_database_checks_conditions_unless_told_otherwise(server: Server, name: str) -> None:
    server.execute(
        f"CREATE TABLE {name} (id INT, val VARCHAR(9), day DATE, ts TIMESTAMP NULL, price DECIMAL(9, 2), ok BOOLEAN)",
        f"INSERT INTO {name} VALUES (1, 'a', '2024-01-01', '2024-01-01 01:00:00', 1.5, true)",
        f"INSERT INTO {name} VALUES (2, NULL, '2024-01-02', NULL, 2.5, false), (3, 'c', NULL, NULL, NULL, NULL)",
    )
    columns = "id INT, val STRING, day DATE, ts TIMESTAMP(6), price DECIMAL(9, 2), ok BOOLEAN"
    cases: list[tuple[Clause, list[int]]] = [
        ((Condition("ID", ">=", 2),), [2, 3]),
        ((Condition("val", "=", "a"), Condition("val", "IS NULL")), [1, 2]),
        ((Condition("day", "<", dt.date(2024, 1, 2)),), [1]),
        ((Condition("ts", "=", dt.datetime(2024, 1, 1, 1)),), [1]),
        ((Condition("price", ">", Decimal("1.75")),), [2]),
        ((Condition("ok", "=", True),), [1]),
        ((Condition("ts", "IS NOT NULL"),), [1]),
    ]
    for clause, expected in cases:
        table = declared(server, name, columns)
        table.table = replace(table.table, filters=(clause, (Condition("id", "<", 9),)))
        assert sorted(row[0] for row in table.read(["id"])) == expected, clause
    never = declared(server, name, columns, **{"filter.handling.policy": "never"})
    never.table = replace(never.table, filters=((Condition("id", "=", 1),),))
    assert len(never.read()) == 3


def test_reading_may_stop_early(server: Server, name: str) -> None:
    from penstock.formats.arrow_rows import RowsToArrow

    server.execute(f"CREATE TABLE {name} (id INT)")
    table = declared(server, name, "id INT", **{"sink.buffer-flush.max-rows": "10000"})
    table.write([(i,) for i in range(20_000)])
    scan = table.connector.scan(table.table)
    batches = scan.batches((), RowsToArrow(table.row_type))
    assert next(batches).num_rows == 8192
    batches.close()


def test_changes_are_applied_by_key(server: Server, name: str) -> None:
    server.execute(f"CREATE TABLE {name} (a INT, b VARCHAR(10), v INT, PRIMARY KEY (a, b))")
    table = declared(server, name, "v INT, a INT NOT NULL, b STRING NOT NULL", key=["a", "b"])
    changes = [
        (INSERT, (1, 1, "x")), (INSERT, (2, 1, "y")), (UPDATE_BEFORE, (1, 1, "x")), (UPDATE_AFTER, (9, 1, "x")),
        (DELETE, (2, 1, "y")), (INSERT, (3, 2, "x")),
    ]  # fmt: skip
    for _ in range(2):  # twice, as after a failure: nothing changes
        table.write([row for _, row in changes], [kind for kind, _ in changes])
        assert sorted(server.execute(f"SELECT a, b, v FROM {name}")) == [(1, "x", 9), (2, "x", 3)]


def test_a_task_that_fails_leaves_nothing(server: Server, name: str) -> None:
    server.execute(f"CREATE TABLE {name} (id INT PRIMARY KEY)", f"INSERT INTO {name} VALUES (3)")
    table = declared(server, name, "id INT", **{"sink.buffer-flush.max-rows": "1"})
    with pytest.raises(ExternalSystemError, match=r"cannot write to the table: .*[Dd]uplicate"):
        table.write([(1,), (2,), (3,)])
    assert server.execute(f"SELECT id FROM {name}") == [(3,)]


def test_keys_are_looked_up_and_changes_are_seen(server: Server, name: str) -> None:
    server.execute(
        f"CREATE TABLE {name} (id INT, val VARCHAR(9))", f"INSERT INTO {name} VALUES (1, 'a'), (1, 'b')"
    )
    table = declared(server, name, "id INT, val STRING")
    source = table.connector.lookup_source(table.table, [0])
    assert source is not None
    keys = [(i,) for i in range(100)]
    assert sorted(source.lookup(keys)[1]) == [(1, "a"), (1, "b")]
    server.execute(f"UPDATE {name} SET val = 'c'")
    assert source.lookup([(1,)]) == [[(1, "c"), (1, "c")]]
    source.close()


def test_wrong_passwords_missing_tables_and_dead_servers_say_where(server: Server, name: str) -> None:
    wrong = declared(server, name, "id INT", password="hunter2")
    with pytest.raises(ExternalSystemError, match="cannot connect to the database") as error:
        wrong.read()
    assert "hunter2" not in str(error.value) and f"{server.base_url}/shop" in str(error.value)
    with pytest.raises(ExternalSystemError, match=f"cannot read the table: .*{name}"):
        declared(server, name, "id INT").read()
    dead = declared(server, name, "id INT", url=f"jdbc:{server.scheme}://127.0.0.1:1/shop")
    with pytest.raises(ExternalSystemError, match="cannot connect to the database"):
        dead.read()


# --- PostgreSQL


def test_postgres_arrays_json_and_uuid(postgres: PostgresServer, name: str) -> None:
    postgres.execute(
        f"CREATE TABLE {name} (ints INT8[], texts VARCHAR(9)[], days DATE[], sums NUMERIC(9, 2)[], j JSONB, u UUID)"
    )
    table = declared(
        postgres, name,
        "ints ARRAY<BIGINT>, texts ARRAY<STRING>, days ARRAY<DATE>, sums ARRAY<DECIMAL(9, 2)>, j STRING, u STRING",
    )  # fmt: skip
    key = "12345678-1234-5678-1234-567812345678"
    rows = [
        ([1, None, 1 << 40], ["a", "it's"], [dt.date(2024, 1, 1)], [Decimal("1.50")], '{"a": [1, "x"]}', key),
        ([], None, [None], None, None, None),
    ]
    table.write(rows)
    assert table.read() == rows


def test_postgres_takes_rows_of_mixed_values_in_one_statement(postgres: PostgresServer, name: str) -> None:
    postgres.execute(f"CREATE TABLE {name} (k TEXT PRIMARY KEY, n INT8, f REAL, u UUID, d DATE)")
    table = declared(
        postgres, name, "k STRING NOT NULL, n BIGINT, f FLOAT, u STRING, d DATE", key=["k"],
        **{"sink.buffer-flush.max-rows": "0"},
    )  # fmt: skip
    rows = [("a", 1, None, None, None), ("b", 1 << 40, 0.5, str(uuid.UUID(int=7)), dt.date(2024, 1, 1))]
    rows += [(f"k{i}", i, None, None, None) for i in range(2500)]
    table.write(rows)
    table.write(rows)
    assert sorted(table.read()) == sorted(rows)


def test_postgres_table_names_are_paths_and_lose_their_case(postgres: PostgresServer, name: str) -> None:
    postgres.execute(
        f"CREATE SCHEMA s_{name}",
        f'CREATE TABLE s_{name}.users ("Id" INT, lower INT)',
        'CREATE TABLE "user" (id INT)',
    )
    users = declared(postgres, f"S_{name}.Users", "id INT, Lower INT")
    users.write([(1, 2)])
    assert users.read() == [(1, 2)]
    url = f"{postgres.base_url}/shop?currentSchema=s_{name}"
    assert declared(postgres, "users", "id INT", url=url).read() == [(1,)]
    assert declared(postgres, f"(SELECT 7 AS id FROM s_{name}.users) AS q", "id INT").read() == [(7,)]
    reserved = declared(postgres, "user", "id INT")
    reserved.write([(5,)])
    assert reserved.read() == [(5,)]
    postgres.execute('DROP TABLE "user"')


def test_postgres_is_not_asked_for_comparisons_that_it_does_not_have(
    postgres: PostgresServer, name: str
) -> None:
    postgres.execute(
        f"CREATE TABLE {name} (j JSON, u UUID, n TEXT)", f"INSERT INTO {name} VALUES ('{{}}', NULL, '7')"
    )
    table = declared(postgres, name, "j STRING, u STRING, n INT")
    conditions = (Condition("j", "=", "x"), Condition("u", "=", "x"), Condition("n", "=", 7))
    table.table = replace(table.table, filters=tuple((c,) for c in conditions))
    assert table.read() == [("{}", None, 7)]


def test_postgres_needs_a_unique_key_to_upsert_by(postgres: PostgresServer, name: str) -> None:
    postgres.execute(f"CREATE TABLE {name} (id INT)")
    with pytest.raises(ExternalSystemError, match="no unique or exclusion constraint"):
        declared(postgres, name, "id INT", key=["id"]).write([(1,)])


# --- MariaDB


def test_mysql_bits_unsigned_numbers_and_spans_of_time(mariadb: MariaDbServer, name: str) -> None:
    mariadb.execute(
        f"CREATE TABLE {name} (b BIT(1), t TINYINT(1), u BIGINT UNSIGNED, tm TIME(6), y YEAR)",
        f"INSERT INTO {name} VALUES (b'1', 0, 18446744073709551615, '10:11:12.5', 2024)",
    )
    table = declared(mariadb, name, "b BOOLEAN, t BOOLEAN, u DECIMAL(20, 0), tm TIME(1), y INT")
    ten = dt.time(10, 11, 12, 500000)
    assert table.read() == [(True, False, Decimal(18446744073709551615), ten, 2024)]
    mariadb.execute(f"UPDATE {name} SET tm = '-01:00:00'")
    with pytest.raises(MalformedRecordError, match="no time of day"):
        table.read()
