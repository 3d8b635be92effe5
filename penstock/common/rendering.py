"""Values as text, the way Flink's print sink shows them.

Declared types are shown as Java would (`true`, `1.0E10`, `{k=3}`, `(3,t,0.5,true)`), because in Flink it is
Java that prints them. Rows at the top and undeclared values are shown as Python would, because PyFlink turns
those into strings before they reach Java: `+I[3,None,2.0]`.

>>> from penstock.common.typeinfo import Types
>>> render((3, "t", 0.5, True), Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE(), Types.BOOLEAN()]))
'(3,t,0.5,true)'
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

from penstock.common.scalars import shortest_float32
from penstock.common.time import Instant
from penstock.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    MapTypeInfo,
    PickledBytesTypeInfo,
    RowTypeInfo,
    SequenceTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from penstock.common.types import Row

__all__ = ["java_double", "java_float", "render", "render_java"]


def render(value: Any, type_info: TypeInformation | None = None) -> str:
    """One element as a line of `print()`."""
    if isinstance(type_info, ExternalTypeInfo):
        type_info = type_info.type_info
    if isinstance(value, Row) and isinstance(type_info, RowTypeInfo):
        items = map(_python_text, value, type_info.get_field_types())
        return f"{value.get_row_kind()}[{','.join(items)}]"
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return value if isinstance(value, str) else str(value)
    return render_java(value, type_info)


def _python_text(value: Any, type_info: TypeInformation) -> str:
    is_float32 = isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.FLOAT
    return str(shortest_float32(value)) if is_float32 and value is not None else str(value)


def render_java(value: Any, type_info: TypeInformation | None) -> str:
    """A value as Java's `toString` shows it, here or inside another value."""
    if value is None:
        return "null"
    if isinstance(type_info, ExternalTypeInfo):
        return render_java(_with_local_times(value), type_info.type_info)
    if isinstance(type_info, BasicTypeInfo) and type_info.basic_type is BasicType.FLOAT:
        return java_float(value)
    for kind, show in _COMPOSITES.items():
        if isinstance(type_info, kind):
            return show(value, type_info)
    return _scalar(value)


def _with_local_times(value: Any) -> Any:
    """A value of a table: its moments are `LocalDateTime`s, not `Timestamp`s, and print as such."""
    if isinstance(value, datetime.datetime):
        return _LocalDateTime.combine(value.date(), value.timetz())
    if isinstance(value, Row):
        made = Row(*(_with_local_times(v) for v in value))
        made.set_row_kind(value.get_row_kind())
        return made
    if isinstance(value, list):
        return [_with_local_times(v) for v in value]
    return value


class _LocalDateTime(datetime.datetime):
    """A moment without a zone, as Java's `LocalDateTime` prints it: no seconds that are zero."""

    def __str__(self) -> str:
        text = self.isoformat(timespec="milliseconds" if self.microsecond % 1000 == 0 else "microseconds")
        return text.removesuffix(".000").removesuffix(":00") if not self.microsecond else text


def _tuple(value: Any, type_info: Any) -> str:
    fields = zip(value, type_info.get_field_types(), strict=False)
    return f"({','.join(render_java(item, kind) for item, kind in fields)})"


def _row(value: Any, type_info: Any) -> str:
    fields = zip(value, type_info.get_field_types(), strict=False)
    kind = value.get_row_kind() if isinstance(value, Row) else "+I"
    return f"{kind}[{', '.join(render_java(item, kind) for item, kind in fields)}]"


def _map(value: Any, type_info: Any) -> str:
    key, val = type_info.key_type_info, type_info.value_type_info
    return "{" + ", ".join(f"{render_java(k, key)}={render_java(v, val)}" for k, v in value.items()) + "}"


def _sequence(value: Any, type_info: Any) -> str:
    if isinstance(value, (bytes, bytearray)):
        value = [byte - 256 if byte > 127 else byte for byte in value]
    return f"[{', '.join(render_java(item, type_info.elem_type) for item in value)}]"


_COMPOSITES: dict[type[TypeInformation], Callable[[Any, Any], str]] = {
    TupleTypeInfo: _tuple,
    RowTypeInfo: _row,
    MapTypeInfo: _map,
    SequenceTypeInfo: _sequence,
}


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(value)
    if isinstance(value, _LocalDateTime):
        return str(value)
    if isinstance(value, datetime.datetime):
        return _java_timestamp(value)
    if isinstance(value, Instant):
        return _java_instant(value)
    if isinstance(value, datetime.time):
        return value.isoformat(timespec="seconds")
    return str(value)


def java_double(value: float) -> str:
    """`Double.toString`: plain between 0.001 and 10 million, else with an exponent.

    >>> [java_double(v) for v in (0.5, 1e7, 1.5e-7, float("inf"))]
    ['0.5', '1.0E7', '1.5E-7', 'Infinity']
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value) if "e" not in repr(value) else f"{decimal.Decimal(repr(value)):f}"
    sign, digits, exponent = decimal.Decimal(repr(value)).as_tuple()
    text = "".join(map(str, digits))
    power = int(exponent) + len(text) - 1
    return f"{'-' if sign else ''}{text[0]}.{text[1:].rstrip('0') or '0'}E{power}"


def java_float(value: float) -> str:
    """`Float.toString`: the shortest digits that still mean the same 32-bit number."""
    return java_double(shortest_float32(value))


def _java_timestamp(value: datetime.datetime) -> str:
    """`java.sql.Timestamp`: at least one digit after the second, no zeros behind it."""
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value:%Y-%m-%d %H:%M:%S}.{fraction}"


def _java_instant(value: Instant) -> str:
    """ISO in UTC; the fraction in groups of three digits, none when it is zero."""
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=value.seconds)
    text = f"{moment:%Y-%m-%dT%H:%M:%S}"
    if value.nanos:
        fraction = f"{value.nanos:09d}"
        while fraction.endswith("000"):
            fraction = fraction[:-3]
        text += f".{fraction}"
    return text + "Z"
