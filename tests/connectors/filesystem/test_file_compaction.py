"""Files of several epochs become one before anybody sees them; without Spark."""

from __future__ import annotations

import pathlib
from typing import Any

import pyarrow as pa
import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema
from penstock.common.ids import MIN_WATERMARK, EpochId
from penstock.connectors.filesystem.compaction import (
    CompletePartition,
    FilesAcrossEpochs,
    MergedFile,
    SweptFolders,
)
from penstock.connectors.filesystem.partition_commit import ProcessTimeTrigger
from penstock.connectors.filesystem.table import FileSystemConnector
from penstock.connectors.filesystem.writer import StagedFile
from penstock.connectors.sink import Moment, WriterContext
from penstock.connectors.table import SinkRequest

OPTIONS = {"auto-compaction": "true", "sink.rolling-policy.rollover-interval": "10 s"}


def file(epoch: int, folder: str = "", size: int = 4) -> StagedFile:
    return StagedFile(f"/t/.staging_a/{epoch}/{folder}", folder, f"part-{epoch}", size)


def moment(now_ms: int, final: bool = False) -> Moment:
    return Moment(now_ms, MIN_WATERMARK, final)


# --- decisions


def test_files_wait_until_there_is_enough_of_them() -> None:
    across = FilesAcrossEpochs(10, 1000, None)
    taken = across.at_epoch_end([file(1), file(1, "b")], moment(5), None)
    assert taken.committables == () and taken.wake_ms == 1005
    taken = across.at_epoch_end([file(2)], moment(6), taken.state)
    assert taken.committables == ()
    taken = across.at_epoch_end([file(3)], moment(7), taken.state)
    merged, swept = taken.committables
    assert (merged.parts, merged.folder) == ((file(1), file(2), file(3)), "")
    assert swept == SweptFolders(("/t/.staging_a/2", "/t/.staging_a/3")), "in 1 a file of the other one waits"
    assert set(taken.state.waiting) == {"b"} and taken.wake_ms == 1005


def test_no_file_waits_longer_than_the_interval_and_one_alone_is_moved_as_it_is() -> None:
    across = FilesAcrossEpochs(10, 1000, None)
    taken = across.at_epoch_end([file(1)], moment(5), None)
    assert across.at_epoch_end([], moment(1004), taken.state).committables == ()
    taken = across.at_epoch_end([], moment(1005), taken.state)
    assert taken.committables == (file(1), SweptFolders(("/t/.staging_a/1",)))
    assert (taken.state, taken.wake_ms) == (None, None)


def test_the_end_of_the_input_waits_for_nothing() -> None:
    across = FilesAcrossEpochs(10, 1000, None)
    taken = across.at_epoch_end([file(1)], moment(5), None)
    taken = across.at_epoch_end([file(2)], moment(6, final=True), taken.state)
    assert isinstance(taken.committables[0], MergedFile) and taken.state is None


def test_a_partition_that_is_complete_has_all_of_its_files() -> None:
    across = FilesAcrossEpochs(10, 100_000, ProcessTimeTrigger(1000))
    taken = across.at_epoch_end([file(1, "a")], moment(0), None)
    taken = across.at_epoch_end([file(2, "a"), file(2, "b")], moment(500), taken.state)
    assert taken.wake_ms == 1001
    taken = across.at_epoch_end([], moment(1001), taken.state)
    merged, complete, _ = taken.committables
    assert merged.parts == (file(1, "a"), file(2, "a")) and complete == CompletePartition("a")
    assert set(taken.state.waiting) == set(taken.state.pending) == {"b"}


# --- files


