"""Table aggregates, functions of Series and windows of rows in streaming queries, without Spark.

What is expected is what Flink 2.3 answered to the same programs; `flat_aggregate` in windows is Java's Table API.
"""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common import Row, RowKind
from penstock.common.errors import NotSupportedError, PenstockError, ValidationError
from penstock.formats.arrow_rows import arrow_type
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.pandas_values import as_pandas, flattened
from penstock.sql.streaming import jobs
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    TableAggregateFunction,
    TableEnvironment,
)
from penstock.table.expressions import call, col, lit, row_interval
from penstock.table.udf import udaf, udf, udtaf
from penstock.table.window import Over, Session, Slide, Tumble

ROWS = """1,2,2018-03-11 03:10:00
3,2,2018-03-11 03:10:00
2,1,2018-03-11 03:10:00
1,3,2018-03-11 03:40:00
1,8,2018-03-11 04:20:00
2,3,2018-03-11 03:30:00
3,3,2018-03-11 03:30:00
1,4,2018-03-11 04:20:00
"""


class Sum(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator[0] += value

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator[0] += other[0]

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()


class Top2(TableAggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator.append(value)

    def merge(self, accumulator: Any, accumulators: Any) -> None:
        for other in accumulators:
            accumulator.extend(other)

    def emit_value(self, accumulator: Any) -> Iterator[Any]:
        for value in sorted(accumulator, reverse=True)[:2]:
            yield Row(value, value * 10)

    def get_result_type(self) -> Any:
        return DataTypes.ROW(
            [DataTypes.FIELD("v", DataTypes.BIGINT()), DataTypes.FIELD("w", DataTypes.BIGINT())]
        )


class RetractableTop2(Top2):
    def retract(self, accumulator: Any, value: Any) -> None:
        accumulator.remove(value)


mean = udaf(lambda v: v.mean(), result_type=DataTypes.FLOAT(), func_type="pandas")
total = udaf(Sum())
top2 = udtaf(Top2())


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)


@pytest.fixture(params=["1", "1000"])
def t_env(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Any:
    """The rows of a file, one or all of them in an epoch."""
    (tmp_path / "in.csv").write_text(ROWS)
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    env.get_config().set("parallelism.default", "1")
    env.get_config().set("execution.epoch.max-records", request.param)
    env.execute_sql(f"""
        CREATE TABLE src (a INT, c INT, rt TIMESTAMP(3), pt AS PROCTIME(),
            WATERMARK FOR rt AS rt - INTERVAL '60' MINUTE)
        WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/in.csv', 'format' = 'csv')""")
    env.create_temporary_function("mean", mean)
    return env


def final(table: Any) -> list[tuple[Any, ...]]:
    left: list[tuple[Any, ...]] = []
    with table.execute().collect() as rows:
        for row in rows:
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                left.append(tuple(row))
            else:
                left.remove(tuple(row))
    return sorted(left)


def rows_window(t_env: Any, window: Any, *keys: str) -> Any:
    windowed = t_env.from_path("src").window(window.on(col("pt")).alias("w"))
    return windowed.group_by(*map(col, keys), col("w"))


# -- windows of a number of rows -------------------------------------------------------------------------


def test_tumbling_windows_of_rows_answer_when_they_are_full(t_env: Any) -> None:
    windows = rows_window(t_env, Tumble.over(row_interval(2)), "a")
    assert final(windows.select(col("a"), col("c").sum, total(col("c")))) == [
        (1, 5, 5), (1, 12, 12), (2, 4, 4), (3, 5, 5),
    ]  # fmt: skip


def test_sliding_windows_of_rows_overlap_and_begin_with_the_first_row(t_env: Any) -> None:
    windows = rows_window(t_env, Slide.over(row_interval(3)).every(row_interval(2)))
    assert final(windows.select(col("c").sum, col("c").count)) == [(5, 3), (12, 3), (14, 3)]
    assert final(windows.select(total(col("c")))) == [(5,), (12,), (14,)]


def test_a_slide_larger_than_the_window_leaves_rows_out(t_env: Any) -> None:
    windows = rows_window(t_env, Slide.over(row_interval(2)).every(row_interval(3)))
    assert final(windows.select(col("c").sum, col("c").count)) == [(4, 2), (7, 2), (11, 2)]


def test_functions_of_series_see_windows_of_rows(t_env: Any) -> None:
    windows = rows_window(t_env, Slide.over(row_interval(3)).every(row_interval(2)))
    found = [round(value, 5) for (value,) in final(windows.select(mean(col("c"))))]
    assert found == [1.66667, 4.0, 4.66667]


def test_aggregate_takes_windows_of_rows(t_env: Any) -> None:
    windows = rows_window(t_env, Tumble.over(row_interval(2)), "a")
    made = windows.aggregate(total(col("c")).alias("x")).select(col("a"), col("x"))
    assert final(made) == [(1, 5), (1, 12), (2, 4), (3, 5)]


def test_keys_alone_are_repeated_for_each_window_of_rows(t_env: Any) -> None:
    windows = rows_window(t_env, Tumble.over(row_interval(2)), "a")
    assert final(windows.select(col("a"))) == [(1,), (1,), (2,), (3,)]
    assert final(windows.select(col("a")).distinct()) == [(1,), (2,), (3,)]


def test_windows_of_rows_are_refused_where_flink_refuses_them(t_env: Any) -> None:
    src = t_env.from_path("src")

    def group(window: Any) -> Any:
        return src.window(window.alias("w")).group_by(col("a"), col("w"))

    with pytest.raises(ValidationError, match="event-time grouping windows on row intervals"):
        group(Tumble.over(row_interval(2)).on(col("rt")))
    with pytest.raises(ValidationError, match="same type of size and slide"):
        group(Slide.over(row_interval(2)).every(lit(3).seconds).on(col("pt")))
    with pytest.raises(ValidationError, match="day-time interval"):
        group(Session.with_gap(row_interval(2)).on(col("pt")))
    with pytest.raises(ValidationError, match="at least one row"):
        group(Tumble.over(row_interval(0)).on(col("pt")))
    with pytest.raises(ValidationError, match="no start and no end"):
        group(Tumble.over(row_interval(2)).on(col("pt"))).select(col("w").start)
    batch = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    table = batch.from_elements([(1, 2)], ["a", "c"]).add_columns(lit(1).alias("pt"))
    with pytest.raises(NotSupportedError, match="batch mode"):
        table.window(Tumble.over(row_interval(2)).on(col("pt")).alias("w")).group_by(col("w"))


# -- functions of Series ---------------------------------------------------------------------------------


def test_functions_of_series_in_group_windows(t_env: Any) -> None:
    tumble = (
        "SELECT a, mean(c), mean(c) FILTER (WHERE c > 2) FROM src GROUP BY a, TUMBLE(rt, INTERVAL '1' HOUR)"
    )
    assert final(t_env.sql_query(tumble)) == [(1, 2.5, 3.0), (1, 6.0, 6.0), (2, 2.0, 3.0), (3, 2.5, 3.0)]
    windowed = t_env.from_path("src").window(
        Slide.over(lit(60).minutes).every(lit(30).minutes).on(col("rt")).alias("w")
    )
    found = final(windowed.group_by(col("w"), col("a")).select(col("a"), mean(col("c"))))
    assert found == [
        (1, 2.0), (1, 2.5), (1, 5.0), (1, 6.0), (2, 1.0), (2, 2.0), (2, 3.0), (3, 2.0), (3, 2.5), (3, 3.0),
    ]  # fmt: skip


def test_functions_of_series_in_bounded_over_windows(t_env: Any) -> None:
    frame = "RANGE BETWEEN INTERVAL '20' MINUTE PRECEDING AND CURRENT ROW"
    query = f"SELECT a, c, mean(c) OVER (PARTITION BY a ORDER BY rt {frame}) FROM src"
    assert final(t_env.sql_query(query)) == [
        (1, 2, 2.0), (1, 3, 3.0), (1, 4, 6.0), (1, 8, 6.0), (2, 1, 1.0), (2, 3, 2.0), (3, 2, 2.0), (3, 3, 2.5),
    ]  # fmt: skip
    over = Over.partition_by(col("a")).order_by(col("rt")).preceding(row_interval(1)).alias("w")
    table = t_env.from_path("src").over_window(over).select(col("a"), mean(col("c")).over(col("w")))
    assert (3, 2.5) in final(table)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT a, mean(c) FROM src GROUP BY a", "not supported in streaming mode"),
        ("SELECT mean(c) FROM src GROUP BY SESSION(rt, INTERVAL '5' MINUTE)", "session windows"),
        ("SELECT mean(c) OVER (PARTITION BY a ORDER BY rt) FROM src", "UNBOUNDED PRECEDING"),
    ],
)
def test_functions_of_series_are_refused_where_flink_refuses_them(
    t_env: Any, query: str, message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        t_env.sql_query(query).execute()


def failure(table: Any) -> str:
    with pytest.raises(PenstockError) as caught, table.execute().collect() as rows:
        list(rows)
    return str(caught.value) + str(caught.value.__cause__)


def test_results_of_series_have_to_fit(t_env: Any) -> None:
    def scalar(function: Any) -> str:
        made = udf(function, result_type=DataTypes.INT(), func_type="pandas", name="f")
        return failure(t_env.from_path("src").select(made(col("c"))))

    assert "must give a pandas.Series or pandas.DataFrame, got int" in scalar(lambda v: 5)
    assert "gave 0 values" in scalar(lambda v: v[:0])
    assert "do not fit its result type INT" in scalar(lambda v: v.astype(str) + "x")
    text = udaf(lambda v: "x", result_type=DataTypes.INT(), func_type="pandas", name="g")
    windows = rows_window(t_env, Tumble.over(row_interval(2)))
    assert "does not fit its result type INT" in failure(windows.select(text(col("c"))))


def test_functions_of_series_that_take_rows_get_a_frame(t_env: Any) -> None:
    import pandas as pd

    pair = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT()), DataTypes.FIELD("y", DataTypes.INT())])
    both = udf(lambda r: pd.concat([r.a, r.c + 1], axis=1), result_type=pair, func_type="pandas")
    table = t_env.from_path("src").select(col("a"), col("c")).map(both)
    assert final(table)[:2] == [(1, 3), (1, 4)]


