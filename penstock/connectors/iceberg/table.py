"""`'connector' = 'iceberg'`: tables of an Iceberg catalog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.common.errors import ValidationError
from penstock.connectors.iceberg import options as o
from penstock.connectors.iceberg.lake import IcebergTable, iceberg_library
from penstock.connectors.iceberg.sink import IcebergSink
from penstock.connectors.iceberg.source import IcebergSource
from penstock.connectors.iceberg.types import check_types
from penstock.connectors.table import (
    ChangelogMode,
    Direction,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class IcebergConnector(TableConnector):
    """A snapshot is read, or a table that grows; an epoch is one commit, and by primary key rows are merged."""

    name = "iceberg"
    options = o.OPTIONS
    upserts = True
    changes_rows = True
    update_advice = "declare a PRIMARY KEY for the sink: rows can only be replaced by key"
    endless_advice = "leave 'streaming' out, or use streaming mode"

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(o.CATALOG)

    @property
    def lake(self) -> IcebergTable:
        return o.lake(self.values, self.raw_options, self.table_path)

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        iceberg_library()
        try:
            check_types(table.physical_schema)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        chosen = [name for name in ("snapshot-id", "as-of-timestamp") if self.values[name] is not None]
        if len(chosen) > 1:
            raise self.refused("'snapshot-id' and 'as-of-timestamp' cannot both be set")
        if chosen and self.values["streaming"]:
            raise self.refused(f"'{chosen[0]}' names one snapshot, and 'streaming' is for all that come")
        missing = [name for name in table.partition_keys if name not in table.physical_schema.names]
        if missing:
            raise self.refused(f"the partition column '{missing[0]}' is not among the columns")

    def is_bounded(self, table: CatalogTable) -> bool:
        return not self.values["streaming"]

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> IcebergSource:
        names = table.physical_schema.names
        return IcebergSource(
            self.lake,
            table.physical_schema,
            tuple(name for name in names if columns is None or name in columns),
            self.values["snapshot-id"],
            self.values["as-of-timestamp"],
            self.values["monitor-interval"] if self.values["streaming"] else None,
        )

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if table.primary_key else "insert-only"

    def sink(self, table: CatalogTable, request: SinkRequest) -> IcebergSink:
        return IcebergSink(
            self.lake,
            table.physical_schema,
            tuple(table.partition_keys),
            tuple(table.primary_key),
            request.changelog,
            self.values["sink.unknown-outcome"],
        )

    def sink_requirements(self, table: CatalogTable, request: SinkRequest) -> SinkRequirements:
        """A key's changes go to one task, in order."""
        tasks = self.values["sink.parallelism"]
        if not table.primary_key:
            return SinkRequirements(None if tasks is None else (), tasks)
        names = table.physical_schema.names
        by_key = tuple(names.index(name) for name in table.primary_key)
        return SinkRequirements(by_key, tasks or request.parallelism)
