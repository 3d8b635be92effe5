"""JDBC tables in SQL statements, on Spark: batch and streaming, through declared tables and a catalog."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.jdbc.jdbc_tables import SqliteFile
from tests.servers.postgres import PostgresServer

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> SqliteFile:
    db = SqliteFile(tmp_path_factory.mktemp("jdbc") / "shop.db")
    orders = ", ".join(f"({i}, 'c{i % 3}', {i}.5)" for i in range(1, 11))
    db.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount DECIMAL(10, 2))",
        f"INSERT INTO orders VALUES {orders}",
        "CREATE TABLE customers (name TEXT, city TEXT)",
        "INSERT INTO customers VALUES ('c0', 'Oslo'), ('c1', 'Rome')",
        "CREATE TABLE totals (customer TEXT PRIMARY KEY, orders INTEGER, amount TEXT)",
        "CREATE TABLE ranks (place INTEGER PRIMARY KEY, customer TEXT)",
        "CREATE TABLE copies (id INTEGER, customer TEXT)",
    )
    return db


def environment(db: SqliteFile, mode: str) -> TableEnvironment:
    settings = (
        EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    )
    env = TableEnvironment.create(settings)
    ranges = (
        "'scan.partition.column' = 'id', 'scan.partition.num' = '2', 'scan.partition.lower-bound' = '1', "
        "'scan.partition.upper-bound' = '10'"
    )
    for declaration, more in (
        ("orders (id INT, customer STRING, amount DECIMAL(10, 2), p AS PROCTIME())", f", {ranges}"),
        ("customers (name STRING, city STRING)", ", 'lookup.cache' = 'PARTIAL'"),
        (
            "totals (customer STRING, orders BIGINT, amount DECIMAL(38, 2), PRIMARY KEY (customer) NOT ENFORCED)",
            "",
        ),
        ("ranks (place BIGINT, customer STRING, PRIMARY KEY (place) NOT ENFORCED)", ""),
        ("copies (id INT, customer STRING)", ""),
    ):
        name = declaration.split()[0]
        options = f"'connector' = 'jdbc', 'url' = '{db.url}', 'table-name' = '{name}'{more}"
        env.execute_sql(f"CREATE TABLE {declaration} WITH ({options})")
    return env


def rows(env: TableEnvironment, sql: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(sql).collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


def test_batch_statements_read_join_append_and_upsert(db: SqliteFile) -> None:
    env = environment(db, "batch")
    joined = (
        "SELECT o.id, c.city FROM orders AS o LEFT JOIN customers AS c ON o.customer = c.name WHERE o.id > 7"
    )
    assert rows(env, joined) == [(10, "Rome"), (8, None), (9, "Oslo")]
    env.execute_sql("INSERT INTO copies SELECT id, customer FROM orders WHERE id < 3").wait()
    assert db.execute("SELECT * FROM copies ORDER BY id") == [(1, "c1"), (2, "c2")]
    db.execute("INSERT INTO totals VALUES ('c1', 99, '99')")
    env.execute_sql(
        "INSERT INTO totals SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY customer"
    ).wait()
    env.execute_sql("INSERT INTO totals VALUES ('c9', 1, 1), ('c9', 2, 2)").wait()
    expected = [("c0", 3, "19.50"), ("c1", 4, "24.00"), ("c2", 3, "16.50"), ("c9", 2, "2.00")]
    assert db.execute("SELECT * FROM totals ORDER BY customer") == expected


def test_insert_overwrite_is_refused(db: SqliteFile) -> None:
    env = environment(db, "batch")
    with pytest.raises(ValidationError, match="INSERT OVERWRITE is not possible"):
        env.execute_sql("INSERT OVERWRITE copies SELECT 1, 'x'")


def test_a_failure_in_a_task_comes_back_as_what_it_was(db: SqliteFile) -> None:
    env = environment(db, "batch")
    env.execute_sql(
        f"CREATE TABLE gone (id INT) WITH ('connector' = 'jdbc', 'url' = '{db.url}', 'table-name' = 'gone')"
    )
    with pytest.raises(ExternalSystemError, match="cannot read the table: no such table: gone") as error:
        rows(env, "SELECT * FROM gone")
    assert error.value.where == f"table default_catalog.default_database.gone, that is 'gone' of {db.url}"


def test_streaming_reads_once_looks_up_and_keeps_tables_up_to_date(
    db: SqliteFile, tmp_path: pathlib.Path
) -> None:
    env = environment(db, "streaming")
    env.get_config().set("execution.epoch.max-records", "3")  # two epochs, so that rows are replaced
    looked_up = (
        "SELECT o.id, c.city FROM orders AS o LEFT JOIN customers FOR SYSTEM_TIME AS OF o.p AS c "
        "ON o.customer = c.name WHERE o.id > 7"
    )
    assert rows(env, looked_up) == [(10, "Rome"), (8, None), (9, "Oslo")]
    changes = tmp_path / "changes.json"
    lines = ['{"op":"c","after":{"id":1,"k":"a"}}', '{"op":"c","after":{"id":2,"k":"b"}}',
             '{"op":"c","after":{"id":3,"k":"c"}}',
             '{"op":"u","before":{"id":1,"k":"a"},"after":{"id":1,"k":"b"}}',
             '{"op":"d","before":{"id":2,"k":"b"}}', '{"op":"d","before":{"id":3,"k":"c"}}']  # fmt: skip
    changes.write_text("\n".join(lines) + "\n")
    env.execute_sql(
        "CREATE TABLE changes (id INT, k STRING) WITH ('connector' = 'filesystem', 'format' = 'debezium-json', "
        f"'path' = '{changes.as_uri()}')"
    )
    db.execute("DELETE FROM totals", "INSERT INTO totals VALUES ('a', 7, '7'), ('zz', 7, '7')")
    env.execute_sql(
        "INSERT INTO totals SELECT k, COUNT(*), CAST(SUM(id) AS DECIMAL(38, 2)) FROM changes GROUP BY k"
    ).wait()
    assert db.execute("SELECT * FROM totals ORDER BY customer") == [("b", 1, "1.00"), ("zz", 7, "7")]


def test_rows_that_share_a_key_of_the_sink_do_not_remove_each_other(db: SqliteFile) -> None:
    env = environment(db, "streaming")
    env.get_config().set("execution.epoch.max-records", "1")
    unique = "INSERT INTO totals SELECT customer, COUNT(*), SUM(amount) FROM orders GROUP BY customer"
    assert "SinkMaterializer" not in env.explain_sql(unique)
    shared = "INSERT INTO ranks SELECT COUNT(*), customer FROM orders GROUP BY customer"
    assert "SinkMaterializer" in env.explain_sql(shared)
    env.execute_sql(shared).wait()
    found = dict(db.execute("SELECT * FROM ranks"))
    assert set(found) == {3, 4} and found[4] == "c1"  # two customers with three orders: one of them is shown


def test_a_sink_without_a_key_takes_no_updates(db: SqliteFile) -> None:
    env = environment(db, "streaming")
    with pytest.raises(ValidationError, match="doesn't support consuming update") as error:
        env.execute_sql(
            "INSERT INTO copies SELECT CAST(COUNT(*) AS INT), customer FROM orders GROUP BY customer"
        )
    assert "PRIMARY KEY" in str(error.value.do)


def test_a_catalog_is_read_and_written(postgres: PostgresServer) -> None:
    postgres.execute(
        "CREATE SCHEMA sales",
        "CREATE TABLE sales.items (id INT PRIMARY KEY, tags TEXT[], price NUMERIC(8, 2), at TIMESTAMPTZ)",
        "INSERT INTO sales.items VALUES (1, '{a,b}', 1.5, '2024-01-01T00:00:00Z'), (2, NULL, NULL, NULL)",
        "CREATE TABLE sums (tag TEXT PRIMARY KEY, price NUMERIC(38, 2))",
    )
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.execute_sql(
        f"CREATE CATALOG pg WITH ('type' = 'jdbc', 'default-database' = 'shop', 'username' = '{postgres.user}', "
        f"'password' = '{postgres.password.replace(chr(39), chr(39) * 2)}', 'base-url' = '{postgres.base_url}')"
    )
    env.use_catalog("pg")
    summed = (
        "SELECT tag, SUM(price) FROM pg.shop.`sales.items` CROSS JOIN UNNEST(tags) AS t (tag) GROUP BY tag"
    )
    env.execute_sql(f"INSERT INTO sums {summed}").wait()
    assert [row[0] for row in rows(env, "SELECT * FROM sums WHERE price > 1")] == ["a", "b"]
    assert sorted(postgres.execute("SELECT tag, price::text FROM sums")) == [("a", "1.50"), ("b", "1.50")]
