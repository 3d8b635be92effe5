"""CASE, IF, COALESCE and their kin: every branch is brought to the branches' common type."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common.datatypes import (
    DataType,
    DataTypes,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    LocalZonedTimestampType,
    NullType,
    TimestampType,
    TimeType,
)
from penstock.sql.functions.casts import cast_sql
from penstock.sql.functions.common_types import common_type
from penstock.sql.functions.comparison import UNORDERED, compare_text, comparison_type
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, register
from penstock.sql.functions.rules import (
    ANY,
    BOOLEAN,
    CHARACTER,
    NUMERIC,
    Signature,
    maybe,
    never,
    nullable,
    refuse,
    scalar,
)
from penstock.sql.functions.text import let, string


def branches_type(name: str, args: Sequence[ArgType], branches: Sequence[ArgType]) -> DataType:
    """The common type of the branches, or a refusal."""
    found = common_type([b.type for b in branches])
    if found is None:
        raise refuse(name, args, "values of types that have something in common, or CAST")
    return found


def as_type(arg: Arg, target: DataType) -> str:
    """A branch in the common type; widening never fails."""
    if isinstance(target, NullType):
        return "NULL"
    return cast_sql(arg, target)


def _infer_case(args: Sequence[ArgType]) -> DataType:
    conditions, values = args[0:-1:2], [*args[1:-1:2], args[-1]]
    if len(args) < 3 or len(args) % 2 == 0 or not all(BOOLEAN.has(c.type) for c in conditions):
        raise refuse("CASE", args, "CASE WHEN <BOOLEAN> THEN value ... [ELSE value] END")
    return branches_type("CASE", args, values)


def _render_case(args: Sequence[Arg], result: DataType) -> str:
    whens = "".join(
        f" WHEN {args[i].sql} THEN {as_type(args[i + 1], result)}" for i in range(0, len(args) - 1, 2)
    )
    return f"CASE{whens} ELSE {as_type(args[-1], result)} END"


def _infer_if(args: Sequence[ArgType]) -> DataType:
    if len(args) != 3 or not BOOLEAN.has(args[0].type):
        raise refuse("IF", args, "IF(<BOOLEAN>, value, value)")
    return branches_type("IF", args, args[1:]).with_nullability(nullable(args))


def _render_if(args: Sequence[Arg], result: DataType) -> str:
    return f"if({args[0].sql}, {as_type(args[1], result)}, {as_type(args[2], result)})"


def _point_of_time(types: Sequence[DataType]) -> DataType | None:
    """What points of time of several kinds become: the day or the time of day, else a moment."""
    known = [t for t in types if not isinstance(t, NullType)]
    kinds = {type(t) for t in known}
    if len(kinds) == 2 and TimestampType in kinds:
        for kind in (DateType, TimeType):
            if kind in kinds:
                return next(t for t in known if isinstance(t, kind)).nullable()
        if LocalZonedTimestampType in kinds:
            return LocalZonedTimestampType(max(t.precision for t in known))  # type: ignore[attr-defined]
    return None


def _infer_coalesce(name: str, least: int, args: Sequence[ArgType]) -> DataType:
    if len(args) < least:
        raise refuse(name, args, f"{name}(value, value, ...)")
    found = _point_of_time([a.type for a in args]) or branches_type(name, args, args)
    if isinstance(found, NullType):
        raise refuse(name, args, "CAST(NULL AS ...)", why="illegal use of NULL")
    return found.with_nullability(all(a.type.is_nullable for a in args))


def _render_coalesce(args: Sequence[Arg], result: DataType) -> str:
    return f"coalesce({', '.join(as_type(a, result) for a in args)})"


def _infer_nullif(args: Sequence[ArgType]) -> DataType:
    if len(args) != 2 or comparison_type(args[0].type, args[1].type, False) is None:
        raise refuse("NULLIF", args, "NULLIF(<COMPARABLE>, <COMPARABLE>)")
    return args[0].type.nullable()


def _render_nullif(args: Sequence[Arg], result: DataType) -> str:
    first, second = args

    def text(x: str, y: str) -> str:
        same = compare_text("=", Arg(x, first.type), Arg(y, second.type))
        return f"if({same}, NULL, {x})"

    return let(text, first.sql, second.sql)


def _infer_extreme(name: str, args: Sequence[ArgType]) -> DataType:
    if not args:
        raise refuse(name, args, f"{name}(value, ...)")
    found = _point_of_time([a.type for a in args]) or branches_type(name, args, args)
    if isinstance(found, UNORDERED):
        raise refuse(name, args, f"{name}(<COMPARABLE>, ...)", why="these values have no order")
    if isinstance(found, FloatType) and any(isinstance(a.type, DoubleType) for a in args):
        found = DoubleType()
    return found.with_nullability(nullable(args))


def _render_extreme(name: str, args: Sequence[Arg], result: DataType) -> str:
    """Spark's own skip NULL arguments; Flink's answer NULL."""
    texts = [as_type(a, result) for a in args]
    if len(texts) == 1:
        return texts[0]
    unsafe = [i for i, a in enumerate(args) if a.type.is_nullable]

    def choose(*x: str) -> str:
        chosen = f"{name.lower()}({', '.join(x)})"
        if not unsafe:
            return chosen
        missing = " OR ".join(f"{x[i]} IS NULL" for i in unsafe)
        return f"if({missing}, NULL, {chosen})"

    return let(choose, *texts)


register(FunctionDef("CASE", "scalar", _infer_case, _render_case))
register(FunctionDef("IF", "scalar", _infer_if, _render_if))
register(FunctionDef("COALESCE", "scalar", lambda a: _infer_coalesce("COALESCE", 1, a), _render_coalesce))
register(FunctionDef("IFNULL", "scalar", lambda a: _infer_coalesce("IFNULL", 2, a), _render_coalesce))
register(FunctionDef("NULLIF", "scalar", _infer_nullif, _render_nullif))
for _name in ("GREATEST", "LEAST"):
    register(
        FunctionDef(
            _name,
            "scalar",
            lambda args, name=_name: _infer_extreme(name, args),  # type: ignore[misc]
            lambda args, result, name=_name: _render_extreme(name, args, result),  # type: ignore[misc]
        )
    )

_BOOL = never(DataTypes.BOOLEAN)
_DECIMAL = r"^[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[dDfF]?)$"


def _is_decimal(args: Sequence[Arg], result: DataType) -> str:
    if NUMERIC.has(args[0].type):
        return "TRUE"
    plain = f"translate({args[0].sql}, '٠١٢٣٤٥٦٧٨٩', '0123456789')"
    return f"coalesce(trim({plain}) RLIKE {string(_DECIMAL)}, FALSE)"


_TEXT_OR_NUMBER: list[Signature] = [(CHARACTER,), (NUMERIC,)]
scalar("IS_ALPHA", _TEXT_OR_NUMBER, _BOOL, r"coalesce(CAST({0} AS STRING) RLIKE '^\\p{{L}}+$', FALSE)")
scalar(
    "IS_DIGIT",
    _TEXT_OR_NUMBER,
    _BOOL,
    render=lambda args, result: (
        "TRUE"
        if isinstance(args[0].type, IntegralType)
        else rf"coalesce(CAST({args[0].sql} AS STRING) RLIKE '^\\p{{Nd}}+$', FALSE)"
    ),
)
scalar("IS_DECIMAL", _TEXT_OR_NUMBER, _BOOL, render=_is_decimal)


def type_text(data_type: DataType, full: bool) -> str:
    return data_type.as_sql() if full else data_type.as_summary()


def _render_typeof(args: Sequence[Arg], result: DataType) -> str:
    return string(type_text(args[0].type, len(args) > 1 and args[1].literal is True))


scalar("TYPEOF", [(ANY,), (ANY, BOOLEAN)], maybe(DataTypes.STRING), render=_render_typeof)
