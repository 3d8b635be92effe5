"""The raw format: the record's bytes are the value."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.errors import MalformedRecordError, ValidationError
from penstock.formats import RecordContext
from penstock.formats.raw import RAW, RawDecoder, RawEncoder


@pytest.mark.parametrize(
    ("data_type", "options", "record", "value"),
    [
        ("STRING", {}, b"  spaced ", "  spaced "),
        ("STRING", {}, b"", ""),
        ("STRING", {"raw.charset": "ISO-8859-1"}, b"caf\xe9", "café"),
        ("BYTES", {}, b"\xff\xfe", b"\xff\xfe"),
        ("INT", {}, b"\x00\x00\x00\x07", 7),
        ("BIGINT", {"raw.endianness": "little-endian"}, b"\x07\0\0\0\0\0\0\0", 7),
        ("BOOLEAN", {}, b"\x01", True),
        ("DOUBLE", {}, b"\x3f\xf8\0\0\0\0\0\0", 1.5),
    ],
)
def test_values_go_in_and_out(data_type: str, options: dict[str, str], record: bytes, value: Any) -> None:
    row_type, parsed = parse_type(f"ROW<v {data_type}>"), RAW.read_options(options)
    assert RawDecoder(row_type, parsed).decode(record, RecordContext()) == [(0, (value,))]
    assert RawEncoder(row_type, parsed).encode(0, (value,)) == record


def test_a_number_of_another_width_is_malformed() -> None:
    decoder = RawDecoder(parse_type("ROW<v INT>"), RAW.read_options({}))
    with pytest.raises(MalformedRecordError, match="1 bytes are not the width"):
        decoder.decode(b"\x01", RecordContext())


@pytest.mark.parametrize("columns", ["a STRING, b STRING", "a DECIMAL(5, 2)", "a ARRAY<INT>"])
def test_only_one_simple_column_is_possible(columns: str) -> None:
    with pytest.raises(ValidationError):
        RAW.check(parse_type(f"ROW<{columns}>"), RAW.read_options({}))
