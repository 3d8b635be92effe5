"""How Flink writes a value of each type as text: what CAST(x AS STRING) gives."""

from __future__ import annotations

from collections.abc import Callable

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
)
from penstock.common.function_types import StructuredType
from penstock.sql.functions.text import let, quoted_name, string


def text_of(sql: str, data_type: DataType) -> str:
    """Spark SQL text that gives the STRING form of `sql`; NULL stays NULL."""
    if isinstance(data_type, (CharType, VarCharType)):
        return sql
    for cls, write in _WRITERS:
        if isinstance(data_type, cls):
            return write(sql, data_type)
    return f"CAST({sql} AS STRING)"


def _or_null(sql: str, data_type: DataType) -> str:
    return f"coalesce({text_of(sql, data_type)}, 'NULL')"


def _boolean(sql: str, data_type: DataType) -> str:
    return f"upper(CAST({sql} AS STRING))"


def _binary(sql: str, data_type: DataType) -> str:
    """Bytes that are not UTF-8 become replacement characters; Spark's CAST would let them through."""
    return f"decode({sql}, 'UTF-8')"


def _decimal(sql: str, data_type: DataType) -> str:
    """Spark writes small decimals with an exponent, Flink never does."""
    assert isinstance(data_type, DecimalType)
    scale = data_type.scale
    if scale <= 6:
        return f"CAST({sql} AS STRING)"
    shift = f"CAST('1{'0' * scale}' AS DECIMAL({min(scale + 1, 38)}, 0))" if scale < 38 else None
    if shift is None:
        return f"CAST({sql} AS STRING)"

    def digits(x: str) -> str:
        whole = f"CAST(CAST(floor(abs({x})) AS DECIMAL(38, 0)) AS STRING)"
        fraction = f"CAST(CAST((abs({x}) % 1) * {shift} AS DECIMAL({scale}, 0)) AS STRING)"
        return f"concat(if({x} < 0, '-', ''), {whole}, '.', lpad({fraction}, {scale}, '0'))"

    return let(digits, sql)


def _clock(sql: str, data_type: DataType) -> str:
    """Timestamps and times: exactly as many digits behind the second as the precision says."""
    precision = getattr(data_type, "precision", 0)
    text = f"CAST({sql} AS STRING)"
    if precision == 0:
        return f"substring_index({text}, '.', 1)"
    return let(
        lambda x: (
            f"concat(substring_index({x}, '.', 1), '.', "
            f"rpad(if(instr({x}, '.') > 0, substring_index({x}, '.', -1), ''), {precision}, '0'))"
        ),
        text,
    )


def _day_time(sql: str, data_type: DataType) -> str:
    def write(ms: str) -> str:
        parts = [f"abs({ms}) div 86400000"]
        parts += [f"abs({ms}) div {unit} % {size}" for unit, size in ((3600000, 24), (60000, 60), (1000, 60))]
        parts.append(f"abs({ms}) % 1000")
        pieces = ", ".join(parts)
        return f"format_string('%s%d %02d:%02d:%02d.%03d', if({ms} < 0, '-', '+'), {pieces})"

    millis = f"CAST(CAST(CAST({sql} AS INTERVAL DAY TO SECOND) AS DECIMAL(20, 6)) * 1000 AS BIGINT)"
    return f"if(({sql}) IS NULL, NULL, {let(write, millis)})"


def _year_month(sql: str, data_type: DataType) -> str:
    def write(months: str) -> str:
        sign = f"if({months} < 0, '-', '+')"
        return f"format_string('%s%d-%02d', {sign}, abs({months}) div 12, abs({months}) % 12)"

    months = f"CAST(CAST({sql} AS INTERVAL MONTH) AS INT)"
    return f"if(({sql}) IS NULL, NULL, {let(write, months)})"


def _array(sql: str, data_type: DataType) -> str:
    assert isinstance(data_type, ArrayType)
    element = _or_null("e", data_type.element_type)
    return f"concat('[', array_join(transform({sql}, e -> {element}), ', '), ']')"


def _map(sql: str, data_type: DataType) -> str:
    if isinstance(data_type, MapType):
        key, value = _or_null("e.key", data_type.key_type), _or_null("e.value", data_type.value_type)
    else:
        assert isinstance(data_type, MultisetType)
        key, value = _or_null("e.key", data_type.element_type), "CAST(e.value AS STRING)"
    entries = f"transform(map_entries({sql}), e -> concat({key}, '=', {value}))"
    return f"concat('{{', array_join({entries}, ', '), '}}')"


def _row(sql: str, data_type: DataType) -> str:
    assert isinstance(data_type, RowType)
    named = isinstance(data_type, StructuredType)

    def write(x: str) -> str:
        parts = []
        for field in data_type.fields:
            value = _or_null(f"{x}.{quoted_name(field.name)}", field.data_type)
            parts.append(f"concat({string(field.name + '=')}, {value})" if named else value)
        body = f"concat_ws(', ', {', '.join(parts)})" if parts else "''"
        return f"if({x} IS NULL, NULL, concat('(', {body}, ')'))"

    return let(write, sql)


_WRITERS: tuple[tuple[type[DataType], Callable[[str, DataType], str]], ...] = (
    (BooleanType, _boolean),
    (BinaryType, _binary),
    (VarBinaryType, _binary),
    (DecimalType, _decimal),
    (TimestampType, _clock),
    (LocalZonedTimestampType, _clock),
    (TimeType, _clock),
    (DayTimeIntervalType, _day_time),
    (YearMonthIntervalType, _year_month),
    (ArrayType, _array),
    (MapType, _map),
    (MultisetType, _map),
    (RowType, _row),
)
