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
import enum
from collections.abc import Iterable, Iterator
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
        return self._nullable

    def nullable(self: Self_) -> Self_:
        """This type with NULL allowed."""
        return self.with_nullability(True)

    def not_null(self: Self_) -> Self_:
        """This type without NULL."""
        return self.with_nullability(False)

    def with_nullability(self: Self_, nullable: bool) -> Self_:
        if self._nullable == nullable:
            return self
        other = copy.copy(self)
        other._nullable = nullable
        return other

    def bridged_to(self: Self_, conversion_cls: str) -> Self_:
        """Accepted for compatibility: there are no JVM conversion classes here."""
        return self

    def need_conversion(self) -> bool:
        return False

    def to_sql_type(self, obj: Any) -> Any:
        return obj

    def from_sql_type(self, obj: Any) -> Any:
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
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_sql_type(self, v: int | None) -> dt.date | None:
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
        return None if t is None else sql_numbers.micros_of_time(t)

    def from_sql_type(self, t: int | None) -> dt.time | None:
        return None if t is None else sql_numbers.time_of_micros(t)


class TimestampType(_PrecisionType):
    """A date and time of day, without time zone."""

    _text = "TIMESTAMP"

    def to_sql_type(self, dt: dt.datetime | None) -> int | None:
        return None if dt is None else sql_numbers.micros_of_moment(dt)

    def from_sql_type(self, ts: int | None) -> dt.datetime | None:
        return None if ts is None else sql_numbers.moment_of_micros(ts)


class LocalZonedTimestampType(_PrecisionType):
    """A moment, shown in the session's time zone."""

    _text = "TIMESTAMP_LTZ"
    EPOCH_ORDINAL = sql_numbers.LOCAL_EPOCH

    def to_sql_type(self, dt: dt.datetime | None) -> int | None:
        return None if dt is None else sql_numbers.micros_of_moment(dt) + self.EPOCH_ORDINAL

    def from_sql_type(self, ts: int | None) -> dt.datetime | None:
        return None if ts is None else sql_numbers.moment_of_micros(ts - self.EPOCH_ORDINAL)

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH LOCAL TIME ZONE"

    def _summary(self) -> str:
        return f"TIMESTAMP_LTZ({self.precision})"


class ZonedTimestampType(_PrecisionType):
    """A moment with its own time zone. It can be named, but no query computes with it."""

    _text = "TIMESTAMP"

    def to_sql_type(self, dt: dt.datetime | None) -> tuple[int, int] | None:
        return None if dt is None else sql_numbers.zoned_micros(dt)

    def from_sql_type(self, zoned_ts: tuple[int, int] | None) -> dt.datetime | None:
        return None if zoned_ts is None else sql_numbers.moment_of_zoned(*zoned_ts)

    def _sql(self) -> str:
        return f"TIMESTAMP({self.precision}) WITH TIME ZONE"


