"""Values as text: what CAST(x AS STRING) gives, and how text is cut and padded to its type."""

from __future__ import annotations

from decimal import Decimal
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from penstock.common.datatypes import (
    MAX_LENGTH,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    IntegralType,
    LocalZonedTimestampType,
    TimestampType,
    VarCharType,
)
from penstock.sql.arrow.clock_text import Piece, clock_column, date_text, spark_text
from penstock.sql.arrow.compiler import Compiler, NoArrowForm
from penstock.sql.arrow.days import DAY
from penstock.sql.arrow.nodes import Node, apply
from penstock.sql.arrow.values import nulls, numbers, per_value

_TEXT = (CharType, VarCharType)
_DATE: list[Piece] = [("yyyy", ""), ("", "-"), ("MM", ""), ("", "-"), ("dd", "")]
_CLOCK: list[Piece] = [*_DATE, ("", " "), ("HH", ""), ("", ":"), ("mm", ""), ("", ":"), ("ss", "")]


def as_text(node: Node, source: DataType, compiler: Compiler) -> Node:
    """The node as text of any length."""
    if isinstance(source, _TEXT):
        return node
    if isinstance(source, BooleanType):
        return apply(_booleans, pa.string(), node)
    if isinstance(source, IntegralType):
        return apply(_integers, pa.string(), node)
    if isinstance(source, DecimalType) and source.scale <= 18:
        return apply(_decimals, pa.string(), node)
    if isinstance(source, DateType):
        return apply(_dates, pa.string(), node)
    if isinstance(source, (TimestampType, LocalZonedTimestampType)):
        offset = compiler.offset_micros if isinstance(source, LocalZonedTimestampType) else 0
        return apply(partial(_moments, source.precision, offset), pa.string(), node)
    raise NoArrowForm(f"the text of {source.as_summary()}")


def _booleans(datum: pa.Array) -> pa.Array:
    return pc.if_else(datum, "TRUE", "FALSE")


def _integers(datum: pa.Array) -> pa.Array:
    return datum.cast(pa.string())


def _decimals(datum: pa.Array) -> pa.Array:
    """
    >>> _decimals(pa.array([Decimal("-0.00000012")])).to_pylist()
    ['-0.00000012']
    """
    return per_value(_plain_digits, pa.string(), datum)


def _plain_digits(value: Decimal) -> str:
    return format(value, "f")


def _dates(datum: pa.Array) -> pa.Array:
    days = numbers(datum).astype("i8")
    if len(days) and (days.min() < -100_000_000 or days.max() > 100_000_000):  # too many for microseconds
        return pa.array([None if d is None else date_text(d) for d in datum.cast(pa.int32()).to_pylist()])
    return clock_column(days * DAY, nulls(datum), _DATE, _date_of)


def _date_of(micros: int) -> str:
    return date_text(micros // DAY)


def _moments(precision: int, offset: int, datum: pa.Array) -> pa.Array:
    """With exactly as many digits behind the second as the precision says."""
    pieces = [*_CLOCK, ("", "."), ("S" * precision, "")] if precision else _CLOCK
    return clock_column(numbers(datum) + offset, nulls(datum), pieces, partial(_moment, precision))


def _moment(precision: int, micros: int) -> str:
    main, _, fraction = spark_text(micros).partition(".")
    return f"{main}.{fraction.ljust(precision, '0')[:precision]}" if precision else main


# --- length ---------------------------------------------------------------------------------------------


def fitted_text(node: Node, source: DataType, target: DataType) -> Node:
    """Text that is cut to the length of its type and, for CHAR, padded to it."""
    length = target.length  # type: ignore[attr-defined]
    own = source.length if isinstance(source, _TEXT) else MAX_LENGTH
    if isinstance(target, CharType):
        return padded(node, length)
    return node if own <= length or length == MAX_LENGTH else shortened(node, length)


def padded(node: Node, length: int) -> Node:
    """Exactly so many characters.

    >>> _padded(3, pa.array(["a", "abcd"])).to_pylist()
    ['a  ', 'abc']
    """
    return apply(partial(_padded, length), pa.string(), node)


def _padded(length: int, datum: pa.Array) -> pa.Array:
    return pc.utf8_rpad(_shortened(length, datum), length, padding=" ")


def shortened(node: Node, length: int) -> Node:
    """At most so many characters."""
    return apply(partial(_shortened, length), pa.string(), node)


def _shortened(length: int, datum: pa.Array) -> pa.Array:
    return pc.utf8_slice_codeunits(datum, 0, length)
