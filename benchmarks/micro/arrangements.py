"""What a row of a join, a deduplication or a Top-N costs by rows and by columns: no Spark, one process, LMDB.

    python benchmarks/micro/arrangements.py [case ...]

Rows have 15 columns, five of them texts. A state of 1,000,000 rows is loaded first; then epochs of 1,000 and of
200,000 rows are measured, from the Arrow table that arrives to the Arrow tables that leave and the delta file, as CPU
time. `--state N` and `--columns-only` (without the operators by rows, which take long to load) make it shorter.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.datatypes import DataType, DataTypes, RowField, RowType
from penstock.common.ids import MIN_WATERMARK
from penstock.delta.base import Batch, DeltaContext, DeltaOperator
from penstock.delta.columnar.join import ColumnarJoin
from penstock.delta.columnar.top_n import ColumnarDeduplicate, ColumnarTopN
from penstock.delta.columns import named
from penstock.delta.deduplicate import Deduplicate
from penstock.delta.join import JoinType, RegularJoin
from penstock.delta.rank import Rank
from penstock.formats.arrow_rows import RowReader, RowsToArrow
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend

GROUPS = 128
NUMBERS, TEXTS = 8, 5
TYPES: list[DataType] = [
    *[DataTypes.BIGINT()] * NUMBERS,
    *[DataTypes.STRING()] * TEXTS,
    DataTypes.TIMESTAMP(3),
    DataTypes.DOUBLE(),
]


def wide(rng: np.random.Generator, count: int, keys: np.ndarray[Any, Any], start: int) -> pa.Table:
    """Changes that come: column 0 is the key, column 1 a running number, 13 a time that grows."""
    words = np.array([f"word-{i}-{'x' * (i % 40)}" for i in range(5000)])
    columns: list[Any] = [pa.array(keys), pa.array(np.arange(start, start + count))]
    columns += [pa.array(rng.integers(0, 1 << 40, count)) for _ in range(NUMBERS - 2)]
    columns += [pa.array(words[rng.integers(0, len(words), count)]) for _ in range(TEXTS)]
    columns += [
        pa.array(np.arange(start, start + count)).cast(pa.timestamp("us")),
        pa.array(rng.random(count)),
    ]
    hidden = [np.zeros(count, np.int8), np.full(count, MIN_WATERMARK), np.arange(count)]
    return named([*columns, *map(pa.array, hidden)])


class Task:
    """An operator as a task hosts it: epochs of tables in, tables and delta files out."""

    def __init__(self, operator: DeltaOperator, inputs: int, output_width: int) -> None:
        self.folder = tempfile.mkdtemp()
        self.storage = CheckpointStorage(os.path.join(self.folder, "chk"), "job")
        self.backend = open_keyed_backend(
            "lmdb", local_dir=self.folder, job_id="job", uid="op", subtask=0, first_key_group=0,
            last_key_group=GROUPS - 1, max_parallelism=GROUPS, key_codec=compile_codec(None),
            storage=self.storage, file_prefix="shared/op-0",
        )  # fmt: skip
        self.operator, self.inputs = operator, inputs
        self.handles: tuple[Any, ...] = ()
        self.epoch, self.opened, self.out = 0, False, 0
        self.reader = RowReader(RowType([RowField(f"c{i}", t) for i, t in enumerate(TYPES)], nullable=False))
        output = (TYPES * 2)[:output_width]
        self.to_arrow = RowsToArrow(
            RowType([RowField(f"c{i}", t) for i, t in enumerate(output)], nullable=False)
        )

    def run(self, tables: list[pa.Table | None]) -> None:
        restore = KeyedStateRestore(self.epoch, 0, GROUPS - 1, self.handles, False)
        snapshot = self.backend.begin_epoch(restore, 0)
        if not self.opened:
            self.operator.open(DeltaContext(self.backend, max_parallelism=GROUPS))
            self.opened = True
        self.operator.begin_epoch()
        for index, table in enumerate(tables):
            if table is not None:
                self._take(index, table)
        self.operator.end_epoch()
        self._leave()
        delta = self.backend.end_epoch(self.epoch + 1)
        self.handles = (next_handle(restore, snapshot, self.epoch + 1, delta),)
        self.epoch += 1

    def _take(self, index: int, table: pa.Table) -> None:
        rest = self.operator.take_columns(index, table, MIN_WATERMARK)
        if rest.num_rows:
            width = len(TYPES)
            rows = [row for b in rest.to_batches() for row in self.reader.rows(b.select(range(width)))]
            kinds, marks = (rest.column(width + i).to_pylist() for i in (0, 1))
            self.operator.process(index, Batch(rows, kinds, marks))

    def _leave(self) -> None:
        if self.operator.output.rows:
            for batch in self.to_arrow.batches(iter(self.operator.output.rows)):
                self.out += batch.num_rows
        for table in self.operator.output_tables:
            self.out += table.num_rows

    def close(self) -> None:
        self.backend.close()
        shutil.rmtree(self.folder, ignore_errors=True)


Make = Callable[[], DeltaOperator]


def join(join_type: JoinType, columnar: bool, retracts: bool = False) -> Make:
    if not columnar:
        return lambda: RegularJoin(join_type, [0], [0], left_width=15, right_width=15)
    return lambda: ColumnarJoin(
        join_type,
        [0],
        [0],
        left_types=TYPES,
        right_types=TYPES,
        left_retracts=retracts,
        right_retracts=retracts,
    )


CASES: dict[str, tuple[Make, Make, int, int]] = {
    "inner join, rows only come": (join(JoinType.INNER, False), join(JoinType.INNER, True), 2, 30),
    "left join, rows may go": (join(JoinType.LEFT, False), join(JoinType.LEFT, True, True), 2, 30),
    "last row by time": (
        lambda: Deduplicate([0], keep_last=True, rowtime_column=13),
        lambda: ColumnarDeduplicate(TYPES, [0], keep_last=True, rowtime_column=13),
        1,
        15,
    ),
    "top 10 of a key": (
        lambda: Rank([0], [(2, False)], end=10, input_retracts=False),
        lambda: ColumnarTopN(TYPES, [0], [(2, False)], end=10),
        1,
        15,
    ),
}
"""Name: by rows, by columns, inputs, columns of the output."""


def epochs(rng: np.random.Generator, state: int, inputs: int) -> Iterator[tuple[str, list[pa.Table | None]]]:
    """With two inputs, the right one (a key per row) is loaded first and the left one meets it."""
    at = 0
    for start in range(0, state, 100_000):
        count = min(100_000, state - start)
        keys = rng.permutation(np.arange(start, start + count))
        table = wide(rng, count, keys, at)
        at += count
        yield "load", [None, table] if inputs == 2 else [table]
    for size, times in ((1000, 10), (200_000, 1)):
        for _ in range(times):
            table = wide(rng, size, rng.integers(0, state, size), at)
            at += size
            yield f"{size}", [table, None] if inputs == 2 else [table]


def measure(make: Make, state: int, inputs: int, output_width: int) -> dict[str, Any]:
    task = Task(make(), inputs, output_width)
    spent: dict[str, list[float]] = {}
    rows: dict[str, int] = {}
    for name, tables in epochs(np.random.default_rng(7), state, inputs):
        gc.collect()
        started = time.process_time()
        task.run(tables)
        spent.setdefault(name, []).append(time.process_time() - started)
        rows[name] = rows.get(name, 0) + sum(t.num_rows for t in tables if t is not None)
    task.close()
    micros = {name: round(1e6 * sum(s) / rows[name], 1) for name, s in spent.items()}
    return {
        "us per row": micros,
        "out": task.out,
        "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--state", type=int, default=1_000_000)
    parser.add_argument("--columns-only", action="store_true")
    chosen = parser.parse_args()
    for name, (by_rows, by_columns, inputs, width) in CASES.items():
        if chosen.cases and not any(word in name for word in chosen.cases):
            continue
        columns = measure(by_columns, chosen.state, inputs, width)
        print(json.dumps({"case": name, "by": "columns", **columns}), flush=True)
        if not chosen.columns_only:
            rows = measure(by_rows, chosen.state, inputs, width)
            print(json.dumps({"case": name, "by": "rows", **rows}), flush=True)
            assert rows["out"] == columns["out"], "the two ways disagree"
            a, b = rows["us per row"], columns["us per row"]
            print(
                json.dumps({"case": name, "rows / columns": {n: round(a[n] / b[n], 1) for n in a}}),
                flush=True,
            )


if __name__ == "__main__":
    main()
