"""Which conditions of a query reach the scans of its tables."""

from __future__ import annotations

import pytest

from penstock.catalog.catalog_manager import CatalogManager
from penstock.catalog.conditions import clauses_text
from penstock.sql.dialect.statement_parser import parse_statement
from penstock.sql.plan.algebra import Scan, walk_plan
from penstock.sql.plan.rules.scan_filters import scan_filters
from penstock.sql.session import SqlSession


@pytest.fixture
def session() -> SqlSession:
    session = SqlSession(CatalogManager(), {})
    jdbc = "WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:/x.db', 'table-name' = 't')"
    columns = "id INT, name STRING, d DATE, ts TIMESTAMP(3), f FLOAT, ok BOOLEAN, twice AS id * 2"
    session.execute(f"CREATE TABLE t ({columns}) {jdbc}")
    session.execute(f"CREATE TABLE u (id INT, price DECIMAL(10, 2)) {jdbc}")
    session.execute(f"CREATE TABLE w (id INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) {jdbc}")
    return session


def filters(session: SqlSession, sql: str) -> dict[str, str]:
    statement = parse_statement(sql)
    plan = scan_filters(session.bind(statement.ast, sql))  # type: ignore[attr-defined]
    scans = [node for node in walk_plan(plan) if isinstance(node, Scan)]
    return {scan.identifier.object_name: clauses_text(scan.table.filters) for scan in scans}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("id > 1 AND 5 >= id", "id > 1, id <= 5"),
        ("id = 1 OR name IS NULL", "id = 1 OR name IS NULL"),
        ("id = 1 OR UPPER(name) = 'X'", ""),
        ("UPPER(name) = 'X' AND id <> 2", "id <> 2"),
        ("name = 'x' AND name < 'y' AND name <> 'z'", "name = 'x'"),
        ("d >= DATE '2024-01-01' AND d IS NOT NULL", "d >= 2024-01-01, d IS NOT NULL"),
        ("ts < TIMESTAMP '2024-01-01 00:00:00'", "ts < 2024-01-01 00:00:00"),
        ("ok = TRUE AND f > 1.5 AND twice = 4 AND name = CAST(id AS STRING)", "ok = True"),
    ],
)
def test_conditions_of_stored_columns_and_constants_come_down(
    session: SqlSession, condition: str, expected: str
) -> None:
    assert filters(session, f"SELECT name FROM t WHERE {condition}") == {"t": expected}


def test_conditions_come_down_through_views_and_joins(session: SqlSession) -> None:
    inner = "SELECT * FROM (SELECT name AS n, id AS k FROM t) AS a JOIN u ON a.k = u.id AND u.price > 2 WHERE a.k < 9"
    assert filters(session, inner) == {"t": "id < 9", "u": "price > 2"}
    left = "SELECT * FROM t LEFT JOIN u ON t.id = u.id AND u.price > 2 WHERE t.id < 9 AND u.price IS NULL"
    assert filters(session, left) == {"t": "id < 9", "u": ""}


def test_conditions_stop_above_aggregates_limits_and_watermarks(session: SqlSession) -> None:
    assert filters(
        session, "SELECT * FROM (SELECT id, COUNT(*) AS n FROM t GROUP BY id) AS g WHERE id = 1"
    ) == {"t": ""}
    assert filters(session, "SELECT * FROM (SELECT id FROM t ORDER BY id LIMIT 3) AS g WHERE id = 1") == {
        "t": ""
    }
    assert filters(session, "SELECT * FROM w WHERE id = 1") == {"w": ""}
