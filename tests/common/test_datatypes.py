"""Types: their three texts, equality, and that the parser reads back what is printed."""

from __future__ import annotations

import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import DataTypes, DecimalType, RowType
from penstock.common.errors import ValidationError


@pytest.mark.parametrize(
    ("text", "summary", "short"),
    [
        ("INT", "INT", "INT"),
        ("INTEGER NOT NULL", "INT NOT NULL", "INT"),
        ("STRING", "STRING", "VARCHAR"),
        ("VARCHAR(20)", "VARCHAR(20)", "VARCHAR"),
        ("CHARACTER VARYING(3)", "VARCHAR(3)", "VARCHAR"),
        ("DECIMAL(10, 2)", "DECIMAL(10, 2)", "DECIMAL"),
        ("NUMERIC", "DECIMAL(10, 0)", "DECIMAL"),
        ("BYTES", "BYTES", "VARBINARY"),
        ("DOUBLE PRECISION", "DOUBLE", "DOUBLE"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)", "LOCALZONEDTIMESTAMP"),
        ("TIME", "TIME(0)", "TIME"),
        ("ARRAY<INT NOT NULL>", "ARRAY<INT NOT NULL>", "ARRAY"),
        ("INT ARRAY", "ARRAY<INT>", "ARRAY"),
        ("MULTISET<STRING>", "MULTISET<STRING>", "MULTISET"),
        ("MAP<STRING, ROW<a INT, `b c` DATE>>", "MAP<STRING, ROW<`a` INT, `b c` DATE>>", "MAP"),
        ("INTERVAL DAY TO SECOND(3)", "INTERVAL DAY(2) TO SECOND(3)", "DAYTIMEINTERVAL"),
        ("INTERVAL YEAR TO MONTH", "INTERVAL YEAR(2) TO MONTH", "YEARMONTHINTERVAL"),
    ],
)
def test_a_type_text_is_read_and_printed_as_flink_does(text: str, summary: str, short: str) -> None:
    data_type = parse_type(text)
    assert data_type.as_summary() == summary
    assert str(data_type) == short
    assert parse_type(data_type.as_sql()) == data_type


@pytest.mark.parametrize(
    "text", ["INTT", "DECIMAL(40, 0)", "ARRAY<>", "ROW<a>", "INT INT", "TIMESTAMP(10)", ""]
)
def test_a_text_that_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        parse_type(text)


def test_nullability_belongs_to_the_type() -> None:
    assert DataTypes.INT() != DataTypes.INT(False)
    assert DataTypes.INT(False).nullable() == DataTypes.INT()
    assert DataTypes.INT().not_null().as_sql() == "INT NOT NULL"
    assert hash(DataTypes.STRING()) == hash(DataTypes.STRING())


def test_a_row_type_gives_fields_by_name_position_and_slice() -> None:
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.STRING())])
    assert row["b"].data_type == DataTypes.STRING()
    assert row[0].name == "a"
    assert isinstance(row[1:], RowType) and row[1:].field_names() == ["b"]
    with pytest.raises(KeyError):
        row["c"]


def test_a_decimal_with_more_scale_than_precision_is_refused() -> None:
    with pytest.raises(ValidationError, match="DECIMAL"):
        DecimalType(2, 3)


@pytest.mark.parametrize(
    ("text", "program", "statement"),
    [
        ("VARCHAR", "VARCHAR(1)", "STRING"),
        ("VARBINARY", "VARBINARY(1)", "BYTES"),
        ("CHARACTER VARYING", "VARCHAR(1)", "STRING"),
        ("ARRAY<VARCHAR>", "ARRAY<VARCHAR(1)>", "ARRAY<STRING>"),
        ("CHAR", "CHAR(1)", "CHAR(1)"),
        ("BINARY", "BINARY(1)", "BINARY(1)"),
        ("VARCHAR(3)", "VARCHAR(3)", "VARCHAR(3)"),
    ],
)
def test_texts_without_a_length_are_as_long_as_can_be_in_a_statement(
    text: str, program: str, statement: str
) -> None:
    assert parse_type(text) == parse_type(program)
    assert parse_type(text, in_sql=True) == parse_type(statement)
