"""Whole blocks of CSV and JSON give what the codec gives, record by record: the same rows, or the same error."""

from __future__ import annotations

import gzip
import json
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.common.errors import MalformedRecordError
from penstock.connectors.filesystem import blocks
from penstock.connectors.filesystem.files import FileEntry, FileStore
from penstock.connectors.filesystem.reader import FileScan, FileSplit, cut
from penstock.formats.arrow_rows import RowsToArrow
from penstock.formats.csv_columns import CsvColumns
from penstock.formats.json_columns import JsonColumns
from penstock.formats.text_columns import NotCertain

TYPES = {
    "s": DataTypes.STRING(),
    "b": DataTypes.BOOLEAN(),
    "t": DataTypes.TINYINT(),
    "i": DataTypes.INT(),
    "l": DataTypes.BIGINT(),
    "f": DataTypes.FLOAT(),
    "d": DataTypes.DOUBLE(),
    "m": DataTypes.DECIMAL(6, 2),
    "day": DataTypes.DATE(),
    "at": DataTypes.TIMESTAMP(3),
    "ltz": DataTypes.TIMESTAMP_LTZ(3),
}
CSV_ONLY = {"clock": DataTypes.TIME(3), "xs": DataTypes.ARRAY(DataTypes.INT())}
JSON_ONLY = {
    "xs": DataTypes.ARRAY(DataTypes.STRING()),
    "r": DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]),
}

TEXTS = [
    *("", " ", "a", "a b", "ä€😀", 'say "hi"', "a,b", "two\nlines", "two\r\nlines", "n/a", "#1", "\x00", "\x1c"),
    *("true", "FALSE", " True", "yes", "0", "-1", "+7", " 12 ", "007", "128", "-129", "2147483648", "0x1f", "٣"),
    *("9223372036854775807", "9223372036854775808", "1.5", "-0.0", ".5", "5.", "1e3", "1E-400", "1e400", "NaN"),
    *("1.234", "12345.678", "9999.995", "99999", "1f", "0x1p3", "2020-02-29", "2019-02-29", "0000-01-01", "2020-1-2"),
    *("2020-02-30 10:00:00", "2020-01-01 10:00:00", "2020-01-01 10:00:00.123456", "1960-01-01 00:00:00.1239"),
    *("1960-01-01 00:00:00.123456", "2020-01-01 24:00:00", "2020-01-01T10:00:00", "2020-01-01 10:00:00.5Z"),
    *("2020-01-01 10:00:00.123456Z", "2020-01-01 10:00:00Z", "10:20:30", "10:20:30.1239", "25:00:00", "1;2;3", "1;x"),
]  # fmt: skip
FITTING = {
    "s": ["", "a b", 'q"q', "x,y", "two\nlines", "é"],
    "b": ["true", "false", "True"],
    "t": ["1", "-7"],
    "i": ["1", "-7", "2147483647"],
    "l": ["1", "-9223372036854775808"],
    "f": ["1.5", "-3", "1e10", "0.1"],
    "d": ["1.5", "0.1", "-3e-5"],
    "m": ["1.5", "9999.99", "-0.01", "12"],
    "day": ["2020-02-29", "1900-01-01"],
    "at": ["2020-01-01 10:00:00", "1960-01-01 00:00:00.123456", "1969-12-31 23:59:59.999"],
    "ltz": ["2020-01-01 10:00:00Z", "1960-01-01 00:00:00.123456Z"],
    "clock": ["10:20:30", "00:00:00.123"],
    "xs": ["1;2", ""],
}
RELAXED = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 50)
    monkeypatch.setattr(blocks, "_LONGEST_RECORD", 400)


def scan_of(
    format_name: str,
    types: dict[str, Any],
    data: bytes,
    folder: str,
    options: dict[str, str],
    name: str = "data",
) -> Any:
    path = pathlib.Path(folder) / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    row_type = RowType([RowField(n, t) for n, t in types.items()], nullable=False)
    prefixed = {f"{format_name}.{key}": value for key, value in options.items()}
    layout = tuple(("file", i) for i in range(len(types)))
    scan = FileScan(FileStore(folder), format_name, prefixed, row_type, layout)
    return scan, FileSplit(FileEntry(str(path), path.stat().st_size, 0), 0, path.stat().st_size), row_type


def outcome(found: Iterator[Any]) -> list[Any]:
    """The rows until the end or the error, and the error's text."""
    out: list[Any] = []
    try:
        for batch in found:
            out.extend(repr(row) for row in batch.to_pylist())
    except (MalformedRecordError, UnicodeDecodeError) as error:
        return [str(error)]
    return out


def both(scan: FileScan, split: FileSplit, row_type: RowType) -> tuple[list[Any], list[Any]]:
    by_record = outcome(RowsToArrow(row_type).batches(scan.rows(split)))
    return outcome(blocks.batches(scan, split, row_type)), by_record


