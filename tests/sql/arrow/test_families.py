"""One or two sharp cases per family, without Spark; `test_as_spark.py` has the many."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from penstock.common.errors import JobExecutionError
from penstock.sql.arrow import compile_columns
from penstock.sql.arrow.clock_text import date_text, spark_text
from penstock.sql.arrow.days import add_months, civil, days_of, iso_week, weekday
from penstock.sql.arrow.decimals import divided, long_column, rescaled
from penstock.sql.arrow.java_patterns import python_pattern
from penstock.sql.arrow.letters import lower, upper
from penstock.sql.arrow.reading import read_decimal, read_double, read_integer, read_timestamp
from penstock.sql.arrow.zones import fixed_offset
from tests.sql.arrow import nasty


def evaluate(sql: str, **columns: Any) -> list[Any]:
    """The expression where the named columns have these values and the others are NULL."""
    [expression] = compile_columns(nasty.typed(sql), "UTC") or []
    rows = len(next(iter(columns.values())))
    table = []
    for name, own in zip(nasty.column_names(), nasty.table().columns, strict=True):
        table.append(pa.array(columns.get(name, [None] * rows), own.type))
    return expression(table, rows).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("sql", "columns", "expected"),
    [
        ("i1 + i2", {"i1": [2**31 - 1, None], "i2": [1, 1]}, [-(2**31), None]),
        ("i1 / i2", {"i1": [-7, -(2**31)], "i2": [2, -1]}, [-3, -(2**31)]),
        ("i1 % i2", {"i1": [-7, 7, -(2**31)], "i2": [2, -2, -1]}, [-1, 1, 0]),
        ("q1 * q1", {"q1": [Decimal("99999999999999999999"), Decimal("1.5")]}, [None, Decimal("2.250000")]),
        ("p1 / 3", {"p1": [Decimal("10.00")]}, [Decimal("3.3333333333333")]),
        ("d1 = d2", {"d1": [math.nan, 0.0, None], "d2": [math.nan, -0.0, 1.0]}, [False, True, None]),
        ("d1 < d2", {"d1": [None, None, 1.0], "d2": [math.nan, 1.0, math.nan]}, [None, None, False]),
        ("i1 IN (1, NULL)", {"i1": [1, 2, None]}, [True, None, None]),
        ("b1 AND b2", {"b1": [None, None, True], "b2": [False, True, None]}, [False, None, None]),
        ("CASE WHEN i2 <> 0 THEN i1 / i2 ELSE -1 END", {"i1": [4, 4, 4], "i2": [2, 0, None]}, [2, -1, -1]),
        ("i2 <> 0 AND i1 / i2 > 1", {"i1": [4, 4], "i2": [2, 0]}, [True, False]),
        ("COALESCE(i1, i2 / i2)", {"i1": [3, None], "i2": [0, 5]}, [3, 1]),
        ("NULLIF(x1, 'a')", {"x1": ["a", "b", None]}, [None, "b", None]),
        ("GREATEST(d1, d2)", {"d1": [math.inf, 1.0], "d2": [1.0, None]}, [math.inf, None]),
        ("CAST(l1 AS TINYINT)", {"l1": [300, None]}, [44, None]),
        ("CAST(p1 AS DECIMAL(3, 1))", {"p1": [Decimal("2.25"), Decimal("99.95")]}, [Decimal("2.3"), None]),
        ("CAST(c1 AS CHAR(3))", {"c1": ["ab", "abcde"]}, ["ab ", "abc"]),
        ("DATE_FORMAT(m1, 'yyyy-MM-dd HH')", {"m1": [dt.datetime(1969, 12, 31, 23, 59)]}, ["1969-12-31 23"]),
        ("SUBSTRING(x1, -2)", {"x1": ["a😀b", "x"]}, ["😀b", ""]),
        ("SPLIT_INDEX(x1, '/', 3)", {"x1": ["https://h/a", "a/b"]}, ["a", None]),
        ("x1 LIKE 'a_c%'", {"x1": ["abc", "a\nc", None]}, [True, False, None]),
        ("o1.r.c", {"o1": [{"a": 1, "b": "", "r": {"c": 5}}, None]}, [5, None]),
        ("ai1[2]", {"ai1": [[1, 2], [1], None]}, [2, None, None]),
        (
            "JSON_VALUE(x1, '$.a' RETURNING INT DEFAULT 7 ON EMPTY)",
            {"x1": ['{"a": 3}', "{}", "no"]},
            [3, None, None],
        ),
    ],
)
def test_an_expression(sql: str, columns: dict[str, list[Any]], expected: list[Any]) -> None:
    assert evaluate(sql, **columns) == expected


@pytest.mark.parametrize(
    ("sql", "columns", "message"),
    [
        ("i1 / i2", {"i1": [None], "i2": [0]}, "/ by zero"),
        ("p1 / p2", {"p1": [Decimal(1)], "p2": [Decimal(0)]}, "Division by zero"),
        ("i1 % 0", {"i1": [1]}, "/ by zero"),
        ("CAST(n1 AS INT)", {"n1": ["12", "x"]}, "cannot cast 'x' to INT"),
        ("m1 > h1", {"m1": [None], "h1": ["x"]}, r"cannot cast 'x' to TIMESTAMP\(3\)"),
        ("TO_TIMESTAMP_LTZ(l1, 0)", {"l1": [2**62]}, "long overflow"),
    ],
)
def test_what_fails_in_spark_fails(sql: str, columns: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(JobExecutionError, match=message):
        evaluate(sql, **columns)


def test_the_calendar_is_pythons() -> None:
    days = np.arange(dt.date(1, 1, 1).toordinal(), dt.date(9999, 12, 31).toordinal(), 97) - 719_163
    year, month, day = civil(days)
    dates = [dt.date.fromordinal(int(d) + 719_163) for d in days]
    assert [(d.year, d.month, d.day) for d in dates] == list(zip(year, month, day, strict=True))
    assert (days_of(year, month, day) == days).all()
    assert [d.isocalendar()[:2] for d in dates] == list(zip(*iso_week(days), strict=True))
    assert [d.weekday() for d in dates] == weekday(days).tolist()
    assert int(add_months(days_of(2023, 1, 31), -11)) == int(days_of(2022, 2, 28))


def test_years_with_a_sign() -> None:
    assert date_text(int(days_of(12345, 1, 2))) == "+12345-01-02"
    assert spark_text(int(days_of(-5, 3, 1)) * 86_400_000_000) == "-0005-03-01 00:00:00"


def test_decimals_are_rounded_half_up_and_checked() -> None:
    assert [divided(n, 10) for n in (14, 15, -15, -14)] == [1, 2, -2, -1]
    assert rescaled(5, 3) == 5000
    assert long_column([10**38], pa.decimal128(38, 0)).to_pylist() == [None]


def test_texts_are_read_as_spark_reads_them() -> None:
    assert [read_integer(32, t) for t in (" 42 ", ".", "1.9", "\t1", "1\n", "+")] == [42, 0, 1, None, 1, None]
    assert [read_double(t) for t in ("1d", "0x1p3", "inf", "1e400")] == [1.0, 8.0, None, math.inf]
    assert [read_decimal(38, 1, t) for t in ("0e50", "1e39", "0.05", "")] == [0, None, 1, None]
    assert read_timestamp(3, 0, "1970-01-31 00:00:00.1239") == 30 * 86_400_000_000 + 123_000
    assert read_timestamp(3, 0, "1970-02-30") == read_timestamp(3, 0, "1970-02-28")


@pytest.mark.parametrize(
    "pattern",
    [
        "(a)\\1",
        "a++",
        "(?=a)",
        "\\bx",
        "[a[b]]",
        "[a-z&&[b]]",
        "(a*)*",
        "(?m)^a",
        "x{1001}",
        "\\p{L}",
        "(",
        "[]a]",
    ],
)
def test_patterns_that_may_mean_something_else_are_refused(pattern: str) -> None:
    assert python_pattern(pattern) is None


def test_patterns_in_javas_meaning() -> None:
    dollar = python_pattern("a$")
    assert dollar is not None
    assert [bool(dollar.search(t)) for t in ("a", "a\n", "a\r\n", "a\u2028", "a\n\n")] == [True] * 4 + [False]
    dot = python_pattern("^.$")
    assert dot is not None and not dot.search("\u0085") and dot.search("😀")
    assert python_pattern("a*", may_be_empty=False) is None


def test_letters_beyond_pythons_unicode() -> None:
    assert upper("ɤ\U00010d70") == "\ua7cb\U00010d50"
    assert lower("ΑΣ \u0178Σ\u1c89") == "ας ÿσ\u1c8a"


def test_zones_of_one_offset() -> None:
    assert fixed_offset("GMT-08:30") == -30_600
    assert [fixed_offset(z) for z in ("Asia/Tokyo", "+25:00", "Etc/GMT+13", "EST")] == [None] * 4
