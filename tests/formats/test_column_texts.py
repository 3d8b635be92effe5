"""Records written column by column are those that the row encoders write."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.formats import find_format
from penstock.formats.arrow_rows import RowsToArrow
from penstock.formats.base import INSERT
from penstock.formats.column_texts import column_encoder

COLUMNS: dict[str, list[Any]] = {
    "i TINYINT": [0, -128, None],
    "b BIGINT": [0, -(2**63), 2**63 - 1, None],
    "x BOOLEAN": [True, False, None],
    "s STRING": [
        "",
        "plain",
        "with, comma",
        'a "quoted" word',
        "two\nlines",
        "tab\there",
        "back\\slash",
        "-safe",
        "é€😀",
        "a" * 24,
        "a" * 25,
        "é" * 24,
        "n/a",
        "\x00\x1f\x7f",
        " ",
        "'",
        "#",
        None,
    ],
    "f FLOAT": [1.5, 1e10, None],
    "d DOUBLE": [0.1, 1e-7, float("nan"), float("inf"), -0.0, None],
    "m DECIMAL(10, 2)": [Decimal("120.00"), Decimal("-0.01"), None],
    "day DATE": [dt.date(1, 1, 1), dt.date(1969, 12, 31), dt.date(9999, 12, 31), None],
    "t TIME(3)": [dt.time(1, 2, 3), dt.time(1, 2, 3, 400_000), None],
    "ts TIMESTAMP(6)": [
        dt.datetime(2020, 1, 2),
        dt.datetime(2020, 1, 2, 3, 4, 50),
        dt.datetime(2020, 1, 2, 3, 4, 5, 600_000),
        dt.datetime(1969, 12, 31, 23, 59, 59, 999_999),
        dt.datetime(2020, 1, 2, 3, 4, 0, 10),
        None,
    ],
    "l TIMESTAMP_LTZ(3)": [
        dt.datetime(2020, 1, 2, 3, 4, 5, 120_000, dt.timezone.utc),
        dt.datetime(1960, 1, 2, tzinfo=dt.timezone.utc),
        None,
    ],
    "raw VARBINARY": [b"", b"\x00\xff", None],
    "a ARRAY<STRING>": [["x", None, "y,z"], [], None],
    "r ROW<p INT, q STRING>": [(1, "x"), (None, 'y"'), None],
}
OPTIONS = {
    "csv": [
        {},
        {"null-literal": "n/a"},
        {"field-delimiter": ";", "quote-character": "'"},
        {"field-delimiter": "|", "escape-character": "\\"},
        {"field-delimiter": "\\t", "disable-quote-character": "true"},
    ],
    "json": [{}, {"timestamp-format.standard": "ISO-8601"}, {"encode.decimal-as-plain-number": "true"}],
}


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize(
    ("format_name", "given"), [(name, given) for name, many in OPTIONS.items() for given in many]
)
def test_a_column_is_written_as_the_row_encoder_writes_it(
    format_name: str, given: dict[str, str], column: str
) -> None:
    row_type = parse_type(f"ROW<{column}, n INT>")
    assert isinstance(row_type, RowType)
    rows = [(value, n) for n, value in enumerate(COLUMNS[column])]
    assert written(format_name, given, row_type, rows) == expected(format_name, given, row_type, rows)


def written(name: str, given: dict[str, str], row_type: RowType, rows: list[Any]) -> list[bytes]:
    encoder = column_encoder(name, row_type, options(name, given))
    assert encoder is not None
    batch = RowsToArrow(row_type).batch(rows)
    halves = pa.Table.from_batches([batch.slice(0, 1), batch.slice(1)])
    return [text.encode() for text in encoder.records(halves).to_pylist()]


def expected(name: str, given: dict[str, str], row_type: RowType, rows: list[Any]) -> list[bytes]:
    make = find_format(name).encoder
    assert make is not None
    encoder = make(row_type, options(name, given))
    return [encoder.encode(INSERT, row) for row in rows]


def options(name: str, given: dict[str, str]) -> dict[str, Any]:
    return find_format(name).read_options({f"{name}.{key}": value for key, value in given.items()})


def test_json_that_leaves_nulls_out_is_written_row_by_row() -> None:
    row_type = parse_type("ROW<a INT>")
    assert isinstance(row_type, RowType)
    assert column_encoder("json", row_type, options("json", {"encode.ignore-null-fields": "true"})) is None
