"""CSV files that several tasks read: every record once, in order, errors with the line of the whole file."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.datatype_parser import parse_type
from penstock.common.errors import MalformedRecordError
from penstock.connectors.filesystem import blocks, reader, sharing
from penstock.connectors.filesystem.files import FileStore
from penstock.connectors.filesystem.reader import FileScan

ROW_TYPE = parse_type("ROW<a INT, b STRING>")


def scan_of(path: pathlib.Path, options: dict[str, str] | None = None) -> FileScan:
    layout = (("file", 0), ("file", 1))
    return FileScan(FileStore(str(path)), "csv", options or {}, ROW_TYPE, layout)


def shared(scan: FileScan, step: int) -> list[Any]:
    """The splits if a task reads `step` bytes."""
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(sharing, "task_bytes", lambda sizes, parallelism: step)
        tasks = sharing.spread_over(scan, [(f, ()) for f in scan.store.files()], 2)
    return [split for task in tasks for split in task]


def rows(scan: FileScan, splits: list[Any]) -> Any:
    """The rows, or what the error says."""
    try:
        return [
            tuple(row.values())
            for split in splits
            for batch in blocks.batches(scan, split, ROW_TYPE)
            for row in batch.to_pylist()
        ]
    except MalformedRecordError as error:
        return str(error)


RECORDS = [
    "1,a",
    "2,bb",
    "-3,",
    ",x",
    '4,"two\nlines"',
    '5,"say ""hi"""',
    "6,plain",
    "x,bad",
    "",
    "7,€",
    '8,a"b',
]


@given(
    st.lists(st.sampled_from(RECORDS), max_size=8),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(1, 30),
    st.booleans(),
)
def test_every_record_is_read_once_wherever_a_file_is_cut(
    records: list[str], end: str, step: int, ended: bool
) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.csv"
        path.write_bytes((end.join(records) + (end if ended and records else "")).encode())
        scan = scan_of(path)
        assert rows(scan, shared(scan, step)) == rows(scan, shared(scan, 1 << 20))


def test_a_file_is_cut_up_to_its_first_quote(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,aaaa\n2,bbbb\n3,cccc\n" + '4,"d\nd"\n5,eeee\n6,ffff\n')
    splits = shared(scan_of(path), 8)
    assert [(split.start, split.length) for split in splits] == [(0, 14), (14, 7), (21, 22)]
    assert [split.index for split in splits] == [0, 1, 2]
    unquoted = shared(scan_of(path, {"csv.disable-quote-character": "true"}), 8)
    assert len(unquoted) > len(splits)


def test_files_that_nobody_can_cut_stay_whole(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,a\n" * 20)
    assert len(shared(scan_of(path, {"csv.escape-character": "\\"}), 8)) == 1
    path.write_text('"1",a\n' + "1,a\n" * 20)
    assert len(shared(scan_of(path), 8)) == 1


def test_errors_tell_the_line_of_the_file(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("1,a\r\n" * 10 + "x,b\r\n" + "1,a\r\n" * 3)
    scan = scan_of(path)
    splits = shared(scan, 16)
    assert len(splits) > 3
    assert "line 11" in rows(scan, splits)


def test_a_record_too_long_for_a_block_ends_with_its_part(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
    monkeypatch.setattr(blocks, "_LONGEST_RECORD", 16)
    path = tmp_path / "t.csv"
    path.write_text(f"1,{'a' * 40}\n2,b\n3,c\n")
    scan = scan_of(path)
    splits = shared(scan, 30)
    assert len(splits) == 2
    assert [row[0] for row in rows(scan, splits)] == [1, 2, 3]


def test_tasks_read_about_the_same() -> None:
    megabyte = 1 << 20
    assert reader.task_bytes([25 * megabyte], 2) == 13 * megabyte
    assert reader.task_bytes([100], 2) == 4 * megabyte
    assert reader.task_bytes([1 << 40], 2) == reader.SPLIT_BYTES
