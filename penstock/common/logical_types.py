"""Flink's logical types, under the names PyFlink gives their classes.

A type is an immutable value: two types are equal when class, parameters and nullability are. It has three
texts, and each is used somewhere a user can see it:

    str(t)          VARCHAR                       PyFlink's short name, the class without "Type"
    t.as_summary()  STRING NOT NULL               DESCRIBE, TYPEOF, error messages
    t.as_sql()      VARCHAR(2147483647) NOT NULL  SHOW CREATE TABLE; `parse_type` reads it back

`nullable()` and `not_null()` give the type with the other nullability; `is_nullable` asks. All day-time
intervals behave alike in a plan and so do all year-month ones, which is why the binder only ever makes
`INTERVAL SECOND(3)` and `INTERVAL MONTH`. `datatypes.py` makes them, `datatype_parser.py`
reads them.
"""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any, ClassVar, TypeVar

from penstock.common import sql_numbers
from penstock.common.errors import ValidationError

MAX_LENGTH = 0x7FFFFFFF
"""The length of STRING and BYTES: Flink's VARCHAR(2147483647)."""

MAX_DECIMAL_PRECISION = 38

Self_ = TypeVar("Self_", bound="DataType")


class DataType:
    """Base of all types; knows whether NULL belongs to it."""

    _parameters: ClassVar[tuple[str, ...]] = ()

    def __init__(self, nullable: bool = True) -> None:
        self._nullable = nullable

    @classmethod
    def type_name(cls) -> str:
        """The class name without "Type", in capitals: `VARCHAR`, `LOCALZONEDTIMESTAMP`."""
        return cls.__name__[:-4].upper()

    @property
    def is_nullable(self) -> bool:
        """Whether a value may be NULL."""
        return self._nullable

    def nullable(self: Self_) -> Self_:
        """This type with NULL allowed."""
        return self.with_nullability(True)

    def not_null(self: Self_) -> Self_:
        """This type without NULL."""
        return self.with_nullability(False)

    def with_nullability(self: Self_, nullable: bool) -> Self_:
        """The same type, which admits NULL or not."""
        if self._nullable == nullable:
            return self
        other = copy.copy(self)
        other._nullable = nullable
        return other

    def bridged_to(self: Self_, conversion_cls: str) -> Self_:
        """Accepted for compatibility: there are no JVM conversion classes here."""
        return self

    def need_conversion(self) -> bool:
        """Whether values have another form inside than in Python."""
        return False

    def to_sql_type(self, obj: Any) -> Any:
        """The inner form of a Python value; None stays None."""
        return obj

    def from_sql_type(self, obj: Any) -> Any:
        """The Python value of an inner form; None stays None."""
        return obj

    def as_summary(self) -> str:
        """Flink's readable text, such as `MAP<STRING, INT NOT NULL>`."""
        return self._summary() + ("" if self._nullable else " NOT NULL")

    def as_sql(self) -> str:
        """Flink's serializable text, which `parse_type` reads back."""
        return self._sql() + ("" if self._nullable else " NOT NULL")

    def _summary(self) -> str:
        return self._sql()

    def _sql(self) -> str:
        return self.type_name()

    def _key(self) -> tuple[Any, ...]:
        return (type(self), self._nullable, *(getattr(self, name) for name in self._parameters))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DataType) and self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        return type(self).type_name()

    def __repr__(self) -> str:
        values = [repr(getattr(self, name)) for name in self._parameters]
        return f"{type(self).__name__}({', '.join([*values, str(self._nullable).lower()])})"


class AtomicType(DataType):
    """A type without element types."""


class NullType(AtomicType):
    """The type of a bare NULL."""

    def __init__(self, nullable: bool = True) -> None:
        super().__init__(True)


class NumericType(AtomicType):
    """Numbers."""


class IntegralType(NumericType):
    """Whole numbers; arithmetic wraps around."""

    bits: ClassVar[int] = 0


class FractionalType(NumericType):
    """Numbers with a fraction."""


class _LengthType(AtomicType):
    _parameters = ("length",)
    _unbounded: ClassVar[str | None] = None

    def __init__(self, length: int = 1, nullable: bool = True) -> None:
        super().__init__(nullable)
        if length < 0:
            raise ValidationError(f"the length of {self.type_name()} is {length}, it cannot be negative")
        self.length = length

    def _summary(self) -> str:
        if self._unbounded and self.length == MAX_LENGTH:
            return self._unbounded
        return self._sql()

    def _sql(self) -> str:
        return f"{self.type_name()}({self.length})"


class CharType(_LengthType):
    """Text of a fixed length; shorter values are padded with blanks by CAST."""


class VarCharType(_LengthType):
    """Text up to a length; `STRING` is the longest one."""

    _unbounded = "STRING"


class BinaryType(_LengthType):
    """Bytes of a fixed length."""


