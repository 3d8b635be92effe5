"""What a table's enumerator hands out after a restore, and how far an epoch reads: nothing twice, nothing never."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
from collections.abc import Container
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.common.errors import MalformedRecordError
from penstock.connectors.filesystem.files import FileEntry
from penstock.connectors.filesystem.reader import FileSplit
from penstock.connectors.filesystem.source import FileTableEnumerator, FileTableSource
from penstock.connectors.registry import find_connector
from penstock.connectors.source import ArrowReader, ReadLimit
from tests.connectors.epochs import SourceLoop


def table_source(
    path: pathlib.Path,
    columns: str,
    file_format: str,
    *,
    needed: list[str] | None = None,
    partitioned_by: tuple[str, ...] = (),
    metadata: tuple[str, ...] = (),
    **options: str,
) -> FileTableSource:
    given = {"connector": "filesystem", "path": str(path), "format": file_format, **options}
    physical = [SchemaColumn(f.name, f.data_type) for f in parse_type(f"ROW<{columns}>").fields]
    asked = tuple(SchemaColumn(key, None, metadata_key=key, is_virtual=True) for key in metadata)
    schema = Schema((*physical, *asked))
    table = CatalogTable(schema, given, partition_keys=partitioned_by, requested_metadata=asked)
    source = find_connector(given, "t").source(table, needed)
    assert isinstance(source, FileTableSource)
    return source


# --- the enumerator


class Folder:
    """Stands for a folder into which files come one by one."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)

    def splits(self, known: Container[str] = ()) -> list[FileSplit]:
        return [FileSplit(FileEntry(name, 9, 0), 0, 9) for name in self.names if name not in known]


def files_of(splits: Any) -> list[str]:
    return [file.file.path for split in splits for file in split.files]


def enumerator(folder: Folder, parallelism: int, restored: Any = None) -> FileTableEnumerator:
    return FileTableEnumerator(folder.splits, parallelism, 0, restored)


def test_a_file_that_comes_after_a_restore_is_a_split_of_its_own() -> None:
    folder = Folder("a")
    first = enumerator(folder, 3)
    known = {split.split_id for split in first.discover()}
    folder.names.append("b")
    restored = enumerator(folder, 3, first.snapshot())
    found = restored.discover()
    assert files_of(found) == ["b"]
    assert not known & {split.split_id for split in found}


def test_a_folder_that_was_empty_at_the_checkpoint_is_read_when_files_come() -> None:
    folder = Folder()
    first = enumerator(folder, 2)
    assert list(first.discover()) == []
    folder.names.append("a")
    assert files_of(enumerator(folder, 2, first.snapshot()).discover()) == ["a"]


def test_files_are_dealt_out_to_the_subtasks() -> None:
    splits = enumerator(Folder("a", "b", "c"), 2).discover()
    assert [files_of([split]) for split in splits] == [["a", "c"], ["b"]]


# --- reading

FORMATS = ["csv", "json", "avro", "parquet", "orc", "raw"]


def write_numbers(path: pathlib.Path, file_format: str, numbers: range) -> None:
    table = pa.table({"n": pa.array([str(n) for n in numbers])})
    if file_format == "parquet":
        pq.write_table(table, path, row_group_size=7)
    elif file_format == "orc":
        orc.write_table(table, path, stripe_size=1024, batch_size=16)
    elif file_format == "avro":
        import fastavro

        schema = {"type": "record", "name": "r", "fields": [{"name": "n", "type": "string"}]}
        with path.open("wb") as stream:
            fastavro.writer(stream, schema, [{"n": str(n)} for n in numbers])
    else:
        lines = [json.dumps({"n": str(n)}) if file_format == "json" else str(n) for n in numbers]
        path.write_text("".join(line + "\n" for line in lines))


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("budget", [1, 10, 1000])
def test_an_epoch_stops_after_any_row_and_the_next_goes_on_there(
    tmp_path: pathlib.Path, file_format: str, budget: int
) -> None:
    write_numbers(tmp_path / "a", file_format, range(25))
    write_numbers(tmp_path / "b", file_format, range(25, 60))
    loop = SourceLoop(table_source(tmp_path, "n STRING", file_format), max_records=budget)
    loop.run_epoch()
    assert len(loop.values) <= max(budget, 60)
    loop.run_epoch(crash=True)
    loop.recover()
    assert [int(n) for (n,) in loop.run_to_end()] == list(range(60))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_limit_cuts_a_batch(tmp_path: pathlib.Path, file_format: str) -> None:
    write_numbers(tmp_path / "a", file_format, range(25))
    source = table_source(tmp_path, "n STRING", file_format)
    (split,) = FileTableEnumerator(source.listing.splits, 1).discover()
    found = list(source.create_reader().read_arrow(split, None, ReadLimit(max_records=3)))
    assert sum(item.batch.num_rows for item in found) == 3


