"""Where columns come from: through expressions, views, joins, aggregates, windows, subqueries and statement sets."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.datatypes import DataTypes
from penstock.sql.lineage import Lineage
from penstock.table import EnvironmentSettings, TableEnvironment
from penstock.table.expressions import col
from penstock.table.udf import udf

HERE = "default_catalog.default_database."


@pytest.fixture(scope="module")
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    made = "WITH ('connector' = 'datagen')"
    env.execute_sql(
        "CREATE TABLE orders (id INT, item STRING, price DOUBLE, buyer ROW<name STRING, home ROW<city STRING>>, tags "
        f"ARRAY<STRING>, ts TIMESTAMP(3), twice AS price * 2, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) {made}"
    )
    env.execute_sql(f"CREATE TABLE items (item STRING, kind STRING) {made}")
    env.execute_sql("CREATE VIEW named AS SELECT id, UPPER(item) AS item, price FROM orders WHERE price > 1")
    for name in ("o1", "o2"):
        env.execute_sql(f"CREATE TABLE {name} (k STRING, n DOUBLE) WITH ('connector' = 'blackhole')")
    env.create_temporary_system_function("shout", udf(lambda s: s, result_type=DataTypes.STRING()))
    return env


def found(env: TableEnvironment, sql: str) -> dict[str | None, set[tuple[str, ...]]]:
    """By column: (source, subtype, functions...)."""
    return by_column(env.sql_query(sql).lineage())


def by_column(lineage: Lineage) -> dict[str | None, set[tuple[str, ...]]]:
    result: dict[str | None, set[tuple[str, ...]]] = {}
    for row in lineage.rows():
        table = (row.source_table or "").removeprefix(HERE)
        source = f"{table}.{row.source_column}" if row.source_column else "-"
        result.setdefault(row.column, set()).add((source, row.subtype, *row.functions))
    return result


CASES: list[tuple[str, dict[str | None, set[tuple[str, ...]]]]] = [
    ("SELECT item FROM orders", {"item": {("orders.item", "IDENTITY")}}),
    (
        "SELECT 1 AS c, RAND() AS r FROM orders",
        {"c": {("-", "IDENTITY")}, "r": {("-", "TRANSFORMATION", "RAND")}},
    ),
    (
        "SELECT UPPER(TRIM(item)) AS u, price + id AS s FROM orders",
        {
            "u": {("orders.item", "TRANSFORMATION", "TRIM", "UPPER")},
            "s": {("orders.price", "TRANSFORMATION", "+"), ("orders.id", "TRANSFORMATION", "+")},
        },
    ),
    ("SELECT twice FROM orders", {"twice": {("orders.price", "TRANSFORMATION", "*")}}),
    ("SELECT o.buyer.home.city FROM orders o", {"city": {("orders.buyer.home.city", "IDENTITY")}}),
    ("SELECT shout(item) AS s FROM orders", {"s": {("orders.item", "TRANSFORMATION", "shout")}}),
    (
        "SELECT CASE WHEN id > 1 THEN item ELSE 'x' END AS c FROM orders",
        {"c": {("orders.item", "TRANSFORMATION", "CASE"), ("orders.id", "CONDITIONAL", ">")}},
    ),
    (
        "SELECT id, item FROM named",
        {
            "id": {("orders.id", "IDENTITY")},
            "item": {("orders.item", "TRANSFORMATION", "UPPER")},
            None: {("orders.price", "FILTER", ">")},
        },
    ),
    (
        "SELECT item, SUM(price) FILTER (WHERE id > 3) AS s, COUNT(*) AS n FROM orders GROUP BY item",
        {
            "item": {("orders.item", "IDENTITY")},
            "s": {("orders.price", "AGGREGATION", "SUM"), ("orders.id", "CONDITIONAL", ">")},
            "n": {("-", "AGGREGATION", "COUNT")},
            None: {("orders.item", "GROUP_BY")},
        },
    ),
    (
        "SELECT o.id, i.kind FROM orders o LEFT JOIN items i ON o.item = i.item",
        {
            "id": {("orders.id", "IDENTITY")},
            "kind": {("items.kind", "IDENTITY")},
            None: {("orders.item", "JOIN", "="), ("items.item", "JOIN", "=")},
        },
    ),
    (
        "SELECT id, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ts) AS n, "
        "MAX(price) OVER (PARTITION BY item ORDER BY ts) AS m FROM orders",
        {
            "id": {("orders.id", "IDENTITY")},
            "n": {("orders.item", "WINDOW"), ("orders.ts", "WINDOW")},
            "m": {("orders.price", "AGGREGATION", "MAX"), ("orders.item", "WINDOW"), ("orders.ts", "WINDOW")},
        },
    ),
    (
        "SELECT window_end, AVG(price) AS a FROM TABLE(TUMBLE(TABLE orders, DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
        "GROUP BY window_start, window_end",
        {
            "window_end": {("orders.ts", "TRANSFORMATION", "TUMBLE")},
            "a": {("orders.price", "AGGREGATION", "AVG")},
            None: {("orders.ts", "GROUP_BY", "TUMBLE")},
        },
    ),
    (
        "SELECT item FROM orders UNION ALL SELECT LOWER(kind) FROM items",
        {"item": {("orders.item", "IDENTITY"), ("items.kind", "TRANSFORMATION", "LOWER")}},
    ),
    (
        "SELECT item FROM orders EXCEPT SELECT item FROM items",
        {"item": {("orders.item", "IDENTITY")}, None: {("items.item", "FILTER")}},
    ),
    (
        "SELECT t.tag FROM orders CROSS JOIN UNNEST(tags) AS t(tag)",
        {"tag": {("orders.tags", "TRANSFORMATION", "UNNEST")}},
    ),
    (
        "SELECT id FROM orders o WHERE EXISTS (SELECT 1 FROM items i WHERE i.item = o.item)",
        {
            "id": {("orders.id", "IDENTITY")},
            None: {("items.item", "FILTER", "="), ("orders.item", "FILTER", "=")},
        },
    ),
    (
        "SELECT id, (SELECT MAX(kind) FROM items) AS k FROM orders",
        {"id": {("orders.id", "IDENTITY")}, "k": {("items.kind", "AGGREGATION", "MAX")}},
    ),
    (
        "SELECT id FROM orders ORDER BY price LIMIT 3",
        {"id": {("orders.id", "IDENTITY")}, None: {("orders.price", "SORT")}},
    ),
    (
        "SELECT o.id, x.kind FROM orders o, LATERAL (SELECT kind FROM items i WHERE i.item = o.item) AS x",
        {
            "id": {("orders.id", "IDENTITY")},
            "kind": {("items.kind", "IDENTITY")},
            None: {("items.item", "FILTER", "="), ("orders.item", "FILTER", "=")},
        },
    ),
]


@pytest.mark.parametrize(("sql", "expected"), CASES, ids=[sql for sql, _ in CASES])
def test_columns_come_from(env: TableEnvironment, sql: str, expected: dict[Any, Any]) -> None:
    assert found(env, sql) == expected


def test_batch_and_streaming_say_the_same(env: TableEnvironment) -> None:
    batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    batch.execute_sql("CREATE TABLE items (item STRING, kind STRING) WITH ('connector' = 'datagen')")
    sql = "SELECT kind, COUNT(item) AS n FROM items GROUP BY kind"
    assert found(batch, sql) == found(env, sql)


def test_the_table_api_has_the_lineage_of_its_plan(env: TableEnvironment) -> None:
    table = env.from_path("orders").group_by(col("item")).select(col("item"), col("price").sum.alias("s"))
    assert by_column(table.lineage())["s"] == {("orders.price", "AGGREGATION", "SUM")}
    assert [s.name for s in table.lineage().sources("s")] == ["price"]
    assert env.from_elements([(1,)], ["a"]).lineage().rows()[0].source_table is None


def test_statement_sets_name_their_targets(env: TableEnvironment) -> None:
    inserts = "INSERT INTO o1 SELECT item, price FROM named; INSERT INTO o2 (n) SELECT id FROM orders;"
    explain = f"EXPLAIN LINEAGE STATEMENT SET BEGIN {inserts} END"
    rows = [tuple(r) for r in env.execute_sql(explain).collect()]
    assert rows == [
        (HERE + "o1", "k", HERE + "orders", "item", "DIRECT", "TRANSFORMATION", ["UPPER"]),
        (HERE + "o1", "n", HERE + "orders", "price", "DIRECT", "IDENTITY", []),
        (HERE + "o1", None, HERE + "orders", "price", "INDIRECT", "FILTER", [">"]),
        (HERE + "o2", "k", None, None, "DIRECT", "TRANSFORMATION", ["CAST"]),
        (HERE + "o2", "n", HERE + "orders", "id", "DIRECT", "TRANSFORMATION", ["CAST"]),
    ]


def test_open_lineage_facets_hold_fields_and_what_decides_rows(env: TableEnvironment) -> None:
    pipeline = env.sql_query("SELECT item, price FROM named").insert_into("o1")
    [(target, facet)] = pipeline.lineage().to_open_lineage("prod").items()
    assert target == HERE + "o1"
    assert facet["_schemaURL"].startswith(
        "https://openlineage.io/spec/facets/1-2-0/ColumnLineageDatasetFacet.json"
    )
    [source] = facet["fields"]["k"]["inputFields"]
    assert source == {
        "namespace": "prod",
        "name": HERE + "orders",
        "field": "item",
        "transformations": [
            {"type": "DIRECT", "subtype": "TRANSFORMATION", "description": "UPPER", "masking": False}
        ],
    }
    [deciding] = facet["dataset"]
    assert deciding["field"] == "price" and deciding["transformations"][0]["subtype"] == "FILTER"


def test_inserts_into_one_table_share_a_facet(env: TableEnvironment) -> None:
    statements = env.create_statement_set()
    statements.add_insert_sql("INSERT INTO o1 SELECT item, price FROM orders")
    statements.add_insert_sql("INSERT INTO o1 SELECT kind, CAST(NULL AS DOUBLE) FROM items")
    [(_, facet)] = statements.lineage().to_open_lineage().items()
    names = [(f["name"].removeprefix(HERE), f["field"]) for f in facet["fields"]["k"]["inputFields"]]
    assert names == [("orders", "item"), ("items", "kind")]
