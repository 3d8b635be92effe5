"""What INSERT converts without a CAST, by Flink's table."""

from __future__ import annotations

import pytest

from penstock.common.datatype_parser import parse_type
from penstock.sql.functions.implicit_casts import implicitly_castable


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("TINYINT", "BIGINT"),
        ("BIGINT", "DECIMAL(5, 0)"),
        ("DECIMAL(10, 2)", "FLOAT"),
        ("STRING", "VARCHAR(3)"),
        ("CHAR(5)", "CHAR(3)"),
        ("BINARY(3)", "VARBINARY(2)"),
        ("TIMESTAMP(3)", "DATE"),
        ("TIMESTAMP_LTZ(3)", "TIMESTAMP(3)"),
        ("ARRAY<INT>", "ARRAY<BIGINT>"),
        ("ROW<a INT, b STRING>", "ROW<x BIGINT, y STRING>"),
    ],
)
def test_values_widen_by_themselves(source: str, target: str) -> None:
    assert implicitly_castable(parse_type(source), parse_type(target))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("BIGINT", "INT"),
        ("DOUBLE", "FLOAT"),
        ("STRING", "INT"),
        ("STRING", "CHAR(3)"),
        ("VARBINARY(3)", "BINARY(3)"),
        ("DATE", "TIMESTAMP(3)"),
        ("BOOLEAN", "INT"),
        ("ROW<a INT>", "ROW<a INT, b INT>"),
    ],
)
def test_what_may_lose_something_needs_a_cast(source: str, target: str) -> None:
    assert not implicitly_castable(parse_type(source), parse_type(target))
