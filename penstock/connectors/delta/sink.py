"""Rows into a Delta table, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from penstock.common.datatypes import RowType
from penstock.common.errors import ValidationError
from penstock.connectors.delta.committer import DeltaCommitter, OneCommit
from penstock.connectors.delta.lake import DeltaLake
from penstock.connectors.delta.types import delta_schema
from penstock.connectors.delta.writer import FileWriter, MergeWriter
from penstock.connectors.sink import ArrowWriter, Committer, Sink, SinkCoordinator, WriterContext

__all__ = ["DeltaSink"]


@dataclass(frozen=True)
class DeltaSink(Sink):
    """How rows are written. With a `key` they replace each other; with `changelog` they may go, too."""

    lake: DeltaLake
    row_type: RowType
    partition_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    changelog: bool = False
    unknown_outcome: str | None = None

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> ArrowWriter:
        return MergeWriter(self, context) if self.key else FileWriter(self, context)

    def create_committer(self) -> Committer:
        return DeltaCommitter(self)

    def create_coordinator(self) -> SinkCoordinator:
        return OneCommit()

    def check(self, table: Any) -> None:
        """Refuses a table that is there and has other columns or partitions."""
        there = pa.schema(table.schema().to_arrow())
        for field in delta_schema(self.row_type):
            found = there.field(field.name).type if field.name in there.names else None
            if found is None or not _alike(found, field.type):
                has = "no such column" if found is None else f"it as {found}"
                raise ValidationError(
                    f"the column '{field.name}' is written as {field.type}, and the table has {has}",
                    where=self.lake.where,
                    do=f"its columns are {', '.join(f'{f.name} {f.type}' for f in there)}",
                )
        partitions = tuple(table.metadata().partition_columns)
        if partitions != self.partition_by:
            raise ValidationError(
                f"the table is partitioned by {partitions}, and the rows by {self.partition_by}",
                where=self.lake.where,
            )


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Names of nested fields and widths of offsets are not said by the log."""
    return _plain(found) == _plain(wanted)


def _plain(data_type: pa.DataType) -> str:
    types = pa.types
    if types.is_list(data_type) or types.is_large_list(data_type):
        return f"list<{_plain(data_type.value_type)}>"
    if types.is_map(data_type):
        return f"map<{_plain(data_type.key_type)}, {_plain(data_type.item_type)}>"
    if types.is_struct(data_type):
        return f"struct<{', '.join(f'{f.name}: {_plain(f.type)}' for f in data_type)}>"
    if (
        types.is_binary(data_type)
        or types.is_large_binary(data_type)
        or types.is_fixed_size_binary(data_type)
    ):
        return "binary"
    if types.is_string(data_type) or types.is_large_string(data_type):
        return "string"
    return str(data_type)
