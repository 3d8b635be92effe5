"""The arithmetic operators on numbers and intervals.

Integers keep their width and wrap around, decimals get the precision and scale of the SQL standard and
become NULL when they overflow, dividing an exact number by zero fails the job while DOUBLE and FLOAT give
infinities and NaN. Spark agrees on none of these by itself, so operands are first cast to the result type
(or to the decimal that holds them) and divisions are guarded.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from penstock.common.datatypes import (
    MAX_DECIMAL_PRECISION,
    BigIntType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    IntType,
    LocalZonedTimestampType,
    NullType,
    NumericType,
    TimestampType,
    TimeType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.sql.functions import datetime_text
from penstock.sql.functions.common_types import as_decimal, common_type, decimal_result
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, register
from penstock.sql.functions.rules import INTERVAL, NUMERIC, check, nullable, refuse
from penstock.sql.functions.text import cast, fail_text, let, spark_type

_INTERVALS = (DayTimeIntervalType, YearMonthIntervalType)
_DATETIMES = (DateType, TimeType, TimestampType, LocalZonedTimestampType)


def number_result(operator: str, left: DataType, right: DataType, null: bool) -> DataType:
    """The type of `left operator right` for two number types."""
    exact = not any(isinstance(t, (FloatType, DoubleType)) for t in (left, right))
    if exact and (isinstance(left, DecimalType) or isinstance(right, DecimalType)):
        if operator == "%" and as_decimal(left).scale == as_decimal(right).scale == 0:
            return right.with_nullability(null)
        return decimal_result(operator, as_decimal(left), as_decimal(right), null)
    if operator == "%":
        return right.with_nullability(null)
    merged = common_type([left, right])
    assert merged is not None
    return merged.with_nullability(null)


def _numbers(args: Sequence[ArgType]) -> bool:
    return all(isinstance(a.type, (NumericType, NullType)) for a in args)


def _known(args: Sequence[ArgType]) -> tuple[DataType, DataType]:
    """Both operand types; a bare NULL is taken for the type of the other side."""
    left, right = args[0].type, args[1].type
    if isinstance(left, NullType):
        left = IntType() if isinstance(right, NullType) else right.nullable()
    if isinstance(right, NullType):
        right = left.nullable()
    return left, right


def _interval_of(args: Sequence[ArgType], data_type: DataType) -> DataType:
    return data_type.with_nullability(nullable(args))


def _infer_plus_minus(operator: str, args: Sequence[ArgType]) -> DataType:
    if len(args) == 1:
        check(operator, [(NUMERIC,), (INTERVAL,)], args)
        return args[0].type
    if len(args) == 2:
        left, right = _known(args)
        if _numbers(args):
            return number_result(operator, left, right, nullable(args))
        if isinstance(left, _INTERVALS) and type(left) is type(right):
            return _interval_of(args, left)
        if isinstance(left, _DATETIMES) and isinstance(right, _INTERVALS):
            return _interval_of(args, left)
        if isinstance(left, _INTERVALS) and isinstance(right, LocalZonedTimestampType):
            raise refuse(operator, args, "<TIMESTAMP_LTZ> + <INTERVAL>")
        if operator == "+" and isinstance(left, _INTERVALS) and isinstance(right, _DATETIMES):
            return _interval_of(args, right)
    raise refuse(operator, args, f"<NUMERIC> {operator} <NUMERIC>", f"<DATETIME> {operator} <INTERVAL>")


def _infer_times(args: Sequence[ArgType]) -> DataType:
    if len(args) == 2:
        left, right = _known(args)
        if _numbers(args):
            return number_result("*", left, right, nullable(args))
        if isinstance(left, _INTERVALS) and isinstance(right, NumericType):
            return _interval_of(args, left)
        if isinstance(left, NumericType) and isinstance(right, _INTERVALS):
            return _interval_of(args, right)
    raise refuse("*", args, "<NUMERIC> * <NUMERIC>", "<INTERVAL> * <NUMERIC>")


def _infer_divide(args: Sequence[ArgType]) -> DataType:
    if len(args) == 2:
        left, right = _known(args)
        if _numbers(args):
            return number_result("/", left, right, nullable(args))
        if isinstance(left, _INTERVALS) and isinstance(right, NumericType):
            return _interval_of(args, left)
    raise refuse("/", args, "<NUMERIC> / <NUMERIC>", "<INTERVAL> / <NUMERIC>")


def _infer_modulo(args: Sequence[ArgType]) -> DataType:
    exact = (IntegralType, DecimalType, NullType)
    if len(args) == 2 and all(isinstance(a.type, exact) for a in args):
        left, right = _known(args)
        return number_result("%", left, right, nullable(args))
    raise refuse("%", args, "<EXACT NUMERIC> % <EXACT NUMERIC>")


def _operand(arg: Arg, result: DataType) -> str:
    """The operand in the type the operation is done in."""
    if isinstance(result, DecimalType):
        if isinstance(arg.type, (DecimalType, IntegralType)):
            return cast(arg.sql, as_decimal(arg.type))
        return cast(arg.sql, result)
    if type(arg.type) is type(result):
        return arg.sql
    return cast(arg.sql, result)


def _render_plus_minus(operator: str, args: Sequence[Arg], result: DataType) -> str:
    if len(args) == 1:
        return args[0].sql if operator == "+" else _negative(args[0].sql, result)
    left, right = args
    if operator == "+" and isinstance(result, (FloatType, DoubleType)):
        for zero, other in ((left, right), (right, left)):
            if is_zero(zero.literal):
                return _operand(other, result)
    if isinstance(result, NumericType):
        return cast(f"({_operand(left, result)} {operator} {_operand(right, result)})", result)
    if isinstance(result, _INTERVALS):
        return f"({left.sql} {operator} {right.sql})"
    if isinstance(left.type, _INTERVALS):
        left, right = right, left
    return datetime_text.add_interval(left, right, operator)


def is_zero(literal: object) -> bool:
    """Whether `x + literal` is x itself: Flink leaves such sums out, so that -0.0 stays what it is."""
    return isinstance(literal, (int, float, Decimal)) and not isinstance(literal, bool) and literal == 0


def _negative(sql: str, result: DataType) -> str:
    if isinstance(result, DecimalType) and result.precision > 34:  # Spark's own minus keeps no more digits
        return let(
            lambda x: cast(f"if({x} < 0, substring(CAST({x} AS STRING), 2), concat('-', {x}))", result), sql
        )
    return f"(- {sql})"


def _render_times(args: Sequence[Arg], result: DataType) -> str:
    if isinstance(result, NumericType):
        return cast(f"({_operand(args[0], result)} * {_operand(args[1], result)})", result)
    return cast(f"({args[0].sql} * {args[1].sql})", result)


def _render_divide(args: Sequence[Arg], result: DataType) -> str:
    left, right = args
    if not isinstance(result, NumericType):
        return cast(f"({left.sql} / {right.sql})", result)
    a, b = _operand(left, result), _operand(right, result)
    if left.is_literal and is_zero(right.literal):
        raise ValidationError("Division by zero")
    if isinstance(result, (FloatType, DoubleType)):
        kind = spark_type(result)
        infinite = f"if(CAST({{1}} AS STRING) = '-0.0', {kind}('-Infinity'), {kind}('Infinity'))"
        return let(
            lambda x, y: f"if({y} = 0, {x} * {infinite.format(x, y)}, CAST({x} / {y} AS {kind}))", a, b
        )
    message = fail_text("/ by zero" if isinstance(result, IntegralType) else "Division by zero")
    sign = "div" if isinstance(result, IntegralType) else "/"
    if right.literal not in (None, 0) and isinstance(right.literal, int):
        return cast(f"({a} {sign} {b})", result)
    return let(lambda x, y: f"if({y} = 0, {message}, {cast(f'({x} {sign} {y})', result)})", a, b)


def _render_modulo(args: Sequence[Arg], result: DataType) -> str:
    left, right = args
    if isinstance(result, DecimalType):
        return _decimal_rest(left, right, result)
    # A decimal beside an integer is one, too: of 64 bits, as Java's BigDecimal gives them.
    decimal = any(isinstance(arg.type, DecimalType) for arg in args)
    wide = BigIntType() if decimal else common_type([left.type, right.type]) or result
    a, b, message = cast(left.sql, wide), cast(right.sql, wide), fail_text("/ by zero")
    return let(lambda x, y: f"if({y} = 0, {message}, {cast(f'({x} % {y})', result)})", a, b)


def _decimal_rest(left: Arg, right: Arg, result: DataType) -> str:
    own, other = _decimal_type(left.type), _decimal_type(right.type)
    checks = [f"{{1}} = 0, {fail_text('Division by zero')}"]
    if own.precision - own.scale + other.scale > MAX_DECIMAL_PRECISION:
        quotient = "abs(CAST({0} AS DOUBLE) / CAST({1} AS DOUBLE))"
        checks.append(f"{quotient} >= 1E38D AND {{0}} % {{1}} <> 0, {fail_text('Division impossible')}")

    def rest(x: str, y: str) -> str:
        text = cast(f"({x} % {y})", result)
        for failing in reversed(checks):
            text = f"if({failing.format(x, y)}, {text})"
        return text

    return let(rest, cast(left.sql, own), cast(right.sql, other))


def _decimal_type(data_type: DataType) -> DecimalType:
    return DecimalType(1, 0) if isinstance(data_type, NullType) else as_decimal(data_type)


for _operator in ("+", "-"):
    register(
        FunctionDef(
            _operator,
            "scalar",
            lambda args, op=_operator: _infer_plus_minus(op, args),  # type: ignore[misc]
            lambda args, result, op=_operator: _render_plus_minus(op, args, result),  # type: ignore[misc]
        ),
        f"{_operator} (unary)",
    )
register(FunctionDef("*", "scalar", _infer_times, _render_times))
register(FunctionDef("/", "scalar", _infer_divide, _render_divide))
register(FunctionDef("%", "scalar", _infer_modulo, _render_modulo), "MOD")
