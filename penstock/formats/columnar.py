"""Formats whose unit is a file, not a record: Parquet, ORC and Avro object files.

They are read and written whole (by Spark, or by fastavro), so here they only say their names and what they
cannot hold. Options with their prefix go to the library that does the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    DataType,
    DayTimeIntervalType,
    MapType,
    MultisetType,
    RowType,
    TimeType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.errors import ValidationError
from penstock.formats.base import Format, Option, boolean, one_of

_INTERVALS = (DayTimeIntervalType, YearMonthIntervalType)


def _parts(data_type: DataType) -> list[DataType]:
    if isinstance(data_type, (ArrayType, MultisetType)):
        return [data_type.element_type]
    if isinstance(data_type, MapType):
        return [data_type.key_type, data_type.value_type]
    return data_type.field_types() if isinstance(data_type, RowType) else []


def _refuse(refused: tuple[type[DataType], ...], data_type: DataType, name: str) -> None:
    if isinstance(data_type, refused):
        raise ValidationError(f"the {name} format has no form for type {data_type.as_summary()}")
    for part in _parts(data_type):
        _refuse(refused, part, name)


def _check_parquet(row_type: RowType, options: Mapping[str, Any]) -> None:
    _refuse(_INTERVALS, row_type, "parquet")


def _check_orc(row_type: RowType, options: Mapping[str, Any]) -> None:
    _refuse((*_INTERVALS, TimeType), row_type, "orc")


def check_avro(row_type: RowType, options: Mapping[str, Any]) -> None:
    _refuse(_INTERVALS, row_type, "avro")
    _check_avro_keys(row_type)


def _check_avro_keys(data_type: DataType) -> None:
    if isinstance(data_type, MapType) and not isinstance(data_type.key_type, VarCharType):
        raise ValidationError(f"avro needs text as key type of a map, but found {data_type.as_summary()}")
    for part in _parts(data_type):
        _check_avro_keys(part)


PARQUET = Format(
    name="parquet",
    options=(Option("utc-timezone", boolean, False), Option("compression", str, None)),
    decoder=None,
    encoder=None,
    check=_check_parquet,
    framing="file",
)
ORC = Format(
    name="orc",
    options=(Option("compress", str, None),),
    decoder=None,
    encoder=None,
    check=_check_orc,
    framing="file",
)
AVRO = Format(
    name="avro",
    options=(
        Option("codec", one_of("null", "deflate", "snappy", "bzip2", "xz", "zstandard"), None),
        Option("timestamp_mapping.legacy", boolean, True),
    ),
    decoder=None,
    encoder=None,
    check=check_avro,
    framing="file",
)
