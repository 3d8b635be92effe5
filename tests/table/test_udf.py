"""Users' functions called from SQL, in both modes."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.common.errors import PenstockError, ValidationError
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    Row,
    ScalarFunction,
    TableEnvironment,
)
from penstock.table.udf import udaf, udf, udtf

pytestmark = pytest.mark.spark


class WeightedAverage(AggregateFunction):  # type: ignore[type-arg]
    """Of values and weights; NULLs count as nothing."""

    def create_accumulator(self) -> Any:
        return Row(0, 0)

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        if args[0] is not None:
            accumulator[0] += args[0] * args[1]
            accumulator[1] += args[1]

    def retract(self, accumulator: Any, *args: Any) -> None:
        if args[0] is not None:
            accumulator[0] -= args[0] * args[1]
            accumulator[1] -= args[1]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1] if accumulator[1] else None

    def get_result_type(self) -> Any:
        return DataTypes.DOUBLE()

    def get_accumulator_type(self) -> Any:
        return "ROW<a BIGINT, b BIGINT>"


class Listed(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, *args: Any) -> None:
        accumulator.append(args[0])

    def get_value(self, accumulator: Any) -> Any:
        return ",".join(sorted(accumulator))

    def get_result_type(self) -> Any:
        return DataTypes.STRING()


class Prefixed(ScalarFunction):
    def open(self, function_context: Any) -> None:
        self.prefix = function_context.get_job_parameter("prefix", ">")

    def eval(self, text: Any) -> Any:
        return None if text is None else self.prefix + text


@pytest.fixture(params=["batch", "streaming"])
def env(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode()
    if request.param == "streaming":
        settings = EnvironmentSettings.in_streaming_mode()
    made = TableEnvironment.create(settings)
    file = tmp_path / "t.jsonl"
    rows = [("a", 1, 2), ("a", 4, 1), ("b", None, 5), ("b", 7, 3)]
    file.write_text("\n".join(json.dumps({"k": k, "v": v, "w": w}) for k, v, w in rows))
    made.execute_sql(
        "CREATE TABLE t (k STRING, v INT, w INT) WITH "
        f"('connector' = 'filesystem', 'path' = '{file.as_uri()}', 'format' = 'json')"
    )
    return made


def final_rows(env: TableEnvironment, sql: str) -> list[list[Any]]:
    """What the changes of a query leave behind."""
    left: list[list[Any]] = []
    with env.execute_sql(sql).collect() as rows:
        for row in rows:
            values = list(row)
            if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER"):
                left.append(values)
            else:
                left.remove(values)
    return sorted(left, key=repr)


def test_a_plain_function_is_called_with_python_values(env: TableEnvironment) -> None:
    env.create_temporary_function(
        "add", udf(lambda i, j: i + j if i is not None else -1, result_type="BIGINT")
    )
    assert final_rows(env, "SELECT add(v, w) FROM t") == [[-1], [10], [3], [5]]


def test_an_object_is_opened_before_its_first_row(env: TableEnvironment) -> None:
    env.create_temporary_system_function("prefixed", udf(Prefixed(), result_type=DataTypes.STRING()))
    assert final_rows(env, "SELECT DISTINCT prefixed(k) FROM t") == [[">a"], [">b"]]


def test_an_int_for_a_double_is_a_double(env: TableEnvironment) -> None:
    env.create_temporary_function("half", udf(lambda i: 2, result_type="DOUBLE"))
    assert final_rows(env, "SELECT half(v) FROM t WHERE v = 1") == [[2.0]]


def test_a_function_of_series_is_called_with_batches(env: TableEnvironment) -> None:
    env.create_temporary_function("twice", udf(lambda s: s * 2, result_type="INT", func_type="pandas"))
    assert final_rows(env, "SELECT twice(w) FROM t") == [[10], [2], [4], [6]]


def test_a_table_function_gives_rows_to_join(env: TableEnvironment) -> None:
    @udtf(result_types=["INT", "STRING"])
    def count_up(n: int) -> Any:
        for i in range(n or 0):
            yield i, f"#{i}"

    env.create_temporary_function("count_up", count_up)
    rows = final_rows(env, "SELECT k, n, s FROM t, LATERAL TABLE(count_up(v)) AS c(n, s) WHERE v < 5")
    assert rows == [["a", 0, "#0"], ["a", 0, "#0"], ["a", 1, "#1"], ["a", 2, "#2"], ["a", 3, "#3"]]
    rows = final_rows(
        env, "SELECT k, n FROM t LEFT JOIN LATERAL TABLE(count_up(v)) AS c(n, s) ON TRUE WHERE v IS NULL"
    )
    assert rows == [["b", None]]


def test_a_general_aggregate_stands_beside_built_in_ones(env: TableEnvironment) -> None:
    env.create_temporary_function("weighted", udaf(WeightedAverage()))
    sql = "SELECT k, weighted(v, w), COUNT(*), weighted(v, w) FILTER (WHERE w > 1) FROM t GROUP BY k"
    assert final_rows(env, sql) == [["a", 2.0, 2, 1.0], ["b", 7.0, 2, 7.0]]


def test_an_aggregate_may_be_registered_without_a_decorator(env: TableEnvironment) -> None:
    env.create_temporary_function("weighted", WeightedAverage())
    assert final_rows(env, "SELECT weighted(v, w) FROM t") == [[4.5]]


def test_retract_is_called_when_the_input_is_updated(env: TableEnvironment) -> None:
    env.create_temporary_function("weighted", udaf(WeightedAverage()))
    sql = "SELECT weighted(s, n) FROM (SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t GROUP BY k)"
    assert final_rows(env, sql) == [[6.0]]


def test_an_aggregate_of_series_takes_the_whole_group(
    env: TableEnvironment, request: pytest.FixtureRequest
) -> None:
    env.create_temporary_function(
        "spread", udaf(lambda s: s.max() - s.min(), result_type="INT", func_type="pandas")
    )
    query = "SELECT k, spread(w) FROM t GROUP BY k"
    if request.node.callspec.params["env"] == "batch":
        assert final_rows(env, query) == [["a", 1], ["b", 2]]
    else:  # Flink: "Pandas UDAFs are not supported in streaming mode currently."
        with pytest.raises(ValidationError, match="Pandas UDAFs are not supported in streaming mode"):
            env.execute_sql(query)


def test_an_aggregate_takes_distinct_values(env: TableEnvironment) -> None:
    env.create_temporary_function("listed", udaf(Listed()))
    assert final_rows(env, "SELECT listed(DISTINCT k), listed(k) FROM t") == [["a,b", "a,a,b,b"]]


def test_declared_argument_types_are_checked(env: TableEnvironment) -> None:
    env.create_temporary_function("inc", udf(lambda i: i + 1, input_types=["BIGINT"], result_type="BIGINT"))
    assert final_rows(env, "SELECT inc(v) FROM t WHERE v = 1") == [[2]]
    with pytest.raises(ValidationError, match="no match for function inc"):
        env.execute_sql("SELECT inc(k) FROM t")


def test_a_failing_function_is_named(env: TableEnvironment) -> None:
    env.create_temporary_function("broken", udf(lambda i: 1 // 0, result_type="INT"))
    with pytest.raises(PenstockError, match="function broken failed: ZeroDivisionError"):
        final_rows(env, "SELECT broken(v) FROM t")


def test_a_class_is_no_function() -> None:
    with pytest.raises(TypeError, match="not a function"):
        udf(Prefixed, result_type="STRING")


class Scaled(WeightedAverage):
    """The sum, times a parameter of the job."""

    def open(self, function_context: Any) -> None:
        self.factor = float(function_context.get_job_parameter("factor", "2"))

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0] * self.factor


def test_an_aggregate_in_a_window_is_opened(tmp_path: pathlib.Path) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("pipeline.global-job-parameters", "factor:10")
    file = tmp_path / "t.jsonl"
    rows = [("a", 1, "2026-01-01 00:00:01"), ("a", 4, "2026-01-01 00:00:02")]
    file.write_text("\n".join(json.dumps({"k": k, "v": v, "ts": ts}) for k, v, ts in rows))
    env.execute_sql(
        "CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH "
        f"('connector' = 'filesystem', 'path' = '{file.as_uri()}', 'format' = 'json')"
    )
    env.create_temporary_function("scaled", udaf(Scaled()))
    window = "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)"
    sql = f"SELECT k, scaled(v, 1) FROM TABLE({window}) GROUP BY k, window_start, window_end"
    assert final_rows(env, sql) == [["a", 50.0]]


def test_functions_that_are_waited_for(env: TableEnvironment) -> None:
    import asyncio

    async def later(value: Any, text: Any) -> Any:
        await asyncio.sleep(0.001)
        return None if value is None else f"{text}{value}"

    env.create_temporary_function("later", udf(later, result_type=DataTypes.STRING()))
    result = env.execute_sql("SELECT later(a, 'x') FROM (VALUES (1), (2), (CAST(NULL AS INT))) AS t(a)")
    assert sorted(tuple(r) for r in result.collect() if r[0] is not None) == [("x1",), ("x2",)]


def test_metrics_and_job_parameters_are_there(env: TableEnvironment) -> None:
    class Counts(ScalarFunction):
        def open(self, function_context: Any) -> None:
            self.counter = function_context.get_metric_group().counter("n")
            self.prefix = function_context.get_job_parameter("p", "none")

        def eval(self, value: Any) -> Any:
            self.counter.inc()
            return f"{self.prefix}{value}"

    env.get_config().set("pipeline.global-job-parameters", "p:x")
    env.create_temporary_function("counts", udf(Counts(), result_type=DataTypes.STRING()))
    assert [tuple(r) for r in env.execute_sql("SELECT counts(1)").collect()] == [("x1",)]
