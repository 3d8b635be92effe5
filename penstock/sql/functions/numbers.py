"""Functions of numbers: powers, logarithms, trigonometry, rounding, bases, random numbers.

Rounding keeps the argument's type; out of its domain a function of DOUBLE gives NaN or an infinity, where
Spark would give NULL.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from penstock.common.datatypes import (
    MAX_DECIMAL_PRECISION,
    DataType,
    DataTypes,
    DecimalType,
    IntegralType,
    NullType,
)
from penstock.sql.functions.common_types import fitted_decimal
from penstock.sql.functions.registry import Arg, ArgType, Render
from penstock.sql.functions.rules import (
    CHARACTER,
    INTEGER,
    NUMERIC,
    like,
    maybe,
    never,
    nullable,
    of,
    opt,
    scalar,
)
from penstock.sql.functions.text import cast, fail, let, string, udf

_DOUBLE = of(DataTypes.DOUBLE)
_NAN, _MINUS_INFINITY = "DOUBLE('NaN')", "DOUBLE('-Infinity')"


def _double(sql: str) -> str:
    return f"CAST({sql} AS DOUBLE)"


def logarithm(x: str) -> str:
    """The natural logarithm of a DOUBLE with Java's answers for 0 and for negative numbers."""
    return f"CASE WHEN {x} > 0 THEN ln({x}) WHEN {x} = 0 THEN {_MINUS_INFINITY} WHEN {x} < 0 THEN {_NAN} END"


def _log_of(function: str) -> Render:
    def render(args: Sequence[Arg], result: DataType) -> str:
        return let(lambda x: logarithm(x).replace(f"ln({x})", f"{function}({x})"), _double(args[0].sql))

    return render


def _log(args: Sequence[Arg], result: DataType) -> str:
    if len(args) == 1:
        return let(logarithm, _double(args[0].sql))

    def quotient(b: str, x: str) -> str:
        return (
            f"CASE WHEN {b} < 0 OR {x} < 0 OR isnan({b}) OR isnan({x}) THEN {_NAN} "
            f"WHEN {b} = 0 AND {x} = 0 THEN {_NAN} WHEN {b} = 0 THEN if({x} < 1, 0D, -0D) "
            f"WHEN {b} = 1 THEN if({x} > 1, DOUBLE('Infinity'), if({x} = 1, {_NAN}, {_MINUS_INFINITY})) "
            f"WHEN {x} = 0 THEN if({b} < 1, DOUBLE('Infinity'), {_MINUS_INFINITY}) ELSE ln({x}) / ln({b}) END"
        )

    return let(quotient, _double(args[0].sql), _double(args[1].sql))


for _name in (
    "EXP",
    "SIN",
    "SINH",
    "COS",
    "COSH",
    "TAN",
    "TANH",
    "ASIN",
    "ACOS",
    "ATAN",
    "DEGREES",
    "RADIANS",
):
    scalar(_name, (NUMERIC,), _DOUBLE, f"{_name.lower()}(CAST({{0}} AS DOUBLE))", how="spark")
scalar(
    "SQRT",
    (NUMERIC,),
    _DOUBLE,
    # Flink's is the power of 0.5, which makes 0.0 of -0.0 and is infinite at both ends.
    lambda a: let(
        lambda x: f"if({x} = DOUBLE('-Infinity'), DOUBLE('Infinity'), sqrt({x} + 0D))", f"CAST({a} AS DOUBLE)"
    ),
)
scalar("COT", (NUMERIC,), _DOUBLE, "cot(CAST({0} AS DOUBLE))", how="spark")
scalar("POWER", (NUMERIC, NUMERIC), _DOUBLE, "power(CAST({0} AS DOUBLE), CAST({1} AS DOUBLE))", how="spark")


def _atan2(y: str, x: str) -> str:
    """Spark's own takes -0.0 for 0.0."""
    negative = "{0} = 0 AND CAST({0} AS STRING) = '-0.0'"
    return let(
        lambda y, x: f"if({negative.format(y)}, - atan2(0D, {x}), atan2({y}, {x}))", _double(y), _double(x)
    )


scalar("ATAN2", (NUMERIC, NUMERIC), _DOUBLE, _atan2)
scalar("LN", (NUMERIC,), _DOUBLE, render=_log_of("ln"))
scalar("LOG10", (NUMERIC,), _DOUBLE, render=_log_of("log10"))
scalar("LOG2", (NUMERIC,), _DOUBLE, render=_log_of("log2"))
scalar("LOG", (NUMERIC, opt(NUMERIC)), _DOUBLE, render=_log)
scalar("PI", (), never(DataTypes.DOUBLE), "pi()")
scalar("E", (), never(DataTypes.DOUBLE), "e()")


def _keep_type(sql: str) -> Render:
    """A function whose result is cast back to the argument's type."""

    def render(args: Sequence[Arg], result: DataType) -> str:
        return cast(sql.format(args[0].sql), result)

    return render


def rounded_decimal(arg: ArgType, digits: int, null: bool) -> DecimalType:
    """The type of ROUND(decimal, digits)."""
    assert isinstance(arg.type, DecimalType)
    precision, scale = arg.type.precision, arg.type.scale
    if digits >= scale:
        return DecimalType(precision, scale, null)
    return fitted_decimal(1 + precision - scale + max(digits, 0), max(digits, 0), null)


def _round_type(args: Sequence[ArgType]) -> DataType:
    null = nullable(args)
    if not isinstance(args[0].type, DecimalType):
        return args[0].type.with_nullability(null)
    digits = args[1].literal if len(args) > 1 else 0
    if not isinstance(digits, int):
        return args[0].type.with_nullability(null)
    return rounded_decimal(args[0], digits, null)


