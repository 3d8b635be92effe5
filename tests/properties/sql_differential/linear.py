"""Evaluates the linear parts of a physical plan in Python, in the place of Spark SQL.

Only what generated programs use: projections, filters, UNION ALL, the UNNEST of grouping sets, and a few of the
functions. It is slow and obvious on purpose, and shares no code with what it stands in for.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import BigIntType, DataType, DateType, DecimalType, DoubleType, IntType
from penstock.sql.plan.algebra import DataFrameScan, Filter, Plan, Project, SetOp, Unnest
from penstock.sql.plan.rex import Call, Const, InputRef, Rex

Row = tuple[Any, ...]


def rows_of(plan: Plan, views: Mapping[str, list[Row]]) -> list[Row]:
    """The rows of a plan; `views` are the outputs of the nodes below it."""
    if isinstance(plan, DataFrameScan):
        return next(rows for name, rows in views.items() if name in plan.relation)
    if isinstance(plan, Project):
        return [tuple(value(e, row) for e in plan.exprs) for row in rows_of(plan.input, views)]
    if isinstance(plan, Filter):
        return [row for row in rows_of(plan.input, views) if value(plan.condition, row) is True]
    if isinstance(plan, SetOp):
        assert plan.kind == "UNION" and plan.all
        return [*rows_of(plan.left, views), *rows_of(plan.right, views)]
    if isinstance(plan, Unnest):
        assert isinstance(plan.collection, Call)
        items = [value(a, ()) for a in plan.collection.args]
        return [(*row, item) for row in rows_of(plan.input, views) for item in items]
    raise AssertionError(f"no linear form of {plan.describe()}")


def value(rex: Rex, row: Row) -> Any:
    if isinstance(rex, InputRef):
        return row[rex.index]
    if isinstance(rex, Const):
        return _typed(rex.value, rex.type)
    assert isinstance(rex, Call), f"no value of {rex}"
    args = [a for a in rex.args if isinstance(a, (InputRef, Const, Call))]
    if rex.name == "CASE":
        return _typed(_case(args, row), rex.type)
    found = [value(a, row) for a in args]
    return _typed(_call(rex.name, found, rex), rex.type)


def _case(args: list[Rex], row: Row) -> Any:
    for at in range(0, len(args) - 1, 2):
        if value(args[at], row) is True:
            return value(args[at + 1], row)
    return value(args[-1], row) if len(args) % 2 else None


def _typed(found: Any, data_type: DataType) -> Any:
    """A value as a column of that type holds it."""
    if found is None or isinstance(found, bool):
        return found
    if isinstance(data_type, DecimalType):
        exact = decimal.Decimal(str(found))
        return exact.quantize(decimal.Decimal(1).scaleb(-data_type.scale), decimal.ROUND_HALF_UP)
    if isinstance(data_type, DoubleType):
        return float(found)
    if isinstance(data_type, (IntType, BigIntType)):
        return int(found)
    if isinstance(data_type, DateType) and isinstance(found, dt.datetime):
        return found.date()
    return found


def _call(name: str, args: list[Any], rex: Call) -> Any:
    if name in _NULL_AWARE:
        return _NULL_AWARE[name](*args)
    if name in ("IN", "NOT IN"):
        found = _any([_compare("=", args[0], item) for item in args[1:]])
        return _not(found) if name == "NOT IN" else found
    if any(a is None for a in args if not isinstance(a, str)):
        return _three_valued(name, args)
    if name in _COMPARISONS:
        return _compare(name, *args)
    if name in ("BETWEEN", "NOT BETWEEN", "AND", "OR", "NOT"):
        return _three_valued(name, args)
    return _PLAIN[name](*args, rex) if name == "/" else _PLAIN[name](*args)


def _compare(name: str, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    return _COMPARISONS[name](*_alike(left, right))


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """Python compares a float with a Decimal exactly; so do the engines for halves."""
    return left, right


def _three_valued(name: str, args: list[Any]) -> Any:
    if name == "NOT":
        return _not(args[0])
    if name == "OR":
        return _any(args)
    if name == "AND":
        return _not(_any([_not(a) for a in args]))
    if name in ("BETWEEN", "NOT BETWEEN"):
        inside = _three_valued("AND", [_compare(">=", args[0], args[1]), _compare("<=", args[0], args[2])])
        return _not(inside) if name == "NOT BETWEEN" else inside
    return None


def _not(found: bool | None) -> bool | None:
    return None if found is None else not found


def _any(found: list[bool | None]) -> bool | None:
    return True if True in found else None if None in found else False


def _like(text: str, pattern: str) -> bool:
    expression = "".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern)
    return re.fullmatch(expression, text, re.S) is not None


def _quotient(left: Any, right: Any, rex: Call) -> Any:
    assert isinstance(rex.type, (IntType, BigIntType))
    found = abs(left) // abs(right)
    return found if (left < 0) == (right < 0) else -found


def _interval(number: Any) -> Any:
    return dt.timedelta(milliseconds=number) if isinstance(number, int) else number


def _plus(left: Any, right: Any) -> Any:
    return left + _interval(right) if isinstance(left, dt.date) else left + right


def _minus(left: Any, right: Any) -> Any:
    return left - _interval(right) if isinstance(left, dt.date) else left - right


_COMPARISONS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_NULL_AWARE = {
    "COALESCE": lambda *found: next((v for v in found if v is not None), None),
    "NULLIF": lambda a, b: None if a is not None and b is not None and a == b else a,
    "IS NULL": lambda a: a is None,
    "IS NOT NULL": lambda a: a is not None,
    "IS TRUE": lambda a: a is True,
    "IS NOT TRUE": lambda a: a is not True,
    "IS FALSE": lambda a: a is False,
    "IS NOT FALSE": lambda a: a is not False,
    "IS DISTINCT FROM": lambda a, b: (a is None) != (b is None) or a != b,
    "IS NOT DISTINCT FROM": lambda a, b: (a is None) == (b is None) and a == b,
}
_PLAIN: dict[str, Any] = {
    "+": _plus,
    "-": _minus,
    "*": lambda a, b: a * b,
    "/": _quotient,
    "%": lambda a, b: a - b * int(a / b),
    "MOD": lambda a, b: a - b * int(a / b),
    "UMINUS": lambda a: -a,
    "||": lambda a, b: a + b,
    "CONCAT": lambda *a: "".join(a),
    "UPPER": str.upper,
    "LOWER": str.lower,
    "SUBSTRING": lambda text, start, length: text[start - 1 : start - 1 + length],
    "CHAR_LENGTH": len,
    "LIKE": _like,
    "NOT LIKE": lambda text, pattern: not _like(text, pattern),
    "CAST": lambda a: a,
}
