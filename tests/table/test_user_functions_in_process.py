"""Users' functions in streaming queries, without Spark: state, asynchronous calls, contexts, lifecycles."""

from __future__ import annotations

import asyncio
import pathlib
from typing import Any

import pytest

from penstock.common import Row, RowKind, Types
from penstock.common.errors import PenstockError
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.async_calls import Waiting
from penstock.sql.streaming import jobs
from penstock.table import (
    AggregateFunction,
    AsyncScalarFunction,
    DataTypes,
    ListView,
    MapView,
    ScalarFunction,
    Schema,
    StreamTableEnvironment,
)
from penstock.table.udf import udaf, udf

PAIR = Types.ROW_NAMED(["k", "v"], [Types.STRING(), Types.LONG()])


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)


def environment(parallelism: int = 1, records: str = "1") -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.get_configuration().set_string("execution.epoch.max-records", records)
    return StreamTableEnvironment.create(env)


def view(t_env: Any, rows: list[Any], changelog: bool = False) -> None:
    stream = t_env._stream_environment.from_collection(rows, PAIR)
    made = t_env.from_changelog_stream(stream) if changelog else t_env.from_data_stream(stream)
    t_env.create_temporary_view("t", made)


def final(t_env: Any, sql: str) -> list[tuple[Any, ...]]:
    """The table that a query's changes leave."""
    left: list[tuple[Any, ...]] = []
    with t_env.execute_sql(sql).collect() as rows:
        for row in rows:
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                left.append(tuple(row))
            else:
                left.remove(tuple(row))
    return sorted(left)


class Latest(AggregateFunction):  # type: ignore[type-arg]
    """All values in the order they came, and how often each; a list and a map in state."""

    def create_accumulator(self) -> Any:
        return Row(ListView(), MapView(), 0)

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator[0].add(value)
        accumulator[1][value] = (accumulator[1].get(value) or 0) + 1
        accumulator[2] += 1

    def retract(self, accumulator: Any, value: Any) -> None:
        kept = list(accumulator[0])
        kept.remove(value)
        accumulator[0].clear()
        accumulator[0].add_all(kept)
        if accumulator[1][value] == 1:
            del accumulator[1][value]
        else:
            accumulator[1][value] -= 1
        accumulator[2] -= 1

    def get_value(self, accumulator: Any) -> str:
        counts = ",".join(f"{k}:{n}" for k, n in sorted(accumulator[1].items()))
        return f"{list(accumulator[0])} {counts} {accumulator[2]}"

    def get_result_type(self) -> Any:
        return DataTypes.STRING()


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("records", ["1", "100"])
def test_lists_and_maps_of_an_accumulator_are_kept_from_epoch_to_epoch(parallelism, records):
    t_env = environment(parallelism, records)
    view(t_env, [Row("a", 1), Row("b", 9), Row("a", 2), Row("a", 1)])
    t_env.create_temporary_function("latest", udaf(Latest()))
    assert final(t_env, "SELECT k, latest(v) FROM t GROUP BY k") == [
        ("a", "[1, 2, 1] 1:2,2:1 3"),
        ("b", "[9] 9:1 1"),
    ]


@pytest.mark.parametrize("records", ["1", "100"])
def test_lists_and_maps_take_rows_back_and_end_with_their_group(records):
    t_env = environment(1, records)
    gone = Row("a", 1)
    gone.set_row_kind(RowKind.DELETE)
    view(t_env, [Row("a", 1), Row("a", 2), gone, Row("b", 1)], changelog=True)
    other = Row("b", 1)
    other.set_row_kind(RowKind.DELETE)
    t_env.create_temporary_function("latest", udaf(Latest()))
    assert final(t_env, "SELECT k, latest(v) FROM t GROUP BY k") == [
        ("a", "[2] 2:1 1"),
        ("b", "[1] 1:1 1"),
    ]


def test_a_group_that_comes_back_starts_with_empty_views():
    t_env = environment()
    gone = Row("a", 1)
    gone.set_row_kind(RowKind.DELETE)
    view(t_env, [Row("a", 1), gone, Row("a", 5)], changelog=True)
    t_env.create_temporary_function("latest", udaf(Latest()))
    assert final(t_env, "SELECT k, latest(v) FROM t GROUP BY k") == [("a", "[5] 5:1 1")]


def test_views_are_not_part_of_the_value_that_is_stored_with_the_group():
    """The value of a group must not grow with its list: that is what the views are for."""
    import pickle

    from penstock.delta.aggregates.views import AccumulatorViews, view_places

    class Lists:
        def __init__(self):
            self.items = []

        def add(self, item):
            self.items.append(item)

        def get(self):
            return self.items

        def clear(self):
            self.items = []

    accumulator = Row(ListView(), 7)
    views = AccumulatorViews(view_places(accumulator), lambda _: Lists(), "x")
    views.adopt(accumulator)
    for i in range(1000):
        accumulator[0].add(i)
    views.detach(accumulator)
    assert len(pickle.dumps(accumulator)) < 500
    views.attach(accumulator)
    assert list(accumulator[0]) == list(range(1000))


