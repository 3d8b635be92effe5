"""Rows of a vertex, taken only while somebody looks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from penstock.common import Row, Types
from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.common.table_type import TableTypeInfo
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime.plan import SubtaskReport
from penstock.runtime.sampling import ROWS, RowSample, Sampling, Tap
from tests.rest.jobs import counting_job, wait_for
from tests.runtime.in_process import collect


def test_a_tap_keeps_the_first_elements_with_the_names_of_their_fields() -> None:
    tap = Tap(Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()]))
    tap.values([Row("a", 1), Row(None, 2)])
    tap.values([Row("b", n) for n in range(100)])
    sample = tap.taken()
    assert sample.columns == ("name", "n")
    assert sample.rows[:2] == (("a", 1), (None, 2)) and len(sample.rows) == ROWS


def test_single_values_and_tuples_have_columns_too() -> None:
    single, pair = Tap(None), Tap(None)
    single.values([b"x", 3])
    pair.values([(1, [2])])
    assert single.taken() == RowSample(("value",), (("b'x'",), (3,)))
    assert pair.taken() == RowSample(("f0", "f1"), ((1, "[2]"),))


def test_rows_of_a_table_show_their_kind_and_not_the_hidden_columns() -> None:
    row_type = RowType([RowField("k", DataTypes.STRING()), RowField("v", DataTypes.BIGINT())])
    tap = Tap(TableTypeInfo(row_type))
    columns = {
        "c0": ["a", None],
        "c1": [1, 2],
        "__kind": pa.array([0, 3], pa.int8()),
        "__wm": [0, 0],
        "__pos": [0, 1],
    }
    tap.table(pa.table(columns))
    assert tap.taken() == RowSample(("op", "k", "v"), (("+I", "a", 1), ("-D", None, 2)))


def test_a_stage_is_watched_for_a_while_after_a_look() -> None:
    now = [0.0]
    sampling = Sampling(lambda: now[0])
    assert sampling.watched() == frozenset()
    assert sampling.look(3).rows == ()
    assert sampling.watched() == {3}
    sampling.take([SubtaskReport(3, i, "t", sample=RowSample(("v",), ((i,),) * ROWS)) for i in range(2)])
    assert {row[0] for row in sampling.look(3).rows} == {0, 1}
    assert len(sampling.look(3).rows) == ROWS
    now[0] = 60.0
    assert sampling.watched() == frozenset()
    assert sampling.look(3).rows == ()


def test_rows_of_a_running_job_are_seen_once_somebody_looks() -> None:
    job = counting_job()
    try:
        wait_for(lambda: job.statistics.epochs >= 2)
        counts = next(s.id for s in job.statistics.job.stages.stages if s.parallelism == 2)
        sample = wait_for(lambda: (found := job.coordinator.sampling.look(counts)).rows and found)
        assert sample.columns == ("f0", "f1")
        assert all(0 <= key < 5 and count > 0 for key, count in sample.rows)
    finally:
        job.cancel()


def test_of_a_stage_with_a_sink_one_sees_what_goes_into_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[SubtaskReport] = []
    monkeypatch.setattr(Sampling, "watched", lambda self: frozenset({0, 1}))
    monkeypatch.setattr(Sampling, "take", lambda self, found: reports.extend(found))
    env = StreamExecutionEnvironment.get_execution_environment()
    stream: Any = env.from_collection([1, 2, 3], Types.INT()).set_parallelism(1)
    collect(stream.map(lambda v: v * 10, Types.INT()).set_parallelism(1))
    rows = [row for report in reports if report.sample for row in report.sample.rows]
    assert sorted(rows) == [(10,), (20,), (30,)]
