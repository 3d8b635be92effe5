"""Functions of one number: ABS, SIGN, CEIL, FLOOR, ROUND of exact numbers, SQRT.

ROUND of a DOUBLE and the functions of mathematics are Catalyst's: their last digit depends on Java.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    DataTypes,
    DecimalType,
    FractionalType,
    IntegralType,
    NullType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.decimals import cast_decimal, divided, per_number
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.values import column, nulls, numbers
from penstock.sql.plan.rex import Call, Const


def build_abs(call: Call, compiler: Compiler) -> Node:
    """The smallest integer stays what it is."""
    if isinstance(call.type, NullType):
        raise NoArrowForm("ABS of NULL")
    return apply(pc.abs, type_of(call), compiler.node(call.args[0]))


def build_sign(call: Call, compiler: Compiler) -> Node:
    kind = type_of(call)
    if isinstance(call.type, IntegralType):
        return apply(partial(_sign, kind), kind, compiler.node(call.args[0]))
    if isinstance(call.type, DecimalType):
        return apply(partial(_decimal_sign, kind), kind, compiler.node(call.args[0]))
    raise NoArrowForm(f"SIGN of {call.type}")


def _sign(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    return pc.sign(datum).cast(kind)


def _decimal_sign(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    """Types without a digit before the point have no 1: NULL."""
    unit = 10**kind.scale
    return per_number(lambda n: unit * ((n > 0) - (n < 0)), kind, datum)


# --- CEIL, FLOOR, ROUND ---------------------------------------------------------------------------------


def build_whole(call: Call, compiler: Compiler, up: bool) -> Node:
    """CEIL or FLOOR of a number."""
    node, kind = compiler.node(call.args[0]), type_of(call)
    if isinstance(call.type, IntegralType):
        return node
    if isinstance(call.type, DecimalType):
        return apply(partial(_whole_decimals, kind, up), kind, node)
    if isinstance(call.type, FractionalType):
        return apply(partial(_whole_doubles, kind, up), kind, node)
    raise NoArrowForm(f"{call.name} of {call.type}")


def _whole_decimals(kind: pa.DataType, up: bool, datum: pa.Array) -> pa.Array:
    unit = 10**datum.type.scale
    if up:
        return per_number(lambda n: -(-n // unit), kind, datum)
    return per_number(lambda n: n // unit, kind, datum)


def _whole_doubles(kind: pa.DataType, up: bool, datum: pa.Array) -> pa.Array:
    """
    >>> _whole_doubles(pa.float64(), True, pa.array([-0.5, 1e20])).to_pylist()
    [-0.0, 1e+20]
    """
    with np.errstate(invalid="ignore"):
        return column((np.ceil if up else np.floor)(numbers(datum)), kind, nulls(datum))


def build_round(call: Call, compiler: Compiler) -> Node:
    """ROUND (x, digits) of integers and decimals."""
    digits = call.args[1] if len(call.args) > 1 else Const(DataTypes.INT(False), 0)
    if not isinstance(digits, Const) or not isinstance(digits.value, int) or abs(digits.value) > 38:
        raise NoArrowForm("ROUND to a number of digits that is no constant")
    node, kind = compiler.node(call.args[0]), type_of(call)
    if isinstance(call.type, DecimalType):
        return apply(partial(_round_decimals, kind, digits.value), kind, node)
    if isinstance(call.type, IntegralType) and digits.value >= 0:
        return node
    raise NoArrowForm(f"ROUND of {call.type}")


def _round_decimals(kind: pa.DataType, digits: int, datum: pa.Array) -> pa.Array:
    if digits >= 0:
        return cast_decimal(datum, kind)
    unit, scale = 10 ** (datum.type.scale - digits), 10 ** (kind.scale - digits)
    return per_number(lambda n: divided(n, unit) * scale, kind, datum)


# --- DOUBLE ---------------------------------------------------------------------------------------------


def build_sqrt(call: Call, compiler: Compiler) -> Node:
    """The one root that IEEE 754 says every digit of."""
    arg = call.args[0]
    return apply(_sqrt, pa.float64(), cast_node(compiler.node(arg), arg.type, DataTypes.DOUBLE(), compiler))


def _sqrt(datum: pa.Array) -> pa.Array:
    """The power of 0.5, to which -0.0 is 0.0 and the infinities are one.

    >>> _sqrt(pa.array([-0.0, float("-inf"), 4.0])).to_pylist()
    [0.0, inf, 2.0]
    """
    values = numbers(datum) + 0.0
    with np.errstate(invalid="ignore"):
        return column(np.sqrt(np.where(np.isneginf(values), np.inf, values)), pa.float64(), nulls(datum))


register("ABS", build_abs)
register("SIGN", build_sign)
register("ROUND", build_round)
register("SQRT", build_sqrt)
