"""`'connector' = 'redis'`: rows by key, or one after the other; the right side of a lookup join."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.redis import options as o
from penstock.connectors.redis.client import redis_library
from penstock.connectors.redis.layout import BY_KEY, Layout
from penstock.connectors.redis.lookup import RedisLookup
from penstock.connectors.redis.sink import RedisTableSink
from penstock.connectors.redis.texts import check_flat
from penstock.connectors.request_table import RequestTable, batch_settings
from penstock.connectors.table import Direction, SinkRequest

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.lookup import LookupSource
    from penstock.connectors.source import Source


class RedisConnector(RequestTable):
    """Hashes and strings are tables with a primary key; lists, streams and channels take rows only."""

    name = "redis"
    options = o.OPTIONS

    def __init__(self, options: Mapping[str, str], table_path: str) -> None:
        super().__init__(options, table_path)
        try:
            o.check(self.values)
            o.address(self.values)
        except ValidationError as error:
            raise self.refused(error.what, do=error.do) from None

    @property
    def _by_key(self) -> bool:
        return self.values["data-type"] in BY_KEY

    def check(self, table: CatalogTable, for_: Direction) -> None:
        redis_library()
        kind = self.values["data-type"]
        if self._by_key and not table.primary_key:
            raise ValidationError(f"a table of a {kind} for each row needs a PRIMARY KEY")
        if not self._by_key and table.primary_key:
            raise ValidationError(f"rows of a {kind} cannot be replaced: it has no PRIMARY KEY")
        if self.format_name is None:
            check_flat(table.physical_schema)
        elif self.message(table).format.changelog:
            raise ValidationError(f"the format '{self.format_name}' is one of changes")

    def layout(self, table: CatalogTable) -> Layout:
        return Layout(
            self.values["data-type"],
            table.physical_schema,
            None if self.format_name is None else self.message(table),
            self.values["key.prefix"],
            self.values["key.delimiter"],
            self.values["name"] or "",
            self.values["ttl"],
            self.values["stream.max-length"],
        )

    def source(self, table: CatalogTable, columns: Sequence[str] | None = None) -> Source:
        raise NotSupportedError(
            "reading connector 'redis' as a whole",
            "it is asked for the rows of a key",
            where=f"table {self.table_path}",
            do="use it in a lookup join: JOIN … FOR SYSTEM_TIME AS OF",
        )

    def lookup_source(self, table: CatalogTable, key_columns: Sequence[int]) -> LookupSource | None:
        self.validate(table, "source")
        places = self.key_places(table)
        if not self._by_key or sorted(key_columns) != sorted(places):
            key = ", ".join(table.primary_key) or "none"
            raise self.refused(
                "Redis can only be asked for rows by the whole primary key",
                do=f"join by equality of all its columns, and of no others: {key}",
            )
        return RedisLookup(
            o.address(self.values),
            self.layout(table),
            places,
            [list(key_columns).index(place) for place in places],
            self.values["lookup.max-retries"],
        )

    def sink(self, table: CatalogTable, request: SinkRequest) -> RedisTableSink:
        return RedisTableSink(
            o.address(self.values),
            self.layout(table),
            self.key_places(table),
            request.changelog,
            batch_settings(self.values),
        )
