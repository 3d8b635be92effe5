"""Compiling and calling: what holds for every expression, without Spark."""

from __future__ import annotations

import pickle
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.datatypes import DataTypes
from penstock.formats.arrow_rows import arrow_type
from penstock.sql.arrow import (
    Compiler,
    Node,
    apply,
    can_evaluate,
    compile_columns,
    register,
    supported,
    why_not,
)
from penstock.sql.arrow import expression as expression_module
from penstock.sql.functions import FUNCTIONS
from penstock.sql.plan.rex import Call, Const, InputRef, UdfCall
from tests.sql.arrow import expressions, nasty
from tests.sql.arrow.differential import exact

ALL = [
    sql
    for family in (
        expressions.NUMBERS,
        expressions.CASTS_AND_TIME,
        expressions.TEXT_AND_CONDITIONS,
        expressions.DOCUMENTS,
        expressions.CLOCKS,
    )
    for sql in expressions.lines(family)
]
INT = DataTypes.INT()


def values(column: Any) -> list[Any]:
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    return [exact(value) for value in column.to_pylist()]


def test_slices_and_chunks_have_the_values_of_the_whole() -> None:
    rexes, table = nasty.typed(*ALL), nasty.table()
    compiled = compile_columns(rexes, "UTC")
    assert compiled is not None
    cuts = [0, 1, 100, 237, table.num_rows]
    chunked = pa.concat_tables([table.slice(a, b - a) for a, b in pairwise(cuts)])
    for sql, rex, expression in zip(ALL, rexes, compiled, strict=True):
        whole = expression(table.columns, table.num_rows)
        assert whole.type == arrow_type(rex.type), sql
        parts = [values(expression(t.columns, t.num_rows)) for t in _parts(table, cuts)]
        assert [v for part in parts for v in part] == values(whole), sql
        assert values(expression(chunked.columns, chunked.num_rows)) == values(whole), sql


def _parts(table: pa.Table, cuts: list[int]) -> list[pa.Table]:
    return [table.slice(a, b - a) for a, b in pairwise(cuts)]


def test_every_expression_can_be_pickled() -> None:
    table = nasty.table()
    compiled = compile_columns(nasty.typed(*ALL), "UTC")
    assert compiled is not None
    for sql, expression in zip(ALL, compiled, strict=True):
        copy = pickle.loads(pickle.dumps(expression))
        ours, theirs = (values(e(table.columns, table.num_rows)) for e in (expression, copy))
        assert ours == theirs, sql


def test_no_rows_are_a_column_of_the_right_type() -> None:
    rexes = nasty.typed(*ALL)
    compiled = compile_columns(rexes, "UTC")
    assert compiled is not None
    empty = nasty.table().slice(0, 0)
    for rex, expression in zip(rexes, compiled, strict=True):
        found = expression(empty.columns, 0)
        assert (len(found), found.type) == (0, arrow_type(rex.type))


def test_a_long_column_is_evaluated_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression_module, "MOST_ROWS", 3)
    [expression] = compile_columns(nasty.typed("i1 + 1"), "UTC") or []
    columns = [pa.array([1] * 8, c.type) if c.type == pa.int32() else c[:8] for c in nasty.table().columns]
    assert expression(columns, 8).to_pylist() == [2] * 8


def test_every_supported_function_is_one_of_the_library() -> None:
    named = {name for name in supported() if not name.startswith("$")}  # the others stand for hidden columns
    assert named - FUNCTIONS.keys() == set()


def test_what_has_no_exact_form_is_refused_as_a_whole() -> None:
    refused = [
        "CAST(d1 AS STRING)",  # how many digits Java writes depends on its version
        "CAST(d1 AS DECIMAL(10, 2))",
        "CAST(p1 AS FLOAT)",
        "ROUND(d1, 2)",
        "SIN(d1)",
        "x1 LIKE x2",
        "REGEXP(x1, x2)",
        "REGEXP(x1, '\\bword')",
        "REGEXP(x1, '(?<=a)b')",
        "REPLACE(x1, x2, 'y')",
        "ai1 = ai2",
        "UPPER(LOWER(x1))",
        "CURRENT_TIMESTAMP",
        "RAND()",
        "d1 IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)",
    ]
    for sql in refused:
        rexes = nasty.typed("i1", sql)
        assert compile_columns(rexes, "UTC") is None, sql
        assert can_evaluate(rexes[0]) and not can_evaluate(rexes[1], "UTC"), sql


def test_a_zone_whose_clock_changes_is_catalysts() -> None:
    [hour] = nasty.typed("HOUR(k1)")
    assert can_evaluate(hour, "UTC") and can_evaluate(hour, "+02:00")
    assert why_not(hour, "Europe/Paris") == "time zone Europe/Paris"
    assert not can_evaluate(hour)
    assert can_evaluate(nasty.typed("HOUR(m1)")[0])


def test_zeros_of_both_signs_stay_apart() -> None:
    double = DataTypes.DOUBLE(False)
    rexes = [Call(double, "ABS", (Const(double, zero),)) for zero in (0.0, -0.0)]
    negative = [Call(double, "-", (Const(double, zero),)) for zero in (0.0, -0.0)]
    compiled = compile_columns([*rexes, *negative], "UTC")
    assert compiled is not None
    found = [expression([pa.array([1])], 1)[0].as_py() for expression in compiled]
    assert [str(value) for value in found] == ["0.0", "0.0", "-0.0", "0.0"]


def test_somebody_else_can_say_how_user_functions_are_called() -> None:
    call = UdfCall(INT, "twice", lambda x: 2 * x, (InputRef(INT, 0),))
    assert compile_columns([call], "UTC") is None
    calls = []

    def build(rex: UdfCall, compiler: Compiler) -> Node:
        def kernel(column: pa.Array) -> pa.Array:
            calls.append(len(column))
            return pa.array([None if x is None else rex.function(x) for x in column.to_pylist()], pa.int32())

        return apply(kernel, pa.int32(), compiler.node(rex.args[0]), fails=True)

    register(UdfCall, build)
    try:
        plus = Call(INT, "+", (call, call))
        [expression] = compile_columns([plus], "UTC") or []
    finally:
        from penstock.sql.arrow.compiler import _BUILDERS

        del _BUILDERS[UdfCall]
    assert expression([pa.array([1, None], pa.int32())], 2).to_pylist() == [4, None]


def test_what_is_asked_for_twice_is_evaluated_once() -> None:
    from penstock.sql.arrow import compiler as compiler_module

    calls = []

    def kernel(column: pa.Array) -> pa.Array:
        calls.append(len(column))
        return column

    def build(call: Call, compiler: Compiler) -> Node:
        return apply(kernel, pa.int32(), compiler.node(call.args[0]))

    register("COUNTED", build)
    try:
        counted = Call(INT, "COUNTED", (InputRef(INT, 0),))
        [expression] = compile_columns([Call(INT, "+", (counted, counted))], "UTC") or []
    finally:
        del compiler_module._BUILDERS["COUNTED"]
    assert expression([pa.array([1, 2], pa.int32())], 2).to_pylist() == [2, 4]
    assert calls == [2]


def test_columns_in_other_forms_of_their_type_are_taken() -> None:
    [expression] = compile_columns([InputRef(DataTypes.STRING(), 0)], "UTC") or []
    for kind in (pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        assert expression([pa.array(["a", None]).cast(kind)], 2).equals(pa.array(["a", None]))
