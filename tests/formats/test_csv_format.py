"""CSV records in and out; every expectation was asked of Flink 2.3."""

from __future__ import annotations

import datetime as dt
import io
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.datatype_parser import parse_type
from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.formats import RecordContext
from penstock.formats.csv import CSV, CsvDecoder, CsvEncoder


def read(columns: str, text: str, **options: str) -> list[tuple[Any, ...]]:
    table = {f"csv.{key.replace('_', '-')}": value for key, value in options.items()}
    decoder = CsvDecoder(parse_type(f"ROW<{columns}>"), CSV.read_options(table))
    return [row for _, row in decoder.decode_lines(io.StringIO(text, newline=""), RecordContext("t.csv"))]


def write(columns: str, *row: Any, **options: str) -> str:
    table = {f"csv.{key.replace('_', '-')}": value for key, value in options.items()}
    return CsvEncoder(parse_type(f"ROW<{columns}>"), CSV.read_options(table)).encode(0, row).decode()


LENIENT = {"ignore_parse_errors": "true"}


def test_quoted_fields_hold_delimiters_quotes_and_line_ends() -> None:
    text = '1,"line one\nline ""two"""\r\n2,ab"cd\r\n3,"x" \n4,"e\r\nf"\n5, "g"\n'
    assert read("a INT, b STRING", text) == [
        (1, 'line one\nline "two"'),
        (2, 'ab"cd'),
        (3, "x"),
        (4, "e\r\nf"),
        (5, ' "g"'),
    ]


def test_lone_carriage_returns_end_lines() -> None:
    assert read("a STRING, b STRING", "1,2\r3,4\r\n5,6") == [("1", "2"), ("3", "4"), ("5", "6")]


def test_escapes_are_resolved_inside_and_outside_quotes() -> None:
    text = '1,a\\,b\n2,a\\"b\n3,"q\\"r"\n4,a\\nb\n'
    found = read("a INT, b STRING", text, escape_character="\\")
    assert [b for _, b in found] == ["a,b", 'a"b', 'q"r', "a\nb"]


def test_texts_keep_their_blanks_and_numbers_do_not() -> None:
    assert read("a STRING, b INT, c BOOLEAN", " s , 7 , true \n") == [(" s ", 7, True)]


def test_blank_lines_are_empty_texts_for_a_single_column() -> None:
    assert read("a STRING", "1\n\n2\n  \n3") == [("1",), ("",), ("2",), ("  ",), ("3",)]


def test_comments_and_blank_lines_are_skipped_where_comments_are_allowed() -> None:
    text = '#x,y\n 1,#y\n  # z,w\n\n   \n2,3 # no\n"#q",5\n'
    assert read("a STRING, b STRING", text, allow_comments="true") == [
        ("1", "#y"),
        ("2", "3 # no"),
        ("#q", "5"),
    ]


def test_the_null_literal_is_null_even_in_quotes() -> None:
    text = 'NULL,NULL\n"NULL",1\n NULL ,2\n'
    assert read("a STRING, b INT", text, null_literal="NULL") == [(None, None), (None, 1), (" NULL ", 2)]


def test_short_lines_are_filled_and_long_ones_skipped_only_when_errors_are_ignored() -> None:
    text = "1,x\n2,y,3\n\n4,z,5,6\n5,,6\n"
    columns = "a INT, b STRING, c INT"
    assert read(columns, text, **LENIENT) == [
        (1, "x", None),
        (2, "y", 3),
        (None, None, None),
        (5, "", 6),
    ]
    with pytest.raises(MalformedRecordError, match="3 fields expected, 2 found"):
        read(columns, text)
    with pytest.raises(MalformedRecordError, match="4 fields, but the table has 3"):
        read(columns, "4,z,5,6\n")


def test_a_delimiter_at_the_end_of_a_line_is_fine() -> None:
    assert read("a INT, b STRING", "1,x,\n") == [(1, "x")]


def test_broken_quotes_lose_their_line_only() -> None:
    text = '1,"x" y\n2,z\n3,"open\n4,w\n'
    assert read("a STRING, b STRING", text, **LENIENT) == [("2", "z")]
    with pytest.raises(MalformedRecordError, match="follows a closing quote") as caught:
        read("a STRING, b STRING", text)
    assert caught.value.where == "t.csv, line 1"


def test_values_are_parsed_as_java_does() -> None:
    columns = (
        "a TINYINT, d FLOAT, e DOUBLE, f BOOLEAN, g DECIMAL(5,2), h BYTES, i DATE, j TIME(3), k TIMESTAMP(6)"
    )
    text = (
        "1,1.5f,1e3,maybe,1.255,aGVs bG8=,2024-02-30,12:34,2024-02-30 12:34:56.123456\n"
        "+7,NaN,-Infinity,TRUE,99999.99,,2024-2-3,12:34:56.7891,2024-02-29 24:00:00\n"
    )
    first, second = read(columns, text)
    assert first == (
        1,
        1.5,
        1000.0,
        False,
        Decimal("1.26"),
        b"hello",
        dt.date(2024, 3, 1),
        dt.time(12, 34),
        dt.datetime(2024, 2, 29, 12, 34, 56, 123456),
    )
    assert second[2:] == (
        -float("inf"),
        True,
        None,
        b"",
        dt.date(2024, 2, 3),
        dt.time(12, 34, 56, 789000),
        dt.datetime(2024, 3, 1),
    )


