"""`'connector' = 'nexmark'`: the one table of events that Nexmark's views and queries are over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.common.datatypes import BigIntType, DataType, IntType, RowType, TimestampType, VarCharType
from penstock.common.errors import ValidationError
from penstock.connectors.nexmark.options import OPTIONS, read_configuration
from penstock.connectors.nexmark.source import EVENT_TYPE, NexmarkSource
from penstock.connectors.table import Direction, TableConnector

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable

_KNOWN = {field.name: field.data_type for field in EVENT_TYPE.fields}


class NexmarkConnector(TableConnector):
    """Events of people, auctions and bids, made up but always the same."""

    name = "nexmark"
    options = OPTIONS
    directions = ("source",)
    endless_advice = "set 'events.num', or use streaming mode"

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        try:
            self.config = read_configuration(self.values)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    def validate(self, table: CatalogTable, for_: Direction) -> None:
        super().validate(table, for_)
        for field in table.physical_schema.fields:
            self._check(field.name, field.data_type, _KNOWN.get(field.name))

    def _check(self, path: str, declared: DataType, known: DataType | None) -> None:
        """Refuses a column or field that events do not have."""
        if known is None:
            raise self.refused(
                f"connector 'nexmark' has no column '{path}'",
                do=f"its columns are {', '.join(f'{f.name} {f.data_type.as_summary()}' for f in EVENT_TYPE.fields)}",
            )
        if not _same_kind(declared, known):
            raise self.refused(
                f"column '{path}' of connector 'nexmark' is {known.as_summary()}, not {declared.as_summary()}"
            )
        if isinstance(declared, RowType) and isinstance(known, RowType):
            fields = {field.name: field.data_type for field in known.fields}
            for field in declared.fields:
                self._check(f"{path}.{field.name}", field.data_type, fields.get(field.name))

    def is_bounded(self, table: CatalogTable) -> bool:
        return self.config.event_count is not None and not self.config.keep_alive

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> NexmarkSource:
        return NexmarkSource(self.config, self.row_type(table), columns)


def _same_kind(declared: DataType, known: DataType) -> bool:
    """Whether a column may be declared so. The length of a text does not matter: Nexmark's DDL writes VARCHAR, which
    is VARCHAR(1), and nobody cuts what is read. A timestamp has room for milliseconds."""
    if isinstance(known, VarCharType):
        return isinstance(declared, VarCharType)
    if isinstance(known, TimestampType):
        return isinstance(declared, TimestampType) and declared.precision >= known.precision
    return type(declared) is type(known) and isinstance(declared, (IntType, BigIntType, RowType))
