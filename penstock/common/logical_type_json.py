"""Types as JSON and back, in the form in which Flink's SQL gateway describes the columns of a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.common import datatypes as t
from penstock.common.datatypes import DataType

__all__ = ["logical_type_json", "type_of_json"]

_ROOTS: dict[type[DataType], str] = {
    t.CharType: "CHAR",
    t.VarCharType: "VARCHAR",
    t.BooleanType: "BOOLEAN",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "VARBINARY",
    t.DecimalType: "DECIMAL",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INTEGER",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.DateType: "DATE",
    t.TimeType: "TIME_WITHOUT_TIME_ZONE",
    t.TimestampType: "TIMESTAMP_WITHOUT_TIME_ZONE",
    t.ZonedTimestampType: "TIMESTAMP_WITH_TIME_ZONE",
    t.LocalZonedTimestampType: "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    t.YearMonthIntervalType: "INTERVAL_YEAR_MONTH",
    t.DayTimeIntervalType: "INTERVAL_DAY_TIME",
    t.ArrayType: "ARRAY",
    t.MultisetType: "MULTISET",
    t.MapType: "MAP",
    t.RowType: "ROW",
    t.VariantType: "VARIANT",
}


def logical_type_json(data_type: DataType) -> dict[str, Any]:
    """
    A type as the SQL gateway writes it in JSON.

    >>> logical_type_json(t.DataTypes.DECIMAL(10, 3, False))
    {'type': 'DECIMAL', 'nullable': False, 'precision': 10, 'scale': 3}
    """
    if isinstance(data_type, t.NullType):
        return {"type": "NULL"}
    root = _ROOTS.get(type(data_type))
    if root is None:  # such as types of Python classes: shown as the text that stands for the value
        return {"type": "VARCHAR", "nullable": data_type.is_nullable, "length": t.MAX_LENGTH}
    return {"type": root, "nullable": data_type.is_nullable, **_parameters(data_type)}


def _parameters(data_type: Any) -> dict[str, Any]:
    if isinstance(data_type, t.DecimalType):
        return {"precision": data_type.precision, "scale": data_type.scale}
    if isinstance(data_type, t.YearMonthIntervalType):
        return {"precision": data_type.precision, "resolution": data_type.resolution}
    if isinstance(data_type, t.DayTimeIntervalType):
        return {
            "precision": data_type.day_precision,
            "fractionalPrecision": data_type.fractional_precision,
            "resolution": data_type.resolution,
        }
    if isinstance(data_type, (t.ArrayType, t.MultisetType)):
        return {"elementType": logical_type_json(data_type.element_type)}
    if isinstance(data_type, t.MapType):
        return {
            "keyType": logical_type_json(data_type.key_type),
            "valueType": logical_type_json(data_type.value_type),
        }
    if isinstance(data_type, t.RowType):
        return {"fields": [_field(field) for field in data_type.fields]}
    names = ("length", "precision")
    return {name: getattr(data_type, name) for name in names if hasattr(data_type, name)}


def _field(field: t.RowField) -> dict[str, Any]:
    found: dict[str, Any] = {"name": field.name, "fieldType": logical_type_json(field.data_type)}
    if field.description is not None:
        found["description"] = field.description
    return found


def type_of_json(described: Mapping[str, Any]) -> DataType:
    """The type that was described; one that is not known here is a text.

    >>> type_of_json({"type": "ARRAY", "nullable": True, "elementType": {"type": "CHAR", "length": 3}}).as_sql()
    'ARRAY<CHAR(3)>'
    """
    root = described.get("type")
    nullable = bool(described.get("nullable", True))
    if root == "NULL":
        return t.NullType()
    make = _MAKERS.get(str(root))
    if make is not None:
        return make(described, nullable)
    kind: Any = next((kind for kind, name in _ROOTS.items() if name == root), t.VarCharType)
    given = [described[name] for name in ("length", "precision") if name in described]
    return kind(*given, nullable=nullable)  # type: ignore[no-any-return]


def _row(described: Mapping[str, Any], nullable: bool) -> DataType:
    fields = [
        t.RowField(field["name"], type_of_json(field["fieldType"]), field.get("description"))
        for field in described["fields"]
    ]
    return t.RowType(fields, nullable)


_MAKERS: dict[str, Callable[[Mapping[str, Any], bool], DataType]] = {
    "DECIMAL": lambda d, nullable: t.DecimalType(d["precision"], d["scale"], nullable),
    "INTERVAL_YEAR_MONTH": lambda d, nullable: t.YearMonthIntervalType(
        d["resolution"], d["precision"], nullable
    ),
    "INTERVAL_DAY_TIME": lambda d, nullable: t.DayTimeIntervalType(
        d["resolution"], d["precision"], d["fractionalPrecision"], nullable
    ),
    "ARRAY": lambda d, nullable: t.ArrayType(type_of_json(d["elementType"]), nullable),
    "MULTISET": lambda d, nullable: t.MultisetType(type_of_json(d["elementType"]), nullable),
    "MAP": lambda d, nullable: t.MapType(type_of_json(d["keyType"]), type_of_json(d["valueType"]), nullable),
    "ROW": _row,
}
