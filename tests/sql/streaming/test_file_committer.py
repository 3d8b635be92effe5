"""What the file sink commits with an epoch, and committing it more than once; without Spark."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any, cast

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema
from penstock.common.ids import MIN_WATERMARK
from penstock.sql.connectors.filesystem.connector import FileSystemConnector
from penstock.sql.connectors.filesystem.writer import StagedFile
from penstock.sql.connectors.moments import Moment
from penstock.sql.streaming.file_sink import CompletePartition, FileEpochSink
from penstock.sql.streaming.query import Taken, TimedSink

SUCCESS = {"sink.partition-commit.policy.kind": "success-file"}
DAILY = {**SUCCESS, "sink.partition-commit.trigger": "partition-time", "sink.partition-commit.delay": "1 d"}
DAY_MS = 86_400_000
FIRST, SECOND = "day=1970-01-01", "day=1970-01-02"


def make_sink(folder: pathlib.Path, options: dict[str, str]) -> FileEpochSink:
    given = {"connector": "filesystem", "path": folder.as_uri(), "format": "csv", **options}
    schema = Schema.new_builder().column("n", "INT").column("day", "STRING").build()
    table = CatalogTable(schema, given, partition_keys=("day",))
    sink = SimpleNamespace(table=table)
    stream = SimpleNamespace(nodes=(SimpleNamespace(parallelism=1),), retracts=False)
    return FileEpochSink(FileSystemConnector(given, "t"), cast(Any, sink), False, cast(Any, stream))


def staged(folder: pathlib.Path, partition: str, name: str) -> StagedFile:
    path = folder / ".staged" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("1\n")
    return StagedFile(str(path), partition, f"part-{name}")


def test_without_a_policy_there_is_neither_a_mark_nor_a_state(tmp_path: pathlib.Path) -> None:
    sink, file = make_sink(tmp_path, {}), staged(tmp_path, FIRST, "a")
    assert isinstance(sink, TimedSink)
    assert sink.at_end((file,), Moment(0, DAY_MS, ended=True), None) == Taken((file,))


def test_partitions_that_wait_are_the_state_of_the_next_epoch(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, DAILY)
    files = (staged(tmp_path, FIRST, "a"), staged(tmp_path, SECOND, "b"))
    taken = sink.at_end(files, Moment(7, MIN_WATERMARK), None)
    assert taken == Taken(files, {FIRST: 7, SECOND: 7})
    taken = make_sink(tmp_path, DAILY).at_end((), Moment(8, DAY_MS + 1), taken.state)
    assert taken == Taken((CompletePartition(FIRST),), {SECOND: 7})
    taken = sink.at_end((), Moment(9, 2 * DAY_MS + 1), taken.state)
    assert taken == Taken((CompletePartition(SECOND),))


def test_a_delay_of_the_clock_asks_to_be_woken(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {**SUCCESS, "sink.partition-commit.delay": "10 s"})
    file = staged(tmp_path, FIRST, "a")
    assert sink.at_end((file,), Moment(500, 0), None) == Taken((file,), {FIRST: 500}, wake_ms=10_501)


def test_files_are_in_their_places_before_the_partition_is_marked(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, SUCCESS)
    taken = sink.at_end((staged(tmp_path, FIRST, "a"),), Moment(0, 0), None)
    sink.commit(taken.committables)
    folder = tmp_path / FIRST
    assert {path.name for path in folder.iterdir()} == {"part-a", "_SUCCESS"}


def test_committing_again_after_a_crash_changes_nothing(tmp_path: pathlib.Path) -> None:
    """The first try came as far as moving one of the two files."""
    one, two = staged(tmp_path, FIRST, "a"), staged(tmp_path, FIRST, "b")
    sink = make_sink(tmp_path, SUCCESS)
    committables = sink.at_end((one, two), Moment(0, 0), None).committables
    sink.commit((one,))
    for _ in range(2):
        make_sink(tmp_path, SUCCESS).commit(committables)
        assert {path.name for path in (tmp_path / FIRST).iterdir()} == {"part-a", "part-b", "_SUCCESS"}


def test_a_partition_with_another_name_for_its_mark(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {**SUCCESS, "sink.partition-commit.success-file.name": "done"})
    sink.commit((staged(tmp_path, FIRST, "a"), CompletePartition(FIRST)))
    assert (tmp_path / FIRST / "done").exists()
