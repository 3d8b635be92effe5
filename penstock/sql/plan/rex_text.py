"""Expressions as short SQL-like text, for EXPLAIN.

>>> from penstock.common.datatypes import DataTypes
>>> from penstock.sql.plan.rex import Call, Const, InputRef
>>> x = InputRef(DataTypes.INT(), 0)
>>> rex_text(Call(DataTypes.BOOLEAN(), ">", (x, Const(DataTypes.INT(), 1))), ["price"])
'price > 1'
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.datatypes import DayTimeIntervalType, YearMonthIntervalType
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    InputRef,
    OuterRef,
    OverCall,
    Rex,
    SubqueryRex,
    TypeRef,
    UdfCall,
)

_INFIX = ("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "LIKE", "NOT LIKE", "SIMILAR TO",
          "IS DISTINCT FROM", "IS NOT DISTINCT FROM")  # fmt: skip
_LOOSE = ("AND", "OR")


def rex_text(rex: Rex, names: Sequence[str]) -> str:
    """The expression over columns of these names."""
    if isinstance(rex, InputRef):
        return names[rex.index] if 0 <= rex.index < len(names) else f"${rex.index}"
    if isinstance(rex, OuterRef):
        return f"outer.${rex.index}"
    if isinstance(rex, Const):
        return _constant(rex)
    if isinstance(rex, TypeRef):
        return rex.type.as_summary()
    if isinstance(rex, SubqueryRex):
        return _subquery(rex, names)
    if isinstance(rex, Call):
        return _call(rex, names)
    if isinstance(rex, (UdfCall, AggCall, OverCall)):
        return f"{rex.name}({_list(rex.args, names)})"
    return type(rex).__name__


def _list(items: Sequence[Rex], names: Sequence[str]) -> str:
    return ", ".join(rex_text(item, names) for item in items)


def _inner(rex: Rex, names: Sequence[str], loose: bool = False) -> str:
    """An operand: in parentheses if it is an operation that binds no closer."""
    text = rex_text(rex, names)
    binds = isinstance(rex, Call) and (rex.name in _LOOSE or (rex.name in _INFIX and not loose))
    return f"({text})" if binds else text


def _call(rex: Call, names: Sequence[str]) -> str:
    name, args = rex.name, rex.args
    if name in _LOOSE:
        return f" {name} ".join(_inner(a, names, loose=True) for a in args)
    if name in _INFIX and len(args) == 2:
        return f"{_inner(args[0], names)} {name} {_inner(args[1], names)}"
    if name.startswith("IS ") and len(args) == 1:
        return f"{_inner(args[0], names)} {name}"
    if name == "NOT":
        return f"NOT {_inner(args[0], names)}"
    if name in ("BETWEEN", "NOT BETWEEN"):
        return f"{_inner(args[0], names)} {name} {_inner(args[1], names)} AND {_inner(args[2], names)}"
    if name in ("IN", "NOT IN"):
        return f"{_inner(args[0], names)} {name} ({_list(args[1:], names)})"
    if name == "CAST":
        return f"CAST({rex_text(args[0], names)} AS {rex.type.as_summary()})"
    if name == "DOT" and isinstance(args[1], Const):
        return f"{_inner(args[0], names)}.{args[1].value}"
    return f"{name}({_list(args, names)})"


def _subquery(rex: SubqueryRex, names: Sequence[str]) -> str:
    negated = "NOT " if rex.negated else ""
    if rex.kind == "in":
        return f"{_list(rex.left, names)} {negated}IN (...)"
    return f"{negated}EXISTS (...)" if rex.kind == "exists" else "(...)"


def _constant(rex: Const) -> str:
    value: Any = rex.value
    if value is None:
        return "NULL"
    if isinstance(rex.type, (DayTimeIntervalType, YearMonthIntervalType)):
        return f"{value} {'ms' if isinstance(rex.type, DayTimeIntervalType) else 'months'}"
    if isinstance(value, bool):
        return str(value).upper()
    return (
        f"'{value}'" if not isinstance(value, (int, float)) and not hasattr(value, "as_tuple") else str(value)
    )
