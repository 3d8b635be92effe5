"""`DataTypes` makes Flink's types; all type classes are importable from here too (see `logical_types`,
`interval_types` and `composite_types`)."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.common.composite_types import (
    ArrayType,
    ListViewType,
    MapType,
    MapViewType,
    MultisetType,
    RowField,
    RowType,
    UserDefinedType,
)
from penstock.common.errors import ValidationError
from penstock.common.interval_types import (
    INTERVAL_MONTH,
    INTERVAL_SECOND,
    DayTimeIntervalType,
    Resolution,
    YearMonthIntervalType,
)
from penstock.common.logical_types import (
    MAX_DECIMAL_PRECISION,
    MAX_LENGTH,
    AtomicType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DescriptorType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    LocalZonedTimestampType,
    NullType,
    NumericType,
    RawType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    VariantType,
    ZonedTimestampType,
)

__all__ = [
    "INTERVAL_MONTH",
    "INTERVAL_SECOND",
    "MAX_DECIMAL_PRECISION",
    "MAX_LENGTH",
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DataType",
    "DataTypes",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DescriptorType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "RowField",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "UserDefinedType",
    "VarBinaryType",
    "VarCharType",
    "VariantType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
]


class DataTypes:
    """Makes types: `DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])`."""

    @staticmethod
    def NULL() -> NullType:
        """The type of an untyped NULL."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Text of exactly `length` characters, padded with blanks."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Text of at most `length` characters."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Text of any length."""
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """TRUE, FALSE or unknown."""
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Exactly `length` bytes."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """At most `length` bytes."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Bytes of any length."""
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Exact numbers with `precision` digits, `scale` of them behind the point."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Whole numbers from -128 to 127."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Whole numbers from -32,768 to 32,767."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Whole numbers of 32 bits."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Whole numbers of 64 bits."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Floating point numbers of 32 bits."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Floating point numbers of 64 bits: Python's float."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """A day of the calendar."""
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """A time of day, of at most milliseconds."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Date and time without a zone, with up to nine digits of a second."""
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """A moment, shown in the session's time zone."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """A moment, shown in the session's time zone."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Lists of one element type."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """A list in an aggregate's accumulator that is kept in state, not in memory."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Maps of one key type and one value type."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """A map in an aggregate's accumulator that is kept in state, not in memory."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Elements with how often each is there."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def VARIANT(nullable: bool = True) -> VariantType:
        """A value that brings its own type, as in JSON."""
        return VariantType(nullable)

    @staticmethod
    def ROW(row_fields: Iterable[RowField] = (), nullable: bool = True) -> RowType:
        """Rows of these fields: types, or `FIELD`s with names."""
        return RowType(row_fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """A named field of a ROW."""
        return RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION) -> Resolution:
        """The resolution of an interval in seconds."""
        return Resolution(Resolution.IntervalUnit.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """The resolution of an interval in minutes."""
        return Resolution(Resolution.IntervalUnit.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """The resolution of an interval in hours."""
        return Resolution(Resolution.IntervalUnit.HOUR)

    @staticmethod
    def DAY(precision: int = DayTimeIntervalType.DEFAULT_DAY_PRECISION) -> Resolution:
        """The resolution of an interval in days."""
        return Resolution(Resolution.IntervalUnit.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """The resolution of an interval in months."""
        return Resolution(Resolution.IntervalUnit.MONTH)

    @staticmethod
    def YEAR(precision: int = YearMonthIntervalType.DEFAULT_PRECISION) -> Resolution:
        """The resolution of an interval in years."""
        return Resolution(Resolution.IntervalUnit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> YearMonthIntervalType | DayTimeIntervalType:
        """A length of time of this resolution, or of a range of them."""
        units = [r.unit.name for r in (upper_resolution, lower_resolution) if r is not None]
        name = "_TO_".join(units)
        precisions = {r.unit.name: r.precision for r in (upper_resolution, lower_resolution) if r is not None}
        if name in ("YEAR", "MONTH", "YEAR_TO_MONTH"):
            return YearMonthIntervalType(
                name, precisions.get("YEAR", YearMonthIntervalType.DEFAULT_PRECISION)
            )
        if not hasattr(DayTimeIntervalType.DayTimeResolution, name):
            raise ValidationError(f"there is no interval from {units[0]} to {units[-1]}")
        return DayTimeIntervalType(name, precisions.get("DAY", 2), precisions.get("SECOND", 6))
