"""Basic types: numbers, strings, booleans, dates and times, and what all types have in common."""

from __future__ import annotations

import datetime
import enum
from typing import TYPE_CHECKING, Any

from penstock.common.time import Instant

if TYPE_CHECKING:
    from penstock.common.serializer import TypeSerializer

__all__ = [
    "BasicType",
    "BasicTypeInfo",
    "DateTypeInfo",
    "InstantTypeInfo",
    "LocalTimeTypeInfo",
    "SqlTimeTypeInfo",
    "TimeTypeInfo",
    "TimestampTypeInfo",
    "TypeInformation",
]


class TypeInformation:
    """Base of all types. A subclass of a program may give its own `create_serializer`."""

    def need_conversion(self) -> bool:
        """Whether the internal form differs from the Python value."""
        return False

    def to_internal_type(self, obj: Any) -> Any:
        """The value as Flink keeps it inside (days for a date, microseconds for a time, ...)."""
        return obj

    def from_internal_type(self, obj: Any) -> Any:
        """The Python value of an internal one."""
        return obj

    def create_serializer(self) -> TypeSerializer | None:
        """A serializer of the program's own, or None to use the built-in codec for this type."""
        return None

    def _identity(self) -> tuple[Any, ...]:
        """What makes two instances of this class equal: all that they hold, unless a subclass knows better."""
        return tuple(sorted(self.__dict__.items(), key=lambda item: item[0]))

    def __eq__(self, o: object) -> bool:
        if self is o:
            return True
        return (
            isinstance(o, TypeInformation)
            and _family(type(self)) is _family(type(o))
            and self._identity() == o._identity()
        )

    def __hash__(self) -> int:
        name = _family(type(self)).__name__
        try:
            return hash((name, self._identity()))
        except TypeError:
            return hash(name)  # a program's own type may hold lists or dicts

    def __repr__(self) -> str:
        return type(self).__name__


class BasicType(enum.Enum):
    """The indivisible types; the value is the Java class that Flink prints."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """Numbers, booleans, strings."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    @property
    def basic_type(self) -> BasicType:
        """Which of the basic types it is."""
        return self._basic_type

    def _identity(self) -> tuple[Any, ...]:
        return (self._basic_type,)

    def __repr__(self) -> str:
        return str(self._basic_type.value)

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """`str`."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """`bool`."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """`int` from -128 to 127."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """`int` of 16 bits, with a sign."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """`int` of 32 bits, with a sign."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """`int` of 64 bits, with a sign."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """`float` of 32 bits."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """`float` of 64 bits."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """`str` of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """`int` of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """`decimal.Decimal`."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """`Instant`: a moment with nanoseconds."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """Points in time, inside as microseconds since 1970."""

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return None if obj is None else obj.to_epoch_milli() * 1_000

    def from_internal_type(self, obj: Any) -> Any:
        return None if obj is None else Instant.of_epoch_milli(obj // 1_000)


class SqlTimeTypeInfo(TypeInformation):
    """Where the types of SQL dates, times and timestamps are made."""

    @staticmethod
    def DATE() -> DateTypeInfo:
        """`datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TimeTypeInfo:
        """`datetime.time`."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TimestampTypeInfo:
        """`datetime.datetime` without a time zone."""
        return TimestampTypeInfo()


class DateTypeInfo(TypeInformation):
    """`datetime.date`; inside it is days since 1970."""

    EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, d: Any) -> Any:
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: Any) -> Any:
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation):
    """`datetime.time`; inside it is microseconds since midnight."""

    EPOCH_ORDINAL = 0  # a time of day belongs to no zone here, so nothing is added

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, t: Any) -> Any:
        if t is None:
            return None
        micros = ((t.hour * 60 + t.minute) * 60 + t.second) * 1_000_000 + t.microsecond
        if t.tzinfo is not None:
            micros -= (t.utcoffset() or datetime.timedelta()) // datetime.timedelta(microseconds=1)
        return micros

    def from_internal_type(self, t: Any) -> Any:
        if t is None:
            return None
        seconds, micros = divmod(t % 86_400_000_000, 1_000_000)
        return datetime.time(seconds // 3600, seconds // 60 % 60, seconds % 60, micros)


class TimestampTypeInfo(TypeInformation):
    """`datetime.datetime` without zone; inside it is microseconds, read as UTC on every machine."""

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, dt: Any) -> Any:
        if dt is None:
            return None
        if dt.tzinfo is not None:
            dt = dt.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return (dt - _EPOCH) // datetime.timedelta(microseconds=1)

    def from_internal_type(self, ts: Any) -> Any:
        return None if ts is None else _EPOCH + datetime.timedelta(microseconds=ts)


_EPOCH = datetime.datetime(1970, 1, 1)


class LocalTimeTypeInfo(TypeInformation):
    """Java's LocalDate, LocalTime and LocalDateTime: date, time and datetime without zone."""

    class TimeType(enum.Enum):
        """A date, a time of day, or both."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    def __init__(self, time_type: TimeType) -> None:
        self._time_type = time_type

    @property
    def time_type(self) -> TimeType:
        """Which of date, time and timestamp it is."""
        return self._time_type

    def sql_type(self) -> TypeInformation:
        """The SQL time type with the same Python values."""
        return _SQL_TIME_TYPES[self._time_type]

    def need_conversion(self) -> bool:
        return True

    def to_internal_type(self, obj: Any) -> Any:
        return self.sql_type().to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        return self.sql_type().from_internal_type(obj)

    def _identity(self) -> tuple[Any, ...]:
        return (self._time_type,)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self._time_type.name}>"


_SQL_TIME_TYPES: dict[LocalTimeTypeInfo.TimeType, TypeInformation] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: DateTypeInfo(),
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: TimeTypeInfo(),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: TimestampTypeInfo(),
}


def _family(cls: type) -> type:
    """The class whose instances compare with each other: INSTANT is a basic type among others."""
    return BasicTypeInfo if issubclass(cls, BasicTypeInfo) else cls
