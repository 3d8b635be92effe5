"""What the file sink commits with an epoch, and committing it more than once; without Spark."""

from __future__ import annotations

import pathlib
from typing import Any

import pyarrow as pa
import pytest

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema
from penstock.common.ids import MIN_WATERMARK
from penstock.connectors.filesystem.sink import CompletePartition, FileTableSink
from penstock.connectors.filesystem.table import FileSystemConnector
from penstock.connectors.filesystem.writer import StagedFile
from penstock.connectors.sink import Moment, Taken
from penstock.connectors.table import SinkRequest
from tests.connectors.epochs import SinkLoop

SUCCESS = {"sink.partition-commit.policy.kind": "success-file"}
DAILY = {**SUCCESS, "sink.partition-commit.trigger": "partition-time", "sink.partition-commit.delay": "1 d"}
DAY_MS = 86_400_000
FIRST, SECOND = "day=1970-01-01", "day=1970-01-02"


def make_sink(folder: pathlib.Path, options: dict[str, str]) -> FileTableSink:
    given = {"connector": "filesystem", "path": folder.as_uri(), "format": "csv", **options}
    schema = Schema.new_builder().column("n", "INT").column("day", "STRING").build()
    table = CatalogTable(schema, given, partition_keys=("day",))
    return FileSystemConnector(given, "t").sink(table, SinkRequest())


def at_end(sink: FileTableSink, committables: tuple[Any, ...], moment: Moment, state: Any) -> Taken:
    coordinator = sink.create_coordinator()
    assert coordinator is not None
    return coordinator.at_epoch_end(committables, moment, state)


def staged(folder: pathlib.Path, partition: str, name: str) -> StagedFile:
    path = folder / ".staged" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("1\n")
    return StagedFile(str(path), partition, f"part-{name}")


def test_without_a_policy_there_is_neither_a_mark_nor_a_state(tmp_path: pathlib.Path) -> None:
    assert make_sink(tmp_path, {}).create_coordinator() is None


def test_partitions_that_wait_are_the_state_of_the_next_epoch(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, DAILY)
    files = (staged(tmp_path, FIRST, "a"), staged(tmp_path, SECOND, "b"))
    taken = at_end(sink, files, Moment(7, MIN_WATERMARK), None)
    assert taken == Taken(files, {FIRST: 7, SECOND: 7})
    taken = at_end(make_sink(tmp_path, DAILY), (), Moment(8, DAY_MS + 1), taken.state)
    assert taken == Taken((CompletePartition(FIRST),), {SECOND: 7})
    taken = at_end(sink, (), Moment(9, 2 * DAY_MS + 1), taken.state)
    assert taken == Taken((CompletePartition(SECOND),))


def test_a_delay_of_the_clock_asks_to_be_woken(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {**SUCCESS, "sink.partition-commit.delay": "10 s"})
    file = staged(tmp_path, FIRST, "a")
    assert at_end(sink, (file,), Moment(500, 0), None) == Taken((file,), {FIRST: 500}, wake_ms=10_501)


def test_files_are_in_their_places_before_the_partition_is_marked(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, SUCCESS)
    taken = at_end(sink, (staged(tmp_path, FIRST, "a"),), Moment(0, 0), None)
    sink.create_committer().commit(taken.committables)
    folder = tmp_path / FIRST
    assert {path.name for path in folder.iterdir()} == {"part-a", "_SUCCESS"}


def test_committing_again_after_a_crash_changes_nothing(tmp_path: pathlib.Path) -> None:
    """The first try came as far as moving one of the two files."""
    one, two = staged(tmp_path, FIRST, "a"), staged(tmp_path, FIRST, "b")
    sink = make_sink(tmp_path, SUCCESS)
    committables = at_end(sink, (one, two), Moment(0, 0), None).committables
    sink.create_committer().commit((one,))
    for _ in range(2):
        make_sink(tmp_path, SUCCESS).create_committer().commit(committables)
        assert {path.name for path in (tmp_path / FIRST).iterdir()} == {"part-a", "part-b", "_SUCCESS"}


def test_a_partition_with_another_name_for_its_mark(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {**SUCCESS, "sink.partition-commit.success-file.name": "done"})
    sink.create_committer().commit((staged(tmp_path, FIRST, "a"), CompletePartition(FIRST)))
    assert (tmp_path / FIRST / "done").exists()


# --- whole epochs


def rows(*days: str) -> pa.Table:
    count = len(days)
    return pa.table(
        {"n": pa.array(range(count), pa.int32()), "day": days, "__kind": [0] * count, "__pos": range(count)}
    )


def seen(folder: pathlib.Path) -> list[str]:
    """The lines that a reader finds, with their partitions."""
    files = [f for f in sorted(folder.rglob("part-*")) if ".staging" not in str(f)]
    return [f"{f.parent.name}: {line}" for f in files for line in f.read_text().split()]


class Loop(SinkLoop):
    """Writes tables instead of lists of values."""

    def _writer(self, subtask: int, restored: Any) -> Any:
        writer = super()._writer(subtask, restored)
        writer.write = lambda values, timestamps: [writer.write_arrow(value) for value in values]
        return writer


def test_rows_are_seen_when_their_epoch_is_committed_and_once(tmp_path: pathlib.Path) -> None:
    loop = Loop(make_sink(tmp_path, {}), parallelism=2)
    loop.run_epoch([[rows("a")], [rows("b")]], crash="prepared")
    loop.run_epoch([[rows("a")], [rows("b")]], crash="publishing")
    assert seen(tmp_path) == []
    for _ in range(2):
        loop.recover()
        assert sorted(seen(tmp_path)) == ["day=a: 0", "day=b: 0"]


def test_a_committed_epoch_leaves_nothing_hidden(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {})
    loop = Loop(sink)
    loop.run_epoch([[rows("a")]], crash="prepared")
    loop.run_epoch([[rows("a", "a")]])
    loop._committer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["day=a"]
    assert seen(tmp_path) == ["day=a: 0", "day=a: 1"]


def test_what_a_checkpoint_may_name_is_kept_when_the_job_ends(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {})
    loop = Loop(sink)
    loop.run_epoch([[rows("a")]], crash="publishing")
    loop._committer.close()
    loop.sink = make_sink(tmp_path, {})
    loop.recover()
    assert seen(tmp_path) == ["day=a: 0"]
    loop._committer.close()
    assert [path.name for path in tmp_path.iterdir()] == ["day=a"]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_columnar_files_hold_the_columns_without_the_partition(
    tmp_path: pathlib.Path, file_format: str
) -> None:
    import pyarrow.dataset as ds

    Loop(make_sink(tmp_path, {"format": file_format})).run_epoch([[rows("a", "b", "a")]])
    files = {path.parent.name: path for path in tmp_path.glob("day=*/*")}
    found = {day: ds.dataset(path, format=file_format).to_table().to_pydict() for day, path in files.items()}
    assert found == {"day=a": {"n": [0, 2]}, "day=b": {"n": [1]}}


def test_a_writer_that_gives_up_removes_its_files(tmp_path: pathlib.Path) -> None:
    sink = make_sink(tmp_path, {})
    writer = Loop(sink)._writer(0, ())
    writer.write([rows("a")], None)
    writer.abort()
    assert not sink.store.has_files(str(tmp_path))
