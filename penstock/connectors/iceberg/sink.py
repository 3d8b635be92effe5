"""Rows into an Iceberg table, exactly once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from penstock.common.datatypes import RowType
from penstock.common.errors import ValidationError
from penstock.connectors.iceberg.committer import IcebergCommitter, OneCommit
from penstock.connectors.iceberg.lake import IcebergTable
from penstock.connectors.iceberg.types import iceberg_schema
from penstock.connectors.iceberg.writer import FileWriter, MergeWriter
from penstock.connectors.sink import ArrowWriter, Committer, Sink, SinkCoordinator, WriterContext

__all__ = ["IcebergSink"]


@dataclass(frozen=True)
class IcebergSink(Sink):
    """How rows are written. With a `key` they replace each other; with `changelog` they may go, too."""

    lake: IcebergTable
    row_type: RowType
    partition_by: tuple[str, ...] = ()
    key: tuple[str, ...] = ()
    changelog: bool = False
    unknown_outcome: str | None = None

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> ArrowWriter:
        return MergeWriter(self, context) if self.key else FileWriter(self, context)

    def create_committer(self) -> Committer:
        return IcebergCommitter(self)

    def create_coordinator(self) -> SinkCoordinator:
        return OneCommit()

    def check(self, table: Any) -> None:
        """Refuses a table that is there and has other columns or partitions."""
        there = {f.name: f.type for f in table.schema().as_arrow()}
        for field in iceberg_schema(self.row_type):
            found = there.get(field.name)
            if found is None or _plain(found) != _plain(field.type):
                has = "no such column" if found is None else f"it as {found}"
                raise ValidationError(
                    f"the column '{field.name}' is written as {field.type}, and the table has {has}",
                    where=self.lake.where,
                    do=f"its columns are {', '.join(f'{name} {kind}' for name, kind in there.items())}",
                )
        schema, fields = table.schema(), table.spec().fields
        wrong = [str(f.transform) for f in fields if str(f.transform) != "identity"]
        partitions = tuple(schema.find_column_name(f.source_id) for f in fields)
        if wrong and not self.key:
            raise ValidationError(
                f"the table is partitioned by '{wrong[0]}' of a column, and rows are only put in order by identity",
                where=self.lake.where,
                do="declare a PRIMARY KEY, or partition by columns as they are",
            )
        if not wrong and partitions != self.partition_by:
            raise ValidationError(
                f"the table is partitioned by {partitions}, and the rows by {self.partition_by}",
                where=self.lake.where,
            )


def _plain(data_type: Any) -> str:
    """Widths of offsets and names of elements say nothing."""
    text = str(data_type).replace("large_", "").replace("element: ", "item: ")
    return "".join(text.replace(" not null", "").split())
