"""Users' functions over tables that Python tasks read: called there, with the same answers as anywhere else."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.common.errors import UserFunctionError
from penstock.table import DataTypes, EnvironmentSettings, ScalarFunction, TableEnvironment
from penstock.table.udf import udf, udtf

pytestmark = pytest.mark.spark


class Noted(ScalarFunction):
    """Notes in a file when it is opened, with what it was told, and closed."""

    def __init__(self, notes: str) -> None:
        self.notes = notes

    def _note(self, what: str) -> None:
        with open(self.notes, "a") as file:
            file.write(what + "\n")

    def open(self, function_context: Any) -> None:
        self._note("open " + function_context.get_job_parameter("city", "?"))

    def close(self) -> None:
        self._note("close")

    def eval(self, value: Any) -> Any:
        return value


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("calls") / "t.csv"
    path.write_text("".join(f"{i % 3},{i},w{i} x\n" for i in range(10)))
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    columns = "(k BIGINT, v BIGINT, w STRING)"
    options = f"'connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv'"
    made.execute_sql(f"CREATE TABLE t {columns} WITH ({options})")
    functions = {
        "f": udf(lambda v: v * 3 + 1, result_type=DataTypes.BIGINT()),
        "p": udf(lambda v: v * 3 + 1, result_type=DataTypes.BIGINT(), func_type="pandas"),
        "bad": udf(lambda v: 1 // (v - 5), result_type=DataTypes.BIGINT()),
        "words": udtf(lambda w: w.split(" "), result_types=[DataTypes.STRING()]),
        "none": udtf(lambda w: [], result_types=[DataTypes.STRING()]),
    }
    for name, function in functions.items():
        made.create_temporary_function(name, function)
    return made


def answer(env: Any, query: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(query).collect() as rows:
        return [tuple(row) for row in rows]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT SUM(f(v)), COUNT(*) FROM t", [(145, 10)]),
        ("SELECT SUM(v), COUNT(x), MAX(x) FROM t, LATERAL TABLE(words(w)) AS s(x)", [(90, 20, "x")]),
        (
            "SELECT k, f(v), x FROM t LEFT JOIN LATERAL TABLE(none(w)) AS s(x) ON TRUE WHERE v > 7",
            [(2, 25, None), (0, 28, None)],
        ),
        (
            "SELECT k, SUM(p(f(v) + 1)) AS s FROM t WHERE f(k) > 2 GROUP BY k ORDER BY k",
            [(1, 129), (2, 156)],
        ),
        (
            "SELECT k, COUNT(*), COUNT(f(v)), MIN(w), MAX(p(v)), SUM(v) FROM t GROUP BY k ORDER BY k",
            [(0, 4, 4, "w0 x", 28, 18), (1, 3, 3, "w1 x", 22, 12), (2, 3, 3, "w2 x", 25, 15)],
        ),
        ("SELECT COUNT(*), COUNT(f(v)), SUM(f(v)), MAX(w) FROM t WHERE f(v) < 0", [(0, 0, None, None)]),
        ("SELECT AVG(f(v)), COUNT(DISTINCT f(k)) FROM t", [(14, 3)]),
        ("SELECT f(v), UPPER(w) FROM t ORDER BY k DESC, v LIMIT 2", [(7, "W2 X"), (16, "W5 X")]),
        ("SELECT COUNT(*) FILTER (WHERE f(v) > 10), LISTAGG(x, '-') FROM t, "
         "LATERAL TABLE(words(w)) AS s(x) WHERE v < 2", [(0, "w0-x-w1-x")]),
        ("SELECT f(v) FROM t WHERE v = (SELECT MAX(f(k)) FROM t)", [(22,)]),
        ("SELECT a.v FROM t AS a JOIN t AS b ON f(a.v) = b.v ORDER BY 1", [(0,), (1,), (2,)]),
    ],
)  # fmt: skip
def test_answers(env: Any, query: str, expected: list[tuple[Any, ...]]) -> None:
    assert answer(env, query) == expected


def test_explain_says_where_functions_run(env: Any) -> None:
    told = env.explain_sql("SELECT SUM(f(v)) FROM t WHERE f(k) > 2")
    assert "/* f in the tasks that read default_catalog.default_database.t */" in told
    assert "penstock_user_" not in told


def test_a_failure_says_whose_it_is(env: Any) -> None:
    with pytest.raises(UserFunctionError, match="function bad failed: ZeroDivisionError"):
        answer(env, "SELECT bad(v) FROM t")


def test_a_function_is_opened_with_its_parameters_and_closed(env: Any, tmp_path: pathlib.Path) -> None:
    notes = tmp_path / "notes"
    env.get_config().set("pipeline.global-job-parameters", "city:Ulm")
    env.create_temporary_function("noted", udf(Noted(str(notes)), result_type=DataTypes.BIGINT()))
    assert answer(env, "SELECT SUM(noted(v)) FROM t") == [(45,)]
    assert notes.read_text().split("\n") == ["open Ulm", "close", ""]
