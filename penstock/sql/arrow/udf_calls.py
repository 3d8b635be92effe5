"""Functions that are Python UDFs in Spark, too: the same Python function, without the way to another process."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import (
    BooleanType,
    CharType,
    DoubleType,
    IntegralType,
    NullType,
    VarCharType,
)
from penstock.sql.arrow.compiler import Builder, Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.text import build_instr, text_node
from penstock.sql.arrow.values import Datum, per_row, per_value
from penstock.sql.functions.udfs import UDFS
from penstock.sql.plan.rex import Call, Rex


def udf_node(name: str, kind: pa.DataType, *args: Node, sees_null: bool = False) -> Node:
    """A call of a UDF of `functions/udfs.py`; unless it sees NULL, NULL in is NULL out."""
    return apply(partial(_call, name, kind, sees_null), kind, *args)


def _call(name: str, kind: pa.DataType, sees_null: bool, *data: Datum) -> pa.Array:
    """
    >>> _call("initcap", pa.string(), False, pa.array(["o'neil", None])).to_pylist()
    ["O'Neil", None]
    """
    function: Callable[..., Any] = UDFS[name].function
    return (per_row if sees_null else per_value)(function, kind, *data)


_PLAIN = (CharType, VarCharType, IntegralType, BooleanType, DoubleType)


def plain_node(rex: Rex, compiler: Compiler) -> Node:
    """A value that Spark gives to a UDF as the Python value that Arrow gives."""
    if not isinstance(rex.type, _PLAIN):
        raise NoArrowForm(f"{rex.type} for a UDF")
    return compiler.node(rex)


def udf_builder(name: str, sees_null: bool = False) -> Builder:
    def build(call: Call, compiler: Compiler) -> Node:
        nodes = [plain_node(arg, compiler) for arg in call.args]
        return udf_node(name, type_of(call), *nodes, sees_null=sees_null)

    return build


def build_long_instr(call: Call, compiler: Compiler) -> Node:
    if len(call.args) == 2:
        return build_instr(call, compiler)
    return udf_builder("instr")(call, compiler)


def build_printf(call: Call, compiler: Compiler) -> Node:
    if any(isinstance(arg.type, NullType) for arg in call.args):
        raise NoArrowForm("PRINTF of a bare NULL")
    text_node(call.args[0], compiler)
    return udf_builder("printf", sees_null=True)(call, compiler)


for _name in ("INITCAP", "JSON_QUOTE", "JSON_UNQUOTE", "INET_ATON", "CONVERT_TZ", "PARSE_URL"):
    register(_name, udf_builder(_name.lower()))
register("INSTR", build_long_instr)
register("PRINTF", build_printf)