class Job:
    """Epochs of one task that write numbers into a table, partitioned by `p`."""

    def __init__(self, folder: pathlib.Path, **options: str) -> None:
        self.folder = folder
        given = {"connector": "filesystem", "path": folder.as_uri(), "format": "csv", **OPTIONS, **options}
        schema = Schema.new_builder().column("n", "INT").column("p", "STRING").build()
        self.table = CatalogTable(schema, given, partition_keys=("p",))
        self.connector = FileSystemConnector(given, "t")
        self.sink = self.connector.sink(self.table, SinkRequest())
        self.state: Any = None
        self.epoch = 0

    def prepare(self, numbers: list[int], now_ms: int, final: bool = False) -> tuple[Any, ...]:
        self.epoch += 1
        writer = self.sink.create_writer(WriterContext(0, 1, EpochId(self.epoch), "a", now_ms))
        if numbers:
            rows = {"n": numbers, "p": ["x"] * len(numbers), "__kind": [0] * len(numbers), "__pos": numbers}
            types = [("n", pa.int32()), ("p", pa.string()), ("__kind", pa.int8()), ("__pos", pa.int64())]
            writer.write_arrow(pa.table(rows, schema=pa.schema(types)))
        coordinator = self.sink.create_coordinator()
        assert coordinator is not None
        taken = coordinator.at_epoch_end(writer.prepare_commit(final), moment(now_ms, final), self.state)
        self.state = taken.state
        return taken.committables

    def run(self, numbers: list[int], now_ms: int, final: bool = False) -> None:
        self.sink.create_committer().commit(self.prepare(numbers, now_ms, final))

    def visible(self) -> list[pathlib.Path]:
        return sorted(self.folder.glob("p=x/*"))

    def hidden(self) -> list[pathlib.Path]:
        return [path for path in self.folder.glob(".staging*/**/*") if path.is_file()]


def lines(job: Job) -> list[str]:
    return [line for path in job.visible() for line in path.read_text().splitlines()]


def test_files_of_epochs_are_shown_as_one(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path)
    job.run([1, 2], 0)
    job.run([3], 5_000)
    job.run([], 6_000)
    assert job.visible() == [] and len(job.hidden()) == 2
    job.run([4], 10_000)
    assert lines(job) == ["1", "2", "3", "4"] and len(job.visible()) == 1
    assert job.hidden() == []
    job.run([5], 11_000, final=True)
    assert lines(job) == ["1", "2", "3", "4", "5"] and len(job.visible()) == 2


@pytest.mark.parametrize("format_name", ["json", "avro", "parquet", "orc"])
def test_every_format_is_merged(tmp_path: pathlib.Path, format_name: str) -> None:
    job = Job(tmp_path, format=format_name)
    job.run([1, 2], 0)
    job.run([3], 1)
    job.run([], 10_000)
    [merged] = job.visible()
    assert _stored(merged, format_name) == [1, 2, 3]


def _stored(path: pathlib.Path, format_name: str) -> list[int]:
    if format_name == "json":
        import json

        return [json.loads(line)["n"] for line in path.read_text().splitlines()]
    if format_name == "avro":
        import fastavro

        with path.open("rb") as stream:
            return [record["n"] for record in fastavro.reader(stream)]
    import pyarrow.orc
    import pyarrow.parquet

    reads = {"parquet": pyarrow.parquet.ParquetFile, "orc": pyarrow.orc.ORCFile}[format_name]
    assert path.suffix == f".{format_name}"
    found: list[int] = reads(str(path)).read().column("n").to_pylist()
    return found


def test_so_many_bytes_are_enough(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path, **{"compaction.file-size": "6 b"})
    for number in range(1, 7):
        job.run([number], 0)
    assert [len(path.read_text()) for path in job.visible()] == [6, 6]


def test_merging_again_after_a_crash_changes_nothing(tmp_path: pathlib.Path) -> None:
    """The first try came as far as merging, and had not deleted all parts."""
    job = Job(tmp_path)
    job.run([1], 0)
    first = job.hidden()[0]
    kept = first.read_bytes()
    committables = job.prepare([2], 10_000)
    job.sink.create_committer().commit(committables)
    first.parent.mkdir(parents=True, exist_ok=True)
    first.write_bytes(kept)
    job.sink.create_committer().commit(committables)
    assert lines(job) == ["1", "2"] and job.hidden() == []


def test_what_a_failed_try_of_an_epoch_has_left_is_swept_with_it(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path)
    job.prepare([666], 0)
    job.epoch, job.state = 0, None
    job.run([1], 0)
    job.run([], 10_000)
    assert lines(job) == ["1"] and job.hidden() == []


def test_a_job_that_goes_on_shows_what_waited(tmp_path: pathlib.Path) -> None:
    before = Job(tmp_path)
    before.run([1], 0)
    committer = before.sink.create_committer()
    committer.close()
    after = Job(tmp_path)
    after.state, after.epoch = before.state, before.epoch
    after.run([2], 10_000)
    assert lines(after) == ["1", "2"]


def test_without_an_interval_and_in_batch_mode_nothing_waits(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path)
    assert job.connector.sink(job.table, SinkRequest(bounded=True)).hold_ms is None
    options = {"connector": "filesystem", "path": str(tmp_path), "format": "csv", "auto-compaction": "true"}
    assert FileSystemConnector(options, "t").sink(job.table, SinkRequest()).hold_ms is None
