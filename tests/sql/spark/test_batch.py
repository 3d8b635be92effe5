"""Whole statements on Spark: one session, small tables."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.common.errors import JobExecutionError, PenstockError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

VALUES = "(VALUES (1, 'a', 10), (2, 'b', CAST(NULL AS INT)), (3, 'a', 30)) AS t (id, k, v)"


@pytest.fixture
def env() -> TableEnvironment:
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    env.get_config().set("table.local-time-zone", "UTC")
    return env


def rows(env: TableEnvironment, sql: str) -> list[list[Any]]:
    with env.execute_sql(sql).collect() as found:
        return [list(row) for row in found]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (f"SELECT k, SUM(v) FROM {VALUES} GROUP BY k ORDER BY k", [["a", 40], ["b", None]]),
        (f"SELECT id FROM {VALUES} ORDER BY v", [[2], [1], [3]]),
        (f"SELECT id FROM {VALUES} ORDER BY v DESC", [[3], [1], [2]]),
        (f"SELECT id FROM {VALUES} ORDER BY id LIMIT 1 OFFSET 1", [[2]]),
        (f"SELECT COUNT(*), COUNT(v) FROM {VALUES} WHERE id > 9", [[0, 0]]),
        (f"SELECT k, COUNT(*) FROM {VALUES} GROUP BY ROLLUP (k) ORDER BY k", [[None, 3], ["a", 2], ["b", 1]]),
        (f"SELECT k, COUNT(*) FROM {VALUES} WHERE id > 9 GROUP BY ROLLUP (k)", []),
        (
            f"SELECT id, id IN (SELECT v / 10 FROM {VALUES}) FROM {VALUES} ORDER BY id",
            [[1, True], [2, None], [3, True]],
        ),
        (f"SELECT id FROM {VALUES} WHERE id NOT IN (SELECT v FROM {VALUES})", []),
        (f"SELECT id, SUM(id) OVER (ORDER BY id) FROM {VALUES}", [[1, 1], [2, 3], [3, 6]]),
        (f"SELECT id FROM {VALUES} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY id) = 1", [[1], [2]]),
        (
            f"SELECT id, k AS v, RANK() OVER (ORDER BY v) AS r FROM {VALUES} QUALIFY r > 1 AND v = 'a' ORDER BY id",
            [[1, "a", 2], [3, "a", 3]],
        ),
        (f"SELECT k, SUM(v) AS s FROM {VALUES} GROUP BY k QUALIFY RANK() OVER (ORDER BY s) = 2", [["a", 40]]),
        (
            f"SELECT id, VAR_SAMP(w) OVER (ORDER BY id) FROM (SELECT id, NULLIF(id * id, 9) + 4 AS w FROM {VALUES})",
            [[1, None], [2, 5], [3, 5]],
        ),
        (f"SELECT id FROM {VALUES} ORDER BY id LIMIT ALL", [[1], [2], [3]]),
        ("SELECT 1 EXCEPT SELECT 1 UNION SELECT 2 INTERSECT SELECT 2", [[2]]),
    ],
)
def test_queries_answer_as_flink_does(env: TableEnvironment, sql: str, expected: list[list[Any]]) -> None:
    assert rows(env, sql) == expected


def test_insert_casts_to_the_declared_types_and_fills_left_out_columns(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    env.execute_sql(
        f"CREATE TABLE s (a BIGINT, b STRING, c DOUBLE) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}/s', 'format' = 'json')"
    )
    env.execute_sql("INSERT INTO s (c, a) SELECT 1, 2").wait()
    assert rows(env, "SELECT * FROM s") == [[2, None, 1.0]]


def test_an_insert_of_the_wrong_type_is_refused_before_anything_runs(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    target = tmp_path / "s"
    env.execute_sql(
        f"CREATE TABLE s (a INT) WITH ('connector' = 'filesystem', 'path' = '{target}', 'format' = 'json')"
    )
    with pytest.raises(ValidationError, match="do not match"):
        env.execute_sql("INSERT INTO s SELECT 'x'")
    assert not target.exists()


def test_a_failing_query_says_why_in_one_line(env: TableEnvironment) -> None:
    with pytest.raises(PenstockError) as caught:
        rows(env, f"SELECT CAST(k AS INT) FROM {VALUES}")
    assert isinstance(caught.value, (JobExecutionError, PenstockError))
    assert "\n" not in caught.value.what


def test_a_view_sees_names_where_it_was_created(env: TableEnvironment) -> None:
    env.execute_sql("CREATE VIEW base AS SELECT 1 AS x")
    env.execute_sql("CREATE VIEW top AS SELECT x + 1 AS y FROM base")
    env.execute_sql("CREATE DATABASE other")
    env.execute_sql("USE other")
    assert rows(env, "SELECT y FROM default_database.top") == [[2]]


def test_explain_shows_the_one_spark_query(env: TableEnvironment) -> None:
    text = env.explain_sql(f"SELECT k, COUNT(*) FROM {VALUES} GROUP BY k")
    assert "Aggregate(groupBy=[k]" in text
    assert "GROUP BY" in text and "Catalyst" in text


def test_equal_column_names_are_told_apart(env: TableEnvironment) -> None:
    result = env.execute_sql(f"SELECT id, id, id + 1 FROM {VALUES}")
    assert result.get_resolved_schema().get_column_names() == ["id", "id0", "EXPR$2"]