def test_columns_metadata_and_partitions_come_in_the_order_of_the_contract(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "p=7"
    folder.mkdir()
    (folder / "a").write_text('{"x": 1, "y": "not needed"}\n')
    source = table_source(
        tmp_path, "x INT, p BIGINT, y INT", "json", needed=["x"], partitioned_by=("p",), metadata=("file.name",),
        **{"json.ignore-parse-errors": "true"},
    )  # fmt: skip
    assert source.row_type.names == ["x", "p", "y", "file.name"]
    assert SourceLoop(source).run_to_end() == [(1, 7, None, "a")]


def test_changes_come_with_their_kind_behind_the_columns(tmp_path: pathlib.Path) -> None:
    before, after = {"id": 1}, {"id": 2}
    records = [{"op": "c", "after": before}, {"op": "u", "before": before, "after": after}]
    (tmp_path / "a").write_text("".join(json.dumps(r) + "\n" for r in records))
    source = table_source(tmp_path, "id INT", "debezium-json")
    assert isinstance(source.create_reader(), ArrowReader)
    assert source.row_type.names == ["id", "__kind"]
    assert SourceLoop(source).run_to_end() == [(1, 0), (1, 1), (2, 2)]


# --- types of columnar files


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_stored_types_become_those_of_the_table(tmp_path: pathlib.Path, file_format: str) -> None:
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 6)
    stored = pa.table(
        {
            "wide": pa.array([1, None], pa.int32()),
            "at": pa.array([moment, None], pa.timestamp("ns")),
            "zoned": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "many": pa.array([[1, None], None], pa.list_(pa.int16())),
            "deep": pa.array([{"b": "x", "a": 1}, None], pa.struct({"b": pa.string(), "a": pa.int32()})),
            "pairs": pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())),
            "price": pa.array([1, None], pa.decimal128(5, 1)),
        }
    )
    (pq if file_format == "parquet" else orc).write_table(stored, tmp_path / "f")
    columns = (
        "wide BIGINT, at TIMESTAMP_LTZ(6), zoned TIMESTAMP(6), many ARRAY<INT>, deep ROW<a BIGINT, c INT, b STRING>,"
        " pairs MAP<STRING, BIGINT>, price DECIMAL(10, 2), missing INT"
    )
    rows = SourceLoop(table_source(tmp_path, columns, file_format), max_records=1).run_to_end()
    zoned = moment.replace(tzinfo=dt.timezone.utc)
    first = (1, zoned, moment, [1, None], (1, None, "x"), {"k": 1}, 1, None)
    assert rows == [first, (None,) * 8]


def test_int96_and_times_of_day_are_read(tmp_path: pathlib.Path) -> None:
    moment = dt.datetime(2024, 1, 2, 3, 4, 5, 6)
    stored = pa.table({"at": pa.array([moment]), "t": pa.array([dt.time(1, 2, 3)], pa.time32("ms"))})
    pq.write_table(stored, tmp_path / "f", use_deprecated_int96_timestamps=True)
    rows = SourceLoop(table_source(tmp_path, "at TIMESTAMP(6), t TIME", "parquet")).run_to_end()
    assert rows == [(moment, dt.time(1, 2, 3))]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_column_of_another_kind_is_refused(tmp_path: pathlib.Path, file_format: str) -> None:
    (pq if file_format == "parquet" else orc).write_table(pa.table({"n": ["x"]}), tmp_path / "f")
    with pytest.raises(
        MalformedRecordError, match="column 'n' cannot be read as INT: it is stored as string"
    ):
        SourceLoop(table_source(tmp_path, "n INT", file_format)).run_to_end()
