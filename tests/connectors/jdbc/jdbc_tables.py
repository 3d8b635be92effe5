"""Tables of databases for tests that go without Spark: read, write and look up as a task does."""

from __future__ import annotations

import pathlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.datatype_parser import parse_type
from penstock.common.datatypes import RowType
from penstock.common.ids import EpochId
from penstock.connectors.jdbc.sink import JdbcSink
from penstock.connectors.jdbc.table import JdbcConnector
from penstock.connectors.registry import find_connector
from penstock.connectors.sink import WriterContext
from penstock.connectors.table import KIND_COLUMN, POSITION_COLUMN, SinkRequest
from penstock.formats.arrow_rows import RowsToArrow

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3
CONTEXT = WriterContext(0, 1, EpochId(1), "attempt", 0)


class JdbcTestTable:
    """A declared table: columns as in `ROW<…>`, the options of its WITH clause."""

    def __init__(self, columns: str, options: Mapping[str, str], key: Sequence[str] = ()) -> None:
        fields = parse_type(f"ROW<{columns}>").fields
        self.schema = Schema(tuple(SchemaColumn(f.name, f.data_type) for f in fields), (), tuple(key))
        self.table = CatalogTable(self.schema, {"connector": "jdbc", **options})
        connector = find_connector(self.table.options, "cat.db.t")
        assert isinstance(connector, JdbcConnector)
        self.connector = connector

    @property
    def row_type(self) -> RowType:
        return self.table.physical_schema

    def read(self, columns: Sequence[str] | None = None) -> list[tuple[Any, ...]]:
        """All rows, range by range."""
        return [row for part in self.read_parts(columns) for row in part]

    def read_parts(self, columns: Sequence[str] | None = None) -> list[list[tuple[Any, ...]]]:
        self.connector.validate(self.table, "source")
        scan = self.connector.scan(self.table, columns)
        to_arrow = RowsToArrow(self.row_type)
        parts = [list(scan.batches(part, to_arrow)) for part in scan.parts]
        return [[tuple(row.values()) for b in part for row in b.to_pylist()] for part in parts]

    def write(self, rows: Iterable[Sequence[Any]], kinds: Sequence[int] | None = None) -> int:
        """Writes as one task does; how many rows were sent."""
        self.connector.validate(self.table, "sink")
        writer = self.sink(kinds is not None).create_writer(CONTEXT)
        try:
            writer.write_arrow(self.changes(rows, kinds))
            assert writer.prepare_commit(end_of_input=True) == ()
        except BaseException:
            writer.abort()
            raise
        return writer.sent

    def changes(self, rows: Iterable[Sequence[Any]], kinds: Sequence[int] | None = None) -> pa.Table:
        batch = RowsToArrow(self.row_type).batch([tuple(row) for row in rows])
        count = batch.num_rows
        given = pa.array([INSERT] * count if kinds is None else list(kinds), pa.int8())
        columns = [*batch.columns, given, pa.array(range(count), pa.int64())]
        return pa.table(columns, names=[*self.row_type.names, KIND_COLUMN, POSITION_COLUMN])

    def sink(self, kinds: bool = False) -> JdbcSink:
        return self.connector.sink(self.table, SinkRequest(changelog=kinds))

    def lookup(self, columns: Sequence[str], *keys: tuple[Any, ...]) -> list[list[tuple[Any, ...]]]:
        places = [self.row_type.names.index(name) for name in columns]
        source = self.connector.lookup_source(self.table, places)
        assert source is not None
        source.open()
        try:
            return [list(rows) for rows in source.lookup(keys)]
        finally:
            source.close()


class SqliteFile:
    """A database in a file, and what is in it."""

    def __init__(self, path: pathlib.Path) -> None:
        self.path = path
        self.url = f"jdbc:sqlite:{path}"
        sqlite3.connect(path).close()

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.path)
        try:
            for statement in statements:
                rows = connection.execute(statement).fetchall()
            connection.commit()
            return rows
        finally:
            connection.close()

    def table(self, columns: str, name: str = "t", key: Sequence[str] = (), **options: str) -> JdbcTestTable:
        given = {k.replace("__", ".").replace("_", "-"): v for k, v in options.items()}
        return JdbcTestTable(columns, {"url": self.url, "table-name": name, **given}, key)
