"""What `postgres-cdc` and `mysql-cdc` do with a table of SQL."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from penstock.common.datatypes import ArrayType, DataType, DataTypes, RowType
from penstock.common.errors import ValidationError
from penstock.connectors.cdc import options as o
from penstock.connectors.cdc.database import Login, Selection
from penstock.connectors.cdc.enumerator import Capture
from penstock.connectors.cdc.reader import CdcSource
from penstock.connectors.cdc.rows import TableRows
from penstock.connectors.jdbc.types import BASIC_TYPES
from penstock.connectors.table import ChangelogMode, Direction, TableConnector

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable

METADATA: dict[str, DataType] = {
    "table_name": DataTypes.STRING(False),
    "database_name": DataTypes.STRING(False),
    "op_ts": DataTypes.TIMESTAMP_LTZ(3, False),
    "row_kind": DataTypes.STRING(False),
}


class CdcConnector(TableConnector, ABC):
    """A table whose rows are those of a database's table, and which changes with it."""

    directions = ("source",)
    debezium: ClassVar[Mapping[str, o.Option]]
    """Settings of Debezium that mean something here."""
    ask_for_images: ClassVar[str] = ""

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        where = f"table {table_path}"
        self.engine = o.debezium_options(self.raw_options, self.debezium, where)
        o.check(self.values, where)
        try:
            self.check()
            self.selection(()).check()
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    def knows(self, key: str) -> bool:
        return super().knows(key) or key.startswith(o.DEBEZIUM)

    def check(self) -> None:
        """Refuses options that only make sense together, or not at all."""

    @abstractmethod
    def pattern(self) -> str:
        """A regular expression for the tables' whole names."""

    @abstractmethod
    def capture(self, selection: Selection) -> Capture:
        """What is read."""

    @property
    def zone(self) -> dt.tzinfo:
        return dt.timezone.utc

    @property
    def append_only(self) -> bool:
        return bool(self.values["scan.read-changelog-as-append-only.enabled"])

    # --- what the planner asks

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        if table.partition_keys:
            raise self.refused("tables of a database cannot be PARTITIONED BY columns")
        if self.emits_upserts and not table.primary_key:
            raise self.refused(
                "a primary key must be present when upsert mode is selected",
                do="add PRIMARY KEY (...) NOT ENFORCED, or leave 'changelog-mode' out",
            )
        for field in table.physical_schema.fields:
            self._check_type(field.name, field.data_type)

    def _check_type(self, column: str, data_type: DataType) -> None:
        inner = data_type.element_type if isinstance(data_type, ArrayType) else data_type
        if not isinstance(inner, (*BASIC_TYPES, type(DataTypes.TIMESTAMP_LTZ(3)))):
            raise self.refused(
                f"column '{column}' has the type {data_type.as_summary()}, which no column of a database has"
            )

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "insert-only" if self.append_only else "changelog"

    def is_bounded(self, table: CatalogTable) -> bool:
        return bool(self.values["scan.startup.mode"] == "snapshot")

    # --- reading

    def login(self, port: int) -> Login:
        values = self.values
        return Login(
            values["hostname"], port, values["username"], values["password"],
            values["connect.timeout"] / 1000, values["connect.max-retries"],
        )  # fmt: skip

    def selection(self, columns: Sequence[str]) -> Selection:
        values = self.values
        return Selection(
            self.pattern(),
            tuple(columns),
            values["scan.incremental.snapshot.chunk.key-column"],
            values["scan.incremental.snapshot.chunk.size"],
            values["scan.snapshot.fetch.size"],
            values["scan.incremental.snapshot.enabled"],
        )

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> CdcSource:
        names = table.physical_schema.names
        needed = [name for name in names if columns is None or name in columns]
        rows = TableRows(
            RowType(list(table.physical_schema.fields), nullable=False),
            tuple(needed.index(name) if name in needed else None for name in names),
            tuple(c.metadata_key or c.name for c in table.requested_metadata),
            self.emits_upserts,
            self.append_only,
            self.zone,
            self.ask_for_images,
        )
        return CdcSource(self.capture(self.selection(needed)), rows)
