"""Aggregates of users over bounded tables: groups in pieces, functions of Series, table aggregates, lifecycles."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest

from penstock.common import Row
from penstock.common.errors import PenstockError
from penstock.table import (
    AggregateFunction,
    DataTypes,
    EnvironmentSettings,
    ScalarFunction,
    TableAggregateFunction,
    TableEnvironment,
)
from penstock.table.expressions import col
from penstock.table.udf import udaf, udf, udtaf, udtf

pytestmark = pytest.mark.spark

mean = udaf(lambda v: v.mean(), result_type=DataTypes.FLOAT(), func_type="pandas")


class Sum(AggregateFunction):  # type: ignore[type-arg]
    """Notes in a file when it is opened and closed."""

    def __init__(self, notes: str = "") -> None:
        self.notes = notes

    def _note(self, what: str) -> None:
        if self.notes:
            with open(self.notes, "a") as file:
                file.write(what + "\n")

    def open(self, function_context: Any) -> None:
        self._note("open")

    def close(self) -> None:
        self._note("close")

    def create_accumulator(self) -> Any:
        return [0]

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator[0] += value or 0

    def get_value(self, accumulator: Any) -> Any:
        return accumulator[0]

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()


class Twice(ScalarFunction):
    def __init__(self, notes: str) -> None:
        self.notes = notes

    def eval(self, value: Any) -> Any:
        return value * 2

    def close(self) -> None:
        with open(self.notes, "a") as file:
            file.write("close\n")


class Top2(TableAggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> Any:
        return []

    def accumulate(self, accumulator: Any, value: Any) -> None:
        accumulator.append(value)

    def emit_value(self, accumulator: Any) -> Iterator[Any]:
        for value in sorted(accumulator, reverse=True)[:2]:
            yield Row(value, str(value))

    def get_result_type(self) -> Any:
        return "ROW<v BIGINT, w STRING>"


@pytest.fixture
def env() -> Any:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    rows = [(1, 2), (3, 2), (2, 1), (1, 3), (1, 8), (2, 3), (3, 3), (1, 4)]
    table = made.from_elements(rows, ["a", "c"])
    made.create_temporary_view("src", table)
    made.create_temporary_function("mean", mean)
    made.create_temporary_function("total", udaf(Sum()))
    return made


def answer(table: Any) -> list[tuple[Any, ...]]:
    with table.execute().collect() as rows:
        return sorted(tuple(row) for row in rows)


def test_aggregates_of_users_stand_alone_together_and_beside_others(env: Any) -> None:
    query = "SELECT a, total(c), mean(c) FILTER (WHERE c > 2) FROM src GROUP BY a"
    assert answer(env.sql_query(query)) == [(1, 17, 5.0), (2, 4, 3.0), (3, 5, 3.0)]
    beside = "SELECT a, total(c), mean(c), SUM(c), total(DISTINCT a) FROM src GROUP BY a"
    assert answer(env.sql_query(beside)) == [(1, 17, 4.25, 17, 1), (2, 4, 2.0, 4, 2), (3, 5, 2.5, 5, 3)]


def test_a_group_of_everything_may_be_empty(env: Any) -> None:
    assert answer(env.sql_query("SELECT total(c) FROM src")) == [(26,)]
    assert answer(env.sql_query("SELECT total(c) FROM src WHERE c > 99")) == [(0,)]
    assert answer(env.sql_query("SELECT mean(c) FROM src WHERE c > 99")) == []  # as in Flink


def test_functions_of_series_over_frames(env: Any) -> None:
    query = (
        "SELECT c, mean(c) OVER (ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM src WHERE a = 1"
    )
    assert answer(env.sql_query(query)) == [(2, 2.0), (3, 2.5), (4, 3.5), (8, 6.0)]


def test_columns_of_a_frame_are_fields_by_their_place(env: Any) -> None:
    both = udf(
        lambda v: pd.DataFrame({"x": v, "y": v + 1}),
        result_type="ROW<p BIGINT, q BIGINT>",
        func_type="pandas",
    )
    assert answer(env.from_path("src").filter(col("a") == 2).map(both(col("c")))) == [(1, 2), (3, 4)]


def test_results_that_do_not_fit_are_refused(env: Any) -> None:
    text = udaf(lambda v: "x", result_type=DataTypes.INT(), func_type="pandas")
    with pytest.raises(PenstockError, match="gave 'x', which does not fit its result type INT"):
        answer(env.from_path("src").group_by(col("a")).select(text(col("c"))))
    column = udaf(lambda v: v, result_type=DataTypes.INT(), func_type="pandas")
    with pytest.raises(PenstockError, match="one value, not a column"):
        answer(env.from_path("src").group_by(col("a")).select(column(col("c"))))
    half = udf(lambda v: v + 0.5, result_type=DataTypes.BIGINT(), func_type="pandas")
    with pytest.raises(PenstockError, match="do not fit its result type BIGINT"):
        answer(env.from_path("src").select(half(col("c"))))


def test_functions_without_arguments_are_called_for_every_row(env: Any) -> None:
    env.create_temporary_function("seven", udf(lambda: 7, result_type=DataTypes.INT()))
    env.create_temporary_function("pair", udtf(lambda: [(1,), (2,)], result_types=[DataTypes.INT()]))
    env.create_temporary_function("none", udtf(lambda: [], result_types=[DataTypes.INT()]))
    values = "(VALUES (10), (20)) AS t(v)"
    assert answer(env.sql_query(f"SELECT v, seven() FROM {values}")) == [(10, 7), (20, 7)]
    found = answer(env.sql_query(f"SELECT v, x FROM {values}, LATERAL TABLE(pair()) AS f(x)"))
    assert found == [(10, 1), (10, 2), (20, 1), (20, 2)]
    outer = env.sql_query(f"SELECT v, x FROM {values} LEFT JOIN LATERAL TABLE(none()) AS f(x) ON TRUE")
    assert answer(outer) == [(10, None), (20, None)]


def test_table_aggregates_give_rows(env: Any) -> None:
    table = env.from_path("src").group_by(col("a")).flat_aggregate(udtaf(Top2())(col("c")))
    expected = [(1, 4, "4"), (1, 8, "8"), (2, 1, "1"), (2, 3, "3"), (3, 2, "2"), (3, 3, "3")]
    assert answer(table.select(col("*"))) == expected


def test_functions_with_a_close_are_closed_after_their_task(env: Any, tmp_path: pathlib.Path) -> None:
    scalar, aggregate = tmp_path / "scalar", tmp_path / "aggregate"
    twice = udf(Twice(str(scalar)), result_type=DataTypes.BIGINT())
    answer(env.from_path("src").select(twice(col("c"))))
    total = udaf(Sum(str(aggregate)))
    answer(env.from_path("src").group_by(col("a")).select(total(col("c"))))
    until = time.monotonic() + 20
    while time.monotonic() < until:
        notes = aggregate.read_text().split()
        if scalar.exists() and notes.count("close") == notes.count("open") > 0:
            return
        time.sleep(0.1)
    pytest.fail(f"not closed: {notes}, {scalar.exists()}")
