"""What rules must know about an expression before they move it.

    is_movable   gives the same wherever it is asked: no RAND(), no NOW(), no CURRENT_WATERMARK, no subquery
    is_total     cannot fail, so it may be asked of rows that would have been dropped before
    rejects_null is never TRUE where these columns are NULL

Everything is a list of what is certain; an expression that is not known is not moved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)
from penstock.sql.plan.plan_rexes import unstable_call
from penstock.sql.plan.rex import (
    Call,
    Const,
    InputRef,
    OuterRef,
    Rex,
    SubqueryRex,
    TypeRef,
    UdfCall,
    conjuncts,
    transform,
    walk,
)

_PINNED = ("CURRENT_WATERMARK", "LOCALTIMESTAMP", "CURRENT_TIME", "LOCALTIME", "UNIX_TIMESTAMP")
_NUMBERS = (TinyIntType, SmallIntType, IntType, BigIntType, DecimalType, FloatType, DoubleType)
_WHOLE = (TinyIntType, SmallIntType, IntType, BigIntType)
_TEXTS = (CharType, VarCharType)
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_TOTAL = {
    *COMPARISONS, "AND", "OR", "NOT", "IS NULL", "IS NOT NULL", "IS TRUE", "IS NOT TRUE", "IS FALSE",
    "IS NOT FALSE", "IS UNKNOWN", "IS NOT UNKNOWN", "IS DISTINCT FROM", "IS NOT DISTINCT FROM", "BETWEEN",
    "NOT BETWEEN", "IN", "NOT IN", "CASE", "IF", "COALESCE", "IFNULL", "NULLIF", "+", "-", "*", "- (unary)",
    "+ (unary)", "UPPER", "LOWER", "CHAR_LENGTH", "CHARACTER_LENGTH", "||", "CONCAT", "DOT", "EXTRACT", "YEAR",
    "MONTH", "HOUR", "MINUTE", "SECOND", "DAYOFMONTH", "FLOOR", "CEIL", "TRIM", "SUBSTRING", "LIKE", "NOT LIKE",
    "TIMESTAMPDIFF", "TIMESTAMPADD", "MINUS_DATE", "ABS", "SIGN", "GREATEST", "LEAST", "STARTSWITH", "ENDSWITH",
    "TRY_CAST",
}  # fmt: skip
_STRICT = {
    *COMPARISONS, "+", "-", "*", "/", "%", "MOD", "- (unary)", "+ (unary)", "CAST", "TRY_CAST", "UPPER", "LOWER",
    "CHAR_LENGTH", "||", "SUBSTRING", "NOT", "LIKE", "NOT LIKE", "ABS", "DOT", "EXTRACT", "YEAR",
    "MONTH", "HOUR", "MINUTE", "SECOND", "MINUS_DATE", "TIMESTAMPADD", "TIMESTAMPDIFF",
}  # fmt: skip


def columns_of(rex: Rex) -> set[int]:
    """The input columns an expression reads."""
    return {part.index for part in walk(rex) if isinstance(part, InputRef)}


def all_columns(rexes: Iterable[Rex]) -> set[int]:
    return {index for rex in rexes for index in columns_of(rex)}


def moved(rex: Rex, places: Mapping[int, int] | Callable[[int], int]) -> Rex:
    """The expression over columns that are somewhere else now."""
    at = places.__getitem__ if isinstance(places, Mapping) else places
    return transform(rex, lambda r: replace(r, index=at(r.index)) if isinstance(r, InputRef) else None)


def substituted(rex: Rex, exprs: Sequence[Rex]) -> Rex:
    """The expression with the columns replaced by what computes them."""
    return transform(rex, lambda r: exprs[r.index] if isinstance(r, InputRef) else None)


def all_of(items: Sequence[Rex]) -> Rex:
    """The items connected by AND."""
    return items[0] if len(items) == 1 else Call(DataTypes.BOOLEAN(), "AND", tuple(items))


def disjuncts(rex: Rex) -> list[Rex]:
    """The parts of an OR, flattened."""
    if isinstance(rex, Call) and rex.name == "OR":
        return [part for arg in rex.args for part in disjuncts(arg)]
    return [rex]


def is_movable(rex: Rex) -> bool:
    for part in walk(rex):
        if isinstance(part, (SubqueryRex, OuterRef)) or unstable_call(part) is not None:
            return False
        if isinstance(part, Call) and part.name in _PINNED:
            return False
        if isinstance(part, UdfCall) and getattr(part.function, "pinned", False):
            return False
    return True


def has_user_call(rex: Rex) -> bool:
    return any(isinstance(part, UdfCall) for part in walk(rex))


def is_total(rex: Rex) -> bool:
    return all(_part_is_total(part) for part in walk(rex))


def _part_is_total(part: Rex) -> bool:
    if isinstance(part, (InputRef, Const, TypeRef)):
        return True
    if not isinstance(part, Call):
        return False
    if part.name in ("/", "%", "MOD"):
        divisor = part.args[1]
        return isinstance(divisor, Const) and divisor.value is not None and divisor.value != 0
    if part.name == "CAST":
        return _cast_is_total(part.args[0].type, part.type)
    return part.name in _TOTAL


def _cast_is_total(source: DataType, target: DataType) -> bool:
    if isinstance(target, _TEXTS):
        return True
    if isinstance(source, _NUMBERS):
        return isinstance(target, (*_NUMBERS, BooleanType))
    return type(source) is type(target)


def is_plain(rex: Rex) -> bool:
    """A column, a field of one, or a constant: costs nothing to compute again."""
    if isinstance(rex, Call) and rex.name == "DOT":
        return is_plain(rex.args[0])
    return isinstance(rex, (InputRef, Const))


def rejects_null(rex: Rex, columns: Collection[int]) -> bool:
    """Whether the condition cannot be TRUE for a row that has NULL in all of these columns."""
    if not isinstance(rex, Call):
        return _is_null_with(rex, columns)
    if rex.name == "AND":
        return any(rejects_null(arg, columns) for arg in rex.args)
    if rex.name == "OR":
        return all(rejects_null(arg, columns) for arg in rex.args)
    if rex.name in ("IS NOT NULL", "IS TRUE", "IS FALSE", "IN"):
        return _is_null_with(rex.args[0], columns)
    if rex.name == "BETWEEN":
        return any(_is_null_with(arg, columns) for arg in rex.args)
    return _is_null_with(rex, columns)


def _is_null_with(rex: Rex, columns: Collection[int]) -> bool:
    """Whether the value is NULL for certain if the columns are."""
    if isinstance(rex, InputRef):
        return rex.index in columns
    if isinstance(rex, Const):
        return rex.value is None
    if isinstance(rex, Call) and rex.name in _STRICT:
        return any(_is_null_with(arg, columns) for arg in rex.args)
    return False


def equal_columns(rex: Rex) -> tuple[InputRef, InputRef] | None:
    """Two columns of one type that a condition makes equal; not floats, whose equality is not identity."""
    if not isinstance(rex, Call) or rex.name != "=":
        return None
    first, second = rex.args
    if not isinstance(first, InputRef) or not isinstance(second, InputRef):
        return None
    return (first, second) if _identical(first.type, second.type) else None


def equal_constant(rex: Rex) -> tuple[InputRef, Const] | None:
    """A column and the constant that a condition makes it equal to."""
    if not isinstance(rex, Call) or rex.name != "=":
        return None
    first, second = rex.args
    if isinstance(first, Const):
        first, second = second, first
    if not isinstance(first, InputRef) or not isinstance(second, Const) or second.value is None:
        return None
    texts = isinstance(first.type, _TEXTS) and isinstance(second.type, _TEXTS)
    numbers = isinstance(first.type, _WHOLE) and isinstance(second.type, _WHOLE)
    return (first, second) if texts or numbers or _identical(first.type, second.type) else None


def _identical(first: DataType, second: DataType) -> bool:
    return first.nullable() == second.nullable() and not isinstance(first, (FloatType, DoubleType))


def condition_parts(rex: Rex | None) -> list[Rex]:
    """The conjuncts of a condition that may be missing."""
    return [] if rex is None else conjuncts(rex)
