"""The plain-Python halves: Java's date patterns, formatter, random numbers; JSON paths; Roaring bitmaps."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common import java_time, roaring
from penstock.sql.functions import json_documents
from penstock.sql.functions.formatter import FormatError, java_format
from penstock.sql.functions.java_random import JavaRandom
from penstock.sql.functions.udfs import UDFS, required_udfs

MOMENT = dt.datetime(2024, 5, 6, 7, 8, 9, 123000)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("EEE, dd MMM yyyy", "Mon, 06 May 2024"),
        ("EEEE MMMM", "Monday May"),
        ("DDD", "127"),
        ("'at' HH", "at 07"),
        ("h:mm a", "7:08 AM"),
        ("YYYY w e", "2024 19 2"),
    ],
)
def test_a_moment_is_written_by_java_patterns(pattern: str, expected: str) -> None:
    assert java_time.format_time(MOMENT, pattern) == expected


def test_parsing_clips_the_thirtieth_of_february_but_refuses_the_thirty_second() -> None:
    assert java_time.parse("2024-02-30", "yyyy-MM-dd") == dt.datetime(2024, 2, 29)
    assert java_time.parse("2024-02-32", "yyyy-MM-dd") is None


def test_lenient_parsing_rolls_over_and_ignores_the_rest() -> None:
    found = java_time.parse_lenient("2024-02-30 and more", "yyyy-MM-dd")
    assert found is not None and found.moment(lenient=True) == dt.datetime(2024, 3, 1)


def test_an_unknown_pattern_letter_is_named() -> None:
    with pytest.raises(java_time.PatternError, match="'b'"):
        java_time.tokens("bad")


@given(st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 1, 1)))
def test_what_a_pattern_writes_it_reads_back(moment: dt.datetime) -> None:
    pattern = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"
    assert java_time.parse(java_time.format_time(moment, pattern), pattern) == moment


def test_an_hour_that_a_clock_change_repeats_is_the_later_one() -> None:
    zone = java_time.zone_of("America/New_York")
    assert zone is not None
    assert java_time.to_epoch(dt.datetime(2024, 11, 3, 1, 30), zone) == 1730615400
    assert java_time.to_epoch(dt.datetime(2024, 3, 10, 2, 30), zone) == 1710055800


def test_the_formatter_writes_what_java_writes() -> None:
    assert java_format("%2$s %1$s %%", "a", "b") == "b a %"
    assert java_format("%,d %05d", 1234567, -1) == "1,234,567 -0001"
    assert java_format("%.2f %e|%5s|%-3s|", 1.005, 1.005, None, "x") == "1.01 1.005000e+00| null|x  |"


def test_the_formatter_refuses_a_letter_that_does_not_fit() -> None:
    with pytest.raises(FormatError):
        java_format("%d", "x")


def test_seeded_random_numbers_are_those_of_the_jdk() -> None:
    numbers = JavaRandom(7)
    assert [numbers.next_int(100) for _ in range(4)] == [36, 64, 85, 44]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$.a[0].b", 1),
        ("$.a[-1].b", 2),
        ("$['x y']", "q"),
        ("$.a[*].b", [1, 2]),
        ("$..b", [1, 2]),
        ("$.a[?(@.b > 1)]", [{"b": 2}]),
        ("lax $.nope", None),
    ],
)
def test_paths_find_what_they_name(path: str, expected: object) -> None:
    document = '{"a": [{"b": 1}, {"b": 2}], "x y": "q"}'
    assert json_documents.query(document, path)[1] == expected


def test_a_strict_path_that_finds_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="nothing"):
        json_documents.query("{}", "$.a")


@given(st.sets(st.integers(-(2**31), 2**31 - 1), max_size=200))
def test_a_bitmap_gives_back_its_numbers(numbers: set[int]) -> None:
    assert {roaring.signed(v) for v in roaring.load(roaring.dump(numbers))} == numbers


def test_a_dense_bitmap_gives_back_its_numbers() -> None:
    assert roaring.load(roaring.dump(range(10_000))) == set(range(10_000))


def test_the_udfs_of_a_text_are_found() -> None:
    assert required_udfs("SELECT penstock_initcap(c0), penstock_nope(1)") == ["initcap"]


def test_a_udf_answers_null_to_null() -> None:
    assert UDFS["initcap"].function(None) is None
