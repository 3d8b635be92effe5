"""What stands before a sink: values that a column cannot hold are refused or cut to fit.

These functions have no SQL name (`$` cannot start one); INSERT puts them around columns, see
`operations/constraints.py`. CHAR(n) and BINARY(n) hold exactly n, the VAR forms at most n; characters are code
points.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import MAX_LENGTH, BinaryType, CharType, DataType, VarBinaryType, VarCharType
from penstock.sql.functions.registry import Arg, FunctionDef, register
from penstock.sql.functions.text import fail_text, let, string

NOT_NULL = "$NOT NULL"
"""(value, column name): fails the job on NULL."""
FIT = "$FIT"
"""(value, type): cuts and pads to the length of the type."""
CHECK_LENGTH = "$CHECK LENGTH"
"""(value, type, column name): fails the job where the length is not what the type says."""


def null_message(column: str) -> str:
    return (
        f"column '{column}' is NOT NULL, however, a null value is being written into it. Set "
        "'table.exec.sink.not-null-enforcer' = 'DROP' to leave out such rows"
    )


def length_message(column: str, target: DataType) -> str:
    return (
        f"column '{column}' is {target.nullable().as_summary()}, however, a value of another length is being "
        "written into it. Set 'table.exec.sink.type-length-enforcer' = 'TRIM_PAD' to make values fit"
    )


def _not_null(args: Sequence[Arg], result: DataType) -> str:
    message = fail_text(null_message(str(args[1].literal)))
    return let(lambda v: f"if({v} IS NULL, {message}, {v})", args[0].sql)


def _length(value: str, target: DataType) -> str:
    return f"{'char_length' if isinstance(target, (CharType, VarCharType)) else 'octet_length'}({value})"


def _fit(args: Sequence[Arg], result: DataType) -> str:
    target = args[1].type
    limit = target.length  # type: ignore[attr-defined]
    if isinstance(target, CharType):
        return f"rpad({args[0].sql}, {limit}, ' ')"
    if isinstance(target, BinaryType):
        return f"rpad({args[0].sql}, {limit}, X'00')"
    return f"substring({args[0].sql}, 1, {limit})"


def _check_length(args: Sequence[Arg], result: DataType) -> str:
    target, column = args[1].type, args[2].literal
    exact = isinstance(target, (CharType, BinaryType))
    text = string(length_message(str(column), target))
    operator = "<>" if exact else ">"
    limit = target.length  # type: ignore[attr-defined]
    return let(
        lambda v: f"if({_length(v, target)} {operator} {limit}, raise_error({text}), {v})", args[0].sql
    )


def has_length(target: DataType) -> bool:
    """Whether the type limits the length of its values."""
    if isinstance(target, (CharType, BinaryType)):
        return True
    return isinstance(target, (VarCharType, VarBinaryType)) and target.length < MAX_LENGTH


for _name, _render in ((NOT_NULL, _not_null), (FIT, _fit), (CHECK_LENGTH, _check_length)):
    register(FunctionDef(_name, "scalar", lambda args: args[0].type, _render))
