"""Conditions over pairs of rows: SQL's three-valued logic."""

from __future__ import annotations

import pickle

import pytest

from penstock.common.datatypes import DataTypes
from penstock.sql.rex import Call, Const, InputRef, Rex
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.residual import Residual, compile_condition, prepare, resolve

INT, BOOLEAN = DataTypes.INT(), DataTypes.BOOLEAN()
A, B = InputRef(INT, 0), InputRef(INT, 1)


def call(name: str, *args: Rex) -> Call:
    return Call(BOOLEAN, name, args)


def const(value: object) -> Const:
    return Const(BOOLEAN, value)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("AND", (True, None), None),
        ("AND", (None, False), False),
        ("AND", (True, True, True), True),
        ("OR", (None, True), True),
        ("OR", (False, None), None),
        ("OR", (False, False, False), False),
        ("NOT", (None,), None),
        ("IS NOT TRUE", (None,), True),
        ("IS UNKNOWN", (None,), True),
    ],
)
def test_unknown_is_neither_true_nor_false(
    name: str, values: tuple[object, ...], expected: bool | None
) -> None:
    assert compile_condition(call(name, *(const(v) for v in values)))(()) is expected


@pytest.mark.parametrize(
    ("row", "expected"), [((1, 1), True), ((None, None), True), ((1, None), False), ((1, 2), False)]
)
def test_null_is_not_distinct_from_null(row: tuple[int | None, ...], expected: bool) -> None:
    assert compile_condition(call("IS NOT DISTINCT FROM", A, B))(row) is expected


def test_a_residual_sees_the_left_row_then_the_right_one_and_can_travel() -> None:
    residual = pickle.loads(pickle.dumps(Residual(call("<", A, B))))
    assert residual((1,), (2,)) is True
    assert residual((3,), (2,)) is False
    assert residual((None,), (2,)) is None


def test_what_belongs_to_one_side_is_computed_before() -> None:
    columns = InputColumns([A]), InputColumns([InputRef(INT, 0)])
    left_only = Call(INT, "ABS", (A,))
    prepared = prepare(call("<", left_only, B), 1, columns)
    assert columns[0].rexes == [A, left_only]
    assert columns[1].rexes == [InputRef(INT, 0)]
    assert resolve(prepared, 2) == call("<", InputRef(INT, 1), InputRef(INT, 2))
