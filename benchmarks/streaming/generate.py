"""Two streams as Parquet files: key, value, and a row time of 1 s per 10,000 rows, a little disordered."""

from __future__ import annotations

import pathlib
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

VERSION = 2
FILES = 2
KEYS = 10_000
ROWS_PER_SECOND = 10_000
DISORDER_MS = 1_000
START_MS = 1_767_225_600_000  # 2026-01-01


def generate(folder: pathlib.Path, rows: int) -> pathlib.Path:
    """The folder with `clicks` and `orders`, half the rows each, made unless it is there already."""
    target = folder / f"stream-v{VERSION}-{rows}"
    if (target / "_DONE").exists():
        return target
    shutil.rmtree(target, ignore_errors=True)
    for number, table in enumerate(("clicks", "orders")):
        (target / table).mkdir(parents=True)
        _write(target / table, rows // 2, np.random.default_rng(number))
    (target / "_DONE").touch()
    return target


def _write(folder: pathlib.Path, rows: int, dice: np.random.Generator) -> None:
    """Every file covers all of the time, as the partitions of a topic would; each subtask has one."""
    count = rows // FILES
    for number in range(FILES):
        order = START_MS + np.arange(count) * FILES * 1000 // ROWS_PER_SECOND
        times = order + dice.integers(0, DISORDER_MS, count)
        columns = {
            "k": pa.array(dice.integers(0, KEYS, count), pa.int32()),
            "v": pa.array(dice.integers(0, 1_000_000_000, count), pa.int64()),
            "ts": pa.array(times, pa.timestamp("ms")),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet", row_group_size=100_000)