class VarBinaryType(_LengthType):
    """Bytes up to a length; `BYTES` is the longest one."""

    _unbounded = "BYTES"


class BooleanType(AtomicType):
    """TRUE, FALSE, and unknown when nullable."""


class TinyIntType(IntegralType):
    """8 bits."""

    bits = 8


class SmallIntType(IntegralType):
    """16 bits."""

    bits = 16


class IntType(IntegralType):
    """32 bits."""

    bits = 32


class BigIntType(IntegralType):
    """64 bits."""

    bits = 64


class FloatType(FractionalType):
    """4-byte floating point."""


class DoubleType(FractionalType):
    """8-byte floating point."""


class DecimalType(FractionalType):
    """Exact numbers of `precision` digits, `scale` of them behind the point."""

    _parameters = ("precision", "scale")

    def __init__(self, precision: int = 10, scale: int = 0, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 1 <= precision <= MAX_DECIMAL_PRECISION or not 0 <= scale <= precision:
            raise ValidationError(
                f"DECIMAL({precision}, {scale}) is not a type",
                do="use a precision of 1 to 38 and a scale between 0 and the precision",
            )
        self.precision = precision
        self.scale = scale

    def _sql(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


class DateType(AtomicType):
    """A day, without time zone."""

    EPOCH_ORDINAL = dt.date(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, d: dt.date | None) -> int | None:
        """Days since 1970-01-01."""
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, v: int | None) -> dt.date | None:
        """The date that is so many days after 1970-01-01."""
        return None if v is None else dt.date.fromordinal(v + self.EPOCH_ORDINAL)


class _PrecisionType(AtomicType):
    _parameters = ("precision",)
    _text: ClassVar[str] = ""

    def __init__(self, precision: int = 6, nullable: bool = True) -> None:
        super().__init__(nullable)
        if not 0 <= precision <= 9:
            raise ValidationError(f"the precision of {self._text} is {precision}, it must be 0 to 9")
        self.precision = precision

    def need_conversion(self) -> bool:
        return True

    def _sql(self) -> str:
        return f"{self._text}({self.precision})"


class TimeType(_PrecisionType):
    """A time of day, without time zone."""

    _text = "TIME"
    EPOCH_ORDINAL = sql_numbers.LOCAL_EPOCH

    def __init__(self, precision: int = 0, nullable: bool = True) -> None:
        super().__init__(precision, nullable)

    def to_sql_type(self, t: dt.time | None) -> int | None:
        """Microseconds since midnight."""
        return None if t is None else sql_numbers.micros_of_time(t)

    def from_sql_type(self, t: int | None) -> dt.time | None:
        """The time that is so many microseconds after midnight."""
        return None if t is None else sql_numbers.time_of_micros(t)


class TimestampType(_PrecisionType):
    """A date and time of day, without time zone."""

    _text = "TIMESTAMP"

    def to_sql_type(self, dt: dt.datetime | None) -> int | None:
        """Microseconds since 1970-01-01 00:00."""
        return None if dt is None else sql_numbers.micros_of_moment(dt)

    def from_sql_type(self, ts: int | None) -> dt.datetime | None:
        """The timestamp that is so many microseconds after 1970-01-01 00:00."""
        return None if ts is None else sql_numbers.moment_of_micros(ts)


class LocalZonedTimestampType(_PrecisionType):
    """A moment, shown in the session's time zone."""

    _text = "TIMESTAMP_LTZ"
    EPOCH_ORDINAL = sql_numbers.LOCAL_EPOCH

    def to_sql_type(self, dt: dt.datetime | None) -> int | None:
        """Microseconds since 1970-01-01 00:00 UTC."""
        return None if dt is None else sql_numbers.micros_of_moment(dt) + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: int | None) -> dt.datetime | None:
        """The moment that is so many microseconds after 1970-01-01 00:00 UTC."""
        return None if ts is None else sql_numbers.moment_of_micros(ts - self.EPOCH_ORDINAL)

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"

    def _summary(self) -> str:
        return f"TIMESTAMP_LTZ({self.precision})"


class ZonedTimestampType(_PrecisionType):
    """A moment with its own time zone. It can be named, but no query computes with it."""

    _text = "TIMESTAMP"

    def to_sql_type(self, dt: dt.datetime | None) -> tuple[int, int] | None:
        """Microseconds since 1970-01-01 00:00 UTC, and the zone's offset."""
        return None if dt is None else sql_numbers.zoned_micros(dt)

    def from_sql_type(self, zoned_ts: tuple[int, int] | None) -> dt.datetime | None:
        """The timestamp of these microseconds in a zone of this offset."""
        return None if zoned_ts is None else sql_numbers.moment_of_zoned(*zoned_ts)

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"


class VariantType(AtomicType):
    """A value that carries its own type, such as parsed JSON."""


class DescriptorType(AtomicType):
    """The type of `DESCRIPTOR(column)`: names, no values."""


class RawType(AtomicType):
    """A value only Python understands."""
