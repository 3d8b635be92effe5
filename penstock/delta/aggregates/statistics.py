"""STDDEV_POP, STDDEV_SAMP, VAR_POP, VAR_SAMP.

Integers and decimals are summed exactly, so that taking a row back leaves no trace. Doubles use Welford's
recurrence, which can be run backwards. The result has the type of the column: for integers it is cut.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from penstock.common.datatypes import DataType, DoubleType, FloatType, IntegralType
from penstock.delta.aggregates.base import AggregateLogic
from penstock.delta.aggregates.numeric import to_type


class Deviation(AggregateLogic):
    """A variance, or its root. With `in_integers` they are divided as integers, as Flink does over windows.

    Accumulator: [n, mean, sum of squared distances from it] for doubles, [n, sum, sum of squares] otherwise.
    """

    def __init__(self, kind: DataType, *, sample: bool, root: bool, in_integers: bool = False) -> None:
        self._kind = kind
        self._in_integers = in_integers and isinstance(kind, IntegralType)
        self._exact = not isinstance(kind, (DoubleType, FloatType))
        self._sample = sample
        self._root = root

    def create(self) -> list[Any]:
        return [0, 0, 0]

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        if self._exact:
            return self._add_exact(acc, value, 1)
        n, mean, squares = acc
        delta = value - mean
        mean += delta / (n + 1)
        return [n + 1, mean, squares + delta * (value - mean)]

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        if self._exact:
            return self._add_exact(acc, value, -1)
        n, mean, squares = acc
        if n <= 1:
            return [n - 1, 0, 0]
        before = mean - (value - mean) / (n - 1)
        return [n - 1, before, max(0.0, squares - (value - before) * (value - mean))]

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        if self._exact:
            return [mine + theirs for mine, theirs in zip(acc, other, strict=True)]
        if not acc[0] or not other[0]:
            return other if not acc[0] else acc
        n, delta = acc[0] + other[0], other[1] - acc[1]
        squares = acc[2] + other[2] + delta * delta * acc[0] * other[0] / n
        return [n, acc[1] + delta * other[0] / n, squares]

    def result(self, acc: list[Any]) -> Any:
        n = acc[0]
        divisor = n - 1 if self._sample else n
        if divisor <= 0:
            return None
        if self._in_integers:
            value = float((acc[2] - acc[1] * acc[1] // n) // divisor)
        elif self._exact:
            exact = (Fraction(acc[2]) - Fraction(acc[1]) ** 2 / n) / divisor
            value = float(exact)
        else:
            value = acc[2] / divisor
        return to_type(math.sqrt(value) if self._root else value, self._kind)

    def _add_exact(self, acc: list[Any], value: Any, weight: int) -> list[Any]:
        exact = Fraction(value) if isinstance(value, Decimal) else value
        return [acc[0] + weight, acc[1] + weight * exact, acc[2] + weight * exact * exact]
