"""Part files that end when they are large enough, without Spark."""

from __future__ import annotations

import io
import pathlib
from typing import BinaryIO

import pyarrow as pa
import pytest

from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.formats.base import INSERT
from penstock.sql.connectors.filesystem.columnar_sizes import SizeLimit
from penstock.sql.connectors.filesystem.files import FileStore
from penstock.sql.connectors.filesystem.partitions import Partitioning
from penstock.sql.connectors.filesystem.rolling import LineWriter, RollingWriter
from penstock.sql.connectors.filesystem.writer import FileSink


class KeptFile(io.BytesIO):
    """Keeps its bytes when it is closed."""

    kept = b""

    def close(self) -> None:
        self.kept = self.getvalue()
        super().close()


class Plain:
    def encode(self, kind: int, row: tuple[object, ...]) -> bytes:
        return str(row[0]).encode()


def rolled(rows: list[str], limit_bytes: int) -> list[bytes]:
    files: list[KeptFile] = []

    def open_file(number: int) -> BinaryIO:
        assert number == len(files)
        files.append(KeptFile())
        return files[-1]

    with RollingWriter(open_file, lambda stream: LineWriter(stream, Plain()), limit_bytes) as writer:
        for row in rows:
            writer.write(INSERT, (row,))
    return [file.kept for file in files]


def test_a_file_larger_than_the_limit_gets_no_more_rows() -> None:
    assert rolled(["aaa", "bbb", "ccc", "ddd"], 10) == [b"aaa\nbbb\nccc\n", b"ddd\n"]


def test_a_file_as_large_as_the_limit_gets_another_row() -> None:
    assert rolled(["aaa", "bbb", "ccc"], 8) == [b"aaa\nbbb\nccc\n"]


def test_no_empty_file_follows_a_full_one() -> None:
    assert rolled(["aaa", "bbb"], 0) == [b"aaa\n", b"bbb\n"]


def test_a_row_beyond_the_limit_gets_a_file_of_its_own() -> None:
    assert rolled(["a" * 100, "b"], 10) == [b"a" * 100 + b"\n", b"b\n"]


@pytest.mark.parametrize("format_name", ["csv", "json", "avro"])
def test_each_partition_rolls_by_its_own_size(tmp_path: pathlib.Path, format_name: str) -> None:
    store, row_type = FileStore(tmp_path.as_uri()), parse_type("ROW<v STRING, p INT>")
    assert isinstance(row_type, RowType)
    partitioning = Partitioning.of(row_type, ("p",), "none")
    options = {"avro.codec": "null"}
    sink = FileSink(
        store, format_name, options, row_type, partitioning, f"{tmp_path}/.staged", limit_bytes=40_000
    )
    values = [f"{n}" * 1000 for n in range(100, 200)]
    batch = pa.record_batch({"v": values, "p": pa.array([0] * 90 + [1] * 10, pa.int32())})
    [report] = list(sink.write(iter([batch])))
    files = report.to_pylist()
    sizes = {part: [] for part in ("p=0", "p=1")}
    for file in files:
        sizes[file["folder"]].append(pathlib.Path(file["staged"]).stat().st_size)
    assert len(sizes["p=1"]) == 1
    assert len(sizes["p=0"]) > 4
    assert all(40_000 < size < 80_000 for size in sizes["p=0"][:-1])
    assert len({file["name"] for file in files}) == len(files)


def test_what_a_large_file_taught_limits_the_next_ones() -> None:
    limit = SizeLimit(1000)
    assert (limit.rows, limit.is_exceeded(1200), limit.is_exceeded(1300)) == (0, False, True)
    assert limit.learn(5000, 100) == 20
    assert limit.rows == 20