def _round(args: Sequence[Arg], result: DataType) -> str:
    digits = args[1].literal if len(args) > 1 else 0
    if isinstance(digits, int) and isinstance(args[0].type, DecimalType):
        return _rounded_decimal_text(args[0].sql, args[0].type, digits, result)
    if isinstance(digits, int):
        return cast(f"round({args[0].sql}, {digits})", result)
    return cast(udf("round", f"CAST({args[0].sql} AS STRING)", args[1].sql), result)


def _rounded_decimal_text(sql: str, source: DecimalType, digits: int, result: DataType) -> str:
    """Spark's round fails where the result has a digit too many; a cast rounds as well, and gives NULL there."""
    if source.precision < MAX_DECIMAL_PRECISION or digits >= source.scale:
        return cast(f"round({sql}, {digits})", result)
    if digits >= 0:
        return cast(sql, result)
    if -digits > source.precision - source.scale:
        return f"if({sql} IS NULL, NULL, {cast('0', result)})"
    unit = f"CAST('{Decimal(1).scaleb(digits):f}' AS DECIMAL({1 - digits}, {-digits}))"
    whole = f"CAST(CAST({sql} AS DECIMAL(38, 0)) * {unit} AS DECIMAL(38, 0))"
    return cast(f"({whole} * CAST('{10**-digits}' AS DECIMAL({1 - digits}, 0)))", result)


def _truncate(args: Sequence[Arg], result: DataType) -> str:
    digits = args[1].literal if len(args) > 1 else 0
    if isinstance(digits, int) and isinstance(args[0].type, IntegralType):
        unit = 10 ** min(-digits, 18)
        return (
            args[0].sql if digits >= 0 else let(lambda x: cast(f"({x} - {x} % {unit})", result), args[0].sql)
        )
    if isinstance(digits, int) and isinstance(args[0].type, DecimalType):
        return let(
            lambda x: (
                f"if({x} < 0, {cast(f'ceil({x}, {digits})', result)}, {cast(f'floor({x}, {digits})', result)})"
            ),
            args[0].sql,
        )
    cut = udf("truncate", f"CAST({args[0].sql} AS STRING)", args[1].sql if len(args) > 1 else "0")
    if isinstance(args[0].type, DecimalType):
        return cast(cut, result)
    message = fail(f"concat('TRUNCATE: ', {{0}}, {string(' has no digits')})")
    return let(
        lambda x, t: (
            f"if(isnan({x}) OR abs({x}) = DOUBLE('Infinity'), {message.format(x)}, {cast(t, result)})"
        ),
        args[0].sql,
        cut,
    )


def _whole_type(args: Sequence[ArgType]) -> DataType:
    argument = args[0].type
    if isinstance(argument, DecimalType):
        return DecimalType(argument.precision, 0, argument.is_nullable)
    return argument


def whole_number(function: str, args: Sequence[Arg], result: DataType) -> str:
    """CEIL or FLOOR of a number."""
    if isinstance(result, (IntegralType, NullType)):
        return args[0].sql
    if isinstance(result, DecimalType):
        return cast(f"{function}({args[0].sql})", result)
    # Spark's own gives BIGINT, which is too narrow for large doubles.
    near = "floor" if function == "floor" else "ceil"
    # It has no -0.0 either, which is what CEIL makes of all from there to -1.
    kept = "{0} = floor({0})" if function == "floor" else "{0} = ceil({0})"
    zero = cast("'-0.0'", result)
    small = "" if function == "floor" else f" WHEN {{0}} > -1 AND {{0}} < 0 THEN {zero}"
    return let(
        lambda x: (
            f"CASE WHEN abs({x}) >= 9.0E15 OR isnan({x}) OR {kept.format(x)} THEN {x}{small.format(x)} "
            f"ELSE {cast(f'{near}({x})', result)} END"
        ),
        args[0].sql,
    )


scalar("ABS", (NUMERIC,), like(0), "abs({0})")
scalar("SIGN", (NUMERIC,), like(0), render=_keep_type("sign({0})"))
scalar("ROUND", (NUMERIC, opt(INTEGER)), _round_type, render=_round)
scalar("TRUNCATE", (NUMERIC, opt(INTEGER)), _round_type, render=_truncate)
scalar("BIN", (INTEGER,), of(DataTypes.STRING), "bin({0})")
scalar("HEX", [(INTEGER,), (CHARACTER,)], of(DataTypes.STRING), "hex({0})")
scalar(
    "UNHEX",
    (CHARACTER,),
    maybe(DataTypes.BYTES),
    lambda s: let(
        # With an odd number of digits the first one is dropped and a zero byte stands for it.
        lambda x: (
            f"unhex(if(length({x}) % 2 = 1, if({x} RLIKE '^[0-9A-Fa-f]', concat('00', substr({x}, 2)), "
            f"{x}), {x}))"
        ),
        s,
    ),
)


def _seeded(name: str, plain: str) -> Render:
    def render(args: Sequence[Arg], result: DataType) -> str:
        seeds = 1 if name == "rand" else 2
        if len(args) < seeds:
            return plain.format(*(a.sql for a in args))
        site = string(f"{name}:{id(args)}")
        return udf(f"java_{name}", *(a.sql for a in args), site)

    return render


scalar(
    "RAND",
    (opt(INTEGER),),
    of(DataTypes.DOUBLE),
    render=_seeded("rand", "rand()"),
    deterministic=False,
    how="udf",
)
scalar(
    "RAND_INTEGER",
    (INTEGER, opt(INTEGER)),
    of(DataTypes.INT),
    render=_seeded("rand_integer", "CAST(floor(rand() * {0}) AS INT)"),
    deterministic=False,
    how="udf",
)
scalar("UUID", (), never(DataTypes.CHAR, 36), "uuid()", deterministic=False)
