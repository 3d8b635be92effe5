"""The events as two Parquet files, for engines that lack the connector: each is a split, in order of time."""

from __future__ import annotations

import pathlib
import shutil
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.connectors.nexmark import NexmarkConfiguration, NexmarkSource
from penstock.connectors.source import EnumeratorContext, ReadLimit

VERSION = 2
FILES = 2
SIDE_INPUT_ROWS = 10_000


def generate(folder: pathlib.Path, events: int) -> pathlib.Path:
    """The folder with `events` and `side_input`, made unless it is there already."""
    target = folder / f"nexmark-v{VERSION}-{events}"
    if (target / "_DONE").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    (target / "events").mkdir(parents=True)
    source = NexmarkSource(NexmarkConfiguration(events=events))
    splits = source.create_enumerator(EnumeratorContext(FILES, {})).discover()
    for number, split in enumerate(splits):
        batches = source.create_reader().read_arrow(split, None, ReadLimit())
        _write(target / "events" / f"part-{number}.parquet", (found.batch for found in batches))
    (target / "side_input").mkdir()
    rows = (f"{number},{number}\n" for number in range(SIDE_INPUT_ROWS))
    (target / "side_input" / "part-0.csv").write_text("".join(rows))
    (target / "_DONE").touch()
    return target


def _write(path: pathlib.Path, batches: Iterable[pa.RecordBatch]) -> None:
    """Timestamps as INT96: the only form that Flink's Parquet reader knows inside of rows."""
    writer = None
    for batch in batches:
        writer = writer or pq.ParquetWriter(path, batch.schema, use_deprecated_int96_timestamps=True)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()
