"""Shapes: how the values of one type look on the wire, and the code that checks and converts them.

A shape is compiled from a `TypeInformation` and knows four things about its values:

- `guard(x)`: a Python expression that is true for values which need no second look;
- `conv(x)`: an expression for their wire form, or None when the value already is its wire form;
- `back(x)`: an expression that undoes `conv`, or None;
- `slow(value)`: the careful way for everything else: it converts what Flink would convert, and raises
  `Misfit` for what does not fit.

`codecs.py` pastes the expressions into one generated function per type, so that a batch of ordinary values
costs one pass of inlined comparisons. The wire form is what msgspec writes and reads natively: numbers,
strings, bytes, dates, decimals, lists, tuples and dicts.

Where None may stand is Flink's choice: in fields of a ROW, values of a MAP and elements of BASIC and OBJECT
arrays, but not in a TUPLE, a LIST or a primitive array.
"""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable, Sequence
from typing import Any, Optional

from penstock.common.scalars import Misfit, as_float, shorten, shortest_float32, to_float32
from penstock.common.time import Instant
from penstock.common.typeinfo import row_parts
from penstock.common.types import Row, RowKind, make_row

Slow = Callable[[Any], Any]


class Shape:
    """A shape without conversion; subclasses override what differs."""

    name: str
    fingerprint: str
    wire_type: Any
    exact: type | None = None  # for scalars: the one Python type that the guard accepts

    def bind(self, scope: dict[str, Any]) -> None:
        """Put the helpers that the expressions name into the generated function's globals."""

    def guard(self, x: str) -> str:
        raise NotImplementedError

    def conv(self, x: str) -> str | None:
        return None

    def back(self, x: str) -> str | None:
        return None

    def slow(self, value: Any) -> Any:
        raise NotImplementedError

    def present(self) -> Callable[[Any], Any] | None:
        """How a value is shown to whoever collects it, or None when as it is."""
        return None


class Scalar(Shape):
    """A value whose Python type msgspec writes and reads as it is."""

    def __init__(
        self, name: str, exact: type, wire_type: Any, slow: Slow, extra: str = "", show: Slow | None = None
    ) -> None:
        self.name = self.fingerprint = name
        self.exact = exact
        self.wire_type = wire_type
        self.extra = extra  # a further condition on {x}, after the type is known
        self._slow, self._show = slow, show

    def guard(self, x: str) -> str:
        test = f"type({x}) is {_type_name(self.exact)}"
        return f"{test} and {self.extra.format(x=x)}" if self.extra else test

    def slow(self, value: Any) -> Any:
        return self._slow(value)

    def present(self) -> Callable[[Any], Any] | None:
        return self._show


class Converted(Shape):
    """A scalar with a wire form of its own, made and unmade by two functions."""

    def __init__(
        self, name: str, exact: type, wire_type: Any, to_wire: Slow, from_wire: Slow, slow: Slow
    ) -> None:
        self.name = self.fingerprint = name
        self.exact = exact
        self.wire_type = wire_type
        self._to_wire, self._from_wire, self._slow = to_wire, from_wire, slow

    def bind(self, scope: dict[str, Any]) -> None:
        scope[f"to_{self.name}"] = self._to_wire
        scope[f"from_{self.name}"] = self._from_wire

    def guard(self, x: str) -> str:
        return f"type({x}) is {_type_name(self.exact)}"

    def conv(self, x: str) -> str | None:
        return f"to_{self.name}({x})"

    def back(self, x: str) -> str | None:
        return f"from_{self.name}({x})"

    def slow(self, value: Any) -> Any:
        return self._to_wire(self._slow(value))


class Float32(Shape):
    """FLOAT: functions see the 32-bit value widened; whoever collects sees the shortest decimal for it."""

    name = fingerprint = "FLOAT"
    wire_type = float
    exact = float

    def bind(self, scope: dict[str, Any]) -> None:
        scope["f32"] = to_float32

    def guard(self, x: str) -> str:
        return f"type({x}) is float"

    def conv(self, x: str) -> str | None:
        return f"f32({x})"

    def slow(self, value: Any) -> Any:
        return to_float32(as_float(value, "FLOAT"))

    def present(self) -> Callable[[Any], Any] | None:
        return shortest_float32


