"""Conditions over a pair of rows, evaluated in Python where a stateful operator has to know the answer at once.

An inner join can leave such a condition to a filter behind it. An outer, semi or anti join cannot: whether a row is
alone depends on it. What belongs to one side only is computed in Spark beforehand, so that little more than
comparisons and three-valued logic is left for Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from penstock.sql.python_eval import compile_rex
from penstock.sql.rex import Call, Const, InputRef, Rex, TypeRef, transform, walk
from penstock.sql.streaming.aggregates import InputColumns

Evaluator = Callable[[Sequence[Any]], Any]


class Residual:
    """A condition over (left row, right row); pickled as the expression."""

    def __init__(self, rex: Rex) -> None:
        self._rex = rex
        self._evaluate = compile_condition(rex)

    def __call__(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> bool | None:
        result: bool | None = self._evaluate((*left, *right))
        return result

    def __reduce__(self) -> tuple[type[Residual], tuple[Rex]]:
        return Residual, (self._rex,)


def compile_condition(rex: Rex) -> Evaluator:
    """A function from a row to true, false or unknown.

    Raises:
        NotSupportedError: The condition uses a function that only exists in Catalyst.
    """
    if not isinstance(rex, Call):
        return compile_rex(rex)
    if rex.name in ("AND", "OR"):
        return _kleene([compile_condition(a) for a in rex.args], rex.name == "OR")
    if rex.name == "NOT":
        inner = compile_condition(rex.args[0])
        return lambda row: None if (value := inner(row)) is None else not value
    test = _TESTS.get(rex.name)
    if test is not None:
        operand = compile_condition(rex.args[0])
        return lambda row: test(operand(row))
    if rex.name in ("IS NOT DISTINCT FROM", "IS DISTINCT FROM"):
        left, right = (compile_condition(a) for a in rex.args)
        same = rex.name == "IS NOT DISTINCT FROM"
        return lambda row: (left(row) == right(row)) is same
    if rex.name in ("BETWEEN", "NOT BETWEEN"):
        value, low, high = (compile_condition(a) for a in rex.args)
        inside = _kleene([_compare(value, low, ">="), _compare(value, high, "<=")], False)
        if rex.name == "BETWEEN":
            return inside
        return lambda row: None if (found := inside(row)) is None else not found
    return compile_rex(rex)


def _compare(left: Evaluator, right: Evaluator, operator: str) -> Evaluator:
    def evaluate(row: Sequence[Any]) -> Any:
        a, b = left(row), right(row)
        if a is None or b is None:
            return None
        return a >= b if operator == ">=" else a <= b

    return evaluate


def _kleene(parts: list[Evaluator], decisive: bool) -> Evaluator:
    """AND (decided by a false) or OR (decided by a true), with unknown in between."""

    def evaluate(row: Sequence[Any]) -> Any:
        result: bool | None = not decisive
        for part in parts:
            value = part(row)
            if value is None:
                result = None
            elif value is decisive:
                return decisive
        return result

    return evaluate


_TESTS: dict[str, Callable[[Any], Any]] = {
    "IS NULL": lambda v: v is None,
    "IS NOT NULL": lambda v: v is not None,
    "IS TRUE": lambda v: v is True,
    "IS NOT TRUE": lambda v: v is not True,
    "IS FALSE": lambda v: v is False,
    "IS NOT FALSE": lambda v: v is not False,
    "IS UNKNOWN": lambda v: v is None,
    "IS NOT UNKNOWN": lambda v: v is not None,
}


def sides_of(rex: Rex, left_width: int) -> frozenset[int]:
    """Which inputs of a join an expression reads."""
    return frozenset(int(r.index >= left_width) for r in walk(rex) if isinstance(r, InputRef))


def prepare(rex: Rex, left_width: int, columns: tuple[InputColumns, InputColumns]) -> Rex:
    """Moves what reads one side only into that side's columns.

    The result's columns are placeholders: index i >= 0 is left column i, index -1 - i right column i.
    """

    def change(part: Rex) -> Rex | None:
        if isinstance(part, (Const, TypeRef)):
            return part
        sides = sides_of(part, left_width)
        if len(sides) != 1 or (isinstance(part, Call) and part.name in ("AND", "OR", "NOT")):
            return None
        return _placed(part, next(iter(sides)), left_width, columns)

    return transform(rex, change)


def _placed(part: Rex, side: int, left_width: int, columns: tuple[InputColumns, InputColumns]) -> Rex:
    local = part if side == 0 else unshift(part, left_width)
    at = columns[side].place(local)
    return InputRef(part.type, at if side == 0 else -1 - at)


def resolve(rex: Rex, left_columns: int) -> Rex:
    """The placeholders of `prepare` as positions in left row + right row."""

    def change(part: Rex) -> Rex | None:
        if isinstance(part, InputRef) and part.index < 0:
            return replace(part, index=left_columns - 1 - part.index)
        return None

    return transform(rex, change)


def unshift(rex: Rex, by: int) -> Rex:
    """An expression over the right columns of a join as one over the right input."""
    return transform(rex, lambda r: replace(r, index=r.index - by) if isinstance(r, InputRef) else None)
