"""Comparisons, BETWEEN, IN and IS DISTINCT FROM.

Both sides are brought to the type in which Flink compares them (`functions/comparison.py`). A NaN is equal to
nothing, and neither smaller nor greater than anything. 0.0 and -0.0 are equal.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register
from penstock.sql.arrow.logic import chain, negated
from penstock.sql.arrow.nodes import Constant, Node, apply
from penstock.sql.arrow.values import Datum, column, nulls, numbers
from penstock.sql.functions.comparison import comparison_type, tells_zeros_apart
from penstock.sql.plan.rex import Call, Const, Rex

_FLOATING = (FloatType, DoubleType)
_BY_VALUE = (CharType, VarCharType, BinaryType, VarBinaryType)
_NESTED = (ArrayType, MapType, MultisetType, RowType)
_KERNELS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def sides(left: Rex, right: Rex, from_text: bool, compiler: Compiler) -> tuple[Node, Node, DataType]:
    """Both sides in the type in which they are compared, and that type."""
    target = comparison_type(left.type, right.type, numbers_from_text=from_text)
    if target is None or isinstance(target, (*_NESTED, NullType)):
        raise NoArrowForm(f"comparing {left.type} and {right.type}")
    if isinstance(target, NumericType) and not isinstance(target, _FLOATING):
        target = _exact_type(left.type, right.type)
    a, b = (_comparable(side, target, compiler, not from_text) for side in (left, right))
    return a, b, target


def _exact_type(left: DataType, right: DataType) -> DataType:
    """The type in which Spark compares exact numbers."""
    known = [t for t in (left, right) if isinstance(t, (IntegralType, DecimalType))]
    integers = [t for t in known if isinstance(t, IntegralType)]
    if len(integers) == len(known):
        return max(integers, key=lambda t: t.bits)
    pairs = [_digits(t) for t in known]
    whole, behind = max(w for w, _ in pairs), max(b for _, b in pairs)
    if whole + behind > 38:
        raise NoArrowForm(f"comparing {left} and {right}, which no decimal holds")
    return DataTypes.DECIMAL(whole + behind, behind)


def _digits(data_type: DataType) -> tuple[int, int]:
    if isinstance(data_type, DecimalType):
        return data_type.precision - data_type.scale, data_type.scale
    assert isinstance(data_type, IntegralType)
    return {8: 3, 16: 5, 32: 10, 64: 20}[data_type.bits], 0


def _comparable(rex: Rex, target: DataType, compiler: Compiler, equality: bool) -> Node:
    """A side in the type of the comparison; for equality a text that cannot be read is NULL."""
    node, source = compiler.node(rex), rex.type
    if isinstance(source, NullType):
        return cast_node(node, source, target, compiler)
    if isinstance(target, _FLOATING) and isinstance(source, NumericType):
        return cast_node(node, source, target, compiler)
    if isinstance(source, (CharType, VarCharType)) and not isinstance(target, _BY_VALUE):
        return cast_node(node, source, target, compiler, try_=equality and not isinstance(rex, Const))
    if isinstance(source, BooleanType) and isinstance(target, (CharType, VarCharType)):
        raise NoArrowForm("comparing a BOOLEAN with text")
    if isinstance(target, _BY_VALUE):
        return node
    if isinstance(source, (TimestampType, TimeType)) and type(source) is type(target):
        return node
    return cast_node(node, source, target, compiler)


def comparison(operator: str, left: Rex, right: Rex, compiler: Compiler) -> Node:
    """`left operator right`, NULL if one is."""
    equality = operator in ("=", "<>", "!=")
    if equality and comparison_type(left.type, right.type, numbers_from_text=False) is None:
        equality = False
    if equality and _is_word(left.type, right.type):
        return apply(
            partial(_differs, operator != "="), pa.bool_(), compiler.node(left), compiler.node(right)
        )
    a, b, target = sides(left, right, not equality, compiler)
    if isinstance(target, _FLOATING):
        _refuse_nan(left, right)
        if left == right:
            return apply(partial(_with_itself, operator in ("=", "<=", ">=")), pa.bool_(), a)
        if not equality and any(isinstance(s.type, DecimalType) for s in (left, right)):
            return apply(partial(_java_order, operator), pa.bool_(), a, b)
    return apply(_KERNELS[operator], pa.bool_(), a, b)


def _is_word(left: DataType, right: DataType) -> bool:
    """Whether one is BOOLEAN and the other text, which are never equal, whatever the text says."""
    texts, truths = (
        [isinstance(t, kinds) for t in (left, right)] for kinds in ((CharType, VarCharType), (BooleanType,))
    )
    return any(texts) and any(truths)


def _differs(answer: bool, left: Datum, right: Datum) -> pa.Array:
    known = pc.and_(pc.is_valid(left), pc.is_valid(right))
    return pc.if_else(known, pa.scalar(answer), pa.scalar(None, pa.bool_()))


def _with_itself(equal: bool, datum: pa.Array) -> pa.Array:
    """A number compared with itself, which Flink does not do: NaN is equal to itself here."""
    return pc.if_else(pc.is_valid(datum), pa.scalar(equal), pa.scalar(None, pa.bool_()))


def _java_order(operator: str, left: Datum, right: Datum) -> pa.Array:
    """Double.compare, which orders numbers beside decimals: -0.0 is smaller than 0.0, NaN the greatest of all.

    >>> _java_order("<", pa.array([-0.0, float("nan"), None]), pa.scalar(0.0)).to_pylist()
    [True, False, None]
    """
    a, b = (_order_key(numbers(datum)) for datum in (left, right))
    found = {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
    return column(found, pa.bool_(), nulls(left, right))


def _order_key(values: Any) -> Any:
    """Integers in the order of the numbers."""
    known = np.where(np.isnan(values), np.nan, np.asarray(values, np.float64))
    bits = known.view(np.int64)
    return np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)


def _refuse_nan(*rexes: Rex) -> None:
    """In a comparison with a literal NaN Spark's own order decides."""
    for rex in rexes:
        if isinstance(rex, Const) and isinstance(rex.value, float) and math.isnan(rex.value):
            raise NoArrowForm("a literal NaN")


