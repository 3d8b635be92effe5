"""Scalar subqueries over changing tables, in process: what real Flink answered is in tests/conformance/sql/join."""

from __future__ import annotations

import pytest

from tests.properties.sql_differential.cases import Case
from tests.properties.sql_differential.compare import table_after
from tests.properties.sql_differential.in_process import run_in_process
from tests.properties.sql_differential.queries import Program
from tests.properties.sql_differential.tables import Change, Column, Table
from tests.properties.sql_differential.types import BIGINT, INT, sql


def answer(query: str, epoch_size: int) -> list[tuple[object, ...]]:
    """The query over t with the rows 1 and NULL and over e, which had a row 1 once."""
    t = Table("t", (Column("x", INT),), "debezium-json", (Change(None, (1,)), Change(None, (None,))))
    e = Table("e", (Column("x", INT),), "debezium-json", (Change(None, (1,)), Change((1,), None)))
    case = Case((t, e), Program(sql(query), (INT, BIGINT)), epoch_size, 1, frozenset())
    return sorted(table_after(run_in_process(case)).elements(), key=str)


@pytest.mark.parametrize("epoch_size", [0, 1])
def test_an_uncorrelated_count_of_nothing_is_null(epoch_size: int) -> None:
    assert answer("SELECT x, (SELECT COUNT(*) FROM e) FROM t", epoch_size) == [(1, None), (None, None)]


@pytest.mark.parametrize("epoch_size", [0, 1])
def test_a_correlated_count_of_nothing_is_zero(epoch_size: int) -> None:
    query = "SELECT x, (SELECT COUNT(*) FROM e WHERE e.x = t.x) FROM t"
    assert answer(query, epoch_size) == [(1, 0), (None, 0)]
