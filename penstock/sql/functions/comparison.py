"""Comparisons, BETWEEN, IN and the tests for NULL.

Numbers of all widths compare with each other. Text compares with dates and times, and in `<` and its kin
and in IN also with numbers, by reading the text as the other type; `text = number` is refused. A DOUBLE that
is NaN is equal to NaN but neither smaller nor greater than anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    NullType,
    NumericType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.common_types import common_type
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, register
from penstock.sql.functions.rules import ANY, never, nullable, refuse, scalar
from penstock.sql.functions.text import cast, let, quoted_name
from penstock.sql.functions.value_text import text_of

_TEXT = (CharType, VarCharType)
_READ_FROM_TEXT = (DateType, TimeType, TimestampType, LocalZonedTimestampType, BooleanType)
UNORDERED = (ArrayType, MapType, MultisetType, RowType)
_FAMILIES: tuple[tuple[type[DataType], ...], ...] = (
    (NumericType,),
    _TEXT,
    (BinaryType, VarBinaryType),
    (BooleanType,),
    (DateType,),
    (TimeType,),
    (TimestampType, LocalZonedTimestampType),
    (DayTimeIntervalType,),
    (YearMonthIntervalType,),
)


def comparison_type(left: DataType, right: DataType, numbers_from_text: bool) -> DataType | None:
    """The type in which two values are compared, None if they are not comparable."""
    if isinstance(left, NullType):
        return right
    if isinstance(right, NullType):
        return left
    if isinstance(left, _TEXT) != isinstance(right, _TEXT):
        text_left = isinstance(left, _TEXT)
        other = right if text_left else left
        if isinstance(other, BooleanType):
            return left if text_left else right
        if isinstance(other, _READ_FROM_TEXT) or (numbers_from_text and isinstance(other, NumericType)):
            return other
        return None
    for family in _FAMILIES:
        if isinstance(left, family) and isinstance(right, family):
            if isinstance(left, LocalZonedTimestampType) or isinstance(right, LocalZonedTimestampType):
                return left if isinstance(left, LocalZonedTimestampType) else right
            return common_type([left, right])
    return common_type([left, right])


def comparable_text(arg: Arg, target: DataType) -> str:
    """An operand as text of the type in which the comparison is done."""
    if isinstance(arg.type, NumericType) and isinstance(target, NumericType):
        return (
            arg.sql if not isinstance(target, (FloatType, DoubleType)) else cast(arg.sql, DataTypes.DOUBLE())
        )
    if isinstance(arg.type, BooleanType) and isinstance(target, _TEXT):
        return text_of(arg.sql, arg.type)
    if isinstance(target, MapType):
        return f"sort_array(map_entries({cast_sql(arg, target)}))"
    if isinstance(target, (*_TEXT, BinaryType, VarBinaryType)) and not isinstance(arg.type, NullType):
        return arg.sql
    if isinstance(arg.type, (TimestampType, TimeType)) and type(arg.type) is type(target):
        return arg.sql
    return cast_sql(arg, target)


def _refuse(operator: str, args: Sequence[ArgType]) -> ValidationError:
    left, right = args[0].type.as_summary(), args[1].type.as_summary()
    return refuse(operator, args, f"CAST to make both sides comparable, they are {left} and {right}")


def _infer(operator: str, ordered: bool, args: Sequence[ArgType]) -> DataType:
    if len(args) != 2:
        raise refuse(operator, args, f"<COMPARABLE> {operator} <COMPARABLE>")
    found = comparison_type(args[0].type, args[1].type, numbers_from_text=ordered)
    if found is None or (ordered and isinstance(found, UNORDERED)):
        raise _refuse(operator, args)
    return DataTypes.BOOLEAN(nullable(args))


def compare_text(operator: str, left: Arg, right: Arg) -> str:
    """`left operator right`, NULL if one is."""
    if any(side.sql.startswith("named_struct(") for side in (left, right)):
        return _compare_fields(operator, left, right)
    target = comparison_type(left.type, right.type, numbers_from_text=True) or left.type
    a, b = comparable_text(left, target), comparable_text(right, target)
    if operator in ("=", "<>") or not isinstance(target, (FloatType, DoubleType)):
        return f"({a} {operator} {b})"
    checks = [f"NOT isnan({{{i}}})" for i, arg in enumerate((left, right)) if _may_be_nan(arg)]
    if not checks:
        return f"({a} {operator} {b})"
    return let(lambda x, y: f"({x} {operator} {y} AND {' AND '.join(checks).format(x, y)})", a, b)


def _compare_fields(operator: str, left: Arg, right: Arg) -> str:
    """ROW(a, b) = ROW(c, d) means a = c AND b = d, with NULLs as usual; stored rows compare as a whole."""
    if not (isinstance(left.type, RowType) and isinstance(right.type, RowType)):
        raise _refuse(operator, [ArgType(left.type), ArgType(right.type)])
    pairs = []
    for a, b in zip(left.type.fields, right.type.fields, strict=True):
        x = Arg(f"({left.sql}).{quoted_name(a.name)}", a.data_type)
        y = Arg(f"({right.sql}).{quoted_name(b.name)}", b.data_type)
        pairs.append(compare_text("=", x, y))
    same = f"({' AND '.join(pairs)})"
    return same if operator == "=" else f"(NOT {same})"


def _may_be_nan(arg: Arg) -> bool:
    return isinstance(arg.type, (FloatType, DoubleType)) and not arg.is_literal


def _comparison(operator: str, ordered: bool) -> FunctionDef:
    return FunctionDef(
        operator,
        "scalar",
        lambda args: _infer(operator, ordered, args),
        lambda args, result: compare_text(operator, args[0], args[1]),
    )


register(_comparison("=", ordered=False))
register(_comparison("<>", ordered=False), "!=")
for _operator in ("<", "<=", ">", ">="):
    register(_comparison(_operator, ordered=True))


def _infer_distinct(name: str, args: Sequence[ArgType]) -> DataType:
    if len(args) != 2 or comparison_type(args[0].type, args[1].type, False) is None:
        raise refuse(name, args, f"<COMPARABLE> {name} <COMPARABLE>")
    return DataTypes.BOOLEAN(False)


def _distinct_text(args: Sequence[Arg], negated: bool) -> str:
    target = comparison_type(args[0].type, args[1].type, False) or args[0].type
    same = f"({comparable_text(args[0], target)} <=> {comparable_text(args[1], target)})"
    return f"(NOT {same})" if negated else same


scalar("IS NULL", (ANY,), never(DataTypes.BOOLEAN), "({0} IS NULL)")
scalar("IS NOT NULL", (ANY,), never(DataTypes.BOOLEAN), "({0} IS NOT NULL)")
for _name, _negated in (("IS DISTINCT FROM", True), ("IS NOT DISTINCT FROM", False)):
    register(
        FunctionDef(
            _name,
            "scalar",
            lambda args, name=_name: _infer_distinct(name, args),  # type: ignore[misc]
            lambda args, result, negated=_negated: _distinct_text(args, negated),  # type: ignore[misc]
        )
    )


def _infer_between(name: str, args: Sequence[ArgType]) -> DataType:
    if len(args) != 3:
        raise refuse(name, args, f"<COMPARABLE> {name} <COMPARABLE> AND <COMPARABLE>")
    for bound in args[1:]:
        _infer(name, True, [args[0], bound])
    return DataTypes.BOOLEAN(nullable(args))


def _between_text(args: Sequence[Arg], symmetric: bool, negated: bool) -> str:
    value, low, high = args

    def inside(a: Arg, b: Arg) -> str:
        return f"({compare_text('>=', value, a)} AND {compare_text('<=', value, b)})"

    text = inside(low, high)
    if symmetric:
        text = f"({text} OR {inside(high, low)})"
    return f"(NOT {text})" if negated else text


for _symmetric in (False, True):
    for _negated in (False, True):
        _name = f"{'NOT ' if _negated else ''}BETWEEN{' SYMMETRIC' if _symmetric else ''}"
        register(
            FunctionDef(
                _name,
                "scalar",
                lambda args, name=_name: _infer_between(name, args),  # type: ignore[misc]
                lambda args, result, s=_symmetric, n=_negated: _between_text(args, s, n),  # type: ignore[misc]
            )
        )


def _infer_in(name: str, args: Sequence[ArgType]) -> DataType:
    if len(args) < 2:
        raise refuse(name, args, f"<COMPARABLE> {name} (<COMPARABLE>, ...)")
    for option in args[1:]:
        if comparison_type(args[0].type, option.type, True) is None:
            raise _refuse(name, [args[0], option])
    return DataTypes.BOOLEAN(nullable(args))


def _in_text(args: Sequence[Arg], negated: bool) -> str:
    value, options = args[0], args[1:]
    if isinstance(value.type, (NullType, RowType)):
        parts = " OR ".join(compare_text("=", value, option) for option in options)
        return f"(NOT ({parts}))" if negated else f"({parts})"
    # The options take the value's type: `i IN (2.5)` holds for 2.
    texts = [cast_sql(option, value.type) for option in options]
    text = f"({value.sql} IN ({', '.join(texts)}))"
    return f"(NOT {text})" if negated else text


for _name, _negated in (("IN", False), ("NOT IN", True)):
    register(
        FunctionDef(
            _name,
            "scalar",
            lambda args, name=_name: _infer_in(name, args),  # type: ignore[misc]
            lambda args, result, negated=_negated: _in_text(args, negated),  # type: ignore[misc]
        )
    )
