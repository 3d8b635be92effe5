"""What stands before a sink: values that a column cannot hold are refused or cut to fit
(`functions/enforcing.py`).
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import BinaryType, CharType, VarCharType
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.failures import failure
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.patterns import literal
from penstock.sql.arrow.writing import padded, shortened
from penstock.sql.functions.enforcing import CHECK_LENGTH, FIT, NOT_NULL, length_message, null_message
from penstock.sql.plan.rex import Call

_TEXT = (CharType, VarCharType)


def build_not_null(call: Call, compiler: Compiler) -> Node:
    """(value, column name)."""
    message = null_message(literal(call.args[1], "a column name"))
    return apply(partial(_not_null, message), type_of(call), compiler.node(call.args[0]), fails=True)


def _not_null(message: str, values: pa.Array) -> pa.Array:
    if values.null_count:
        raise failure(message)
    return values


def build_fit(call: Call, compiler: Compiler) -> Node:
    """(value, type)."""
    node, target = compiler.node(call.args[0]), call.args[1].type
    if not isinstance(target, _TEXT) or not pa.types.is_string(node.type):
        raise NoArrowForm(f"cutting {target} to its length")
    return (padded if isinstance(target, CharType) else shortened)(node, target.length)


def build_check_length(call: Call, compiler: Compiler) -> Node:
    """(value, type, column name)."""
    node, target = compiler.node(call.args[0]), call.args[1].type
    message = length_message(literal(call.args[2], "a column name"), target)
    exact = isinstance(target, (CharType, BinaryType))
    kernel = partial(_check_length, message, exact, target.length)  # type: ignore[attr-defined]
    return apply(kernel, type_of(call), node, fails=True)


def _check_length(message: str, exact: bool, limit: int, values: pa.Array) -> pa.Array:
    """
    >>> _check_length("too long", False, 2, pa.array(["ab", "é", None])).to_pylist()
    ['ab', 'é', None]
    """
    length = (pc.utf8_length if pa.types.is_string(values.type) else pc.binary_length)(values)
    wrong = (pc.not_equal if exact else pc.greater)(length, pa.scalar(limit, pa.int32()))
    if pc.any(wrong).as_py():
        raise failure(message)
    return values


register(NOT_NULL, build_not_null)
register(FIT, build_fit)
register(CHECK_LENGTH, build_check_length)
