"""A disk that is full: the epoch fails with the path and the reason, and the next try writes everything once."""

from __future__ import annotations

import os
import pathlib
import subprocess
from collections.abc import Iterator

import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common import Encoder
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import ExternalSystemError
from penstock.connectors.file.sink import FileSink
from penstock.connectors.registry import find_connector
from penstock.connectors.table import SinkRequest
from tests.connectors.epochs import SinkLoop
from tests.connectors.lake_rows import RowsToColumns


@pytest.fixture
def small_disk(tmp_path: pathlib.Path) -> Iterator[pathlib.Path]:
    """A file system of 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small file system can only be mounted by root")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def grown(disk: pathlib.Path) -> None:
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)


LINES = [f"line {i}" for i in range(20_000)]


def test_a_file_sink_says_so_and_goes_on_when_there_is_room(small_disk: pathlib.Path) -> None:
    sink = FileSink.for_row_format(str(small_disk / "out"), Encoder.simple_string_encoder()).build()
    loop = SinkLoop(sink)
    with pytest.raises(ExternalSystemError, match="No space left on device") as error:
        loop.run_epoch([LINES])
    assert str(small_disk) in str(error.value) and error.value.retryable
    grown(small_disk)
    loop.recover()
    loop.run_epoch([LINES], end_of_input=True)
    assert visible_lines(small_disk) == LINES


def test_a_table_says_so_and_goes_on_when_there_is_room(small_disk: pathlib.Path) -> None:
    options = {"connector": "filesystem", "path": str(small_disk / "out"), "format": "csv"}
    [field] = parse_type("ROW<v STRING>").fields
    table = CatalogTable(Schema((SchemaColumn(field.name, field.data_type),)), options)
    connector = find_connector(options, "t")
    sink = connector.sink(table, SinkRequest())
    loop = SinkLoop(RowsToColumns(sink))
    with pytest.raises(ExternalSystemError, match="No space left on device") as error:
        loop.run_epoch([[(line,) for line in LINES]])
    assert str(small_disk) in str(error.value) and error.value.retryable
    grown(small_disk)
    loop.recover()
    loop.run_epoch([[(line,) for line in LINES]])
    assert visible_lines(small_disk) == LINES


def visible_lines(folder: pathlib.Path) -> list[str]:
    files = [p for p in folder.rglob("*") if p.is_file()]
    shown = [p for p in files if not any(part.startswith((".", "_")) for part in p.relative_to(folder).parts)]
    return [line.strip('"') for p in sorted(shown) for line in p.read_text().splitlines()]