def test_rows_inside_rows_are_columns_of_the_frame() -> None:
    import pandas as pd
    import pyarrow as pa

    inner = DataTypes.ROW([DataTypes.FIELD("c", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.INT())])
    outer = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", inner)])
    expected = pd.DataFrame({"a": [1, 2], "c": [3, 5], "d": [4, 6]}, dtype="int32")
    column = pa.array([(1, (3, 4)), (2, (5, 6))], arrow_type(outer))
    pd.testing.assert_frame_equal(as_pandas(column, outer, "UTC"), expected)
    spark = pd.DataFrame({"a": [1, 2], "b": [Row(3, 4), {"c": 5, "d": 6}]})
    pd.testing.assert_frame_equal(flattened(spark, outer), expected, check_dtype=False)


def test_results_of_functions_of_series_are_no_maps() -> None:
    with pytest.raises(TypeError, match="MAP"):
        udaf(lambda v: {}, result_type=DataTypes.MAP(DataTypes.INT(), DataTypes.INT()), func_type="pandas")


def test_sum0_can_be_called_by_its_name(t_env: Any) -> None:
    assert final(t_env.from_path("src").select(call("sum0", col("c")))) == [(26,)]


# -- table aggregates ------------------------------------------------------------------------------------


def flat(grouped: Any, function: Any, *shown: str) -> Any:
    emitted = function(col("c")).alias("x", "y")
    return grouped.flat_aggregate(emitted).select(*map(col, shown))


