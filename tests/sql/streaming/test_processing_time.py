"""Processing time: one moment per epoch, and timers that wake a job that has nothing to read."""

from __future__ import annotations

import pathlib
from itertools import islice
from typing import Any

import pytest

from penstock.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark

CSV = "'connector' = 'filesystem', 'format' = 'csv'"


@pytest.fixture
def env(tmp_path: pathlib.Path) -> TableEnvironment:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bids.csv").write_text("a,1\nb,5\na,3\n")
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("table.local-time-zone", "UTC")
    columns, path = "item STRING, price INT, p AS PROCTIME()", (tmp_path / "in").as_uri()
    env.execute_sql(f"CREATE TABLE bids ({columns}) WITH ({CSV}, 'path' = '{path}')")
    env.execute_sql(
        f"CREATE TABLE growing ({columns}) WITH ({CSV}, 'path' = '{path}', 'source.monitor-interval' = '1 s')"
    )
    return env


def first_rows(env: TableEnvironment, sql: str, count: int) -> list[tuple[Any, ...]]:
    with env.execute_sql(sql).collect() as found:
        return [tuple(row) for row in islice(found, count)]


@pytest.mark.parametrize(
    "window", ["TUMBLE(TABLE growing, DESCRIPTOR(p), INTERVAL '1' SECOND)",
               "SESSION(TABLE growing PARTITION BY item, DESCRIPTOR(p), INTERVAL '1' SECOND)"],
    ids=["tumble", "session"],
)  # fmt: skip
def test_a_window_ends_by_the_clock_although_no_row_comes(env: TableEnvironment, window: str) -> None:
    sql = (
        "SELECT item, SUM(price), TIMESTAMPDIFF(SECOND, window_start, window_end) "
        f"FROM TABLE({window}) GROUP BY item, window_start, window_end"
    )
    assert sorted(first_rows(env, sql, 2)) == [("a", 4, 1), ("b", 5, 1)]


def test_all_rows_of_an_epoch_have_the_same_processing_time(env: TableEnvironment) -> None:
    rows = first_rows(env, "SELECT p, PROCTIME() FROM bids", 3)
    assert len({moment for row in rows for moment in row}) == 1


def test_windows_that_are_open_when_the_input_ends_say_nothing(env: TableEnvironment) -> None:
    sql = (
        "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(p), INTERVAL '1' DAY)) "
        "GROUP BY window_start, window_end"
    )
    assert first_rows(env, sql, 1) == []
