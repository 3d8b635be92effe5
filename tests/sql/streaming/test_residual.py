"""Conditions over pairs of rows: SQL's three-valued logic."""

from __future__ import annotations

import datetime as dt
import pickle

import pytest

from penstock.common.datatypes import DataTypes
from penstock.sql.plan.rex import Call, Const, InputRef, Rex
from penstock.sql.python_eval import compile_rex
from penstock.sql.streaming.aggregates import InputColumns
from penstock.sql.streaming.residual import Residual, prepare, resolve

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
    assert compile_rex(call(name, *(const(v) for v in values)))(()) is expected


@pytest.mark.parametrize(
    ("row", "expected"), [((1, 1), True), ((None, None), True), ((1, None), False), ((1, 2), False)]
)
def test_null_is_not_distinct_from_null(row: tuple[int | None, ...], expected: bool) -> None:
    assert compile_rex(call("IS NOT DISTINCT FROM", A, B))(row) is expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("IN", (1, 2, 1), True),
        ("IN", (1, 2, None), None),
        ("NOT IN", (1, 2, None), None),
        ("NOT IN", (1, 2, 3), True),
        ("CASE", (None, 1, True, 2, 3), 2),
        ("CASE", (False, 1), None),
        ("NULLIF", (1, 1), None),
        ("NULLIF", (1, None), 1),
        ("COALESCE", (None, 2), 2),
    ],
)
def test_forms_that_do_not_answer_null_to_every_null(
    name: str, values: tuple[object, ...], expected: object
) -> None:
    assert compile_rex(call(name, *(const(v) for v in values)))(()) == expected


def test_three_valued_logic_holds_inside_of_other_functions() -> None:
    condition = call("COALESCE", call("AND", const(None), const(False)), const(True))
    assert compile_rex(condition)(()) is False


def test_a_timestamp_becomes_its_date() -> None:
    moment = Const(DataTypes.TIMESTAMP(3), dt.datetime(2024, 2, 29, 23, 30))
    assert compile_rex(Call(DataTypes.DATE(), "CAST", (moment,)))(()) == dt.date(2024, 2, 29)


def test_null_is_null_in_any_type() -> None:
    assert compile_rex(Call(DataTypes.DATE(), "CAST", (const(None),)))(()) is None


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