def test_what_a_table_aggregate_emits_replaces_what_it_emitted(t_env: Any) -> None:
    assert final(flat(t_env.from_path("src").group_by(col("a")), top2, "a", "x", "y")) == [
        (1, 4, 40), (1, 8, 80), (2, 1, 10), (2, 3, 30), (3, 2, 20), (3, 3, 30),
    ]  # fmt: skip
    assert final(flat(t_env.from_path("src"), top2, "x")) == [(4,), (8,)]


def test_a_table_aggregate_needs_retract_where_rows_are_taken_back(t_env: Any) -> None:
    sums = t_env.sql_query("SELECT a, SUM(c) AS c FROM src GROUP BY a")
    assert final(flat(sums, udtaf(RetractableTop2()), "x", "y")) == [(5, 50), (17, 170)]
    with pytest.raises(NotSupportedError, match="Top2 over rows that may be taken back"):
        flat(sums, top2, "x").execute()


def test_table_aggregates_in_windows(t_env: Any) -> None:
    src = t_env.from_path("src")
    tumble = src.window(Tumble.over(lit(1).hours).on(col("rt")).alias("w")).group_by(col("w"), col("a"))
    assert final(flat(tumble, top2, "a", "x")) == [
        (1, 2),
        (1, 3),
        (1, 4),
        (1, 8),
        (2, 1),
        (2, 3),
        (3, 2),
        (3, 3),
    ]
    emitted = top2(col("c")).alias("x", "y")
    times = tumble.flat_aggregate(emitted).select(col("a"), col("w").start, col("x"))
    assert {(str(start), x) for a, start, x in final(times) if a == 1} == {
        ("2018-03-11 03:00:00", 2), ("2018-03-11 03:00:00", 3),
        ("2018-03-11 04:00:00", 4), ("2018-03-11 04:00:00", 8),
    }  # fmt: skip
    session = src.window(Session.with_gap(lit(15).minutes).on(col("rt")).alias("w")).group_by(col("w"))
    assert final(flat(session, top2, "x")) == [(2,), (2,), (3,), (3,), (4,), (8,)]
    assert final(flat(rows_window(t_env, Tumble.over(row_interval(4))), top2, "x")) == [
        (2,),
        (3,),
        (4,),
        (8,),
    ]
