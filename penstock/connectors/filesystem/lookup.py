"""A folder of files as a dimension table: all of it is held in memory and read again after an interval."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.connectors.lookup import Key, LookupSource, Rows

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable
    from penstock.connectors.filesystem.table import FileSystemConnector


class FileLookup(LookupSource):
    """`lookup.cache` = FULL. Without a reload interval the files are read once per process."""

    def __init__(
        self,
        connector: FileSystemConnector,
        table: CatalogTable,
        key_columns: Sequence[int],
        reload_ms: int | None,
    ) -> None:
        self._connector = connector
        self._table = table
        self._key_columns = tuple(key_columns)
        self._reload_ms = reload_ms
        self._loaded_at: float | None = None
        self._by_key: dict[Key, list[tuple[Any, ...]]] = {}

    def lookup(self, keys: Sequence[Key]) -> Sequence[Rows]:
        now = time.monotonic()
        if self._loaded_at is None or (
            self._reload_ms is not None and (now - self._loaded_at) * 1000 >= self._reload_ms
        ):
            self._load()
            self._loaded_at = now
        return [self._by_key.get(key, []) for key in keys]

    def _load(self) -> None:
        scan = self._connector.scan(self._table)
        self._by_key = {}
        for split in self._connector.listing(self._table).splits():
            for row in scan.rows(split):
                key = tuple(row[i] for i in self._key_columns)
                self._by_key.setdefault(key, []).append(row)
