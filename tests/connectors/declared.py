"""A table declared by its columns and options, used without Spark: written and looked up as a task does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.connectors.registry import find_connector
from penstock.connectors.table import Direction, SinkRequest
from tests.connectors.epochs import SinkLoop, travelled

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3


class DeclaredTable:
    """Columns as in `ROW<…>`, the options of the WITH clause, the primary key."""

    def __init__(self, columns: str, options: Mapping[str, str], key: Sequence[str] = ()) -> None:
        fields = parse_type(f"ROW<{columns}>").fields
        schema = Schema(tuple(SchemaColumn(f.name, f.data_type) for f in fields), (), tuple(key))
        self.table = CatalogTable(schema, dict(options))
        self.connector: Any = find_connector(options, "cat.db.t")

    def validated(self, direction: Direction) -> DeclaredTable:
        self.connector.validate(self.table, direction)
        return self

    def loop(self, changelog: bool = False, parallelism: int = 1) -> SinkLoop:
        """What writes the table, epoch by epoch; rows of a changelog end with their kind."""
        self.validated("sink")
        return SinkLoop(self.connector.sink(self.table, SinkRequest(changelog=changelog)), parallelism)

    def write(self, rows: Sequence[Sequence[Any]], kinds: Sequence[int] | None = None) -> None:
        """One epoch of one task."""
        given = rows if kinds is None else [(*row, kind) for row, kind in zip(rows, kinds, strict=True)]
        self.loop(kinds is not None).run_epoch([[tuple(row) for row in given]])

    def lookup(self, columns: Sequence[str], *keys: tuple[Any, ...]) -> list[list[tuple[Any, ...]]]:
        places = [self.table.physical_schema.names.index(name) for name in columns]
        source = travelled(self.validated("source").connector.lookup_source(self.table, places))
        source.open()
        try:
            return [list(rows) for rows in source.lookup(keys)]
        finally:
            source.close()
