"""Arrow columns as numpy arrays and back, without losing what is NULL.

`column.to_numpy()` turns integers with NULLs into doubles. Here a column is taken apart instead: `numbers` is
its data buffer (what stands at a NULL is anything), `nulls` says where the NULLs are, and `column` puts both
together again. A *datum* is a column or a scalar; a scalar stands for the same value in every row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Datum = Any
"""`pa.Array` or `pa.Scalar`."""

Mask = Any
"""A numpy array of booleans."""

_WIDTHS = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_FLOATS = {16: np.float16, 32: np.float32, 64: np.float64}


def is_scalar(datum: Datum) -> bool:
    return isinstance(datum, pa.Scalar)


def array(datum: Datum, rows: int) -> pa.Array:
    """A datum as a column of that many rows."""
    return pa.repeat(datum, rows) if is_scalar(datum) else datum


def _dtype(data_type: pa.DataType) -> Any:
    if pa.types.is_floating(data_type):
        return _FLOATS[data_type.bit_width]
    return _WIDTHS[data_type.bit_width]


def zero(data_type: pa.DataType) -> pa.Scalar:
    """0 as a number of any type."""
    return pa.scalar(Decimal(0) if pa.types.is_decimal(data_type) else 0, data_type)


def numbers(datum: Datum) -> Any:
    """The values of a column of fixed width as numpy sees them; of a scalar one value, 0 for NULL.

    Dates are days, timestamps and intervals microseconds.
    """
    if is_scalar(datum):
        return numbers(pa.array([datum.as_py()], datum.type))[0] if datum.is_valid else _dtype(datum.type)(0)
    if pa.types.is_boolean(datum.type):
        return np.asarray(datum.fill_null(False))
    dtype, data = _dtype(datum.type), datum.buffers()[1]
    if data is None or not len(datum):
        return np.zeros(len(datum), dtype)
    return np.frombuffer(data, dtype, len(datum), datum.offset * np.dtype(dtype).itemsize)


def nulls(*data: Datum) -> Mask | None:
    """Where at least one of them is NULL; None if nowhere. One of them is a column."""
    found = None
    for datum in data:
        if is_scalar(datum):
            if not datum.is_valid:
                rows = next(len(d) for d in data if not is_scalar(d))
                return np.ones(rows, bool)
        elif datum.null_count:
            mask = np.asarray(datum.is_null())
            found = mask if found is None else found | mask
    return found


def column(values: Any, data_type: pa.DataType, missing: Mask | None = None) -> pa.Array:
    """Numpy values of the width of the type as a column; NULL where `missing` is true."""
    validity = None
    if missing is not None:
        validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    if pa.types.is_boolean(data_type):
        data = np.packbits(values, bitorder="little")
    else:
        data = np.ascontiguousarray(values, _dtype(data_type))
    return pa.Array.from_buffers(data_type, len(values), [validity, pa.py_buffer(data)])


def python_values(datum: Datum) -> Sequence[Any]:
    """A column as Python objects; for text numpy's conversion is several times faster than a scalar each."""
    kind = datum.type
    if pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_decimal(kind):
        return datum.to_numpy(zero_copy_only=False).tolist()  # type: ignore[no-any-return]
    return datum.to_pylist()  # type: ignore[no-any-return]


def per_value(function: Callable[..., Any], data_type: pa.DataType, *data: Datum) -> pa.Array:
    """A Python function of each row's values; NULL where one of them is.

    With one column among the arguments the function is called once for each of its different values.
    """
    columns = [d for d in data if not is_scalar(d)]
    if any(is_scalar(d) and not d.is_valid for d in data):
        return pa.nulls(len(columns[0]), data_type)
    if len(columns) == 1:
        return _per_distinct_value(function, data_type, data, columns[0])
    rows = zip(*_lists(data), strict=False)
    return pa.array([None if None in row else function(*row) for row in rows], data_type)


def per_row(function: Callable[..., Any], data_type: pa.DataType, *data: Datum) -> pa.Array:
    """A Python function of each row's values, which gets None for NULL."""
    return pa.array([function(*row) for row in zip(*_lists(data), strict=False)], data_type)


def _lists(data: Sequence[Datum]) -> list[Any]:
    return [repeat(d.as_py()) if is_scalar(d) else python_values(d) for d in data]


def _per_distinct_value(
    function: Callable[..., Any], data_type: pa.DataType, data: Sequence[Datum], values: pa.Array
) -> pa.Array:
    fixed = [d.as_py() if is_scalar(d) else None for d in data]
    place = next(i for i, d in enumerate(data) if not is_scalar(d))

    def call(value: Any) -> Any:
        args = list(fixed)
        args[place] = value
        return function(*args)

    encoded = values.dictionary_encode()
    results = pa.array([call(value) for value in python_values(encoded.dictionary)], data_type)
    return results.take(encoded.indices)


def choose(condition: pa.Array, yes: Datum, no: Datum) -> pa.Array:
    """`yes` where the condition is true, `no` where it is false or NULL."""
    return pc.if_else(condition.fill_null(False), yes, no)
