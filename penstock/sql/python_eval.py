"""Scalar expressions as Python functions, for the few places where rows are not in Spark.

SQL runs in Catalyst. A table made from a DataStream and turned back into one, however, never leaves the element
runtime; its computed columns and its watermark are evaluated here, row by row. That needs a small part of the
function library; everything else is refused by name when the program is built.

Values are plain Python; timestamps of both kinds are naive datetimes in UTC, intervals are timedeltas.
"""

from __future__ import annotations

import datetime as dt
import decimal
import operator
from collections.abc import Callable, Sequence
from typing import Any

from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)
from penstock.common.errors import NotSupportedError
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, TypeRef
from penstock.sql.python_logic import Evaluator, logical_form

EPOCH = dt.datetime(1970, 1, 1)


def compile_rex(rex: Rex) -> Evaluator:
    """A function from a row to the expression's value.

    Raises:
        NotSupportedError: The expression uses a function that only exists in Catalyst.
    """
    if isinstance(rex, InputRef):
        return operator.itemgetter(rex.index)
    if isinstance(rex, Const):
        value = _constant(rex)
        return lambda row: value
    if isinstance(rex, Call):
        return _call(rex)
    raise NotSupportedError(
        f"{type(rex).__name__} between a stream and a table", "rows there are evaluated outside Spark"
    )


class CompiledRex:
    """A compiled expression that may travel: it is pickled as the expression and compiled where it arrives."""

    def __init__(self, rex: Rex) -> None:
        self._rex = rex
        self._evaluate = compile_rex(rex)

    def __call__(self, row: Sequence[Any]) -> Any:
        return self._evaluate(row)

    def __reduce__(self) -> tuple[type[CompiledRex], tuple[Rex]]:
        return CompiledRex, (self._rex,)


def epoch_millis(moment: dt.datetime) -> int:
    """Milliseconds since 1970 of a naive UTC datetime, rounded down."""
    return (moment - EPOCH) // dt.timedelta(milliseconds=1)


def _constant(rex: Const) -> Any:
    if rex.value is not None and type(rex.type).__name__ == "DayTimeIntervalType":
        return dt.timedelta(milliseconds=rex.value)
    return rex.value


def _call(rex: Call) -> Evaluator:
    name = rex.name
    if name in ("CAST", "TRY_CAST"):
        if isinstance(rex.args[0], Const) and rex.args[0].value is None:
            return lambda row: None
        if isinstance(rex.type, DateType) and isinstance(rex.args[0].type, (DateType, TimestampType)):
            return _null_safe(_date_of, [compile_rex(rex.args[0])])
        return _cast(compile_rex(rex.args[0]), rex.type)
    args = [compile_rex(a) for a in rex.args if not isinstance(a, TypeRef)]
    form = logical_form(name, args)
    if form is not None:
        return form
    function = _FUNCTIONS.get(name)
    if function is None:
        raise NotSupportedError(
            f"{name} in a table between two streams",
            "rows there are evaluated outside Spark, by a small part of the function library",
            do="compute the column in the DataStream program",
        )
    return _null_safe(function, args)


def _null_safe(function: Callable[..., Any], args: list[Evaluator]) -> Evaluator:
    def evaluate(row: Sequence[Any]) -> Any:
        values = [a(row) for a in args]
        return None if None in values else function(*values)

    return evaluate


def _divide(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return left / right


def _remainder(left: Any, right: Any) -> Any:
    return left - right * _divide(left, right) if isinstance(left, int) else left % right


def _to_timestamp_ltz(number: Any, precision: int = 3) -> Any:
    if isinstance(number, str):
        return _parse_timestamp(number)
    return EPOCH + dt.timedelta(milliseconds=number if precision == 3 else number * 1000)


def _date_of(day: dt.date) -> dt.date:
    return day.date() if isinstance(day, dt.datetime) else day


def _parse_timestamp(text: str) -> dt.datetime | None:
    try:
        return dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return None


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
    "%": _remainder,
    "MOD": _remainder,
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "ABS": abs,
    "UPPER": str.upper,
    "LOWER": str.lower,
    "TRIM": str.strip,
    "CHAR_LENGTH": len,
    "||": operator.add,
    "CONCAT": lambda *texts: "".join(texts),
    "TO_TIMESTAMP_LTZ": _to_timestamp_ltz,
    "TO_TIMESTAMP": lambda text, *fmt: _parse_timestamp(text),
}

_INTEGERS = (TinyIntType, SmallIntType, IntType, BigIntType)


def _cast(value: Evaluator, target: DataType) -> Evaluator:
    convert: Callable[[Any], Any]
    if isinstance(target, _INTEGERS):
        convert = int
    elif isinstance(target, (DoubleType, FloatType)):
        convert = float
    elif isinstance(target, DecimalType):
        quantum = decimal.Decimal(1).scaleb(-target.scale)
        convert = lambda v: decimal.Decimal(str(v)).quantize(quantum, decimal.ROUND_HALF_UP)  # noqa: E731
    elif isinstance(target, VarCharType):
        convert = str
    elif isinstance(target, BooleanType):
        convert = bool
    elif isinstance(target, (TimestampType, LocalZonedTimestampType)):
        convert = _to_moment(target.precision)
    else:
        raise NotSupportedError(
            f"CAST to {target} between streams and tables", "rows are outside Spark there"
        )
    return _null_safe(convert, [value])


def _to_moment(precision: int) -> Callable[[Any], Any]:
    step = 10 ** (6 - min(precision, 6))

    def convert(value: Any) -> Any:
        moment = _parse_timestamp(value) if isinstance(value, str) else value
        return moment and moment.replace(microsecond=moment.microsecond // step * step)

    return convert
