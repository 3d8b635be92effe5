"""COUNT, SUM and AVG.

Integers wrap around in the type of the result, as Java's do. The accumulator of a sum is the exact Python
number; wrapping happens once, in `result`, because it commutes with addition. A DECIMAL sum that leaves its
type becomes NULL and starts anew with the next value, so there every step is checked. When rows may be taken
back this would lose values, so then the sum stays exact and only the result is NULL while it does not fit.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from penstock.common.datatypes import DataType, DecimalType, DoubleType, FloatType, IntegralType
from penstock.delta.aggregates.base import AggregateLogic

_WIDE = Context(prec=100, rounding=ROUND_HALF_UP)


def wrap_integer(value: int, bits: int) -> int:
    """The value in two's complement of so many bits."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def to_float32(value: float) -> float:
    """The nearest FLOAT."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def fit_decimal(value: Decimal, kind: DecimalType) -> Decimal | None:
    """The value with the scale of the type, None if it has too many digits."""
    fitted = value.quantize(Decimal(1).scaleb(-kind.scale), context=_WIDE)
    return fitted if fitted.copy_abs() < Decimal(10) ** (kind.precision - kind.scale) else None


def to_type(value: Any, kind: DataType) -> Any:
    """A number as a value of a numeric type: integers are cut toward zero and wrap, decimals are rounded."""
    if isinstance(kind, IntegralType):
        return wrap_integer(int(value), kind.bits)
    if isinstance(kind, DecimalType):
        return fit_decimal(Decimal(value), kind)
    if isinstance(kind, FloatType):
        return to_float32(float(value))
    return float(value)


class CountStar(AggregateLogic):
    """COUNT(*)."""

    skips_nulls = False

    def create(self) -> int:
        return 0

    def accumulate(self, acc: int, value: Any) -> int:
        return acc + 1

    def retract(self, acc: int, value: Any) -> int:
        return acc - 1

    def merge(self, acc: int, other: int) -> int:
        return acc + other

    def result(self, acc: int) -> int:
        return acc

    def accumulate_many(self, acc: int, values: Sequence[Any]) -> int:
        return acc + len(values)

    def from_partial(self, values: tuple[Any, ...]) -> int:
        return values[0] or 0


class Count(CountStar):
    """COUNT(x): the caller leaves out rows where an argument is NULL."""

    skips_nulls = True


class Sum(AggregateLogic):
    """SUM of integers and doubles. Accumulator: [number of values, sum]."""

    def __init__(self, kind: DataType, *, zero_if_empty: bool = False) -> None:
        self._bits = kind.bits if isinstance(kind, IntegralType) else None
        self._empty = 0 if zero_if_empty else None

    def create(self) -> list[Any]:
        return [0, 0]

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] += 1
        acc[1] += value
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] -= 1
        acc[1] -= value
        return acc

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        acc[0] += other[0]
        acc[1] += other[1]
        return acc

    def accumulate_many(self, acc: list[Any], values: Sequence[Any]) -> list[Any]:
        if values:
            acc[0] += len(values)
            if self._bits is None:  # one by one: sum() adds floats in another way since Python 3.12
                total = acc[1]
                for value in values:
                    total += value
                acc[1] = total
            else:
                acc[1] += sum(values)
        return acc

    def result(self, acc: list[Any]) -> Any:
        if not acc[0]:
            return self._empty
        return acc[1] if self._bits is None else wrap_integer(acc[1], self._bits)

    def from_partial(self, values: tuple[Any, ...]) -> list[Any]:
        return [0, 0] if values[0] is None else [1, values[0]]


class FloatSum(Sum):
    """SUM of FLOAT: every step is rounded to four bytes."""

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] += 1
        acc[1] = to_float32(acc[1] + value)
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] -= 1
        acc[1] = to_float32(acc[1] - value)
        return acc

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        acc[0] += other[0]
        acc[1] = to_float32(acc[1] + other[1])
        return acc

    accumulate_many = AggregateLogic.accumulate_many


class DecimalSum(AggregateLogic):
    """SUM of DECIMAL over rows that only come: overflow is NULL, and the next value starts anew.

    Accumulator: the sum, or None.
    """

    def __init__(self, kind: DecimalType, *, zero_if_empty: bool = False) -> None:
        self._kind = kind
        self._empty = fit_decimal(Decimal(0), kind) if zero_if_empty else None

    def create(self) -> Decimal | None:
        return None

    def accumulate(self, acc: Decimal | None, value: Decimal) -> Decimal | None:
        return fit_decimal(value if acc is None else _WIDE.add(acc, value), self._kind)

    def retract(self, acc: Decimal | None, value: Decimal) -> Decimal | None:
        return self.accumulate(acc, value.copy_negate())

    def merge(self, acc: Decimal | None, other: Decimal | None) -> Decimal | None:
        return acc if other is None else self.accumulate(acc, other)

    def result(self, acc: Decimal | None) -> Decimal | None:
        return self._empty if acc is None else acc

    def from_partial(self, values: tuple[Any, ...]) -> Decimal | None:
        return values[0]  # type: ignore[no-any-return]


class RetractableDecimalSum(Sum):
    """SUM of DECIMAL over rows that come and go: exact, NULL while it does not fit."""

    def __init__(self, kind: DecimalType, *, zero_if_empty: bool = False) -> None:
        super().__init__(kind)
        self._kind = kind
        self._empty_decimal = fit_decimal(Decimal(0), kind) if zero_if_empty else None

    def create(self) -> list[Any]:
        return [0, Decimal(0)]

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] += 1
        acc[1] = _WIDE.add(acc[1], value)
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] -= 1
        acc[1] = _WIDE.subtract(acc[1], value)
        return acc

    def merge(self, acc: list[Any], other: list[Any]) -> list[Any]:
        return [acc[0] + other[0], _WIDE.add(acc[1], other[1])]

    def result(self, acc: list[Any]) -> Any:
        return fit_decimal(acc[1], self._kind) if acc[0] else self._empty_decimal

    accumulate_many = AggregateLogic.accumulate_many


class Avg(Sum):
    """AVG: exact for integers (64 bit sums, cut toward zero) and decimals, plain for doubles."""

    def __init__(self, kind: DataType) -> None:
        super().__init__(kind)
        self._kind = kind

    def result(self, acc: list[Any]) -> Any:
        count, total = acc
        if not count:
            return None
        if self._bits is not None:
            total = wrap_integer(total, 64)
            quotient = abs(total) // count
            return wrap_integer(-quotient if total < 0 else quotient, self._bits)
        if isinstance(self._kind, DecimalType):
            return fit_decimal(_WIDE.divide(Decimal(total), Decimal(count)), self._kind)
        return to_type(total / count, self._kind)

    def accumulate_many(self, acc: list[Any], values: Sequence[Any]) -> list[Any]:
        if isinstance(self._kind, DecimalType):
            for value in values:
                self.accumulate(acc, value)
            return acc
        return super().accumulate_many(acc, values)

    def accumulate(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] += 1
        acc[1] = _WIDE.add(acc[1], value) if isinstance(value, Decimal) else acc[1] + value
        return acc

    def retract(self, acc: list[Any], value: Any) -> list[Any]:
        acc[0] -= 1
        acc[1] = _WIDE.subtract(acc[1], value) if isinstance(value, Decimal) else acc[1] - value
        return acc

    def from_partial(self, values: tuple[Any, ...]) -> list[Any]:
        return [0, 0] if values[0] is None else [values[1], values[0]]


def make_sum(kind: DataType, retracts: bool, *, zero_if_empty: bool = False) -> AggregateLogic:
    """The SUM for a result type."""
    if isinstance(kind, DecimalType):
        made = RetractableDecimalSum if retracts else DecimalSum
        return made(kind, zero_if_empty=zero_if_empty)
    if isinstance(kind, FloatType):
        return FloatSum(DoubleType(), zero_if_empty=zero_if_empty)
    return Sum(kind, zero_if_empty=zero_if_empty)
