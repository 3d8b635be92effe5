"""What a table's enumerator hands out after a restore, and how far an epoch reads: nothing twice, nothing never."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from penstock.connectors.source import ReadLimit
from penstock.runtime.plan import SplitRead
from penstock.sql.connectors.filesystem.blocks import START
from penstock.sql.streaming.scan_source import PartSplit, _Files, _Generated
from penstock.sql.streaming.scan_task import _Progress, _split


class Folder:
    """Stands for a filesystem table whose files come one by one."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.values = {"source.monitor-interval": "1 ms"}
        self.format = SimpleNamespace(framing="line", name="json")

    def splits(self, table: Any) -> list[Any]:
        return [
            SimpleNamespace(file=SimpleNamespace(path=name, is_compressed=False), start=0, length=9)
            for name in self.names
        ]


def files_of(splits: Any) -> list[str]:
    return [part.file.path for split in splits for part in split.parts]


def enumerator(folder: Folder, parallelism: int, restored: Any = None) -> _Files:
    found = _Files(folder, None, parallelism, restored)  # type: ignore[arg-type]
    found._interval_ms = 0
    return found


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
    known = {split.split_id for split in first.discover()}
    folder.names.append("a")
    found = enumerator(folder, 2, first.snapshot()).discover()
    assert files_of(found) == ["a"]
    assert not known & {split.split_id for split in found}


def test_an_endless_generator_goes_on_at_its_rate_after_a_restore() -> None:
    generator = SimpleNamespace(sequence_length=lambda: None)
    connector: Any = SimpleNamespace(
        generator=lambda table: generator, values={"number-of-rows": None, "rows-per-second": 10}
    )
    restored = _Generated(connector, None, 1)
    (split,) = restored.discover()
    assert restored.plan_read(split, (0, 5000), 1_000_000) is None
    limit = restored.plan_read(split, (0, 5000), 1_001_000)
    assert limit is not None and limit.max_records == 10


def read(split: PartSplit, position: Any, max_records: int) -> tuple[list[int], Any, bool]:
    """The numbers that an epoch reads of a split whose parts are lists of batches, and where it is then."""
    progress = _Progress(SplitRead(split, position, ReadLimit(max_records=max_records)))

    def batches(part: Any, place: Any, skip: int, limit: int | None) -> Any:
        rows = [row for batch in part for row in batch][skip:]
        return ((START, pa.record_batch({"n": [row]})) for row in rows)

    found = [row for batch in _split(progress, batches) for row in batch.column(0).to_pylist()]
    report = progress.report()
    return found, report.position, report.finished


def test_an_epoch_stops_within_a_part_and_goes_on_there() -> None:
    split = PartSplit("s", ([[1, 2], [3]], [[4]]))
    found, position, finished = read(split, None, 2)
    assert (found, finished) == ([1, 2], False)
    found, position, finished = read(split, position, 9)
    assert (found, finished) == ([3, 4], True)


def test_an_epoch_ends_with_the_part_in_which_it_has_had_enough_where_parts_are_whole() -> None:
    split = PartSplit("s", ([[1, 2], [3]], [[4]]), whole=True)
    found, position, finished = read(split, None, 2)
    assert (found, position[:2], finished) == ([1, 2, 3], (1, 0), False)
    found, position, finished = read(split, position, 1)
    assert (found, finished) == ([4], True)
