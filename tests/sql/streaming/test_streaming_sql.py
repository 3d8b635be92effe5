"""Whole streaming queries on Spark: the same answer however the input is cut into epochs and spread."""

from __future__ import annotations

import json
import pathlib
from collections import Counter
from typing import Any

import pytest

from penstock.common.errors import PenstockError
from penstock.common.types import RowKind
from penstock.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

BIDS = """a,1,2024-01-01 00:00:01
b,5,2024-01-01 00:00:02
a,3,2024-01-01 00:00:11
b,2,2024-01-01 00:00:03
a,7,2024-01-01 00:00:31
b,9,2024-01-01 00:00:04
"""

WINDOWS = (
    "SELECT item, window_start, SUM(price) AS total "
    "FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
    "GROUP BY item, window_start, window_end"
)
GROUPS = "SELECT item, SUM(price) AS total FROM bids GROUP BY item"
SELF_JOIN = (
    "SELECT x.item, x.price, y.price FROM bids x LEFT JOIN bids y ON x.item = y.item AND x.price < y.price"
)
CUTS = [{}, {"execution.epoch.max-records": "2"}, {"parallelism.default": "2"}]


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bids.csv").write_text(BIDS)
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("table.local-time-zone", "UTC")
    env.get_config().set("parallelism.default", "1")
    env.execute_sql(
        "CREATE TABLE bids (item STRING, price INT, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) "
        f"WITH ('connector' = 'filesystem', 'path' = '{(tmp_path / 'in').as_uri()}', 'format' = 'csv')"
    )
    return env


def changes(
    env: TableEnvironment, sql: str, settings: dict[str, str] | None = None
) -> list[tuple[RowKind, Any]]:
    for key, value in (settings or {}).items():
        env.get_config().set(key, value)
    with env.execute_sql(sql).collect() as found:
        return [(row.get_row_kind(), tuple(row)) for row in found]


def table_after(changed: list[tuple[RowKind, Any]]) -> Counter[Any]:
    left: Counter[Any] = Counter()
    for kind, row in changed:
        left[row] += -1 if kind in (RowKind.UPDATE_BEFORE, RowKind.DELETE) else 1
        assert left[row] >= 0, f"{row} was taken back before it came"
    return +left


def test_a_filter_passes_rows_on(env: TableEnvironment) -> None:
    found = changes(env, "SELECT UPPER(item), price * 2 FROM bids WHERE price > 5")
    assert found == [(RowKind.INSERT, ("A", 14)), (RowKind.INSERT, ("B", 18))]


@pytest.mark.parametrize("settings", CUTS, ids=["one epoch", "epochs of two", "two subtasks"])
def test_groups_are_the_same_however_the_input_is_cut(
    env: TableEnvironment, settings: dict[str, str]
) -> None:
    assert table_after(changes(env, GROUPS, settings)) == Counter([("a", 11), ("b", 16)])


SPLIT = {
    "table.optimizer.distinct-agg.split.enabled": "true",
    "table.optimizer.distinct-agg.split.bucket-num": "3",
}


@pytest.mark.parametrize("settings", CUTS, ids=["one epoch", "epochs of two", "two subtasks"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT item, COUNT(DISTINCT price / 2), SUM(DISTINCT price / 2) FILTER (WHERE price > 1), COUNT(*), "
            "SUM(price), MIN(price), MAX(ts) FROM bids GROUP BY item",
            {"a": (3, 4, 3, 11, 1), "b": (3, 7, 3, 16, 2)},
        ),
        (  # totals come and go: 1 and 4 of a, 5 and 7 of b
            "SELECT 'all', COUNT(DISTINCT total), COUNT(DISTINCT total) FILTER (WHERE total > 11), COUNT(total) "
            f"FROM ({GROUPS})",
            {"all": (2, 1, 2)},
        ),
    ],
)
def test_groups_that_are_split_by_their_distinct_values_are_those_that_are_not(
    env: TableEnvironment, query: str, expected: dict[str, Any], settings: dict[str, str]
) -> None:
    found = table_after(changes(env, query, {**settings, **SPLIT}))
    assert {row[0]: row[1 : 1 + len(expected[row[0]])] for row in found} == expected
    assert set(found.values()) == {1}
    whole = {key: "false" if value == "true" else value for key, value in SPLIT.items()}
    assert table_after(changes(env, query, whole)) == found


@pytest.mark.parametrize("settings", CUTS, ids=["one epoch", "epochs of two", "two subtasks"])
def test_late_rows_are_decided_row_by_row(env: TableEnvironment, settings: dict[str, str]) -> None:
    """At 0:31 the watermark passes 0:10: the bid of 0:04 is late, the one of 0:03 was not."""
    found = changes(env, WINDOWS, settings)
    assert {kind for kind, _ in found} == {RowKind.INSERT}
    totals = Counter((item, start.second, total) for _, (item, start, total) in found)
    assert totals == Counter([("a", 0, 1), ("b", 0, 7), ("a", 10, 3), ("a", 30, 7)])


@pytest.mark.parametrize("settings", CUTS, ids=["one epoch", "epochs of two", "two subtasks"])
def test_an_outer_join_takes_back_rows_that_find_a_partner(
    env: TableEnvironment, settings: dict[str, str]
) -> None:
    expected = Counter(
        [
            *[("a", 1, 3), ("a", 1, 7), ("a", 3, 7), ("a", 7, None)],
            *[("b", 5, 9), ("b", 2, 5), ("b", 2, 9), ("b", 9, None)],
        ]
    )
    assert table_after(changes(env, SELF_JOIN, settings)) == expected


def test_an_insert_writes_each_row_once_over_several_epochs(
    env: TableEnvironment, tmp_path: pathlib.Path
) -> None:
    env.execute_sql(
        "CREATE TABLE copies (item STRING, price INT) WITH ('connector' = 'filesystem', "
        f"'path' = '{(tmp_path / 'out').as_uri()}', 'format' = 'json')"
    )
    env.get_config().set("execution.epoch.max-records", "2")
    env.execute_sql("INSERT INTO copies SELECT item, price FROM bids WHERE price < 9").wait()
    lines = [
        json.loads(line)
        for file in (tmp_path / "out").rglob("*")
        if file.is_file() and not file.name.startswith((".", "_"))
        for line in file.read_text().splitlines()
    ]
    assert sorted((row["item"], row["price"]) for row in lines) == [
        ("a", 1), ("a", 3), ("a", 7), ("b", 2), ("b", 5)
    ]  # fmt: skip


def test_closing_an_endless_query_ends_its_job(env: TableEnvironment) -> None:
    env.execute_sql(
        "CREATE TABLE numbers (n BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '1000', "
        "'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1000000')"
    )
    with env.execute_sql("SELECT n FROM numbers").collect() as found:
        assert [next(found)[0] for _ in range(3)] == [1, 2, 3]


def test_a_failing_expression_fails_the_query_with_its_reason(env: TableEnvironment) -> None:
    with pytest.raises(PenstockError, match="zero"):
        changes(env, "SELECT price / (price - price) FROM bids")
