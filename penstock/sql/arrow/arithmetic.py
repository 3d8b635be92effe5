"""The arithmetic operators on numbers.

Integers keep their width and wrap around; dividing an exact number by zero fails. Decimals whose result type
holds all digits are Arrow's work, others are rounded by `decimals.py`. DOUBLE and FLOAT follow IEEE 754.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    DataType,
    DecimalType,
    FractionalType,
    IntegralType,
    NullType,
    NumericType,
)
from penstock.sql.arrow.casts import cast_node
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.decimals import divided, per_number, rescaled
from penstock.sql.arrow.failures import failure
from penstock.sql.arrow.intervals import moved_by_interval
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.values import Datum, column, is_scalar, nulls, numbers, zero
from penstock.sql.functions.arithmetic import is_zero
from penstock.sql.functions.common_types import as_decimal, common_type
from penstock.sql.plan.rex import Call, Const, Rex

_KERNELS = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def operands(call: Call, wanted: DataType, compiler: Compiler) -> list[Node]:
    """Both operands in the type in which the operation is done."""
    return [_operand(arg, wanted, compiler) for arg in call.args]


def _operand(arg: Rex, wanted: DataType, compiler: Compiler) -> Node:
    exact = isinstance(arg.type, (DecimalType, IntegralType))
    if isinstance(wanted, DecimalType) and exact:
        wanted = as_decimal(arg.type)
    if not isinstance(arg.type, (NumericType, NullType)):
        raise NoArrowForm(f"{arg.type} in arithmetic")
    return cast_node(compiler.node(arg), arg.type, wanted, compiler)


# --- plus, minus, times ---------------------------------------------------------------------------------


def number_operation(call: Call, compiler: Compiler) -> Node:
    """`+`, `-` or `*` of two numbers, or one sign."""
    result = type_of(call)
    if len(call.args) == 1:
        node = compiler.node(call.args[0])
        return node if call.name == "+" else apply(pc.negate, result, node)
    nodes = operands(call, call.type, compiler)
    if call.name == "+" and isinstance(call.type, FractionalType):
        for zero_arg, other in ((0, 1), (1, 0)):
            arg = call.args[zero_arg]
            if isinstance(arg, Const) and is_zero(arg.value):
                return nodes[other]
    if isinstance(call.type, DecimalType):
        return _decimal_operation(call.name, nodes, result)
    return apply(_KERNELS[call.name], result, *nodes)


def _decimal_operation(operator: str, nodes: list[Node], result: pa.DataType) -> Node:
    left, right = (node.type for node in nodes)
    if operator == "*":
        precision, scale = left.precision + right.precision + 1, left.scale + right.scale
    else:
        scale = max(left.scale, right.scale)
        precision = max(left.precision - left.scale, right.precision - right.scale) + scale + 1
    if (precision, scale) == (result.precision, result.scale):
        return apply(_KERNELS[operator], result, *nodes)
    kernel = partial(_long_product if operator == "*" else _long_sum, operator, result)
    return apply(kernel, result, *nodes)


def _long_product(operator: str, result: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    digits = result.scale - left.type.scale - right.type.scale
    return per_number(lambda a, b: rescaled(a * b, digits), result, left, right)


def _long_sum(operator: str, result: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    scale = max(left.type.scale, right.type.scale)
    a_factor, b_factor = 10 ** (scale - left.type.scale), 10 ** (scale - right.type.scale)
    if operator == "-":
        b_factor = -b_factor
    digits = result.scale - scale
    return per_number(lambda a, b: rescaled(a * a_factor + b * b_factor, digits), result, left, right)


# --- division -------------------------------------------------------------------------------------------


def build_divide(call: Call, compiler: Compiler) -> Node:
    """`/`; the quotient of integers is cut towards zero."""
    if not isinstance(call.type, NumericType):
        raise NoArrowForm("intervals in a division")
    nodes, result = operands(call, call.type, compiler), type_of(call)
    if isinstance(call.type, DecimalType):
        return apply(partial(_decimal_quotient, result), result, *nodes, fails=True)
    if isinstance(call.type, FractionalType):
        return apply(pc.divide, result, *nodes)
    return apply(_integer_quotient, result, *nodes, fails=True)


def build_modulo(call: Call, compiler: Compiler) -> Node:
    """`%`; the remainder has the sign of what is divided."""
    result = type_of(call)
    if any(isinstance(arg.type, DecimalType) for arg in call.args):
        if not isinstance(call.type, DecimalType):
            raise NoArrowForm("the remainder of a decimal as an integer")
        nodes = operands(call, call.type, compiler)
        return apply(partial(_decimal_remainder, result), result, *nodes, fails=True)
    if not isinstance(call.type, IntegralType):
        raise NoArrowForm(f"the remainder of {call.type}")
    wide = common_type([arg.type for arg in call.args]) or call.type
    nodes = [cast_node(compiler.node(arg), arg.type, wide, compiler) for arg in call.args]
    return apply(partial(_integer_remainder, result), result, *nodes, fails=True)


def _fail_on_zero(divisor: Datum, message: str) -> None:
    """Also where what is divided is NULL."""
    is_zero = pc.equal(divisor, zero(divisor.type))
    if is_zero.as_py() if is_scalar(is_zero) else pc.any(is_zero).as_py():
        raise failure(message)


def _integer_quotient(left: Datum, right: Datum) -> pa.Array:
    """
    >>> _integer_quotient(pa.array([-7, -(2**31)], pa.int32()), pa.array([2, -1], pa.int32())).to_pylist()
    [-3, -2147483648]
    """
    _fail_on_zero(right, "/ by zero")
    quotient = pc.divide(left, right)
    # Arrow's quotient of the smallest number and -1 is 0; Java's wraps around.
    minus_one = pc.equal(right, pa.scalar(-1, right.type))
    if pc.any(minus_one).as_py() if not is_scalar(minus_one) else minus_one.as_py():
        return pc.if_else(minus_one, pc.negate(left), quotient)
    return quotient


def _integer_remainder(result: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    _fail_on_zero(right, "/ by zero")
    missing = nulls(left, right)
    divisor = numbers(right)
    if not is_scalar(right) and missing is not None:
        divisor = np.where(missing, 1, divisor)
    elif is_scalar(right) and not right.is_valid:
        divisor = divisor + 1
    rest = np.fmod(numbers(left), divisor)
    return column(rest.astype(_integer(result)), result, missing)


def _integer(data_type: pa.DataType) -> Any:
    return np.dtype(f"i{data_type.bit_width // 8}")


def _decimal_quotient(result: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    _fail_on_zero(right, "Division by zero")
    digits = result.scale - left.type.scale + right.type.scale
    up, down = 10 ** max(digits, 0), 10 ** max(-digits, 0)
    return per_number(lambda a, b: divided(a * up, b * down), result, left, right)


def _decimal_remainder(result: pa.DataType, left: Datum, right: Datum) -> pa.Array:
    _fail_on_zero(right, "Division by zero")
    scale = max(left.type.scale, right.type.scale)
    a_factor, b_factor = 10 ** (scale - left.type.scale), 10 ** (scale - right.type.scale)

    def rest(a: int, b: int) -> int:
        whole, found = divmod(abs(a * a_factor), abs(b * b_factor))
        if whole >= 10**38 and found:
            raise failure("Division impossible")
        return rescaled(found if a >= 0 else -found, result.scale - scale)

    return per_number(rest, result, left, right)


def build_plus_minus(call: Call, compiler: Compiler) -> Node:
    """`+` and `-` of numbers, or of dates, times and intervals."""
    if isinstance(call.type, NumericType):
        return number_operation(call, compiler)
    return moved_by_interval(call, compiler)


def build_times(call: Call, compiler: Compiler) -> Node:
    if not isinstance(call.type, NumericType):
        raise NoArrowForm("intervals in a product")
    return number_operation(call, compiler)


register("+", build_plus_minus, "+ (unary)")
register("-", build_plus_minus, "- (unary)")
register("*", build_times)
register("/", build_divide)
register("%", build_modulo, "MOD")
