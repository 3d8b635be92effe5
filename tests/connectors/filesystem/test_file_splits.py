"""How files are cut into splits and read back, without Spark."""

from __future__ import annotations

import pathlib
import tempfile

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.datatype_parser import parse_type
from penstock.connectors.filesystem.files import FileEntry, FileStore
from penstock.connectors.filesystem.reader import FileScan, FileSplit, cut, group

ROW_TYPE = parse_type("ROW<line STRING>")


@given(st.lists(st.text("ab\r", max_size=6)), st.integers(1, 9), st.booleans())
def test_every_line_is_read_once_wherever_a_file_is_cut(
    texts: list[str], split_bytes: int, ended: bool
) -> None:
    content = "\n".join(texts) + ("\n" if ended and texts else "")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "f.txt"
        path.write_bytes(content.encode())
        store = FileStore(str(path))
        scan = FileScan(store, "raw", {}, ROW_TYPE, (("file", 0),))
        whole = [row for split in cut([(f, ()) for f in store.files()], False) for row in scan.rows(split)]
        splits = cut([(f, ()) for f in store.files()], True, split_bytes)
        pieces = [row for split in splits for row in scan.rows(split)]
    assert pieces == whole


def test_compressed_files_are_never_cut() -> None:
    file = FileEntry("/t/f.json.gz", 1000, 0)
    assert [(s.start, s.length) for s in cut([(file, ())], True, 10)] == [(0, 1000)]


def test_small_splits_share_a_task_and_stay_in_order() -> None:
    splits = [FileSplit(FileEntry(f"/t/{n}", 100, 0), 0, 100, (), n) for n in range(20)]
    tasks = group(splits, parallelism=2)
    assert len(tasks) < 10
    assert [split.index for task in tasks for split in task] == list(range(20))


def test_large_splits_have_a_task_each() -> None:
    splits = [FileSplit(FileEntry("/t/f", 1 << 30, 0), n << 27, 1 << 27, (), n) for n in range(8)]
    assert [len(task) for task in group(splits, parallelism=2)] == [1] * 8
