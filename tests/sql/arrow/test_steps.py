"""Projections and filters on tables."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from penstock.common.datatypes import DataTypes
from penstock.common.errors import JobExecutionError
from penstock.delta.columns import HIDDEN
from penstock.sql.arrow import LinearSteps
from penstock.sql.arrow import steps as steps_module
from penstock.sql.plan.rex import Call, Const, InputRef, Rex

INT, BOOLEAN = DataTypes.INT(), DataTypes.BOOLEAN()
A, B = InputRef(INT, 0), InputRef(INT, 1)


def constant(value: int) -> Rex:
    return Const(INT, value)


def table(**columns: list[int | None]) -> pa.Table:
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


CHANGES = pa.table(
    [
        pa.array([1, 2, None, 4], pa.int32()),
        pa.array([0, 1, 1, 2], pa.int32()),
        pa.array([0, 1, 2, 3], pa.int8()),
        pa.array([9, 9, 9, 9], pa.int64()),
        pa.array([10, 11, 12, 13], pa.int64()),
    ],
    names=["c0", "c1", *HIDDEN],
)


def test_a_filter_drops_what_is_false_or_unknown_and_hidden_columns_stay_with_their_rows() -> None:
    steps = LinearSteps.compile(
        [
            ("filter", Call(BOOLEAN, ">", (A, constant(1)))),
            ("project", [Call(INT, "*", (A, constant(10))), B, A]),
            ("filter", Call(BOOLEAN, "<", (A, constant(40)))),
        ],
        "UTC",
    )
    assert steps is not None
    found = pickle.loads(pickle.dumps(steps)).apply(CHANGES)
    assert found.column_names == ["c0", "c1", "c2", *HIDDEN]
    assert found.to_pylist() == [{"c0": 20, "c1": 1, "c2": 2, "__kind": 1, "__wm": 9, "__pos": 11}]


def test_a_projection_behind_a_filter_sees_no_row_that_was_dropped() -> None:
    steps = LinearSteps.compile(
        [
            ("filter", Call(BOOLEAN, "<>", (B, constant(0)))),
            ("project", [Call(INT, "/", (A, B))]),
        ],
        "UTC",
    )
    assert steps is not None
    assert steps.apply(CHANGES).column("c0").to_pylist() == [2, None, 2]
    unfiltered = LinearSteps.compile([("project", [Call(INT, "/", (A, B))])], "UTC")
    assert unfiltered is not None
    with pytest.raises(JobExecutionError, match="/ by zero"):
        unfiltered.apply(CHANGES)


def test_steps_with_something_that_has_no_form_are_refused() -> None:
    unknown = Call(DataTypes.DOUBLE(), "RAND", ())
    assert LinearSteps.compile([("project", [A, unknown])], "UTC") is None


def test_a_table_without_rows_keeps_its_types() -> None:
    steps = LinearSteps.compile([("project", [Call(BOOLEAN, "=", (A, B))])], "UTC")
    assert steps is not None
    found = steps.apply(CHANGES.slice(0, 0))
    assert found.schema.types == [pa.bool_(), pa.int8(), pa.int64(), pa.int64()]
    assert found.num_rows == 0


def test_a_long_table_is_worked_on_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps_module, "MOST_ROWS", 3)
    steps = LinearSteps.compile(
        [("filter", Call(BOOLEAN, "<>", (A, constant(4)))), ("project", [Call(INT, "+", (A, B))])], "UTC"
    )
    assert steps is not None
    long = table(c0=list(range(10)), c1=[1] * 10)
    assert steps.apply(long).column("c0").to_pylist() == [1, 2, 3, 4, 6, 7, 8, 9, 10]


def test_no_step_changes_nothing() -> None:
    steps = LinearSteps.compile([], "UTC")
    assert steps is not None
    assert steps.apply(CHANGES).equals(CHANGES)
