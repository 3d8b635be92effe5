"""Plans survive the way to JSON and back, value by value and query by query."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import pathlib

import pytest

from penstock.common.datatypes import DataTypes
from penstock.sql.compiled.algebra_json import decode, encode
from penstock.sql.compiled.operators import edits_of, operators_json
from penstock.sql.compiled.tables_json import PlanReferences
from penstock.sql.dialect.statement_parser import parse_query
from penstock.sql.plan.rex import Const
from penstock.sql.streaming.planner import Planner
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.sql.test_golden_plans import STORED, TABLES, VIEWS

GOLDEN = sorted((pathlib.Path(__file__).parent.parent / "golden").glob("*.sql"))
QUERIES = [
    "SELECT CAST(NULL AS INT), 'é''', X'00ff', 1.50, 1e300, DATE '2020-01-02', TIME '01:02:03', INTERVAL '1' DAY",
    "SELECT TIMESTAMP '2020-01-02 03:04:05.678', ARRAY[1, 2], MAP['a', 1], ROW(1, 'x')",
    "SELECT a, b FROM (VALUES (1, 'x'), (2, NULL)) AS t(a, b) WHERE a IN (1, 2, 3) OR b LIKE '%x'",
    "SELECT kind, SUM(bid.price) OVER (PARTITION BY kind ORDER BY ts ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) "
    "FROM events",
    "SELECT kind FROM events WHERE kind IN (SELECT CAST(category AS INT) FROM auctions)",
    "SELECT window_start, COUNT(DISTINCT kind) FILTER (WHERE kind > 1) FROM "
    "TABLE(HOP(TABLE events, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '5' MINUTE)) "
    "GROUP BY window_start, window_end",
    "SELECT kind, COUNT(*) FROM events GROUP BY GROUPING SETS ((kind), ())",
    "SELECT a.id FROM auctions a EXCEPT SELECT p.id FROM persons p",
    "SELECT id, place FROM ranked WHERE place <= 3 ORDER BY id LIMIT 5",
    "SELECT e.kind, u.x FROM events e CROSS JOIN UNNEST(ARRAY[1, 2]) AS u(x)",
]


@pytest.fixture(scope="module")
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.execute_sql(f"CREATE TABLE events ({TABLES}) {STORED}")
    for name, query in VIEWS.items():
        env.execute_sql(f"CREATE VIEW {name} AS {query}")
    return env


@pytest.mark.parametrize(
    "value",
    [
        None, True, 7, -1.5, math.inf, "é", b"\x00\xff", decimal.Decimal("1.50"), dt.date(2020, 1, 2),
        dt.datetime(2020, 1, 2, 3, 4, 5, 6), dt.time(1, 2, 3), (1, ("a", None)),
    ],
)  # fmt: skip
def test_constants_come_back_as_they_were(env: TableEnvironment, value: object) -> None:
    references = PlanReferences(env._session.catalogs, {})
    constant = Const(DataTypes.STRING(), value)
    found = decode(json.loads(json.dumps(encode(constant, references))), references)
    assert found == constant and type(found.value) is type(value)


@pytest.mark.parametrize("sql", [*(p.read_text() for p in GOLDEN), *QUERIES], ids=lambda sql: sql[:60])
def test_plans_come_back_as_they_were(env: TableEnvironment, sql: str) -> None:
    plan = env._session.bind(parse_query(sql), sql)
    references = PlanReferences(env._session.catalogs, {})
    text = json.dumps(encode(plan, references))
    stored = PlanReferences(env._session.catalogs, {}, {"tables": references.tables, "rows": references.rows})
    assert decode(json.loads(text), stored) == plan


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_state_can_be_given_another_time_to_live(env: TableEnvironment, path: pathlib.Path) -> None:
    plan = env._session.bind(parse_query(path.read_text()), path.read_text())

    def planned(operators: list[dict[str, object]]) -> list[dict[str, object]]:
        planner = Planner({"parallelism.default": "2"}, edits=edits_of(operators))
        planner.query(plan)
        return operators_json(planner, [], [], [])

    before = planned([])
    for number, item in enumerate(before):
        for state in item.get("state", []):  # type: ignore[attr-defined]
            state["ttl"] = f"{number + 1} h"
    after = planned(before)
    assert [i.get("uid") for i in after] == [i.get("uid") for i in before]
    for old, new in zip(before, after, strict=True):
        wanted = [f"{int(s['ttl'].split()[0]) * 3_600_000} ms" for s in old.get("state", [])]  # type: ignore[attr-defined]
        assert [s["ttl"] for s in new.get("state", [])] == wanted  # type: ignore[attr-defined]