@pytest.mark.parametrize(
    ("data_type", "text"),
    [
        ("TINYINT", "300"),
        ("INT", "1.0"),
        ("INT", "1_0"),
        ("INT", ""),
        ("DOUBLE", "inf"),
        ("DOUBLE", "1_0.5"),
        ("DECIMAL(5,2)", " 1 "),
        ("DATE", "2024-13-01"),
        ("DATE", "2024-02-29 "),
        ("TIME(3)", "1:02:03"),
        ("TIMESTAMP(3)", "2024-02-29T12:34:56"),
        ("TIMESTAMP_LTZ(3)", "2024-02-29 12:34:56"),
        ("BYTES", "aGVsbG8"),
    ],
)
def test_what_java_refuses_is_an_error_or_null(data_type: str, text: str) -> None:
    with pytest.raises(MalformedRecordError, match="field 'v'"):
        read(f"v {data_type}, w STRING", f"{text},x\n")
    assert read(f"v {data_type}, w STRING", f"{text},x\n", **LENIENT) == [(None, "x")]


def test_arrays_and_rows_are_lists_in_a_field() -> None:
    columns = "b ARRAY<INT>, c ROW<x INT, y STRING>, d ARRAY<STRING>"
    assert read(columns, "1;2,5;abc,p;q\n4,6;,\n,7;z,;\n") == [
        ([1, 2], (5, "abc"), ["p", "q"]),
        ([4], (6, ""), []),
        ([], (7, "z"), ["", ""]),
    ]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("plain", "plain"),
        ("a-b_c.d", "a-b_c.d"),
        ("has space", '"has space"'),
        ("it's", '"it\'s"'),
        ('quo"te', '"quo""te"'),
        ("", ""),
        ("exactly24characterslong_", "exactly24characterslong_"),
        ("exactly25characterslong__", '"exactly25characterslong__"'),
        ("a;b", "a;b"),
    ],
)
def test_texts_are_quoted_as_jackson_does(text: str, written: str) -> None:
    assert write("b STRING", text) == written


def test_another_delimiter_changes_what_is_quoted() -> None:
    assert write("a INT, b STRING", 1, "a1", field_delimiter=";") == '1;"a1"'
    options = {
        "field_delimiter": "|",
        "quote_character": "'",
        "null_literal": "n/a",
        "escape_character": "\\",
    }
    assert write("a INT, b STRING, c STRING", 1, "it's", None, **options) == "1|'it''s'|n/a"
    assert write("a INT, b STRING, c STRING", 2, "x\\y", "n/a", **options) == "2|'x\\\\y'|'n/a'"


def test_numbers_are_written_as_java_prints_them() -> None:
    columns = "a DECIMAL(20,2), b DECIMAL(10,0), c DOUBLE, d FLOAT, e DOUBLE"
    row = (Decimal("120.00"), Decimal(1000), 1e10, 0.10000000149011612, float("nan"))
    assert write(columns, *row) == "1.2E+2,1E+3,1.0E10,0.1,NaN"
    plain = {"write_bigdecimal_in_scientific_notation": "false"}
    assert write(columns, *row, **plain) == "120,1000,1.0E10,0.1,NaN"


def test_times_are_written_without_zeros_at_their_end() -> None:
    written = write(
        "k TIMESTAMP(3), l TIMESTAMP_LTZ(3), t TIME(3)",
        dt.datetime(2024, 1, 2, 3, 4, 5, 120000),
        dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc),
        dt.time(1, 2, 3),
    )
    assert written == '"2024-01-02 03:04:05.12","2024-01-02 03:04:05Z",01:02:03'


@pytest.mark.parametrize("columns", ["a MAP<STRING, INT>", "a ARRAY<ROW<x INT>>", "a INT, b MULTISET<INT>"])
def test_types_without_a_csv_form_are_refused(columns: str) -> None:
    with pytest.raises(ValidationError):
        CSV.check(parse_type(f"ROW<{columns}>"), CSV.read_options({}))


@given(st.lists(st.tuples(st.text(), st.text(), st.integers(-(2**31), 2**31 - 1)), min_size=1))
def test_what_is_written_reads_back(rows: list[tuple[str, str, int]]) -> None:
    row_type, options = parse_type("ROW<a STRING, b STRING, c INT>"), CSV.read_options({})
    encoder, decoder = CsvEncoder(row_type, options), CsvDecoder(row_type, options)
    text = b"".join(encoder.encode(0, row) + b"\n" for row in rows).decode()
    back = decoder.decode_lines(io.StringIO(text, newline=""), RecordContext())
    assert [row for _, row in back] == rows


def test_one_record_is_decoded_whole_whatever_unicode_calls_a_line_end() -> None:
    decoder = CsvDecoder(parse_type("ROW<a STRING, b STRING>"), CSV.read_options({}))
    assert decoder.decode('x\u2028y,"1\n2"'.encode(), RecordContext()) == [(0, ("x\u2028y", "1\n2"))]
