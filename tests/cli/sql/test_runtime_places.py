"""Failures at run time, with the place in the statement where there is only one."""

from __future__ import annotations

import pytest

from penstock.cli.sql.runtime_places import placed
from penstock.common.errors import JobExecutionError, SqlError
from tests.cli.sql.stand_in import Session


@pytest.mark.parametrize(
    ("what", "sql", "piece"),
    [
        ("the query failed: / by zero", "SELECT 1 / a FROM t", "/"),
        ("/ by zero", "SELECT '1/2', MOD(b, a) -- a/b\nFROM t", "MOD"),
        ("Division by zero", "SELECT a % 0 FROM t", "%"),
        ("/ by zero", "SELECT a / b, b / a FROM t", None),
        ("cannot cast 'x' to INT", "SELECT CAST(a AS INT) FROM t", "CAST(a AS INT)"),
        ("cannot cast 'x' to INT", "SELECT CAST(TRIM(a) AS INTEGER) FROM t", "CAST(TRIM(a) AS INTEGER)"),
        ("cannot cast 'x' to INT", "SELECT CAST(a AS INT), CAST(b AS DATE) FROM t", "CAST(a AS INT)"),
        ("cannot cast 'x' to INT", "SELECT CAST(a AS INT), CAST(b AS INT) FROM t", None),
        (
            "cannot cast 'x' to DECIMAL(10, 2)",
            "SELECT CAST(a AS DECIMAL(10, 2)) FROM t",
            "CAST(a AS DECIMAL(10, 2))",
        ),
        ("something else", "SELECT 1 / a FROM t", None),
        ("/ by zero", "SELECT 'open / FROM t", None),
    ],
)
def test_the_only_place_that_can_fail_is_named(what: str, sql: str, piece: str | None) -> None:
    error = placed(JobExecutionError(what), sql)
    if piece is None:
        assert not isinstance(error, SqlError)
        return
    assert isinstance(error, SqlError)
    line = sql.split("\n")[(error.line or 0) - 1]
    column = (error.column or 0) - 1
    assert line[column : column + error.length] == piece
    assert error.what == what


def test_errors_that_are_not_ours_stay_as_they_are() -> None:
    error = ZeroDivisionError("/ by zero")
    assert placed(error, "SELECT 1 / 0") is error


def test_the_client_underlines_it() -> None:
    session = Session({"SELECT": JobExecutionError("the query failed: / by zero")})
    assert not session.run("SELECT a,\n  1 / b FROM t;")
    assert session.errors == [
        "[ERROR] statement 1, line 2: the query failed: / by zero",
        "  2 |   1 / b FROM t",
        "    |     ^",
    ]
