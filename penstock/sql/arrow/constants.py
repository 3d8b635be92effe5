"""Literals as Arrow scalars: the value that the literal's Spark SQL text has."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.common.datatypes import (
    DataType,
    DayTimeIntervalType,
    DecimalType,
    FloatType,
    LocalZonedTimestampType,
    TimeType,
)
from penstock.sql.arrow.compiler import Compiler, NoArrowForm, register, type_of
from penstock.sql.arrow.nodes import Constant, Node
from penstock.sql.plan.rex import Const

_WIDE = decimal.Context(prec=100)


def build_constant(rex: Const, compiler: Compiler) -> Node:
    """A literal.

    >>> from penstock.common.datatypes import DataTypes
    >>> build_constant(Const(DataTypes.DECIMAL(4, 2), decimal.Decimal("1.5")), Compiler(None)).value
    <pyarrow.Decimal128Scalar: Decimal('1.50')>
    """
    kind = type_of(rex)
    if rex.value is None:
        return Constant(kind, False, pa.scalar(None, kind))
    try:
        return Constant(kind, False, pa.scalar(_plain(rex.value, rex.type, compiler), kind))
    except (pa.ArrowException, TypeError, ValueError, OverflowError, decimal.DecimalException) as error:
        raise NoArrowForm(f"literal {rex.value!r} of type {rex.type}: {error}") from None


def _plain(value: Any, data_type: DataType, compiler: Compiler) -> Any:
    """The value as Arrow takes it for the type."""
    if isinstance(data_type, DayTimeIntervalType):
        return dt.timedelta(milliseconds=value)
    if isinstance(data_type, DecimalType):
        step = decimal.Decimal(1).scaleb(-data_type.scale)
        return decimal.Decimal(value).quantize(step, decimal.ROUND_HALF_UP, _WIDE)
    if isinstance(data_type, LocalZonedTimestampType) and value.tzinfo is None:
        offset = dt.timedelta(microseconds=compiler.offset_micros)
        return (value - offset).replace(tzinfo=dt.timezone.utc)
    if isinstance(data_type, FloatType) and float(np.float32(value)) != value and value == value:
        raise NoArrowForm(f"the FLOAT {value}: its text may be rounded twice")
    if isinstance(data_type, TimeType):
        return value.replace(tzinfo=None)
    return value


register(Const, build_constant)