def _same_doubles(left: Datum, right: Datum) -> pa.Array:
    """
    >>> _same_doubles(pa.array([float("nan"), 0.0]), pa.array([float("nan"), -0.0])).to_pylist()
    [True, True]
    """
    return pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))


def build_comparison(call: Call, compiler: Compiler) -> Node:
    left, right = call.args
    return comparison(call.name, left, right, compiler)


# --- IS DISTINCT FROM -----------------------------------------------------------------------------------


def build_distinct(call: Call, compiler: Compiler) -> Node:
    """IS [NOT] DISTINCT FROM: NULL is equal to NULL, the answer is never NULL."""
    left, right = call.args
    a, b, target = sides(left, right, False, compiler)
    if isinstance(target, _FLOATING):
        _refuse_nan(left, right)
    same = apply(_is_same, pa.bool_(), a, b)
    return same if call.name == "IS NOT DISTINCT FROM" else negated(same)


def _is_same(left: Datum, right: Datum) -> pa.Array:
    same = pc.equal(left, right)
    return pc.if_else(pc.is_valid(same), same, pc.and_(pc.is_null(left), pc.is_null(right)))


# --- BETWEEN and IN -------------------------------------------------------------------------------------


def build_between(symmetric: bool, opposite: bool, call: Call, compiler: Compiler) -> Node:
    """[NOT] BETWEEN [SYMMETRIC] (x, low, high)."""
    value, low, high = call.args
    found = _inside(value, low, high, compiler)
    if symmetric:
        found = chain(True, [found, _inside(value, high, low, compiler)])
    return negated(found) if opposite else found


def _inside(value: Rex, low: Rex, high: Rex, compiler: Compiler) -> Node:
    bounds = [comparison(">=", value, low, compiler), comparison("<=", value, high, compiler)]
    return chain(False, bounds)


_MOST_DOUBLES = 10
"""Beyond, Spark looks into a hash set, which tells 0.0 from -0.0."""


def build_in(opposite: bool, call: Call, compiler: Compiler) -> Node:
    """[NOT] IN (x, a, b, …); the options take the type of x."""
    value, options = call.args[0], call.args[1:]
    if isinstance(value.type, (*_NESTED, NullType)):
        raise NoArrowForm(f"IN for {value.type}")
    node = compiler.node(value)
    nodes = [cast_node(compiler.node(o), o.type, value.type, compiler) for o in options]
    if any(n.may_fail for n in nodes):
        raise NoArrowForm("IN with an option that may fail")
    floating = isinstance(value.type, _FLOATING)
    if floating and len(nodes) > _MOST_DOUBLES:
        raise NoArrowForm("IN with many options of type DOUBLE")
    if all(isinstance(n, Constant) for n in nodes) and not floating:
        scalars = [n.value for n in nodes if isinstance(n, Constant)]
        found: Node = apply(partial(_is_in, *_value_set(scalars, node.type)), pa.bool_(), node)
    else:
        kernel = _same_doubles if floating else pc.equal
        found = chain(True, [apply(kernel, pa.bool_(), node, n) for n in nodes])
        if floating and tells_zeros_apart([o.value for o in options if isinstance(o, Const)]):
            found = chain(False, [found, apply(_is_not_minus_zero, pa.bool_(), node)])
    return negated(found) if opposite else found


def _is_not_minus_zero(datum: pa.Array) -> pa.Array:
    values = numbers(datum)
    return column(~((values == 0) & np.signbit(values)), pa.bool_())


def _value_set(scalars: list[Any], kind: pa.DataType) -> tuple[pa.Array, bool]:
    values = [s.as_py() for s in scalars if s.is_valid]
    return pa.array(values, kind), len(values) < len(scalars)


def _is_in(options: pa.Array, has_null: bool, datum: pa.Array) -> pa.Array:
    """
    >>> _is_in(pa.array([1]), True, pa.array([1, 2, None])).to_pylist()
    [True, None, None]
    """
    found = pc.is_in(datum, value_set=options)
    known = pc.and_(datum.is_valid(), found) if has_null else datum.is_valid()
    return pc.if_else(known, found, pa.scalar(None, pa.bool_()))


for _operator in _KERNELS:
    register(_operator, build_comparison)
for _name in ("IS DISTINCT FROM", "IS NOT DISTINCT FROM"):
    register(_name, build_distinct)
for _symmetric in (False, True):
    for _opposite in (False, True):
        _name = f"{'NOT ' if _opposite else ''}BETWEEN{' SYMMETRIC' if _symmetric else ''}"
        register(_name, partial(build_between, _symmetric, _opposite))
register("IN", partial(build_in, False))
register("NOT IN", partial(build_in, True))
