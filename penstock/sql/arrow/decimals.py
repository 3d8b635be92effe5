"""Decimals as whole numbers: what a column holds is the number without its point.

Up to 18 digits that is a 64-bit integer and numpy does the work; beyond, Python's integers do. Rounding is half up,
away from zero, and what does not fit its type is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.sql.arrow.values import Datum, Mask, is_scalar, nulls

_SHORT = 18
"""Every number of so many digits fits 64 bits."""


def is_short(data_type: pa.DataType) -> bool:
    return data_type.precision <= _SHORT  # type: ignore[no-any-return]


def short_numbers(datum: Datum) -> Any:
    """The values of a column of short decimals, or of one scalar, without their point."""
    if is_scalar(datum):
        return short_numbers(pa.array([datum.as_py()], datum.type))[0]
    data = datum.buffers()[1]
    if data is None or not len(datum):
        return np.zeros(len(datum), np.int64)
    return np.frombuffer(data, np.int64, 2 * len(datum), datum.offset * 16)[::2]


def short_column(values: Any, data_type: pa.DataType, missing: Mask | None) -> pa.Array:
    """A column of decimals from 64-bit integers."""
    words = np.empty((len(values), 2), np.int64)
    words[:, 0] = values
    words[:, 1] = values >> 63
    validity = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(data_type, len(values), [validity, pa.py_buffer(words)])


def long_numbers(datum: Datum) -> list[int | None]:
    """The values of a column of decimals or integers as Python's integers without a point, None for NULL."""
    if pa.types.is_integer(datum.type):
        return datum.to_pylist()  # type: ignore[no-any-return]
    if is_short(datum.type):
        found = short_numbers(datum).tolist()
    else:
        data = datum.buffers()[1].to_pybytes() if len(datum) else b""
        starts = range(datum.offset * 16, (datum.offset + len(datum)) * 16, 16)
        found = [int.from_bytes(data[i : i + 16], "little", signed=True) for i in starts]
    missing = nulls(datum)
    if missing is not None:
        for i in np.flatnonzero(missing).tolist():
            found[i] = None
    return found  # type: ignore[no-any-return]


def long_column(values: Sequence[int | None], data_type: pa.DataType) -> pa.Array:
    """A column of decimals; numbers that have too many digits are NULL.

    >>> long_column([150, None, 1000], pa.decimal128(3, 2)).to_pylist()
    [Decimal('1.50'), None, None]
    """
    limit = 10**data_type.precision
    fitting = [None if v is None or not -limit < v < limit else v for v in values]
    data = b"".join((v or 0).to_bytes(16, "little", signed=True) for v in fitting)
    missing = np.fromiter((v is None for v in fitting), bool, len(fitting))
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(data_type, len(fitting), [validity, pa.py_buffer(data)])


def divided(number: int, divisor: int) -> int:
    """Division that rounds half away from zero.

    >>> divided(25, 10), divided(-25, 10), divided(24, -10)
    (3, -3, -2)
    """
    quotient, rest = divmod(abs(number), abs(divisor))
    quotient += 2 * rest >= abs(divisor)
    return quotient if (number < 0) == (divisor < 0) else -quotient


def rescaled(number: int, digits: int) -> int:
    """The number with so many digits more behind its point, or fewer."""
    return number * 10**digits if digits >= 0 else divided(number, 10**-digits)


def per_number(function: Callable[..., int | None], data_type: pa.DataType, *data: Datum) -> pa.Array:
    """A function of whole numbers for each row; NULL where an argument is, and where the result does not fit."""
    rows = next(len(d) for d in data if not is_scalar(d))
    lists = [_repeated(d, rows) if is_scalar(d) else long_numbers(d) for d in data]
    values = [None if None in row else function(*row) for row in zip(*lists, strict=True)]
    return long_column(values, data_type)


def _repeated(scalar: pa.Scalar, rows: int) -> list[int | None]:
    return long_numbers(pa.array([scalar.as_py()], scalar.type)) * rows


def _short_rescaled(values: Any, digits: int) -> Any:
    if digits >= 0:
        return values * np.int64(10**digits)
    divisor = np.int64(10**-digits)
    quotient, rest = np.divmod(np.abs(values), divisor)
    return np.where(values < 0, -1, 1) * (quotient + (2 * rest >= divisor))


def cast_decimal(datum: pa.Array, target: pa.DataType) -> pa.Array:
    """A decimal column in another decimal type."""
    source = datum.type
    more = target.scale - source.scale
    if more >= 0 and target.precision - target.scale >= source.precision - source.scale:
        return datum.cast(target)
    if is_short(source) and is_short(target) and source.precision + max(more, 0) <= _SHORT:
        values = _short_rescaled(short_numbers(datum), more)
        too_long = np.abs(values) >= 10**target.precision
        missing = nulls(datum)
        return short_column(values, target, too_long if missing is None else too_long | missing)
    return per_number(lambda n: rescaled(n, more), target, datum)


def from_integers(datum: pa.Array, target: pa.DataType) -> pa.Array:
    """An integer column as decimals."""
    digits = {8: 3, 16: 5, 32: 10, 64: 19}[datum.type.bit_width]
    return cast_decimal(datum.cast(pa.decimal128(digits, 0)), target)


def to_integers(datum: pa.Array, bits: int) -> list[int | None]:
    """Digits behind the point are cut off; what is too long loses its highest bits, as in Java."""
    divisor, half = 10**datum.type.scale, 1 << (bits - 1)

    def whole(number: int | None) -> int | None:
        if number is None:
            return None
        quotient = abs(number) // divisor * (1 if number >= 0 else -1)
        return (quotient + half) % (2 * half) - half

    return [whole(number) for number in long_numbers(datum)]


def to_doubles(datum: pa.Array) -> Any:
    """The nearest double of each value; anything where it is NULL."""
    divisor = 10**datum.type.scale
    if datum.type.precision <= 15:  # both are exact doubles, so their quotient is rounded once
        return short_numbers(datum) / np.float64(divisor)
    return np.array([(n or 0) / divisor for n in long_numbers(datum)], np.float64)
