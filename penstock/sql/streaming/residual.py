"""Conditions over a pair of rows, evaluated in Python where a stateful operator has to know the answer at once.

An inner join can leave such a condition to a filter behind it. An outer, semi or anti join cannot: whether a row is
alone depends on it. What belongs to one side only is computed in Spark beforehand, so that little more than
comparisons and three-valued logic is left for Python.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.sql.plan.rex import Call, Const, InputRef, Rex, TypeRef, transform, walk
from penstock.sql.python_eval import compile_rex
from penstock.sql.streaming.aggregates import InputColumns


class Residual:
    """A condition over (left row, right row); pickled as the expression."""

    def __init__(self, rex: Rex) -> None:
        self._rex = rex
        self._evaluate = compile_rex(rex)

    def __call__(self, left: tuple[Any, ...], right: tuple[Any, ...]) -> bool | None:
        result: bool | None = self._evaluate((*left, *right))
        return result

    def __reduce__(self) -> tuple[type[Residual], tuple[Rex]]:
        return Residual, (self._rex,)


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
