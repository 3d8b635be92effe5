"""Functions with constant patterns are Catalyst expressions, and give what the Python functions they replace give."""

from __future__ import annotations

import datetime as dt
import random
from typing import Any

import pytest

from penstock.common import java_time
from penstock.common.datatypes import DataTypes
from penstock.sql.functions import FUNCTIONS, Arg, string
from penstock.sql.functions.regex_shape import group_of, is_good_pattern
from penstock.sql.functions.udfs import UDFS, required_udfs
from tests.sql.functions.evaluation import session

DATE_PATTERNS = [
    "yyyy-MM-dd HH:mm:ss.SSS",
    "EEE, d MMM yyyy HH:mm:ss",
    "EEEE MMMM dd yy",
    "h:mm a",
    "hh 'o''clock' a",
    "k K kk KK H m s",
    "D DDD Q u uuuu",
    "EEEEE MMMMM L LL LLL",
    "'{0}' yyyyMMddHHmmssSSSSSS",
]
REGEXES = [
    ("(&|^)channel_id=([^&]*)", 2),
    ("(&|^)channel_id=([^&]*)", 1),
    ("(a)?b", 1),
    ("(a)|(b)", 2),
    ("([a-z]{2,3})-(\\d+)?", 2),
    ("(?:x|(y))z*", 1),
    ("a*", 0),
    ("(?i)(B+)", 1),
    ("(a)", 2),
]
TEXTS = [
    "",
    "channel_id=12",
    "x&channel_id=&b",
    "b",
    "ab",
    "abc-77",
    "abc-",
    "yzz",
    "xz",
    "BB",
    "aaab",
    "none",
]


def _call(name: str, text: str, kind: Any, *constants: Any) -> str:
    args = [Arg(text, kind)]
    for value in constants:
        is_text = isinstance(value, str)
        made = DataTypes.STRING(False) if is_text else DataTypes.INT(False)
        args.append(Arg(string(value) if is_text else str(value), made, value))
    return FUNCTIONS[name].spark(args, DataTypes.STRING())


def _moments() -> list[dt.datetime]:
    random.seed(7)
    start = dt.datetime(1900, 1, 1)
    made = [start + dt.timedelta(microseconds=random.randrange(8_000_000_000_000_000)) for _ in range(60)]
    odd = [
        "0001-01-01 00:00:00",
        "1969-12-31 23:59:59.999999",
        "2000-02-29 12:00:00",
        "9999-12-31 00:30:00.5",
    ]
    return made + [dt.datetime.fromisoformat(text.ljust(26, "0") if "." in text else text) for text in odd]


@pytest.mark.spark
def test_date_patterns_of_constant_letters_need_no_python() -> None:
    texts = [_call("DATE_FORMAT", "t", DataTypes.TIMESTAMP(6), pattern) for pattern in DATE_PATTERNS]
    assert [required_udfs(text) for text in texts] == [[]] * len(texts)
    moments = _moments()
    frame = session().createDataFrame([(m,) for m in moments] + [(None,)], "t timestamp_ntz")
    rows = frame.selectExpr(*(f"{text} AS c{i}" for i, text in enumerate(texts))).collect()
    wanted = [tuple(java_time.format_time(m, pattern) for pattern in DATE_PATTERNS) for m in moments]
    assert [tuple(row) for row in rows] == [*wanted, (None,) * len(texts)]


def test_date_patterns_of_other_letters_stay_with_python() -> None:
    for pattern in ("YYYY", "G", "w", "e", "yyyyy"):
        assert required_udfs(_call("DATE_FORMAT", "t", DataTypes.TIMESTAMP(6), pattern)) == ["date_format"]


def test_a_zone_of_a_timestamp_without_one_is_an_error_at_run_time() -> None:
    assert "raise_error('a timestamp has no zone" in _call("DATE_FORMAT", "t", DataTypes.TIMESTAMP(6), "VV")


@pytest.mark.spark
def test_a_group_that_takes_no_part_is_null_also_in_catalyst() -> None:
    texts = [_call("REGEXP_EXTRACT", "s", DataTypes.STRING(), *regex) for regex in REGEXES]
    assert [required_udfs(text) for text in texts] == [[]] * len(texts)
    frame = session().createDataFrame([(text,) for text in TEXTS] + [(None,)], "s string")
    rows = frame.selectExpr("s", *(f"{text} AS c{i}" for i, text in enumerate(texts))).collect()
    for row in rows[:-1]:
        assert list(row[1:]) == [_found(pattern, number, row.s) for pattern, number in REGEXES], row.s
    assert list(rows[-1]) == [None] * (len(texts) + 1)


def _found(pattern: str, number: int, text: str) -> str | None:
    import re

    match = re.search(pattern, text, re.ASCII)
    return match[number] if match and number <= match.re.groups else None


def test_a_group_that_may_be_empty_or_absent_stays_with_python() -> None:
    assert required_udfs(_call("REGEXP_EXTRACT", "s", DataTypes.STRING(), "(a*)?b|c", 1)) == [
        "regexp_extract"
    ]


def test_what_is_known_of_a_group() -> None:
    group = group_of("(a)(b*)(?:(c)|d)(e)*(?=(f))(?!(g))", 1)
    assert group is not None and group.always and not group.may_be_empty
    facts = [group_of("(a)(b*)(?:(c)|d)(e)*(?=(f))(?!(g))", number) for number in range(1, 8)]
    assert [(f.always, f.may_be_empty) if f else None for f in facts] == [
        (True, False), (True, True), (False, False), (False, False), (True, False), (False, False), None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "pattern", ["[[]", "[a&&b]", "(?P<n>a)", "(?#a)", "a{,3}", "{", "[\\b]", "\\p{Alpha}", "a**", "[]a]"]
)
def test_what_java_may_read_in_another_way_is_not_plain(pattern: str) -> None:
    assert not is_good_pattern(pattern)


@pytest.mark.spark
def test_timestamps_of_fixed_width_are_read_without_python() -> None:
    patterns = ["dd.MM.yyyy", "dd/MM/yyyy HH:mm", "yyyyMMddHHmmss", "yyyy/MM/dd'T'HH:mm:ss.SSSSSS"]
    texts = [
        "31.12.1999",
        "30.02.2024",
        "32.01.2024",
        "01.13.2024",
        "31/12/1999 23:15",
        "31/12/1999 24:15",
        "x",
        "",
    ]
    texts += [
        "20240229101112",
        "2024/02/29T10:11:12.123456",
        " 2024-02-29 1:2:3.4567 ",
        "2023-02-30",
        "0000/01/01",
    ]
    rendered = [_call("TO_TIMESTAMP", "s", DataTypes.STRING(), pattern) for pattern in patterns]
    assert [required_udfs(text) for text in rendered] == [[]] * len(patterns)
    frame = session().createDataFrame([(text,) for text in texts], "s string")
    rows = frame.selectExpr(*(f"{text} AS c{i}" for i, text in enumerate(rendered))).collect()
    read = UDFS["to_timestamp"].function
    assert [list(row) for row in rows] == [[read(text, pattern, 3) for pattern in patterns] for text in texts]