class Nullable(Shape):
    """A shape that may also be None."""

    def __init__(self, inner: Shape) -> None:
        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.wire_type = Optional[inner.wire_type]  # noqa: UP045 - inner may be a typing construct

    def bind(self, scope: dict[str, Any]) -> None:
        self.inner.bind(scope)

    def guard(self, x: str) -> str:
        return f"({self.inner.guard(x)} or {x} is None)"

    def conv(self, x: str) -> str | None:
        inner = self.inner.conv(x)
        return inner and f"(None if {x} is None else {inner})"

    def back(self, x: str) -> str | None:
        inner = self.inner.back(x)
        return inner and f"(None if {x} is None else {inner})"

    def slow(self, value: Any) -> Any:
        return None if value is None else self.inner.slow(value)

    def present(self) -> Callable[[Any], Any] | None:
        inner = self.inner.present()
        return inner and (lambda value: None if value is None else inner(value))


class Composite(Shape):
    """Base of shapes made of others: gives each element helper functions of its own in the scope."""

    _serial = 0
    _suffix = _key = _value = ""  # known after `bind`

    def _helpers(self, part: Shape, scope: dict[str, Any]) -> str:
        """Compile loops over values of one part; returns the suffix of their names.

        `guards_7(items)` tells whether all are fine, `convs_7(items)` and `backs_7(items)` give lists. The
        part's expressions stand inside the loops: a call for each element took 1.7 times as long.
        """
        Composite._serial += 1
        suffix = f"_{Composite._serial}"
        part.bind(scope)
        loop = f"for e in items:\n        if not ({part.guard('e')}):\n            return False"
        source = f"def guards{suffix}(items):\n    {loop}\n    return True\n"
        for role in ("conv", "back"):
            body = getattr(part, role)("e")
            if body is not None:
                source += f"def {role}s{suffix}(items):\n    return [{body} for e in items]\n"
        exec(source, scope)
        return suffix


class Sequence_(Composite):
    """LIST and the three kinds of arrays: a Python list."""

    def __init__(self, name: str, element: Shape) -> None:
        self.name = name
        self.element = element
        self.fingerprint = f"{name}<{element.fingerprint}>"
        self.wire_type = list[element.wire_type]  # type: ignore[name-defined]

    def bind(self, scope: dict[str, Any]) -> None:
        self._suffix = self._helpers(self.element, scope)

    def guard(self, x: str) -> str:
        return f"type({x}) is list and guards{self._suffix}({x})"

    def conv(self, x: str) -> str | None:
        return f"convs{self._suffix}({x})" if self.element.conv("e") else None

    def back(self, x: str) -> str | None:
        return f"backs{self._suffix}({x})" if self.element.back("e") else None

    def slow(self, value: Any) -> Any:
        if isinstance(value, (str, bytes, dict, set, frozenset)) or not hasattr(value, "__iter__"):
            raise Misfit(value, self.name, "pass a list")
        slow, wire = self.element.slow, []
        for index, item in enumerate(value):
            try:
                wire.append(slow(item))
            except Misfit as misfit:
                misfit.path.append(f"element {index} of {self.name}")
                raise
        return wire

    def present(self) -> Callable[[Any], Any] | None:
        inner = self.element.present()
        return inner and (lambda value: list(map(inner, value)))


