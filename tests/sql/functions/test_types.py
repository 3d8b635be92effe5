"""Result types and refusals, which need no Spark."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.errors import ValidationError
from penstock.sql.functions import FUNCTIONS, ArgType, common_type, find
from tests.sql.functions.evaluation import Target, Typed, result_type

INT, STRING = Typed(None, DataTypes.INT()), Typed(None, DataTypes.STRING())


def decimal(precision: int, scale: int) -> Typed:
    return Typed(None, DataTypes.DECIMAL(precision, scale))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("+", (decimal(10, 2), decimal(5, 1)), "DECIMAL(11, 2)"),
        ("*", (decimal(38, 18), decimal(10, 2)), "DECIMAL(38, 9)"),
        ("/", (decimal(10, 2), 3), "DECIMAL(21, 13)"),
        ("%", (decimal(10, 2), decimal(5, 1)), "DECIMAL(6, 2)"),
        ("%", (Typed(None, DataTypes.BIGINT()), INT), "INT"),
        ("+", (Typed(None, DataTypes.FLOAT()), Typed(None, DataTypes.DOUBLE())), "FLOAT"),
        ("||", ("a", "bc"), "CHAR(3) NOT NULL"),
        ("CASE", (True, 1, Decimal("2.5")), "DECIMAL(11, 1) NOT NULL"),
        ("COALESCE", (INT, 1), "INT NOT NULL"),
        ("ROUND", (decimal(10, 3),), "DECIMAL(8, 0)"),
        ("ARRAY", ("a", "bcd"), "ARRAY<VARCHAR(3) NOT NULL> NOT NULL"),
        ("SUBSTRING", ("abc", 2), "VARCHAR(3)"),
        ("MD5", (STRING,), "CHAR(32)"),
        ("TO_TIMESTAMP_LTZ", (INT, 6), "TIMESTAMP_LTZ(6)"),
        ("TIMESTAMPADD", ("HOUR", 1, dt.date(2024, 1, 1)), "TIMESTAMP(6) NOT NULL"),
        ("TRY_CAST", ("1", Target(DataTypes.INT())), "INT"),
        ("SUM", (decimal(5, 2),), "DECIMAL(38, 2)"),
        ("AVG", (decimal(5, 2),), "DECIMAL(38, 6)"),
        ("AVG", (INT,), "INT"),
        ("COLLECT", (STRING,), "MULTISET<STRING> NOT NULL"),
        ("ROW_NUMBER", (), "BIGINT NOT NULL"),
    ],
)
def test_the_result_type_is_flinks(name: str, values: tuple[Any, ...], expected: str) -> None:
    assert result_type(name, *values).as_summary() == expected


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("UPPER", (1,), "cannot apply UPPER to (INT)"),
        ("+", (1, True), "cannot apply + to (INT, BOOLEAN)"),
        ("=", (STRING, INT), "cannot apply = to (STRING, INT)"),
        ("COALESCE", (1, [1]), "cannot apply COALESCE"),
        ("CAST", (True, Target(DataTypes.DATE())), "cannot cast BOOLEAN NOT NULL to DATE"),
        ("ITEM", ([1, 2], 0), "index starting at 1 but was 0"),
        ("FLOOR", (dt.date(2024, 1, 1), "FORTNIGHT"), "FORTNIGHT is not a unit of time"),
        ("COUNT", (1, 2), "it takes one value"),
        ("JSON_OBJECT", ("NULL", "d", dt.date(2024, 1, 1)), "cannot be converted into JSON"),
        ("ENCODE", (STRING, "no-such-charset"), "unknown character set"),
        ("SHA2", (STRING, 100), "no digest of 100 bits"),
    ],
)
def test_wrong_arguments_are_refused(name: str, values: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        result_type(name, *values)
    assert message in str(refusal.value)


def test_the_common_type_of_numbers_keeps_all_digits() -> None:
    found = common_type([DataTypes.INT(False), DataTypes.DECIMAL(4, 2, False), DataTypes.BIGINT(False)])
    assert found is not None and found.as_summary() == "DECIMAL(21, 2) NOT NULL"


def test_text_and_numbers_have_no_common_type() -> None:
    assert common_type([DataTypes.INT(), DataTypes.STRING()]) is None


def test_an_unknown_function_suggests_a_near_one() -> None:
    with pytest.raises(ValidationError, match="SUBSTRING"):
        find("substrin")


def test_every_function_refuses_far_too_many_arguments_or_takes_them() -> None:
    """No definition falls over with an error of another kind."""
    many = [ArgType(DataTypes.DESCRIPTOR() if hasattr(DataTypes, "DESCRIPTOR") else DataTypes.VARIANT())] * 9
    for definition in set(FUNCTIONS.values()):
        try:
            assert isinstance(definition.infer(many), DataType)
        except Exception as error:
            assert hasattr(error, "what"), f"{definition.name}: {error!r}"
