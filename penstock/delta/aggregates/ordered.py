"""Aggregates that depend on arrival order: FIRST_VALUE, LAST_VALUE, LISTAGG, ARRAY_AGG.

Over rows that only come, FIRST and LAST keep one value. Otherwise the values are kept in a list, and a row
that goes takes the earliest value equal to its own out of it, as in Flink.
"""

from __future__ import annotations

from typing import Any

from penstock.delta.aggregates.base import AggregateLogic
from penstock.delta.rows import identity


class FirstValue(AggregateLogic):
    """FIRST_VALUE of rows that only come. Accumulator: a list with the value, or empty."""

    def create(self) -> list[Any]:
        return []

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        if not acc:
            acc.append(value)
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        raise AssertionError("FIRST_VALUE and LAST_VALUE were built for rows that only come")

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        for value in other:
            acc = self.accumulate(acc, value)
        return acc

    def result(self, acc: list[Any]) -> Any:
        return acc[0] if acc else None


class LastValue(FirstValue):
    """LAST_VALUE of rows that only come."""

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc[:] = [value]
        return acc


class ValueList(AggregateLogic):
    """Keeps all values in order of arrival; a subclass says what the result is."""

    def create(self) -> list[Any]:
        return []

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc.append(value)
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        wanted = identity(value)
        for at, kept in enumerate(acc):
            if identity(kept) == wanted:
                del acc[at]
                break
        return acc

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        acc.extend(other)
        return acc

    def result(self, acc: list[Any]) -> Any:
        return list(acc) if acc else None


class ArrayAgg(ValueList):
    """ARRAY_AGG: an array with the NULLs, NULL for no rows."""

    skips_nulls = False


class RetractableFirstValue(ValueList):
    """FIRST_VALUE of rows that come and go."""

    def result(self, acc: list[Any]) -> Any:
        return acc[0] if acc else None


class RetractableLastValue(ValueList):
    """LAST_VALUE of rows that come and go."""

    def result(self, acc: list[Any]) -> Any:
        return acc[-1] if acc else None


class ListAgg(ValueList):
    """LISTAGG. The value is the text, or (text, separator) if the separator is a column."""

    def __init__(self, separator: str) -> None:
        self._separator = separator

    def result(self, acc: list[Any]) -> str | None:
        if not acc:
            return None
        if type(acc[0]) is not tuple:
            return self._separator.join(acc)
        return str(acc[0][0]) + "".join(f"{separator}{text}" for text, separator in acc[1:])