class Mapping_(Composite):
    """MAP: a dict. Insertion order is kept; equal dicts may differ on the wire (see `sort_maps`)."""

    name = "MAP"

    def __init__(self, key: Shape, value: Shape) -> None:
        self.key, self.value = key, value
        self.fingerprint = f"MAP<{key.fingerprint},{value.fingerprint}>"
        # Keys that do not survive as msgpack map keys, such as rows, travel as pairs.
        self.pairs = key.conv("e") is not None
        wire = (key.wire_type, value.wire_type)
        self.wire_type = list[tuple[wire]] if self.pairs else dict[wire]  # type: ignore[valid-type,misc]

    def bind(self, scope: dict[str, Any]) -> None:
        self._key = self._helpers(self.key, scope)
        self._value = self._helpers(self.value, scope)

    def guard(self, x: str) -> str:
        return f"type({x}) is dict and guards{self._key}({x}) and guards{self._value}({x}.values())"

    def conv(self, x: str) -> str | None:
        values = f"convs{self._value}({x}.values())" if self.value.conv("m") else f"{x}.values()"
        if self.pairs:
            return f"list(zip(convs{self._key}({x}), {values}))"
        return f"dict(zip({x}, {values}))" if self.value.conv("m") else None

    def back(self, x: str) -> str | None:
        if self.pairs:
            keys, values = f"[p[0] for p in {x}]", f"[p[1] for p in {x}]"
            keys = f"backs{self._key}({keys})" if self.key.back("k") else keys
            values = f"backs{self._value}({values})" if self.value.back("m") else values
            return f"dict(zip({keys}, {values}))"
        return f"dict(zip({x}, backs{self._value}({x}.values())))" if self.value.back("m") else None

    def slow(self, value: Any) -> Any:
        if not hasattr(value, "items"):
            raise Misfit(value, self.name, "pass a dict")
        pairs = [self._slow_pair(k, v) for k, v in value.items()]
        return pairs if self.pairs else dict(pairs)

    def _slow_pair(self, key: Any, value: Any) -> tuple[Any, Any]:
        part = "key"
        try:
            wire_key = self.key.slow(key)
            part = f"value of {shorten(key)}"
            return wire_key, self.value.slow(value)
        except Misfit as misfit:
            misfit.path.append(f"{part} in MAP")
            raise

    def present(self) -> Callable[[Any], Any] | None:
        key, value = self.key.present() or _same, self.value.present() or _same
        if key is _same and value is _same:
            return None
        return lambda mapping: {key(k): value(v) for k, v in mapping.items()}


class Fields(Composite):
    """What TUPLE and ROW share: one shape per position."""

    def __init__(self, parts: Sequence[Shape]) -> None:
        self.parts = list(parts)

    def bind(self, scope: dict[str, Any]) -> None:
        Composite._serial += 1
        self._local = f"v{Composite._serial}_"
        for part in self.parts:
            part.bind(scope)

    def _guards(self, holder: str) -> str:
        """All fields' guards. Each field is fetched once, because every guard starts with `type(x)`."""
        tests = []
        for i, part in enumerate(self.parts):
            local = f"{self._local}{i}"
            tests.append(" and " + part.guard(local).replace(local, f"({local} := {holder}[{i}])", 1))
        return "".join(tests)

    def _each(self, role: str, holder: str) -> list[str]:
        fields = [f"{holder}[{i}]" for i in range(len(self.parts))]
        return [getattr(p, role)(x) or x for p, x in zip(self.parts, fields, strict=True)]

    def _converts(self, role: str) -> bool:
        return any(getattr(part, role)("x") for part in self.parts)

    def _slow_fields(self, values: Sequence[Any], owner: str) -> list[Any]:
        wire = []
        for index, (part, value) in enumerate(zip(self.parts, values, strict=True)):
            try:
                wire.append(part.slow(value))
            except Misfit as misfit:
                misfit.path.append(f"field {index} of {owner}")
                raise
        return wire

    def _presenters(self) -> list[Callable[[Any], Any]] | None:
        found = [part.present() for part in self.parts]
        return [one or _same for one in found] if any(found) else None


