"""Part files that end when they are large enough, without Spark."""

from __future__ import annotations

import io
import pathlib
import random
from collections.abc import Callable
from typing import BinaryIO

import pyarrow as pa
import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.common.ids import EpochId
from penstock.connectors.filesystem.files import FileStore
from penstock.connectors.filesystem.partitions import Partitioning
from penstock.connectors.filesystem.rolling import LineWriter, RollingWriter
from penstock.connectors.filesystem.sink import FileTableSink
from penstock.connectors.sink import WriterContext
from penstock.formats.base import INSERT
from penstock.sql.spark.file_sizes import is_exceeded, rows_within


class KeptFile(io.BytesIO):
    """Keeps its bytes when it is closed."""

    kept = b""

    def close(self) -> None:
        self.kept = self.getvalue()
        super().close()


class Plain:
    def encode(self, kind: int, row: tuple[object, ...]) -> bytes:
        return str(row[0]).encode()


def rolled(
    rows: list[str], limit_bytes: int, write: Callable[[RollingWriter, list[str]], None] | None = None
) -> list[bytes]:
    files: list[KeptFile] = []

    def open_file(number: int) -> BinaryIO:
        assert number == len(files)
        files.append(KeptFile())
        return files[-1]

    writer = RollingWriter(open_file, lambda stream: LineWriter(stream, Plain()), limit_bytes)
    (write or one_by_one)(writer, rows)
    writer.close()
    return [file.kept for file in files]


def one_by_one(writer: RollingWriter, rows: list[str]) -> None:
    for row in rows:
        writer.write(INSERT, (row,))


def at_once(writer: RollingWriter, rows: list[str]) -> None:
    lines = pa.array(["left out", *(row + "\n" for row in rows)])
    middle = len(rows) // 2
    writer.write_lines(lines[1 : 1 + middle])
    writer.write_lines(lines[1 + middle :])


def test_lines_that_come_at_once_roll_as_those_that_come_one_by_one() -> None:
    random_ = random.Random(7)
    for limit in (0, 1, 10, 50, 1000):
        rows = ["x" * random_.randrange(30) for _ in range(100)]
        assert rolled(rows, limit, at_once) == rolled(rows, limit)


def test_a_file_larger_than_the_limit_gets_no_more_rows() -> None:
    assert rolled(["aaa", "bbb", "ccc", "ddd"], 10) == [b"aaa\nbbb\nccc\n", b"ddd\n"]


def test_a_file_as_large_as_the_limit_gets_another_row() -> None:
    assert rolled(["aaa", "bbb", "ccc"], 8) == [b"aaa\nbbb\nccc\n"]


def test_no_empty_file_follows_a_full_one() -> None:
    assert rolled(["aaa", "bbb"], 0) == [b"aaa\n", b"bbb\n"]


def test_a_row_beyond_the_limit_gets_a_file_of_its_own() -> None:
    assert rolled(["a" * 100, "b"], 10) == [b"a" * 100 + b"\n", b"b\n"]


@pytest.mark.parametrize("format_name", ["csv", "json", "avro", "parquet"])
def test_each_partition_rolls_by_its_own_size(tmp_path: pathlib.Path, format_name: str) -> None:
    store, row_type = FileStore(tmp_path.as_uri()), parse_type("ROW<v STRING, p INT>")
    assert isinstance(row_type, RowType)
    partitioning = Partitioning.of(row_type, ("p",), "none")
    options = {"avro.codec": "null", "parquet.compression": "none"}
    staging = f"{tmp_path}/.staging_0"
    sink = FileTableSink(store, format_name, options, row_type, partitioning, staging, limit_bytes=40_000)
    writer = sink.create_writer(WriterContext(0, 1, EpochId(1), "attempt", 0))
    values = [f"{n}" * 1000 for n in range(100, 200)]
    partitions = pa.array([0] * 90 + [1] * 10, pa.int32())
    writer.write_arrow(pa.table({"v": values, "p": partitions, "__kind": [0] * 100, "__pos": range(100)}))
    files = writer.prepare_commit(end_of_input=False)
    sizes = {part: [] for part in ("p=0", "p=1")}
    for file in files:
        sizes[file.folder].append(pathlib.Path(file.staged).stat().st_size)
    assert len(sizes["p=1"]) == 1
    assert len(sizes["p=0"]) > 4
    assert all(40_000 < size < 80_000 for size in sizes["p=0"][:-1])
    assert len({file.name for file in files}) == len(files)


@pytest.mark.parametrize("format_name", ["parquet", "orc"])
@pytest.mark.parametrize("at_once", [100, 5_000, 100_000])
def test_columnar_files_have_about_the_size_however_rows_come(
    tmp_path: pathlib.Path, format_name: str, at_once: int
) -> None:
    store, row_type = FileStore(tmp_path.as_uri()), parse_type("ROW<v BIGINT>")
    assert isinstance(row_type, RowType)
    partitioning = Partitioning.of(row_type, (), "none")
    options = {"parquet.compression": "none", "orc.compress": "none"}
    sink = FileTableSink(
        store, format_name, options, row_type, partitioning, str(tmp_path), limit_bytes=200_000
    )
    writer = sink.create_writer(WriterContext(0, 1, EpochId(1), "attempt", 0))
    dice = random.Random(1)
    rows = pa.table({"v": [dice.getrandbits(62) for _ in range(100_000)]})
    for start in range(0, 100_000, at_once):
        writer.write_arrow(rows.slice(start, at_once))
    sizes = [pathlib.Path(file.staged).stat().st_size for file in writer.prepare_commit(end_of_input=False)]
    assert len(sizes) > 2
    assert all(200_000 < size < 300_000 for size in sizes[:-1])


def test_a_file_that_is_only_a_little_too_large_is_not_written_again() -> None:
    assert (is_exceeded(1000, 1200), is_exceeded(1000, 1300)) == (False, True)
    assert rows_within(1000, 5000, 100) == 20
