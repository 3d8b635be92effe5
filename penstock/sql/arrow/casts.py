"""CAST and TRY_CAST.

`cast_node` is for builders what `cast_sql` is for the Spark texts: it brings a node to another type with
Flink's rules. Numbers that come from or become text with a fraction are Catalyst's: how many digits Java
writes for a DOUBLE depends on its version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    ArrayType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    NullType,
    NumericType,
    RowType,
    TimestampType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.errors import NotSupportedError
from penstock.formats.arrow_rows import arrow_type
from penstock.sql.arrow import reading
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register
from penstock.sql.arrow.days import DAY, quotient
from penstock.sql.arrow.decimals import cast_decimal, from_integers, to_doubles, to_integers
from penstock.sql.arrow.failures import checked
from penstock.sql.arrow.nodes import Node, apply, constant
from penstock.sql.arrow.values import column, nulls, numbers, zero
from penstock.sql.arrow.writing import as_text, fitted_text
from penstock.sql.plan.rex import Call

_TEXT = (CharType, VarCharType)
_FLOATING = (FloatType, DoubleType)
_MOMENT = (TimestampType, LocalZonedTimestampType)
_INTERVAL = (DayTimeIntervalType, YearMonthIntervalType)


def cast_node(node: Node, source: DataType, target: DataType, compiler: Compiler, try_: bool = False) -> Node:
    """The node in another type."""
    try:
        kind = arrow_type(target)
    except NotSupportedError as error:
        raise NoArrowForm(str(error)) from None
    if isinstance(source, NullType):
        return constant(None, kind)
    if _is_same(source, target):
        return node
    if isinstance(target, _TEXT):
        return fitted_text(as_text(node, source, compiler), source, target)
    if isinstance(source, _TEXT):
        return reading.read_node(node, target, compiler, try_)
    for sources, targets, build in _CASTS:
        if isinstance(source, sources) and isinstance(target, targets):
            return build(node, source, target, compiler)
    raise NoArrowForm(f"CAST from {source.as_summary()} to {target.as_summary()}")


def _is_same(source: DataType, target: DataType) -> bool:
    """Whether values of one type are values of the other; NOT NULL inside of arrays and rows changes nothing."""
    if isinstance(source, ArrayType) and isinstance(target, ArrayType):
        return _is_same(source.element_type, target.element_type)
    if type(source) is type(target) is RowType and source.names == target.names:  # type: ignore[attr-defined]
        pairs = zip(source.field_types(), target.field_types(), strict=True)  # type: ignore[attr-defined]
        return all(_is_same(a, b) for a, b in pairs)
    if isinstance(source, _INTERVAL) and type(source) is type(target):
        return True
    return source.nullable() == target.nullable()


# --- numbers --------------------------------------------------------------------------------------------


def _plain(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    """Where Arrow does as Java: integers lose their highest bits, doubles are the nearest ones."""
    kind = arrow_type(target)
    return apply(partial(_unchecked, kind), kind, node)


def _unchecked(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    return datum.cast(kind, safe=False)


def _float_to_integer(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    return apply(partial(_saturated, kind), kind, node)


def _saturated(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    """Cut towards zero; too large is the largest number, NaN is 0. Narrow ones go by way of INT.

    >>> _saturated(pa.int32(), pa.array([1e10, -1.9, float("nan")])).to_pylist()
    [2147483647, -1, 0]
    """
    values = numbers(datum).astype(np.float64)
    way = np.int64 if kind.bit_width == 64 else np.int32
    limits = np.iinfo(way)
    low, high = values <= limits.min, values >= limits.max
    inside = np.where(low | high | np.isnan(values), 0, values)
    found = np.select([low, high], [limits.min, limits.max], np.trunc(inside).astype(way)).astype(way)
    return column(found.astype(f"i{kind.bit_width // 8}"), kind, nulls(datum))


def _integer_to_decimal(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    return apply(partial(_from_integers, kind), kind, node)


def _from_integers(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    return from_integers(datum, kind)


def _decimal_to_decimal(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    return apply(partial(_between_decimals, kind), kind, node)


def _between_decimals(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    return cast_decimal(datum, kind)


def _decimal_to_integer(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    return apply(partial(_whole, kind), kind, node)


def _whole(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    return pa.array(to_integers(datum, kind.bit_width), kind)


def _decimal_to_double(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    return apply(_doubles, pa.float64(), node)


def _doubles(datum: pa.Array) -> pa.Array:
    return column(to_doubles(datum), pa.float64(), nulls(datum))


def _boolean_to_number(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    return apply(partial(_zero_or_one, kind), kind, node)


def _zero_or_one(kind: pa.DataType, datum: pa.Array) -> pa.Array:
    ones = datum.cast(pa.int8())
    return from_integers(ones, kind) if pa.types.is_decimal(kind) else ones.cast(kind)


def _number_to_boolean(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    return apply(_is_not_zero, pa.bool_(), node)


def _is_not_zero(datum: pa.Array) -> pa.Array:
    return pc.not_equal(datum, zero(datum.type))


# --- dates and timestamps -------------------------------------------------------------------------------


def _date_to_moment(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    offset = compiler.offset_micros if isinstance(target, LocalZonedTimestampType) else 0
    return apply(partial(_midnight, kind, offset), kind, node, fails=True)


def _midnight(kind: pa.DataType, offset: int, datum: pa.Array) -> pa.Array:
    days = datum.cast(pa.int32()).cast(pa.int64())
    micros = checked(pc.multiply_checked, days, pa.scalar(DAY, pa.int64()))
    return checked(pc.subtract_checked, micros, pa.scalar(offset, pa.int64())).cast(kind)


def _moment_to_date(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    if isinstance(source, LocalZonedTimestampType):
        return apply(partial(_local_day, compiler.offset_micros), pa.date32(), node)
    return apply(_day, pa.date32(), node)


def _local_day(offset: int, datum: pa.Array) -> pa.Array:
    return column((numbers(datum) + offset) // DAY, pa.date32(), nulls(datum))


def _day(datum: pa.Array) -> pa.Array:
    """Whole milliseconds in days, cut towards zero: the day of the last hour of 1969 is 0."""
    return column(quotient(numbers(datum) // 1000, DAY // 1000), pa.date32(), nulls(datum))


def _moment_to_moment(node: Node, source: DataType, target: DataType, compiler: Compiler) -> Node:
    kind = arrow_type(target)
    offset = compiler.offset_micros if type(source) is not type(target) else 0
    offset = -offset if isinstance(target, LocalZonedTimestampType) else offset
    unit = 10 ** (6 - min(target.precision, 6))  # type: ignore[attr-defined]
    if source.precision <= target.precision:  # type: ignore[attr-defined]
        unit = 1
    if (offset, unit, kind) == (0, 1, node.type):
        return node
    return apply(partial(_cut, kind, offset, unit), kind, node)


def _cut(kind: pa.DataType, offset: int, unit: int, datum: pa.Array) -> pa.Array:
    """Digits behind the precision are cut off: of a millisecond downwards, so that -0.5 ms become -1 ms, of more than
    that towards 1970."""
    micros = numbers(datum) + offset
    if 1 < unit <= 1000:
        micros = micros // unit * unit
    elif unit > 1000:
        micros = quotient(micros // 1000, unit // 1000) * unit
    return column(micros, kind, nulls(datum))


_Build = Callable[[Node, DataType, DataType, Compiler], Node]
_CASTS: tuple[tuple[tuple[type[DataType], ...], tuple[type[DataType], ...], _Build], ...] = (
    ((IntegralType,), (IntegralType, *_FLOATING), _plain),
    ((IntegralType,), (DecimalType,), _integer_to_decimal),
    (_FLOATING, _FLOATING, _plain),
    (_FLOATING, (IntegralType,), _float_to_integer),
    ((DecimalType,), (DecimalType,), _decimal_to_decimal),
    ((DecimalType,), (IntegralType,), _decimal_to_integer),
    ((DecimalType,), (DoubleType,), _decimal_to_double),
    ((BooleanType,), (NumericType,), _boolean_to_number),
    ((NumericType,), (BooleanType,), _number_to_boolean),
    ((DateType,), _MOMENT, _date_to_moment),
    (_MOMENT, (DateType,), _moment_to_date),
    (_MOMENT, _MOMENT, _moment_to_moment),
)


def build_cast(call: Call, compiler: Compiler) -> Node:
    """CAST (value, type) and TRY_CAST."""
    value, target = call.args
    if isinstance(value.type, NullType):
        return cast_node(constant(None, pa.null()), value.type, target.type, compiler)
    return cast_node(compiler.node(value), value.type, target.type, compiler, call.name == "TRY_CAST")


register("CAST", build_cast)
register("TRY_CAST", build_cast)
