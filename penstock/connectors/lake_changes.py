"""Changes of rows with a key, kept with the checkpoint: what sinks of lakes share that merge them in the driver."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from penstock.connectors.kept_output import BLOCK_BYTES, Kept, OutputBlocks
from penstock.connectors.sink import ArrowWriter, WriterContext
from penstock.formats.base import DELETE, UPDATE_BEFORE

__all__ = ["GONE", "ChangeWriter", "KeptChanges", "last_changes"]

GONE = "__gone"


@dataclass(frozen=True)
class KeptChanges:
    """Changes by key, as Arrow streams: the columns and whether the row is gone."""

    kept: Kept

    def tables(self) -> Iterator[pa.Table]:
        for block in self.kept.blocks():
            with pa.ipc.open_stream(block) as stream:
                yield stream.read_all()


class ChangeWriter(ArrowWriter):
    """Keeps the changes of an epoch for the driver; what becomes of them is the subclass's."""

    def __init__(self, schema: pa.Schema, changelog: bool, context: WriterContext) -> None:
        self._changelog = changelog
        self._schema = schema
        self._blocks = OutputBlocks(context.files, "changes")
        self._waiting: list[pa.Table] = []
        self._bytes = 0
        self._some = False

    def write_arrow(self, table: pa.Table) -> None:
        width = len(self._schema)
        columns = table.select(range(width)).rename_columns(self._schema.names)
        kinds = table.column(width).to_pylist() if self._changelog else [0] * table.num_rows
        gone = pa.array([kind in (DELETE, UPDATE_BEFORE) for kind in kinds], pa.bool_())
        self._waiting.append(columns.cast(self._schema, safe=False).append_column(GONE, gone))
        self._bytes += table.nbytes
        if self._bytes >= BLOCK_BYTES:
            self._store()

    def _store(self, last: bool = False) -> None:
        rows = pa.concat_tables(self._waiting)
        self._waiting, self._bytes = [], 0
        if not rows.num_rows:
            return
        self._some = True
        stream = io.BytesIO()
        with pa.ipc.new_stream(stream, rows.schema) as writer:
            writer.write_table(rows)
        self._blocks.add(stream.getvalue(), last)

    def finished(self) -> KeptChanges | None:
        """All changes of the epoch; None if there are none."""
        if self._waiting:
            self._store(last=True)
        return KeptChanges(self._blocks.kept()) if self._some else None


def last_changes(changes: pa.Table, key: Sequence[str]) -> pa.Table:
    """The last change of each key; changes of one key come in order.

    >>> t = pa.table({"k": [1, 2, 1], "v": ["a", "b", "c"]})
    >>> last_changes(t, ["k"]).to_pydict()
    {'k': [2, 1], 'v': ['b', 'c']}
    """
    numbered = changes.append_column("__n", pa.array(range(changes.num_rows), pa.int64()))
    last = numbered.group_by(list(key)).aggregate([("__n", "max")]).column("__n_max")
    return changes.take(last.combine_chunks().sort())