def check(format_name: str, types: dict[str, Any], data: bytes, options: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        at_once, by_record = both(*scan_of(format_name, types, data, folder, options))
    assert at_once == by_record


def csv_field(name: str) -> st.SearchStrategy[str]:
    def written(text: str) -> str:
        special = any(c in text for c in ',"\r\n')
        return '"' + text.replace('"', '""') + '"' if special else text

    fitting = st.sampled_from(FITTING[name]).map(written)
    quoted = st.sampled_from(FITTING[name]).map(lambda text: '"' + text.replace('"', '""') + '"')
    odd = st.sampled_from(TEXTS)
    broken = st.sampled_from(['"', '"a" ', '"a"b', ' "a"', 'x""y', '""a', '"""', '"a,b', '5" pipe'])
    return st.one_of(*[fitting] * 12, *[quoted] * 3, odd, broken)


@st.composite
def csv_files(draw: st.DrawFn) -> tuple[dict[str, Any], bytes, dict[str, str]]:
    known = {**TYPES, **CSV_ONLY}
    names = draw(st.lists(st.sampled_from(list(known)), min_size=1, max_size=4, unique=True))
    line = st.tuples(*[csv_field(name) for name in names]).map(",".join)
    strange = st.sampled_from(["", " ", ",", ",,,,,", "a"])
    lines = draw(st.lists(st.one_of(*[line] * 15, strange), max_size=12))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    text = end.join(lines) + draw(st.sampled_from(["", end]))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    options = {"ignore-parse-errors": draw(st.sampled_from(["false", "true"]))}
    if draw(st.booleans()):
        options["null-literal"] = draw(st.sampled_from(["", "n/a", "1"]))
    return {name: known[name] for name in names}, (mark + text).encode(), options


@RELAXED
@given(csv_files())
@example(({"s": TYPES["s"], "i": TYPES["i"]}, b'""a,1\n"x",2\n', {}))
@example(({"s": TYPES["s"], "i": TYPES["i"]}, b'"two\r\nlines",1\r\nb,2\r\n', {}))
@example(({"s": TYPES["s"]}, b"\xff\n", {}))
def test_csv_blocks_give_the_codecs_rows_or_its_error(
    case: tuple[dict[str, Any], bytes, dict[str, str]],
) -> None:
    check("csv", *case)


JSON_VALUES = st.one_of(
    st.sampled_from(TEXTS),
    st.none(),
    st.booleans(),
    st.integers(-(2**65), 2**65),
    st.floats(allow_nan=True),
    st.lists(st.sampled_from(["a", 1, None]), max_size=2),
    st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from([1, "1", None]), max_size=2),
)
JSON_FITTING: dict[str, st.SearchStrategy[Any]] = {
    "s": st.text(max_size=5),
    "b": st.booleans(),
    "t": st.integers(-128, 127),
    "i": st.integers(-(2**31), 2**31 - 1),
    "l": st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(allow_nan=False, allow_infinity=False, width=32),
    "d": st.floats(allow_nan=False, allow_infinity=False),
    "m": st.one_of(st.sampled_from([1.5, -0.01, 7, "2.5", "9999.99"])),
    "day": st.sampled_from(FITTING["day"]),
    "at": st.sampled_from(FITTING["at"]),
    "ltz": st.sampled_from(FITTING["ltz"]),
    "xs": st.lists(st.one_of(st.none(), st.text(max_size=3)), max_size=3),
    "r": st.fixed_dictionaries({"x": st.integers(0, 9)}, optional={"y": st.none()}),
}


@st.composite
def json_files(draw: st.DrawFn) -> tuple[dict[str, Any], bytes, dict[str, str]]:
    known = {**TYPES, **JSON_ONLY}
    names = draw(st.lists(st.sampled_from(list(known)), min_size=1, max_size=4, unique=True))
    values = {n: st.one_of(*[JSON_FITTING[n]] * 15, st.none(), JSON_VALUES) for n in names}
    record = st.fixed_dictionaries({}, optional={**values, "unknown": JSON_VALUES})
    compact = draw(st.sampled_from([(",", ":"), (", ", ": ")]))
    ascii_only = draw(st.booleans())
    line = record.map(lambda r: json.dumps(r, separators=compact, ensure_ascii=ascii_only))
    strange = st.sampled_from(
        ["", " ", "{", "{}{}", '[{"i": 1}]', '{"i": 1} x', '{"i": 1}}', '{"s":', '{"i":1,"i":2}', "7"]
    )
    lines = draw(st.lists(st.one_of(*[line] * 15, strange), max_size=12))
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n"]))
    options = {"ignore-parse-errors": draw(st.sampled_from(["false", "true"]))}
    if draw(st.booleans()):
        options["timestamp-format.standard"] = "ISO-8601"
        text = text.replace("-01 ", "-01T").replace("-31 ", "-31T")
    return {name: known[name] for name in names}, text.encode("utf-8", "surrogatepass"), options