class Tuple_(Fields):
    """TUPLE: a Python tuple; lists and rows are taken too, as PyFlink's `from_collection` does."""

    name = "TUPLE"

    def __init__(self, parts: Sequence[Shape]) -> None:
        super().__init__(parts)
        self.fingerprint = f"TUPLE<{','.join(part.fingerprint for part in parts)}>"
        types = tuple(part.wire_type for part in parts)
        self.wire_type = tuple[types] if types else tuple[()]  # type: ignore[valid-type]

    def guard(self, x: str) -> str:
        return f"type({x}) is tuple and len({x}) == {len(self.parts)}{self._guards(x)}"

    def conv(self, x: str) -> str | None:
        return _tuple_of(self._each("conv", x)) if self._converts("conv") else None

    def back(self, x: str) -> str | None:
        return _tuple_of(self._each("back", x)) if self._converts("back") else None

    def slow(self, value: Any) -> Any:
        if not isinstance(value, (tuple, list, Row)):
            raise Misfit(value, self.name, "pass a tuple")
        if len(value) != len(self.parts):
            raise Misfit(value, f"TUPLE of {len(self.parts)} fields", f"this one has {len(value)}")
        return tuple(self._slow_fields(list(value), self.name))

    def present(self) -> Callable[[Any], Any] | None:
        each = self._presenters()
        if each is None:
            return None
        return lambda value: tuple(show(v) for show, v in zip(each, value, strict=True))


class Row_(Fields):
    """ROW: on the wire a tuple with the row kind's number in front; fields may be None.

    Rows come out with the declared field names, f0, f1, ... where the type has none, as in PyFlink.
    """

    name = "ROW"

    def __init__(self, names: list[str], named: bool, parts: Sequence[Shape]) -> None:
        super().__init__([Nullable(part) for part in parts])
        self.names = names
        labels = [json.dumps(n) + " " for n in names] if named else [""] * len(names)
        fields = (label + part.fingerprint for label, part in zip(labels, self.parts, strict=True))
        self.fingerprint = f"ROW<{','.join(fields)}>"
        types = (int, *(part.wire_type for part in self.parts))
        self.wire_type = tuple[types]  # type: ignore[valid-type]

    def bind(self, scope: dict[str, Any]) -> None:
        super().bind(scope)
        scope.update(Row=Row, make_row=make_row, KINDS=tuple(RowKind))
        scope[f"{self._local}names"] = self.names

    def guard(self, x: str) -> str:
        values, names = f"{self._local}r", f"{self._local}names"
        order = f"({x}._fields is None or {x}._fields == {names})"
        size = f"len({values} := {x}._values) == {len(self.parts)}"
        return f"type({x}) is Row and {order} and {size}{self._guards(values)}"

    def conv(self, x: str) -> str | None:
        fields = self._each("conv", f"{x}._values") if self._converts("conv") else [f"*{x}._values"]
        return _tuple_of([f"{x}._row_kind._value_", *fields])

    def back(self, x: str) -> str | None:
        fields = [part.back(f"{x}[{i}]") or f"{x}[{i}]" for i, part in enumerate(self.parts, start=1)]
        return f"make_row([{', '.join(fields)}], {self._local}names, KINDS[{x}[0]])"

    def slow(self, value: Any) -> Any:
        if value is None or isinstance(value, (str, bytes, int, float)):
            raise Misfit(value, self.name, "pass a Row")
        try:
            kind, values = row_parts(value, self.names)
        except (ValueError, TypeError) as error:
            raise Misfit(value, f"ROW({', '.join(self.names)})", str(error)) from error
        if len(values) != len(self.parts):
            raise Misfit(value, f"ROW of {len(self.parts)} fields", f"this one has {len(values)}")
        return (kind.value, *self._slow_fields(values, self.name))

    def present(self) -> Callable[[Any], Any] | None:
        each = self._presenters()
        if each is None:
            return None
        return lambda row: make_row(
            [show(v) for show, v in zip(each, row, strict=True)], row._fields, row._row_kind
        )


def _tuple_of(items: list[str]) -> str:
    return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"


def _same(value: Any) -> Any:
    return value


_NAMES = {datetime.date: "date", datetime.time: "time", datetime.datetime: "datetime"}
SCOPE: dict[str, Any] = {
    "date": datetime.date,
    "time": datetime.time,
    "datetime": datetime.datetime,
    "Decimal": decimal.Decimal,
    "Instant": Instant,
}


def _type_name(kind: type | None) -> str:
    assert kind is not None
    return _NAMES.get(kind, kind.__name__)
