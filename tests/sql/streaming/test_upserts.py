"""Filters over tables of upserts: done before the row of a key is kept."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Row, RowKind, Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.table import ChangelogMode, Schema, StreamTableEnvironment

INSERT, UPDATE, DELETE = RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE
TYPE = Types.ROW_NAMED(["name", "score", "team"], [Types.STRING(), Types.INT(), Types.STRING()])
ROWS = [
    Row.of_kind(INSERT, "ann", 10, "x"),
    Row.of_kind(INSERT, "bob", 5, "y"),
    Row.of_kind(UPDATE, "ann", 30, "y"),
    Row.of_kind(UPDATE, "ann", 31, "y"),
    Row.of_kind(UPDATE, "bob", 6, "x"),
    Row.of_kind(UPDATE, "bob", 7, None),
    Row.of_kind(DELETE, "ann", None, None),
]


@pytest.fixture
def t_env(monkeypatch: pytest.MonkeyPatch) -> Any:
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    made = StreamTableEnvironment.create(env)
    stream = env.from_collection(ROWS, TYPE)
    schema = Schema.new_builder().primary_key("name").build()
    made.create_temporary_view("players", made.from_changelog_stream(stream, schema, ChangelogMode.upsert()))
    return made


def changes(t_env: Any, query: str) -> list[str]:
    with t_env.execute_sql(query).collect() as rows:
        return [f"{row.get_row_kind()} {' '.join(map(str, row))}" for row in rows]


def test_rows_that_begin_or_cease_to_pass_come_and_go(t_env: Any) -> None:
    found = changes(t_env, "SELECT name, score FROM players WHERE team = 'y'")
    assert found == ["+I bob 5", "+I ann 30", "-U ann 30", "+U ann 31", "-D bob 5", "-D ann 31"]


def test_a_condition_that_may_change_its_mind_is_asked_afterwards(t_env: Any) -> None:
    told = t_env.explain_sql("SELECT name FROM players WHERE team = 'y' AND RAND() < 2")
    assert "Filter(where=[" in told.split("Optimized Execution Plan")[1]
    told = t_env.explain_sql("SELECT name FROM players WHERE team = 'y'")
    assert "filter=[team = 'y']" in told.split("Optimized Execution Plan")[1]


def test_a_table_with_another_reader_is_kept_whole(t_env: Any) -> None:
    query = "SELECT name, score FROM players WHERE team = 'y' UNION ALL SELECT name, -1 FROM players"
    found = changes(t_env, query)
    assert {line for line in found if " -1" not in line} >= {"+I bob 5", "-D ann 31"}
    assert [line for line in found if " -1" in line][-1] == "-D ann -1"