@RELAXED
@given(json_files())
@example(({"d": TYPES["d"]}, b'{"d": NaN}\n', {}))
@example(({"m": TYPES["m"]}, b'{"m": 10000}\n', {}))
@example(({"d": TYPES["d"]}, b'{"unknown": -Inf, "d": 1}\n', {}))
@example(({"s": TYPES["s"]}, b'{"s": "a"}{"s": "b"}\n{"s":\n{"s": 1}}\n', {}))
@example(({"s": TYPES["s"]}, b'{"s": "\xff"}\n', {}))
def test_json_blocks_give_the_codecs_rows_or_its_error(
    case: tuple[dict[str, Any], bytes, dict[str, str]],
) -> None:
    check("json", *case)


def in_steps(scan: FileScan, split: FileSplit, row_type: RowType, step: int) -> list[Any]:
    """The rows as a stream reads them: `step` rows, then once more from the place of the last block."""
    out: list[Any] = []
    place = blocks.START
    while True:
        wanted = len(out) + step
        reader = blocks.BlockReader(scan, row_type)
        for found, batch in reader.read(split, blocks.Place(*place), len(out) - place.row):
            place = found
            out.extend(repr(row) for row in batch.to_pylist()[: wanted - len(out)])
            if len(out) == wanted:
                break
        else:
            return out


@RELAXED
@given(
    st.one_of(csv_files().map(lambda c: ("csv", c)), json_files().map(lambda c: ("json", c))),
    st.integers(1, 5),
)
def test_reading_goes_on_from_the_place_where_it_stopped(
    file: tuple[str, tuple[dict[str, Any], bytes, dict[str, str]]], step: int
) -> None:
    format_name, (types, data, options) = file
    with tempfile.TemporaryDirectory() as folder:
        for name in ("data", "data.gz"):
            scan, split, row_type = scan_of(
                format_name, types, data, folder, {**options, "ignore-parse-errors": "true"}, name
            )
            assert in_steps(scan, split, row_type, step) == outcome(blocks.batches(scan, split, row_type))


def test_a_range_of_a_file_goes_on_from_its_own_first_line() -> None:
    data = b"".join(b'{"l": %d}\n' % n for n in range(100))
    with tempfile.TemporaryDirectory() as folder:
        scan, whole, row_type = scan_of("json", {"l": TYPES["l"]}, data, folder, {})
        splits = cut([(whole.file, ())], splittable=True, split_bytes=333)
        found = [row for s in splits for row in in_steps(scan, s, row_type, 7)]
    assert found == [repr({"l": n}) for n in range(100)]


def test_lines_that_only_the_codec_reads_are_not_read_again_from_the_top(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[int] = []
    open_lines = FileScan.open_lines

    def noted(scan: FileScan, split: FileSplit, byte: int = 0) -> Any:
        opened.append(byte)
        return open_lines(scan, split, byte)

    monkeypatch.setattr(FileScan, "open_lines", noted)
    change = '{"before": null, "after": {"l": %d}, "op": "c"}\n'
    data = "".join(change % n for n in range(20)).encode()
    with tempfile.TemporaryDirectory() as folder:
        scan, split, row_type = scan_of("debezium-json", {"l": TYPES["l"]}, data, folder, {})
        assert len(in_steps(scan, split, row_type, 5)) == 20
    assert opened == sorted(opened) and opened[-1] > len(data) // 2


@given(st.lists(st.integers(0, 10**9), max_size=40), st.integers(1, 60))
@settings(max_examples=50, deadline=None)
def test_ranges_of_a_json_file_give_each_line_once(numbers: list[int], split_bytes: int) -> None:
    data = b"".join(b'{"l": %d}\n' % n for n in numbers)
    with tempfile.TemporaryDirectory() as folder:
        scan, whole, row_type = scan_of("json", {"l": TYPES["l"]}, data, folder, {})
        splits = cut([(whole.file, ())], splittable=True, split_bytes=split_bytes)
        found = [row["l"] for s in splits for b in blocks.batches(scan, s, row_type) for row in b.to_pylist()]
    assert found == numbers


def test_good_records_do_not_need_the_codec() -> None:
    from penstock.formats import find_format

    names = list(TYPES)
    row_type = RowType([RowField(n, TYPES[n]) for n in names], nullable=False)
    build = RowsToArrow(row_type).column
    for format_name, make in (("csv", CsvColumns), ("json", JsonColumns)):
        options = find_format(format_name).read_options({})
        if format_name == "csv":
            block = ",".join(f'"{FITTING[n][-1]}"' for n in names).encode() + b"\n"
            columns = make(row_type, options, None, build).columns(block)  # type: ignore[call-arg]
        else:
            numbers = {"t": 1, "i": 2, "l": 3, "f": 1.5, "d": 2.5, "m": 3.5, "b": True}
            block = json.dumps({n: numbers.get(n, FITTING[n][-1]) for n in names}).encode() + b"\n"
            columns = make(row_type, options).columns(block)  # type: ignore[call-arg, arg-type]
        assert [len(column) for column in columns] == [1] * len(names)


def test_a_bad_number_leaves_its_block_to_the_codec() -> None:
    from penstock.formats import find_format

    row_type = RowType([RowField("i", TYPES["i"])], nullable=False)
    options = find_format("csv").read_options({})
    with pytest.raises(NotCertain):
        CsvColumns(row_type, options, None, RowsToArrow(row_type).column).columns(b"1\n x\n")
