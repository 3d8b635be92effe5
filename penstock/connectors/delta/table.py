"""`'connector' = 'delta'`: tables of a Delta lake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.common.errors import ValidationError
from penstock.connectors.delta import options as o
from penstock.connectors.delta.lake import DeltaLake, delta_library
from penstock.connectors.delta.sink import DeltaSink
from penstock.connectors.delta.source import DeltaSource
from penstock.connectors.delta.types import check_types
from penstock.connectors.table import (
    ChangelogMode,
    Direction,
    SinkRequest,
    SinkRequirements,
    TableConnector,
)

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable


class DeltaConnector(TableConnector):
    """A version of the table is read, or all that come. Epochs are written, each in one commit; by primary key rows
    are merged."""

    name = "delta"
    options = o.OPTIONS
    upserts = True
    changes_rows = True
    update_advice = "declare a PRIMARY KEY for the sink: rows can only be replaced by key"
    endless_advice = "leave 'mode' out, or use streaming mode"

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(o.STORAGE)

    @property
    def lake(self) -> DeltaLake:
        return o.lake(self.values["table-path"], self.raw_options)

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        delta_library()
        try:
            check_types(table.physical_schema)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None
        if self.values["versionAsOf"] is not None and self.values["timestampAsOf"] is not None:
            raise self.refused("'versionAsOf' and 'timestampAsOf' cannot both be set")
        self._check_mode()
        missing = [name for name in table.partition_keys if name not in table.physical_schema.names]
        if missing:
            raise self.refused(f"the partition column '{missing[0]}' is not among the columns")

    def _check_mode(self) -> None:
        values = self.values
        streaming = values["mode"] == "streaming"
        wrong = ("versionAsOf", "timestampAsOf") if streaming else o.FOLLOWING
        given = [name for name in wrong if name in self.raw_options]
        if given:
            does = "names one version" if streaming else "is for tables that are followed"
            raise self.refused(
                f"'{given[0]}' {does}, and 'mode' is '{values['mode']}'",
                do=f"leave it out, or set 'mode' = '{'batch' if streaming else 'streaming'}'",
            )
        if values["startingVersion"] is not None and values["startingTimestamp"] is not None:
            raise self.refused("'startingVersion' and 'startingTimestamp' cannot both be set")

    def is_bounded(self, table: CatalogTable) -> bool:
        return self.values["mode"] == "batch"

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> DeltaSource:
        names = table.physical_schema.names
        wanted = tuple(name for name in names if columns is None or name in columns)
        version = self.values["versionAsOf"]
        return DeltaSource(
            self.lake,
            table.physical_schema,
            wanted,
            self.values["timestampAsOf"] if version is None else version,
            o.following(self.values),
        )

    def sink_changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog" if table.primary_key else "insert-only"

    def sink(self, table: CatalogTable, request: SinkRequest) -> DeltaSink:
        return DeltaSink(
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
