"""How values of a former type become values of the type that a program declares now.

    ROW<"id" INT, "name" STRING, "old" LONG>   ->   ROW<"id" LONG, "name" STRING, "added" DOUBLE>

Fields of named rows are found by name: one that is new is None, one that is gone is dropped, one of a wider number is
taken over. That holds wherever a row stands: in lists, maps, tuples and other rows. A row without names may get more
fields at its end. Everything else is another type, and `Incompatible` says where.

A row of which one field got another name, and nothing else changed, keeps that field's values: then the bytes
are the same (`common/compatibility.py`) and this module is not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    SequenceTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.common.types import make_row

Convert = Callable[[Any], Any]

_WIDER = (
    (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG),
    (BasicType.FLOAT, BasicType.DOUBLE),
)


class Incompatible(Exception):
    """There is no way from one type to the other; the text says where."""


def evolution(then: TypeInformation, now: TypeInformation, where: str = "the value") -> Convert:
    """The function from values of `then` to values of `now`.

    >>> from penstock.common.typeinfo import Types
    >>> then = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    >>> now = Types.ROW_NAMED(["name", "id", "age"], [Types.STRING(), Types.LONG(), Types.INT()])
    >>> list(evolution(then, now)((7, "a")))
    ['a', 7, None]

    Raises:
        Incompatible: There is none.
    """
    then, now = _inner(then), _inner(now)
    if isinstance(then, RowTypeInfo) and isinstance(now, RowTypeInfo):
        return _rows(then, now, where)
    if then == now or _is_wider(then, now):
        return _same
    if isinstance(then, TupleTypeInfo) and isinstance(now, TupleTypeInfo):
        return _tuples(then, now, where)
    if isinstance(then, MapTypeInfo) and isinstance(now, MapTypeInfo):
        return _maps(then, now, where)
    if isinstance(then, SequenceTypeInfo) and type(then) is type(now):
        assert isinstance(now, SequenceTypeInfo)
        element = _nullable(evolution(then.element_type, now.element_type, f"the elements of {where}"))
        return lambda items: [element(item) for item in items]
    raise Incompatible(f"{where} was {then!r} and is {now!r}")


def _rows(then: RowTypeInfo, now: RowTypeInfo, where: str) -> Convert:
    names = now.get_field_names()
    old = dict(zip(then.get_field_names(), then.get_field_types(), strict=True))
    places = {name: place for place, name in enumerate(old)}
    fields: list[tuple[int | None, Convert]] = []
    for name, kind in zip(names, now.get_field_types(), strict=True):
        if name not in old:
            fields.append((None, _same))
        else:
            convert = evolution(old[name], kind, f"field {name!r} of {where}")
            fields.append((places[name], _nullable(convert)))
    if not any(place is not None for place, _ in fields):
        raise Incompatible(f"no field of {where} has a name that it had before")

    def row(value: Any) -> Any:
        values = list(value)
        return make_row([None if at is None else convert(values[at]) for at, convert in fields], names)

    return row


def _tuples(then: TupleTypeInfo, now: TupleTypeInfo, where: str) -> Convert:
    old, new = then.get_field_types(), now.get_field_types()
    if len(old) != len(new):
        raise Incompatible(f"{where} was a tuple of {len(old)} and is one of {len(new)}")
    pairs = zip(old, new, strict=True)
    fields = [_nullable(evolution(a, b, f"field {i} of {where}")) for i, (a, b) in enumerate(pairs)]
    return lambda value: tuple(convert(v) for convert, v in zip(fields, value, strict=True))


def _maps(then: MapTypeInfo, now: MapTypeInfo, where: str) -> Convert:
    if then.key_type_info != now.key_type_info:
        raise Incompatible(f"the keys of {where} were {then.key_type_info!r} and are {now.key_type_info!r}")
    value = _nullable(evolution(then.value_type_info, now.value_type_info, f"the values of {where}"))
    return lambda entries: {key: value(item) for key, item in entries.items()}


def _is_wider(then: TypeInformation, now: TypeInformation) -> bool:
    if not isinstance(then, BasicTypeInfo) or not isinstance(now, BasicTypeInfo):
        return False
    return any(
        then.basic_type in family
        and now.basic_type in family
        and family.index(then.basic_type) <= family.index(now.basic_type)
        for family in _WIDER
    )


def _inner(type_info: TypeInformation) -> TypeInformation:
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    return type_info


def _nullable(convert: Convert) -> Convert:
    return convert if convert is _same else lambda value: None if value is None else convert(value)


def _same(value: Any) -> Any:
    return value
