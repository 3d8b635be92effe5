"""Rows of SQL on which an expression or a function fails go to dead letters; the others go on, in order."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest

from penstock.common import Row, Types
from penstock.common.errors import PenstockError
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.table import DataTypes, StreamTableEnvironment
from penstock.table.udf import udf, udtf

NUMBERS = Types.ROW_NAMED(["n", "w"], [Types.LONG(), Types.STRING()])
ROWS = [Row(n, "x" if n in (3, 4, 17) else str(n * 10)) for n in range(20)]
GOOD = [n for n in range(20) if n not in (3, 4, 17)]


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    real = submit.submit_job

    def here(sinks: Any, configuration: Any, name: str, _: Any = None, about: Any = None) -> Any:
        return real(sinks, configuration, name, InProcessEpochs)

    monkeypatch.setattr(submit, "submit_job", here)
    monkeypatch.setattr(jobs, "submit_job", here)


def run(query: str, folder: pathlib.Path | None, *functions: tuple[str, Any]) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    if folder is not None:
        env.get_configuration().set_string("penstock.dead-letter.path", str(folder))
    t_env = StreamTableEnvironment.create(env)
    for name, function in functions:
        t_env.create_temporary_function(name, function)
    t_env.create_temporary_view("t", env.from_collection(ROWS, NUMBERS))
    with t_env.to_data_stream(t_env.sql_query(query)).execute_and_collect() as rows:
        return [tuple(row) for row in rows]


def letters(folder: pathlib.Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in folder.glob("*.jsonl") for line in file.read_text().splitlines()]


@udf(result_type=DataTypes.INT())
def parsed(text: str) -> int:
    return int(text)


@udtf(result_types=[DataTypes.INT()])
def digits(text: str) -> Any:
    for digit in text:
        yield int(digit)


def test_an_expression_that_fails_costs_its_row_only(tmp_path: pathlib.Path) -> None:
    found = run("SELECT n, CAST(w AS INT) + 1 FROM t WHERE n >= 0", tmp_path)
    assert found == [(n, n * 10 + 1) for n in GOOD]
    dead = letters(tmp_path)
    assert [d["value"] for d in dead] == ["(3, 'x')", "(4, 'x')", "(17, 'x')"]
    assert "'x'" in dead[0]["error"] and dead[0]["operator"]


def test_a_function_that_raises_costs_its_row_only(tmp_path: pathlib.Path) -> None:
    assert run("SELECT n, parsed(w) FROM t", tmp_path, ("parsed", parsed)) == [(n, n * 10) for n in GOOD]
    dead = letters(tmp_path)
    assert len(dead) == 3
    assert "invalid literal for int()" in dead[0]["error"] and "in parsed" in dead[0]["traceback"]


def test_a_table_function_that_raises_leaves_nothing_of_its_row(tmp_path: pathlib.Path) -> None:
    query = "SELECT n, d FROM t, LATERAL TABLE(digits(w)) AS r(d)"
    found = run(query, tmp_path, ("digits", digits))
    assert found == [(n, int(d)) for n in GOOD for d in str(n * 10)]
    assert len(letters(tmp_path)) == 3


def test_without_a_destination_the_job_fails(tmp_path: pathlib.Path) -> None:
    with pytest.raises(PenstockError, match="invalid literal"):
        run("SELECT n, parsed(w) FROM t", None, ("parsed", parsed))
