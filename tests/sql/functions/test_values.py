"""What functions answer: every expectation was given by Apache Flink 2.3."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pytest

from penstock.common.datatypes import DataTypes
from tests.sql.functions.evaluation import Target, Typed, evaluate_all

NULL_INT, NULL_STRING = Typed(None, DataTypes.INT()), Typed(None, DataTypes.STRING())
MAX_INT, NAN = 2**31 - 1, math.nan
TS = dt.datetime(2024, 5, 16, 13, 44, 31, 567000)


def text(value: str | None) -> Typed:
    return Typed(value, DataTypes.STRING())


CASES: list[tuple[str, tuple[Any, ...], Any]] = [
    # arithmetic
    ("/", (-7, 2), -3),
    ("%", (-7, 2), -1),
    ("+", (MAX_INT, 1), -(2**31)),
    ("/", (Typed(1.0, DataTypes.DOUBLE()), Typed(0.0, DataTypes.DOUBLE())), math.inf),
    ("/", (Typed(0.0, DataTypes.DOUBLE()), Typed(0.0, DataTypes.DOUBLE())), NAN),
    ("/", (Decimal("10.00"), 3), Decimal("3.3333333333333")),
    ("LN", (0,), -math.inf),
    ("LOG", (2, -1), NAN),
    ("LOG", (1, 5), math.inf),
    ("ROUND", (125, -1), 130),
    ("ROUND", (Decimal("1.2345"), 2), Decimal("1.23")),
    ("TRUNCATE", (-0.4,), 0.0),
    ("TRUNCATE", (1999, -2), 1900),
    ("CEIL", (1e20,), 1e20),
    ("SIGN", (Decimal("-2.5"),), Decimal("-1.0")),
    ("UNHEX", ("466",), b"\x00\x66"),
    ("RAND", (5,), 0.730519863614471),
    ("RAND_INTEGER", (7, 100), 36),
    # comparison
    ("IN", (2, Decimal("1.0"), Decimal("2.5")), True),
    (">", (Typed(math.nan, DataTypes.DOUBLE()), 1), False),
    ("=", ("abc", "abc "), False),
    ("BETWEEN SYMMETRIC", (5, 10, 1), True),
    ("LIKE", (text("x\ny"), "x_y"), False),
    ("LIKE", (text("hello\nworld"), "%l%o%"), True),
    ("LIKE", (text("a\\xb"), "a\\_b"), True),
    ("LIKE", (text("a_b"), "a#_b", "#"), True),
    ("NOT LIKE", (text("abc"), "a%"), False),
    ("SIMILAR TO", (text("defg"), "(abc|def)%"), True),
    ("SIMILAR TO", (text("aaaa"), "a{2,3}"), False),
    ("GREATEST", (5, NULL_INT), None),
    # text
    ("SUBSTRING", (text("flink sql"), -20, 15), ""),
    ("SUBSTRING", (text("flink sql"), 2, -1), None),
    ("SUBSTRING", (text("añ😀b"), 2, 2), "ñ😀"),
    ("OVERLAY", (text("abcdef"), "Z", 3, 0), "abZ"),
    ("OVERLAY", (text("abcdef"), "XY", 9), "abcdef"),
    ("LOCATE", ("an", text("banana"), 0), 2),
    ("LPAD", (text("hi"), 4, text("")), None),
    ("LPAD", (text("hi"), 5, "?!"), "?!?hi"),
    ("INITCAP", (text("o'neil-smith éa"),), "O'Neil-Smith éA"),
    ("SPLIT", (text("a.b.c"), "."), ["a", "b", "c"]),
    ("SPLIT", (text(""), ","), []),
    ("SPLIT_INDEX", (text(",a,,b,"), ",", 3), "b"),
    ("SPLIT_INDEX", (text("a,b"), 44, 1), "b"),
    ("STR_TO_MAP", (text("a=1,a=2"),), {"a": "2"}),
    ("REPLACE", (text("hello"), text(""), "x"), "xhxexlxlxox"),
    ("TRANSLATE", (text("hello"), "l", NULL_STRING), "heo"),
    ("ASCII", (text("é"),), -61),
    ("PRINTF", ("%05d|%-5s|%x", -1, text("yy"), -1), "-0001|yy   |ffffffff"),
    ("PRINTF", ("%d", text("x")), None),
    ("ELT", (9, "one", "two"), None),
    ("INET_ATON", (text("127.1"),), 2130706433),
    ("INET_NTOA", (-1,), None),
    ("URL_DECODE", (text("%zz"),), None),
    ("JSON_QUOTE", (text("é/\n"),), '"\\u00e9\\/\\n"'),
    ("TO_BASE64", (text("x" * 60),), "eHh4" * 20),
    # regular expressions
    ("REGEXP_REPLACE", (text("ab"), r"(\w)(\w)", "$2$1"), "$2$1"),
    ("REGEXP_EXTRACT", (text("a"), "(a)(b)?", 2), None),
    ("REGEXP_EXTRACT", (text("foo-12"), "([a-z]+)-([0-9]+)", 2), "12"),
    ("REGEXP_EXTRACT", (text("FOO"), "[a-z]+"), None),
    ("REGEXP", (text("a(b"), text("(b")), False),
    ("REGEXP_COUNT", (text("abc"), text("[")), None),
    ("REGEXP_SUBSTR", (text(""), text("a*")), ""),
    ("LIKE", (text("a special b\nrequests"), "%special%requests%"), True),
    ("LIKE", (text("requests special"), "%special%requests%"), False),
    ("LIKE", (text("aab"), "_a%b_"), False),
    ("LIKE", (text("xaybz"), "_a%b_"), True),
    # casts
    ("CAST", (b"abc\x00\xff", Target(DataTypes.STRING())), "abc\x00\ufffd"),
    ("TRY_CAST", (text("-42.99"), Target(DataTypes.INT())), -42),
    ("TRY_CAST", (text("1e3"), Target(DataTypes.INT())), None),
    ("TRY_CAST", (text("\t12"), Target(DataTypes.INT())), None),
    ("TRY_CAST", (text("2024-02-30"), Target(DataTypes.TIMESTAMP(3))), dt.datetime(2024, 2, 29)),
    ("TRY_CAST", (text("2024-02-29T12:34:56"), Target(DataTypes.TIMESTAMP(3))), None),
    ("TRY_CAST", (text("1"), Target(DataTypes.DATE())), dt.date(1, 1, 1)),
    ("TRY_CAST", (text("on"), Target(DataTypes.BOOLEAN())), None),
    ("CAST", (300, Target(DataTypes.TINYINT())), 44),
    ("CAST", (1e10, Target(DataTypes.INT())), MAX_INT),
    ("CAST", (Decimal("12345.67"), Target(DataTypes.DECIMAL(6, 2))), None),
    ("CAST", (True, Target(DataTypes.STRING())), "TRUE"),
    ("CAST", (TS, Target(DataTypes.STRING())), "2024-05-16 13:44:31.567"),
    ("CAST", (Decimal("0.00000012"), Target(DataTypes.STRING())), "0.00000012"),
    ("CAST", ("abc", Target(DataTypes.CHAR(5))), "abc  "),
    ("CAST", ("hi", Target(DataTypes.BINARY(4))), b"hi\x00\x00"),
    # time
    ("EXTRACT", ("WEEK", dt.date(2023, 1, 1)), 52),
    ("EXTRACT", ("MILLISECOND", TS), 567),
    ("FLOOR", (TS, "WEEK"), dt.datetime(2024, 5, 12)),
    ("FLOOR", (TS, "CENTURY"), dt.datetime(2001, 1, 1)),
    ("CEIL", (TS, "QUARTER"), dt.datetime(2024, 7, 1)),
    ("TIMESTAMPDIFF", ("MONTH", dt.date(2024, 1, 31), dt.date(2024, 2, 29)), 1),
    ("TIMESTAMPDIFF", ("MONTH", dt.datetime(2024, 1, 31, 10), dt.datetime(2024, 2, 29, 9)), 0),
    ("TIMESTAMPADD", ("MONTH", 1, dt.date(2024, 1, 31)), dt.date(2024, 2, 29)),
    ("DATE_FORMAT", (TS, "d/M/yy h:mm a"), "16/5/24 1:44 PM"),
    ("DATE_FORMAT", (TS, "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"), "2024-05-16T13:44:31.567000"),
    ("TO_TIMESTAMP", (text("nonsense"),), None),
    ("TO_TIMESTAMP", (text("20240229010203"), "yyyyMMddHHmmss"), dt.datetime(2024, 2, 29, 1, 2, 3)),
    ("UNIX_TIMESTAMP", (text("garbage"),), -(2**63)),
    ("CONVERT_TZ", (text("2024-11-03 01:30:00"), "America/New_York", "UTC"), "2024-11-03 06:30:00"),
    # collections
    ("ITEM", ([1, 2], 9), None),
    ("ARRAY_CONTAINS", ([1, 2], NULL_INT), False),
    ("ARRAY_SORT", ([3, 1, 2], False), [3, 2, 1]),
    ("ARRAY_SLICE", ([3, 1, 2], -2, -1), [1, 2]),
    ("ARRAY_SLICE", ([3, 1, 2], 0, 2), [3, 1]),
    # JSON
    ("JSON_VALUE", (text('{"l": [1, 2.50]}'), "$.l[1]"), "2.50"),
    ("JSON_VALUE", (text("not json"), "$.a"), None),
    ("JSON_VALUE", (text('{"n": null}'), "$.n", "NULL", "DEFAULT", "empty", "DEFAULT", "wrong"), "wrong"),
    ("JSON_VALUE", (text('{"n": null}'), "lax $.n", "NULL", "DEFAULT", "empty", "DEFAULT", "wrong"), "empty"),
    ("JSON_EXISTS", (text('{"n": null}'), "$.n"), False),
    ("JSON_QUERY", (text('{"b": 1, "a": [ ]}'), "$"), '{"a":[],"b":1}'),
    ("JSON_QUERY", (text('{"r": [{"c": 1}, {"c": 2}]}'), "lax $.r[*].c"), "[1,2]"),
    ("JSON_OBJECT", ("NULL", "z", 1, "a", NULL_STRING), '{"a":null,"z":1}'),
    ("JSON_ARRAY", ("ABSENT", 1, NULL_STRING, "x"), '[1,"x"]'),
    ("JSON_STRING", (1e20,), "1.0E+20"),
    ("IS JSON", (text("{a: 1}"),), False),
    ("MD5", (b"abc",), "900150983cd24fb0d6963f7d28e17f72"),
    ("TO_BASE64", (b"\xff\x00\xfe",), "/wD+"),
    ("IS_DIGIT", (5,), True),
    ("IS_DIGIT", (1.5,), False),
    ("IS_ALPHA", (5,), False),
    ("SHA2", ("abc", 224), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
]


@pytest.fixture(scope="module")
def answers() -> list[Any]:
    return evaluate_all([(name, values) for name, values, _ in CASES])


@pytest.mark.spark
@pytest.mark.parametrize("place", range(len(CASES)), ids=[f"{n}{v}" for n, v, _ in CASES])
def test_a_function_answers_as_flink_does(answers: list[Any], place: int) -> None:
    expected, given = CASES[place][2], answers[place]
    if isinstance(expected, float) and math.isnan(expected):
        assert math.isnan(given)
    elif isinstance(expected, float) and math.isfinite(expected):
        assert given == pytest.approx(expected, rel=1e-12)
    else:
        assert (bytes(given) if isinstance(expected, bytes) else given) == expected