class Resolution:
    """A unit of an interval, with its precision where it has one."""

    class IntervalUnit(enum.Enum):
        """The units that intervals are made of."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: Resolution.IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> Resolution.IntervalUnit:
        return self._unit

    @property
    def precision(self) -> int:
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """A number of months."""

    class YearMonthResolution:
        YEAR = "YEAR"
        MONTH = "MONTH"
        YEAR_TO_MONTH = "YEAR_TO_MONTH"

    DEFAULT_PRECISION = 2
    _parameters = ("resolution", "precision")

    def __init__(self, resolution: str, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> str:
        return self._resolution

    @property
    def precision(self) -> int:
        return self._precision

    def _sql(self) -> str:
        texts = {"YEAR": f"YEAR({self.precision})", "MONTH": "MONTH"}
        return "INTERVAL " + texts.get(self.resolution, f"YEAR({self.precision}) TO MONTH")


class DayTimeIntervalType(AtomicType):
    """A length of time that does not depend on the calendar."""

    class DayTimeResolution:
        DAY = "DAY"
        DAY_TO_HOUR = "DAY_TO_HOUR"
        DAY_TO_MINUTE = "DAY_TO_MINUTE"
        DAY_TO_SECOND = "DAY_TO_SECOND"
        HOUR = "HOUR"
        HOUR_TO_MINUTE = "HOUR_TO_MINUTE"
        HOUR_TO_SECOND = "HOUR_TO_SECOND"
        MINUTE = "MINUTE"
        MINUTE_TO_SECOND = "MINUTE_TO_SECOND"
        SECOND = "SECOND"

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6
    _parameters = ("resolution", "day_precision", "fractional_precision")

    def __init__(
        self,
        resolution: str,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> str:
        return self._resolution

    @property
    def day_precision(self) -> int:
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        return self._fractional_precision

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, timedelta: dt.timedelta | None) -> int | None:
        return None if timedelta is None else timedelta // dt.timedelta(microseconds=1)

    def from_sql_type(self, ts: int | None) -> dt.timedelta | None:
        return None if ts is None else dt.timedelta(microseconds=ts)

    def _sql(self) -> str:
        units = {
            "DAY": f"DAY({self.day_precision})",
            "HOUR": "HOUR",
            "MINUTE": "MINUTE",
            "SECOND": f"SECOND({self.fractional_precision})",
        }
        return "INTERVAL " + " TO ".join(units[part] for part in self.resolution.split("_TO_"))


class ArrayType(DataType):
    """An ordered list of elements of one type; positions count from 1."""

    _parameters = ("element_type",)

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def _sql(self) -> str:
        return f"ARRAY<{self.element_type.as_sql()}>"

    def _summary(self) -> str:
        return f"ARRAY<{self.element_type.as_summary()}>"


class ListViewType(DataType):
    """The accumulator type of a `ListView`."""

    _parameters = ("_element_type",)

    def __init__(self, element_type: DataType) -> None:
        super().__init__(False)
        self._element_type = element_type


class MapType(DataType):
    """Keys of one type to values of another."""

    _parameters = ("key_type", "value_type")

    def __init__(self, key_type: DataType, value_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.key_type = key_type
        self.value_type = value_type

    def _sql(self) -> str:
        return f"MAP<{self.key_type.as_sql()}, {self.value_type.as_sql()}>"

    def _summary(self) -> str:
        return f"MAP<{self.key_type.as_summary()}, {self.value_type.as_summary()}>"


class MapViewType(DataType):
    """The accumulator type of a `MapView`."""

    _parameters = ("_key_type", "_value_type")

    def __init__(self, key_type: DataType, value_type: DataType) -> None:
        super().__init__(False)
        self._key_type = key_type
        self._value_type = value_type


class MultisetType(DataType):
    """A bag: each element with how often it occurs."""

    _parameters = ("element_type",)

    def __init__(self, element_type: DataType, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.element_type = element_type

    def _sql(self) -> str:
        return f"MULTISET<{self.element_type.as_sql()}>"

    def _summary(self) -> str:
        return f"MULTISET<{self.element_type.as_summary()}>"


class VariantType(AtomicType):
    """A value that carries its own type, such as parsed JSON."""


class DescriptorType(AtomicType):
    """The type of `DESCRIPTOR(column)`: names, no values."""


class RawType(AtomicType):
    """A value only Python understands."""


class RowField:
    """A named part of a `RowType`."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        self.name = name
        self.data_type = data_type
        self.description = description

    def need_conversion(self) -> bool:
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        return self.data_type.from_sql_type(obj)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowField) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.name, self.data_type))

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, ...)"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def text(self, type_text: str) -> str:
        quoted = "`" + self.name.replace("`", "``") + "`"
        comment = "" if self.description is None else " '" + self.description.replace("'", "''") + "'"
        return f"{quoted} {type_text}{comment}"


class RowType(DataType):
    """A sequence of named fields, as a table row or a nested record."""

    _parameters = ("_frozen_fields",)

    def __init__(self, fields: Iterable[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = list(fields or [])
        self.names = [field.name for field in self.fields]

    @property
    def _frozen_fields(self) -> tuple[RowField, ...]:
        return tuple(self.fields)

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Appends a field and returns the type itself, as PyFlink's does."""
        if isinstance(field, str):
            if data_type is None:
                raise ValidationError(f"field {field!r} needs a data type")
            field = RowField(field, data_type)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def field_names(self) -> list[str]:
        return list(self.names)

    def field_types(self) -> list[DataType]:
        return [field.data_type for field in self.fields]

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            for field in self.fields:
                if field.name == key:
                    return field
            raise KeyError(f"no field named {key!r} in {self.names}")
        return RowType(self.fields[key]) if isinstance(key, slice) else self.fields[key]

    def _sql(self) -> str:
        return f"ROW<{', '.join(f.text(f.data_type.as_sql()) for f in self.fields)}>"

    def _summary(self) -> str:
        return f"ROW<{', '.join(f.text(f.data_type.as_summary()) for f in self.fields)}>"

    def __repr__(self) -> str:
        return f"RowType({', '.join(repr(field) for field in self.fields)})"


class UserDefinedType(DataType):
    """A Python class with a SQL representation of its own; subclasses say which."""

    @classmethod
    def type_name(cls) -> str:
        return cls.__name__

    @classmethod
    def sql_type(cls) -> DataType:
        raise NotImplementedError("a UserDefinedType must say its sql_type()")

    @classmethod
    def module(cls) -> str:
        """Where the class is defined."""
        raise NotImplementedError("a UserDefinedType must say its module()")

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.deserialize(self.sql_type().from_sql_type(obj))

    def serialize(self, obj: Any) -> Any:
        raise NotImplementedError("a UserDefinedType must serialize(obj)")

    def deserialize(self, datum: Any) -> Any:
        raise NotImplementedError("a UserDefinedType must deserialize(datum)")


INTERVAL_SECOND = DayTimeIntervalType("SECOND", 2, 3, nullable=False)
"""What every day-time interval of a query is."""

INTERVAL_MONTH = YearMonthIntervalType("MONTH", 2, nullable=False)
"""What every year-month interval of a query is."""
