"""JSON records in and out; every expectation was asked of Flink 2.3."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.datatype_parser import parse_type
from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.formats import RecordContext
from penstock.formats.json import JSON, JsonDecoder, JsonEncoder


def read(columns: str, record: str | bytes, **options: str) -> list[tuple[Any, ...]]:
    table = {f"json.{key.replace('_', '-')}": value for key, value in options.items()}
    decoder = JsonDecoder(parse_type(f"ROW<{columns}>"), JSON.read_options(table))
    return [row for _, row in decoder.decode(record, RecordContext("t.json", 3))]


def write(columns: str, *row: Any, **options: str) -> str:
    table = {f"json.{key.replace('_', '-', 1)}": value for key, value in options.items()}
    return JsonEncoder(parse_type(f"ROW<{columns}>"), JSON.read_options(table)).encode(0, row).decode()


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        ("INT", "4.7", 4),
        ("INT", "1e2", 100),
        ("INT", '" 13"', 13),
        ("BIGINT", "4.7", 4),
        ("DOUBLE", '"NaN"', None),
        ("DOUBLE", "1e400", float("inf")),
        ("FLOAT", "3.4e39", float("inf")),
        ("BOOLEAN", "1", False),
        ("BOOLEAN", '"TRUE"', True),
        ("DECIMAL(5,2)", "1.255", Decimal("1.26")),
        ("DECIMAL(5,2)", "12345.6", None),
        ("BYTES", '"aGVsbG8="', b"hello"),
        ("STRING", "12.50", "12.50"),
        ("STRING", '{"x": 1, "y": [1, null]}', '{"x":1,"y":[1,null]}'),
        ("STRING", '{"x": 1.50}', '{"x":1.5}'),
        ("STRING", "true", "true"),
        ("STRING", '"a\tb"', "a\tb"),
        ("TIME(3)", '"12:34:56.123456789"', dt.time(12, 34, 56, 123000)),
        ("TIMESTAMP(3)", '"2024-02-30 00:00:00"', dt.datetime(2024, 2, 29)),
        ("TIMESTAMP(3)", '"2024-02-29 24:00:00"', dt.datetime(2024, 3, 1)),
        ("TIMESTAMP(3)", '"2024-02-29 01:02:03.123456"', dt.datetime(2024, 2, 29, 1, 2, 3, 123000)),
        (
            "TIMESTAMP_LTZ(3)",
            '"2024-02-29 00:00:00.5Z"',
            dt.datetime(2024, 2, 29, 0, 0, 0, 500000, dt.timezone.utc),
        ),
        ("MAP<STRING, INT>", '{"a": 1, "b": null}', {"a": 1, "b": None}),
        ("ROW<x INT, y STRING>", '{"y": "q", "z": 0}', (None, "q")),
    ],
)
def test_values_are_converted_as_jackson_does(data_type: str, value: str, expected: Any) -> None:
    ((found,),) = read(f"v {data_type}", f'{{"v": {value}}}')
    if expected is None and data_type == "DOUBLE":
        assert found != found
    else:
        assert found == expected and type(found) is type(expected)


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        ("TINYINT", "300"),
        ("TINYINT", "1.9"),
        ("INT", "3000000000"),
        ("INT", "true"),
        ("INT", '"1.5"'),
        ("INT", "[1]"),
        ("INT", '""'),
        ("BIGINT", "9223372036854775808"),
        ("DOUBLE", "true"),
        ("DATE", '"2024-02-30"'),
        ("DATE", '"2024-2-3"'),
        ("TIME", '"12:34"'),
        ("TIMESTAMP(3)", '"2024-02-29T12:34:56"'),
        ("TIMESTAMP(3)", "1700000000000"),
        ("TIMESTAMP_LTZ(3)", '"2024-02-29 12:34:56"'),
        ("BYTES", '"!!"'),
        ("ARRAY<INT>", '"none"'),
        ("ROW<x INT>", "5"),
    ],
)
def test_a_field_that_does_not_fit_fails_the_record_or_is_null(data_type: str, value: str) -> None:
    record = f'{{"v": {value}, "w": 1}}'
    with pytest.raises(MalformedRecordError, match="field 'v'") as caught:
        read(f"v {data_type}, w INT", record)
    assert caught.value.where == "t.json, line 3"
    assert read(f"v {data_type}, w INT", record, ignore_parse_errors="true") == [(None, 1)]


def test_elements_that_do_not_fit_are_null_and_the_array_stays() -> None:
    assert read("v ARRAY<INT>", '{"v": [1, "x", 3]}', ignore_parse_errors="true") == [([1, None, 3],)]


def test_an_array_of_objects_is_several_rows() -> None:
    assert read("i INT", '[{"i":4},{"i":5}]') == [(4,), (5,)]
    assert read("i INT", "[]") == []


@pytest.mark.parametrize(
    "record", ["null", "5", '"x"', "   ", "[1]", "{i:9}", "{'i':1}", '{"i":1,}', '{"i":NaN}', "{"]
)
def test_what_is_no_object_fails_or_vanishes(record: str) -> None:
    with pytest.raises(MalformedRecordError):
        read("i INT", record)
    assert read("i INT", record, ignore_parse_errors="true") == []


def test_empty_records_say_nothing_and_the_rest_of_a_line_is_not_read() -> None:
    assert read("i INT", b"") == []
    assert read("i INT", b'{"i":1} trailing') == [(1,)]


def test_absent_fields_are_null_unless_that_is_an_error() -> None:
    assert read("i INT, s STRING", '{"i":1,"other":2}') == [(1, None)]
    with pytest.raises(MalformedRecordError, match="could not find field 's'"):
        read("i INT, s STRING", '{"i":1}', fail_on_missing_field="true")


def test_iso_timestamps_may_leave_seconds_out() -> None:
    table = {"json.timestamp-format.standard": "ISO-8601"}
    decoder = JsonDecoder(parse_type("ROW<k TIMESTAMP(3)>"), JSON.read_options(table))
    assert decoder.decode('{"k":"2024-02-29T12:34"}', RecordContext()) == [
        (0, (dt.datetime(2024, 2, 29, 12, 34),))
    ]


def test_rows_are_written_as_jackson_does() -> None:
    columns = (
        "a INT, d FLOAT, e DOUBLE, f BOOLEAN, g DECIMAL(10,2), h BYTES, i DATE, j TIME(3), k TIMESTAMP(6),"
        " l TIMESTAMP_LTZ(3), m ARRAY<INT>, n ROW<x INT, y STRING>, o MAP<STRING, INT>, p STRING, q DOUBLE"
    )
    written = write(
        columns,
        None,
        0.10000000149011612,
        1e10,
        True,
        Decimal("120.00"),
        b"hello",
        dt.date(2024, 2, 29),
        dt.time(12, 34, 56),
        dt.datetime(2024, 1, 2, 3, 4, 5, 123456),
        dt.datetime(2024, 1, 2, 3, 4, 5, 500000, dt.timezone.utc),
        [1, None],
        (None, ""),
        {"k": None},
        'é"\\/\n\x01\x1b',
        float("inf"),
    )
    assert written == (
        '{"a":null,"d":0.1,"e":1.0E10,"f":true,"g":1.2E+2,"h":"aGVsbG8=","i":"2024-02-29","j":"12:34:56",'
        '"k":"2024-01-02 03:04:05.123456","l":"2024-01-02 03:04:05.5Z","m":[1,null],"n":{"x":null,"y":""},'
        '"o":{"k":null},"p":"é\\"\\\\/\\n\\u0001\\u001B","q":"Infinity"}'
    )


def test_null_fields_can_be_left_out_of_objects_but_not_of_maps() -> None:
    columns, row = "a INT, r ROW<x INT, y INT>, m MAP<STRING, INT>", (None, (None, 1), {"k": None})
    options = JSON.read_options({"json.encode.ignore-null-fields": "true"})
    encoder = JsonEncoder(parse_type(f"ROW<{columns}>"), options)
    assert encoder.encode(0, row) == b'{"r":{"y":1},"m":{"k":null}}'


@pytest.mark.parametrize(
    ("mode", "expected"), [("DROP", '{"m":{"b":2}}'), ("LITERAL", '{"m":{"null":1,"b":2}}')]
)
def test_null_keys_are_dropped_or_named(mode: str, expected: str) -> None:
    options = JSON.read_options({"json.map-null-key.mode": mode})
    encoder = JsonEncoder(parse_type("ROW<m MAP<STRING, INT>>"), options)
    assert encoder.encode(0, ({None: 1, "b": 2},)).decode() == expected


def test_null_keys_fail_by_default() -> None:
    with pytest.raises(ValidationError, match=r"map-null-key|NULL key"):
        write("m MAP<STRING, INT>", {None: 1})


def test_contradicting_options_and_keys_that_are_no_text_are_refused() -> None:
    both = JSON.read_options({"json.fail-on-missing-field": "true", "json.ignore-parse-errors": "true"})
    with pytest.raises(ValidationError, match="shouldn't both be true"):
        JSON.check(parse_type("ROW<a INT>"), both)
    with pytest.raises(ValidationError, match="text as key type"):
        JSON.check(parse_type("ROW<m MAP<INT, INT>>"), JSON.read_options({}))
    for standard in ("RFC", "iso-8601"):
        with pytest.raises(ValidationError, match="supported values are SQL, ISO-8601"):
            JSON.read_options({"json.timestamp-format.standard": standard})


def test_an_unknown_null_key_mode_matters_only_to_writers() -> None:
    options = JSON.read_options({"json.map-null-key.mode": "ignore"})
    JsonDecoder(parse_type("ROW<a INT>"), options)
    with pytest.raises(ValueError, match="supported values are FAIL, DROP, LITERAL"):
        JsonEncoder(parse_type("ROW<a INT>"), options)


@given(st.text(), st.floats(allow_nan=False), st.decimals(-(10**8), 10**8, places=4))
def test_what_is_written_is_json_and_reads_back(text: str, number: float, decimal: Decimal) -> None:
    row_type, options = parse_type("ROW<s STRING, d DOUBLE, x DECIMAL(20, 4)>"), JSON.read_options({})
    record = JsonEncoder(row_type, options).encode(0, (text, number, decimal))
    assert json.loads(record)["s"] == text
    assert JsonDecoder(row_type, options).decode(record, RecordContext()) == [(0, (text, number, decimal))]
