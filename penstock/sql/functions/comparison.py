"""Comparisons, BETWEEN, IN and the tests for NULL.

Numbers of all widths compare with each other. Text compares with dates and times, and in `<` and its kin
and in IN also with numbers, by reading the text as the other type; `text = number` is refused. Text that cannot be
read fails in `<` and makes `=` NULL. A DOUBLE that is NaN is equal to nothing, neither smaller nor greater than
anything; beside a DECIMAL it is greater than all, and -0.0 is smaller than 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
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
    VariantType,
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
_MOMENT = (TimestampType, LocalZonedTimestampType)
_FLOATING = (FloatType, DoubleType)
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
    """The type in which two values are compared, None if they are not comparable.

    `numbers_from_text` says that they are ordered and not only told apart. Then a moment is compared on the session's
    clock with a TIMESTAMP, else the TIMESTAMP becomes a moment; in the hour that a clock change skips they differ.
    """
    if isinstance(left, NullType):
        return right
    if isinstance(right, NullType):
        return left
    if isinstance(left, _TEXT) != isinstance(right, _TEXT):
        text_left = isinstance(left, _TEXT)
        other = right if text_left else left
        if isinstance(other, BooleanType) and not numbers_from_text:
            return left if text_left else right
        if isinstance(other, _READ_FROM_TEXT) or (numbers_from_text and isinstance(other, NumericType)):
            return other
        return None
    if isinstance(left, _FLOATING) or isinstance(right, _FLOATING):
        return floating_type(left, right)
    for family in _FAMILIES:
        if isinstance(left, family) and isinstance(right, family):
            if isinstance(left, _MOMENT) and isinstance(right, _MOMENT) and type(left) is not type(right):
                kind = TimestampType if numbers_from_text else LocalZonedTimestampType
                return kind(max(left.precision, right.precision))
            return common_type([left, right])
    return common_type([left, right])


def floating_type(left: DataType, right: DataType) -> DataType | None:
    """FLOAT beside FLOAT and integers, as Java widens them, else DOUBLE; None if one is no number."""
    if not (isinstance(left, NumericType) and isinstance(right, NumericType)):
        return None
    single = all(isinstance(t, (FloatType, IntegralType)) for t in (left, right))
    return DataTypes.FLOAT() if single else DataTypes.DOUBLE()


def comparable_text(arg: Arg, target: DataType, equality: bool = False) -> str:
    """An operand as text of the type in which the comparison is done."""
    if isinstance(arg.type, NumericType) and isinstance(target, NumericType):
        return arg.sql if not isinstance(target, _FLOATING) else cast(arg.sql, target)
    if isinstance(arg.type, _TEXT) and isinstance(target, _READ_FROM_TEXT):
        return cast_sql(arg, target, try_=equality and not arg.is_literal)
    if isinstance(arg.type, BooleanType) and isinstance(target, _TEXT):
        return text_of(arg.sql, arg.type)
    if isinstance(target, MapType):
        return f"sort_array(map_entries({cast_sql(arg, target)}))"
    if isinstance(arg.type, VariantType):
        return f"to_json({arg.sql})"
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
    equality = operator in ("=", "<>")
    target = comparison_type(left.type, right.type, numbers_from_text=not equality)
    target = target or comparison_type(left.type, right.type, numbers_from_text=True) or left.type
    a, b = (comparable_text(side, target, equality) for side in (left, right))
    if isinstance(target, _TEXT) and any(isinstance(side.type, BooleanType) for side in (left, right)):
        differs = "FALSE" if operator == "=" else "TRUE"  # a text is no BOOLEAN, whatever it says
        return f"if({left.sql} IS NULL OR {right.sql} IS NULL, NULL, {differs})"
    if isinstance(target, MapType):
        return _compare_maps(operator, cast_sql(left, target), cast_sql(right, target))
    if not isinstance(target, _FLOATING):
        return f"({a} {operator} {b})"
    if any(isinstance(side.type, DecimalType) for side in (left, right)):
        if not equality:
            a, b = (_signed_zero(text, side) for text, side in ((a, left), (b, right)))
        return f"({a} {operator} {b})"
    if a == b:  # Flink does not look: what is compared with itself is equal, NaN too
        return f"({a} {operator} {b})"
    return _compare_doubles(operator, a, b, [_may_be_nan(left), _may_be_nan(right)])


def _signed_zero(text: str, arg: Arg) -> str:
    """-0.0 as something smaller than 0; a decimal is never -0."""
    if isinstance(arg.type, _FLOATING) and not arg.is_literal:
        return let(lambda x: f"if({x} = 0 AND CAST({x} AS STRING) = '-0.0', DOUBLE('-4.9E-324'), {x})", text)
    return text


def _compare_doubles(operator: str, a: str, b: str, may_be_nan: list[bool]) -> str:
    """NaN is greater than all for Spark. The comparison stays a condition of its own, for joins and sources."""
    if not any(may_be_nan) or (operator == "=" and not all(may_be_nan)):
        return f"({a} {operator} {b})"
    if operator == "<>":
        if not all(may_be_nan):
            return f"({a} <> {b})"
        return let(lambda x, y: f"({x} <> {y} OR if({y} IS NULL, NULL, isnan({x})))", a, b)

    def guarded(x: str, y: str) -> str:
        checks = [f"if({other} IS NULL, NULL, NOT isnan({own}))" for own, other in ((x, y), (y, x))]
        kept = [check for check, needed in zip(checks, may_be_nan, strict=True) if needed]
        return f"({' AND '.join([f'{x} {operator} {y}', *(kept[:1] if operator == '=' else kept)])})"

    return let(guarded, a, b)


def _compare_maps(operator: str, a: str, b: str) -> str:
    """Maps are equal if their entries are, and a value that is NULL is equal to nothing; a map is equal to itself."""
    if a == b:
        return f"if({a} IS NULL, NULL, {'TRUE' if operator == '=' else 'FALSE'})"

    def test(x: str, y: str) -> str:
        same = f"sort_array(map_entries({x})) = sort_array(map_entries({y}))"
        known = f"NOT exists(map_values({x}), e -> e IS NULL)"
        return f"({same} AND {known})" if operator == "=" else f"(NOT ({same} AND {known}))"

    return let(test, a, b)


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
    return isinstance(arg.type, _FLOATING) and not arg.is_literal


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
    a, b = (comparable_text(arg, target, equality=True) for arg in args)
    if isinstance(target, MapType):
        known = _compare_maps("=", *(cast_sql(arg, target) for arg in args))
        same = f"(coalesce({known}, {args[0].sql} IS NULL AND {args[1].sql} IS NULL))"
    elif all(_may_be_nan(arg) for arg in args):
        same = let(lambda x, y: f"({x} <=> {y} AND NOT coalesce(isnan({x}), FALSE))", a, b)
    else:
        same = f"({a} <=> {b})"
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


def tells_zeros_apart(options: Sequence[object]) -> bool:
    """Whether -0.0 is not in a list that has 0: Flink looks into a set if it has two options and more."""
    numbers = [o for o in options if isinstance(o, (int, float, Decimal)) and not isinstance(o, bool)]
    return len(options) > 1 and any(number == 0 for number in numbers)


def _in_text(args: Sequence[Arg], negated: bool) -> str:
    value, options = args[0], args[1:]
    if isinstance(value.type, (NullType, RowType, MapType)):
        parts = " OR ".join(compare_text("=", value, option) for option in options)
        return f"(NOT ({parts}))" if negated else f"({parts})"
    # The options take the value's type: `i IN (2.5)` holds for 2.
    texts = [cast_sql(option, value.type) for option in options]
    text = f"({value.sql} IN ({', '.join(texts)}))"
    if isinstance(value.type, _FLOATING) and tells_zeros_apart([o.literal for o in options]):
        zero = f"({value.sql} = 0 AND CAST({value.sql} AS STRING) = '-0.0')"
        text = f"({text} AND NOT coalesce({zero}, FALSE))"
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
