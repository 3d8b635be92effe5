"""Rules that many functions share: type families, signatures, result types.

Flink takes no argument of another family by itself (`UPPER(1)` is refused), so a signature is a row of
families. A result is NULL where an argument can be, unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DayTimeIntervalType,
    IntegralType,
    LocalZonedTimestampType,
    MapType,
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
from penstock.sql.functions.registry import Arg, ArgType, FunctionDef, Render, register


@dataclass(frozen=True)
class Family:
    """A named set of types; a bare NULL belongs to each."""

    name: str
    classes: tuple[type[DataType], ...]

    def has(self, data_type: DataType) -> bool:
        return isinstance(data_type, (*self.classes, NullType))


ANY = Family("ANY", (DataType,))
NUMERIC = Family("NUMERIC", (NumericType,))
INTEGER = Family("INTEGER", (IntegralType,))
CHARACTER = Family("CHARACTER", (CharType, VarCharType))
BINARY = Family("BINARY", (BinaryType, VarBinaryType))
OCTETS = Family("CHARACTER or BINARY", (*CHARACTER.classes, *BINARY.classes))
BOOLEAN = Family("BOOLEAN", (BooleanType,))
DATE = Family("DATE", (DateType,))
TIME = Family("TIME", (TimeType,))
TIMESTAMP = Family("TIMESTAMP", (TimestampType, LocalZonedTimestampType))
DATETIME = Family("DATETIME", (DateType, TimeType, TimestampType, LocalZonedTimestampType))
DATED = Family("DATE or TIMESTAMP", (DateType, TimestampType, LocalZonedTimestampType))
INTERVAL = Family("INTERVAL", (DayTimeIntervalType, YearMonthIntervalType))
ARRAY = Family("ARRAY", (ArrayType,))
MAP = Family("MAP", (MapType,))
COLLECTION = Family("ARRAY or MAP", (ArrayType, MapType))
ROW = Family("ROW", (RowType,))
VARIANT = Family("VARIANT", (VariantType,))


@dataclass(frozen=True)
class Param:
    """One place in a signature."""

    family: Family
    optional: bool = False
    repeated: bool = False


def opt(family: Family) -> Param:
    return Param(family, optional=True)


def rest(family: Family) -> Param:
    """Any number of arguments of this family, at the end."""
    return Param(family, repeated=True)


Signature = tuple["Family | Param", ...]


def _params(signature: Signature) -> list[Param]:
    return [p if isinstance(p, Param) else Param(p) for p in signature]


def _matches(signature: Signature, args: Sequence[ArgType]) -> bool:
    params = _params(signature)
    repeated = params.pop() if params and params[-1].repeated else None
    needed = sum(not p.optional for p in params)
    if len(args) < needed or (repeated is None and len(args) > len(params)):
        return False
    if not all(p.family.has(a.type) for p, a in zip(params, args, strict=False)):
        return False
    return repeated is None or all(repeated.family.has(a.type) for a in args[len(params) :])


def describe(name: str, signature: Signature) -> str:
    """The signature as a person would write it: `LPAD(<CHARACTER>, <INTEGER>, <CHARACTER>)`."""
    parts = []
    for p in _params(signature):
        text = f"<{p.family.name}>"
        parts.append(f"[{text}]" if p.optional else f"{text}..." if p.repeated else text)
    if not name[0].isalpha() and len(parts) == 2:
        return f"{parts[0]} {name} {parts[1]}"
    return f"{name}({', '.join(parts)})"


def refuse(name: str, args: Sequence[ArgType], *supported: str, why: str | None = None) -> ValidationError:
    """The error for arguments that a function does not take."""
    given = ", ".join(a.type.as_summary().replace(" NOT NULL", "") for a in args)
    what = f"cannot apply {name} to ({given})" + (f": {why}" if why else "")
    return ValidationError(what, do="use " + " or ".join(supported) if supported else None)


def check(name: str, signatures: Sequence[Signature], args: Sequence[ArgType]) -> None:
    """Refuses arguments that no signature takes."""
    if not any(_matches(s, args) for s in signatures):
        raise refuse(name, args, *(describe(name, s) for s in signatures))


def nullable(args: Sequence[ArgType]) -> bool:
    return any(a.type.is_nullable for a in args)


Result = Callable[[Sequence[ArgType]], DataType]


def of(make: Callable[..., DataType], *parameters: Any) -> Result:
    """Always this type; nullable where an argument is."""
    return lambda args: make(*parameters).with_nullability(nullable(args))


def maybe(make: Callable[..., DataType], *parameters: Any) -> Result:
    """Always this type, and NULL may come out of any arguments."""
    return lambda args: make(*parameters).nullable()


def never(make: Callable[..., DataType], *parameters: Any) -> Result:
    """Always this type and never NULL."""
    return lambda args: make(*parameters).not_null()


def like(index: int) -> Result:
    """The type of that argument; nullable where any argument is."""
    return lambda args: args[index].type.with_nullability(nullable(args))


def literal_text(arg: ArgType | Arg, name: str, what: str) -> str:
    """The constant text of an argument that has to be one."""
    if not isinstance(arg.literal, str):
        raise ValidationError(f"{name} needs a constant text as {what}")
    return arg.literal


def scalar(
    name: str,
    signatures: Signature | list[Signature],
    result: Result,
    text: str | Callable[..., str] | None = None,
    *,
    render: Render | None = None,
    aliases: Sequence[str] = (),
    deterministic: bool = True,
    how: str = "expression",
) -> FunctionDef:
    """Registers a scalar function.

    Args:
        text: A template over the argument texts (`"lpad({0}, {1}, {2})"`) or a function of them.
        render: Instead of `text`, where types or literals matter.
    """
    alternatives = signatures if isinstance(signatures, list) else [signatures]

    def infer(args: Sequence[ArgType]) -> DataType:
        check(name, alternatives, args)
        return result(args)

    if isinstance(text, str) and how == "expression" and text.count("(") <= 1:
        how = "spark"
    chosen = render or _text_render(text)
    return register(
        FunctionDef(name, "scalar", infer, chosen, deterministic=deterministic, how=how), *aliases
    )


def _text_render(text: str | Callable[..., str] | None) -> Render:
    if isinstance(text, str):
        template = text
        return lambda args, result: template.format(*(a.sql for a in args))
    assert text is not None
    function = text
    return lambda args, result: function(*(a.sql for a in args))