class Asks(AsyncScalarFunction):
    """Counts how many calls are under way; fails the first time it sees an even number."""

    def open(self, function_context: Any) -> None:
        self.seen: set[int] = set()
        self.running = self.most = 0

    async def eval(self, value: int) -> Any:
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.001 * (value % 3))
        self.running -= 1
        if value % 2 == 0 and value not in self.seen:
            self.seen.add(value)
            raise ValueError("not yet")
        return None if value == 7 else f"{value}/{self.most > 1}"


def test_asynchronous_calls_overlap_keep_the_order_of_rows_and_are_repeated():
    t_env = environment(1, "100")
    t_env.get_config().set("table.exec.async-scalar.retry-delay", "1 ms")
    view(t_env, [Row("a", i) for i in range(10)])
    t_env.create_temporary_function("asks", udf(Asks(), result_type="STRING"))
    with t_env.execute_sql("SELECT v, asks(v) FROM t").collect() as rows:
        found = [tuple(row) for row in rows]
    assert found == [(i, None if i == 7 else f"{i}/True") for i in range(10)]


def test_asynchronous_calls_fail_for_good():
    t_env = environment(1, "100")
    t_env.get_config().set("table.exec.async-scalar.retry-strategy", "NO_RETRY")
    view(t_env, [Row("a", 2)])
    t_env.create_temporary_function("asks", udf(Asks(), result_type="STRING"))
    with (
        pytest.raises(PenstockError, match="not yet"),
        t_env.execute_sql("SELECT asks(v) FROM t").collect() as r,
    ):
        list(r)


def test_an_asynchronous_call_that_takes_too_long_names_its_arguments():
    async def slow(value):
        await asyncio.sleep(5)

    with pytest.raises(TimeoutError, match=r"timed out for input: \['x'\]"):
        Waiting(timeout_ms=10).results(slow, [("x",)])


def test_no_more_calls_are_under_way_than_allowed():
    running, most = 0, 0

    async def count(value):
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        return value * 2

    assert Waiting(at_a_time=3).results(count, [(i,) for i in range(20)]) == [i * 2 for i in range(20)]
    assert most == 3


def test_asynchronous_functions_take_no_series():
    async def later(value):
        return value

    with pytest.raises(ValueError, match="do not support pandas"):
        udf(later, result_type="INT", func_type="pandas")


class Told(ScalarFunction):
    """Writes down what it is told, and when it is closed."""

    def __init__(self, file: str) -> None:
        self.file = file

    def open(self, function_context: Any) -> None:
        group = function_context.get_metric_group().add_group("g")
        self.counter = group.counter("calls")
        self.told = "|".join(
            map(
                str,
                (
                    function_context.get_job_parameter("p", "none"),
                    function_context.get_number_of_parallel_subtasks(),
                    function_context.get_index_of_this_subtask(),
                    function_context.get_attempt_number(),
                ),
            )
        )

    def eval(self, value: Any) -> str:
        self.counter.inc()
        return f"{value}:{self.told}"

    def close(self) -> None:
        pathlib.Path(self.file).write_text("closed")


def test_functions_are_told_where_they_run_and_closed(tmp_path):
    t_env = environment(1, "100")
    t_env.get_config().set("pipeline.global-job-parameters", "p:x")
    view(t_env, [Row("a", 1)])
    t_env.create_temporary_function("told", udf(Told(str(tmp_path / "f")), result_type="STRING"))
    assert final(t_env, "SELECT told(v) FROM t") == [("1:x|1|0|0",)]
    assert (tmp_path / "f").read_text() == "closed"


def test_functions_in_row_patterns() -> None:
    t_env = environment(records="2")
    t_env.create_temporary_function("big", udf(lambda v: v > 10, result_type=DataTypes.BOOLEAN()))
    t_env.create_temporary_function("twice", udf(lambda v: v * 2, result_type=DataTypes.BIGINT()))
    stream = t_env._stream_environment.from_collection([Row("a", v) for v in (5, 20, 30, 2, 7, 90, 1)], PAIR)
    schema = Schema.new_builder().column_by_expression("pt", "PROCTIME()").build()
    t_env.create_temporary_view("t", t_env.from_data_stream(stream, schema))
    found = final(
        t_env,
        """SELECT * FROM t MATCH_RECOGNIZE (
             PARTITION BY k ORDER BY pt
             MEASURES twice(LAST(B.v)) AS last_twice, A.v AS first_v
             AFTER MATCH SKIP PAST LAST ROW
             PATTERN (A B+ C) DEFINE B AS big(B.v) AND B.v > twice(A.v), C AS NOT big(C.v))""",
    )
    assert found == [("a", 60, 5), ("a", 180, 7)]
