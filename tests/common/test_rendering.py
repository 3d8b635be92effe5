"""What `print()` shows; the expected texts are what Flink printed."""

from __future__ import annotations

import datetime
import decimal

import pytest

from penstock.common import Instant, Row, RowKind, Types
from penstock.common.rendering import java_float, render

T = Types
NESTED = T.TUPLE(
    [
        T.ROW([T.INT(), T.STRING()]),
        T.LIST(T.STRING()),
        T.MAP(T.STRING(), T.DOUBLE()),
        T.TUPLE([T.INT(), T.FLOAT()]),
    ]
)
TIMES = T.TUPLE([T.SQL_DATE(), T.SQL_TIME(), T.SQL_TIMESTAMP(), T.INSTANT()])


@pytest.mark.parametrize(
    "value, type_info, text",
    [
        ("text 3", T.STRING(), "text 3"),
        (True, T.BOOLEAN(), "true"),
        (
            (3, "t", 0.5, True),
            T.TUPLE([T.INT(), T.STRING(), T.DOUBLE(), T.BOOLEAN()]),
            "(3,t,0.5,true)",
        ),
        (Row(3, None, 2.0), T.ROW([T.INT(), T.STRING(), T.FLOAT()]), "+I[3,None,2.0]"),
        (
            Row(id=3, tags=["p", "q"]),
            T.ROW_NAMED(["id", "tags"], [T.INT(), T.LIST(T.STRING())]),
            "+I[3,['p', 'q']]",
        ),
        (Row.of_kind(RowKind.DELETE, 1), T.ROW([T.INT()]), "-D[1]"),
        (Row(0.10000000149011612, True), T.ROW([T.FLOAT(), T.BOOLEAN()]), "+I[0.1,True]"),
        ({"k": 3}, T.MAP(T.STRING(), T.INT()), "{k=3}"),
        ((3, ["any", None], {"o": 1}), None, "(3, ['any', None], {'o': 1})"),
        (
            (Row(1, None), ["p", "q"], {"a": 1.0, "b": 2e10}, (1, 0.1)),
            NESTED,
            "(+I[1, null],[p, q],{a=1.0, b=2.0E10},(1,0.1))",
        ),
        (1e7, T.DOUBLE(), "1.0E7"),
        (123456.789, T.DOUBLE(), "123456.789"),
        (1e-4, T.DOUBLE(), "1.0E-4"),
        (-1.5e-7, T.DOUBLE(), "-1.5E-7"),
        (0.001, T.DOUBLE(), "0.001"),
        (float("inf"), T.DOUBLE(), "Infinity"),
        (0.10000000149011612, T.FLOAT(), "0.1"),
        ([1.0, 2.5], T.LIST(T.DOUBLE()), "[1.0, 2.5]"),
        (
            ([1, 2], ["a"], b"\x01\xff"),
            T.TUPLE([T.PRIMITIVE_ARRAY(T.INT()), T.BASIC_ARRAY(T.STRING()), T.PRIMITIVE_ARRAY(T.BYTE())]),
            "([1, 2],[a],[1, -1])",
        ),
        (decimal.Decimal("1E+5"), T.BIG_DEC(), "1E+5"),
        (
            (
                datetime.date(2020, 1, 2),
                datetime.time(1, 2, 3),
                datetime.datetime(2020, 1, 2, 3, 4, 5, 120000),
                Instant(5, 120_000_000),
            ),
            TIMES,
            "(2020-01-02,01:02:03,2020-01-02 03:04:05.12,1970-01-01T00:00:05.120Z)",
        ),
        (datetime.datetime(2020, 1, 2, 3, 4, 5), T.SQL_TIMESTAMP(), "2020-01-02 03:04:05.0"),
        ({"k": Row(1, True)}, T.MAP(T.STRING(), T.ROW([T.INT(), T.BOOLEAN()])), "{k=+I[1, true]}"),
    ],
    ids=repr,
)
def test_values_print_as_in_flink(value, type_info, text):
    assert render(value, type_info) == text


def test_floats_print_with_the_digits_that_32_bits_need():
    assert java_float(1.100000023841858) == "1.1"
    assert java_float(float("nan")) == "NaN"
