"""What the print and blackhole sinks do with rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock.common.errors import ValidationError

pytestmark = pytest.mark.spark

COLUMNS = (
    "a INT, b STRING, c DOUBLE, d TIMESTAMP(3), e ARRAY<INT>, f ROW<x INT>, g MAP<STRING, INT>, h BYTES,"
    " i DECIMAL(5, 2), j TIME, k DATE, l BOOLEAN"
)
VALUES = (
    "SELECT 1, 'x y', 1.5D, TIMESTAMP_NTZ'2024-01-02 03:04:05', array(1, NULL), named_struct('x', 1),"
    " map('k', 1), X'68FF', 1.50BD, TIME'01:02:03', DATE'2024-01-01', true"
)


def test_rows_are_printed_in_flinks_form(make_table: Callable[..., Any], capsys: Any) -> None:
    make_table(COLUMNS, {"connector": "print", "print-identifier": "ID"}).write(VALUES)
    assert capsys.readouterr().out == (
        "ID> +I[1, x y, 1.5, 2024-01-02T03:04:05, [1, null], +I[1], {k=1}, [104, -1], 1.50, 01:02:03,"
        " 2024-01-01, true]\n"
    )


def test_a_kind_column_is_printed_as_the_row_kind(make_table: Callable[..., Any], capsys: Any) -> None:
    make_table("a INT", {"connector": "print"}).write("SELECT 1 a, 3Y __kind")
    assert capsys.readouterr().out == "-D[1]\n"


def test_standard_error_can_be_chosen(make_table: Callable[..., Any], capsys: Any) -> None:
    make_table("a INT", {"connector": "print", "standard-error": "true"}).write("SELECT CAST(NULL AS INT)")
    assert capsys.readouterr().err.endswith("+I[null]\n")


def test_the_black_hole_runs_the_query(make_table: Callable[..., Any]) -> None:
    table = make_table("a INT", {"connector": "blackhole"})
    table.write("SELECT 1")
    with pytest.raises(Exception, match="boom"):
        table.write("SELECT CAST(raise_error('boom') AS INT)")


@pytest.mark.parametrize("name", ["print", "blackhole"])
def test_sinks_cannot_be_read(make_table: Callable[..., Any], name: str) -> None:
    with pytest.raises(ValidationError, match="only be used as a sink"):
        make_table("a INT", {"connector": name}).read()
