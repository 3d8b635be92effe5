"""Parts of a savepoint: the Parquet files that hold an operator's keyed state and timers.

A part is small enough to be in memory as a whole, so that any number of tasks can write and read a large state, each
one part at a time. `savepoint.json` names the parts with their checksums; files that it does not name (what an
attempt that failed has left) are not read.

Somebody may have replaced all parts of an operator by files of his own, in the same columns: then there are none of
the named ones, and those that are there count.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from xxhash import xxh3_64_hexdigest

from penstock.checkpoint.filesystem import FileSystem
from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.savepoint_rows import ROW_SCHEMA, SavepointRow, record_of
from penstock.checkpoint.storage import verify
from penstock.common.errors import CheckpointError
from penstock.state.files import Record
from penstock.state.schema import ARRANGEMENT

PART_BYTES = 64 << 20
PART_ROWS = 1_000_000
_BATCH_ROWS = 10_000


class Part(msgspec.Struct, frozen=True):
    """One file. The range of key groups is the one that its rows are from; -1 where nobody has looked."""

    name: str
    size_bytes: int = -1
    checksum: str = ""
    rows: int = -1
    first_key_group: int = -1
    last_key_group: int = -1


def write_parts(files: FileSystem, folder: str, prefix: str, rows: Iterable[SavepointRow]) -> list[Part]:
    """Writes rows as files `<prefix>-<n>.parquet`, each of a limited size; none if there are no rows."""
    made: list[Part] = []
    writer = _PartWriter()
    for row in rows:
        writer.add(row)
        if writer.is_full:
            made.append(writer.finish(files, folder, f"{prefix}-{len(made)}.parquet"))
            writer = _PartWriter()
    if writer.rows:
        made.append(writer.finish(files, folder, f"{prefix}-{len(made)}.parquet"))
    return made


class _PartWriter:
    def __init__(self) -> None:
        self.rows = 0
        self._bytes = 0
        self._groups = (1 << 16, -1)
        self._batch: list[SavepointRow] = []
        self._out = io.BytesIO()
        self._writer = pq.ParquetWriter(self._out, ROW_SCHEMA, compression="zstd")

    @property
    def is_full(self) -> bool:
        return self._bytes >= PART_BYTES or self.rows >= PART_ROWS

    def add(self, row: SavepointRow) -> None:
        self.rows += 1
        self._bytes += len(row["value_bytes"] or b"") + len(row["key_bytes"] or b"") + 64
        last = row["position"] if row["kind"] == ARRANGEMENT else row["key_group"]
        self._groups = (min(self._groups[0], row["key_group"]), max(self._groups[1], last))
        self._batch.append(row)
        if len(self._batch) >= _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(pa.Table.from_pylist(self._batch, ROW_SCHEMA))
        self._batch = []

    def finish(self, files: FileSystem, folder: str, name: str) -> Part:
        self._flush()
        self._writer.close()
        data = self._out.getvalue()
        files.write(f"{folder}/{name}", data)
        return Part(name, len(data), xxh3_64_hexdigest(data), self.rows, *self._groups)


def parts_of(files: FileSystem, folder: str, named: Sequence[Part]) -> list[Part]:
    """The parts that an operator's state is made of.

    Raises:
        CheckpointError: One that the savepoint names is not there.
    """
    there = {name for name in files.names(folder) if name.endswith(".parquet")}
    missing = [part.name for part in named if part.name not in there]
    if not missing and named:
        return list(named)
    if missing and (len(missing) < len(named) or not there):
        raise CheckpointError(
            f"the savepoint is incomplete: {', '.join(missing)} is missing",
            where=folder,
            do="copy the whole folder, or use another savepoint",
        )
    return [Part(name) for name in sorted(there)]


def read_table(files: FileSystem, folder: str, part: Part, states: Sequence[str] | None = None) -> pa.Table:
    """The rows of a part, verified; only those of some states if they are given."""
    path = f"{folder}/{part.name}"
    data = files.read(path)
    if part.checksum:
        verify(FileRef(path, part.size_bytes, part.checksum), data)
    try:
        table = pq.read_table(io.BytesIO(data), schema=ROW_SCHEMA)
    except (pa.ArrowException, OSError) as error:
        raise CheckpointError(f"a part of the savepoint is damaged: {error}", where=path) from error
    if states is not None:
        table = table.filter(pc.is_in(table["state"], pa.array(states, pa.string())))
    return table


def rows_of(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
        yield from batch.to_pylist()


def sorted_records(table: pa.Table) -> list[Record]:
    """The records of the rows that are no arrangement, in the order of the store."""
    return sorted(record_of(row) for row in rows_of(table) if row["kind"] != ARRANGEMENT)
