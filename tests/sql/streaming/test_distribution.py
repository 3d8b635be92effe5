"""Rows that are where their key belongs are not sent again; changes keep their order where they are sent."""

from __future__ import annotations

import pathlib
from collections import Counter

import pytest

from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.dialect.statement_parser import parse_query
from penstock.sql.streaming import jobs
from penstock.sql.streaming.distribution import is_in_place
from penstock.sql.streaming.linear import linear_parts
from penstock.sql.streaming.physical import DeltaNode
from penstock.sql.streaming.planner import Planner
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.scripted import in_this_process
from tests.runtime.test_rescaled_savepoints import sql

RANKED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY {} ORDER BY v) AS n FROM ({})"
COUNTED = "SELECT k, COUNT(*) AS c FROM a GROUP BY k"


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "3")
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text("".join(f"{i % 5},{i % 3},{i}\n" for i in range(30)))
        env.execute_sql(
            f"CREATE TABLE {name} (k INT, g INT, v INT) "
            f"WITH ('connector' = 'filesystem', 'path' = '{(tmp_path / name).as_uri()}', 'format' = 'csv')"
        )
    return env


def exchanges_saved(env: TableEnvironment, sql: str, parallelism: str = "3") -> int:
    planner = Planner({"parallelism.default": parallelism})
    planner.query(env._session.bind(parse_query(sql), sql))
    saved = 0
    for node in planner.nodes:
        if isinstance(node, DeltaNode) and node.operator is not None:
            for index, stream in enumerate(node.inputs):
                [(below, steps)] = linear_parts(stream.plan)
                saved += is_in_place(below, steps, node.operator.key_columns(index), node)
    return saved


@pytest.mark.parametrize(
    ("sql", "saved"),
    [
        (f"SELECT k, MAX(c) FROM ({COUNTED}) GROUP BY k", 1),
        (f"SELECT c, COUNT(*) FROM ({COUNTED}) GROUP BY c", 0),
        (f"SELECT k + 1, MAX(c) FROM ({COUNTED}) GROUP BY k + 1", 0),
        ("SELECT a.k, a.g, COUNT(*) FROM a JOIN b ON a.k = b.k GROUP BY a.k, a.g", 0),
        (
            f"SELECT * FROM ({RANKED.format('k', 'SELECT a.k, b.v FROM a JOIN b ON a.k = b.k')}) WHERE n <= 2",
            1,
        ),
        (
            f"SELECT * FROM ({RANKED.format('k', 'SELECT b.k, b.v FROM a JOIN b ON a.k = b.k')}) WHERE n <= 2",
            1,
        ),
        (
            f"SELECT * FROM ({RANKED.format('k', 'SELECT b.k, b.v FROM a LEFT JOIN b ON a.k = b.k')}) WHERE n <= 2",
            0,
        ),
        (
            f"SELECT * FROM ({RANKED.format('k', 'SELECT a.k, b.v FROM a FULL JOIN b ON a.k = b.k')}) WHERE n <= 2",
            0,
        ),
        (f"SELECT x.k, b.v FROM ({COUNTED}) x JOIN b ON x.k = b.k", 1),
    ],
)
def test_an_exchange_by_the_same_columns_is_saved(env: TableEnvironment, sql: str, saved: int) -> None:
    assert exchanges_saved(env, sql) == saved


@pytest.mark.parametrize("parallelism", ["1", "3"])
def test_the_answer_is_the_same_without_the_exchange(
    env: TableEnvironment, monkeypatch: pytest.MonkeyPatch, parallelism: str
) -> None:
    monkeypatch.setattr(jobs, "make_runner", lambda job: InProcessEpochs(job))
    env.get_config().set("parallelism.default", parallelism)
    env.get_config().set("execution.epoch.max-records", "4")
    inner = "SELECT a.k, a.v FROM a JOIN b ON a.k = b.k"
    query = f"SELECT k, v FROM ({RANKED.format('k', inner)}) WHERE n <= 1"
    left: dict[int, int] = {}
    for row in env.execute_sql(query).collect():
        key, value = row
        if str(row.get_row_kind()) in ("+I", "+U"):
            left[key] = value
        elif left.get(key) == value:
            del left[key]
    assert left == {0: 0, 1: 1, 2: 2, 3: 3, 4: 4}


def test_changes_of_one_subtask_do_not_overtake_each_other_on_the_way_to_several() -> None:
    query = """
      SELECT amount FROM (SELECT amount, ROW_NUMBER() OVER (ORDER BY amount DESC, id) AS r FROM orders) WHERE r = 1
      UNION ALL SELECT id + 1000 FROM orders WHERE id < 3"""
    with in_this_process():
        result = sql(2, query, {"penstock.changelog.detail": "every-change"})
        there: Counter[int] = Counter()
        for row in result.collect():
            there[row[0]] += 1 if str(row.get_row_kind()) in ("+I", "+U") else -1
            assert there[row[0]] >= 0, f"{row[0]} was taken back before it came"
    assert +there == Counter([99, 1000, 1001, 1002])
