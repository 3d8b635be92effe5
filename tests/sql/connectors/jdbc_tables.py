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
from penstock.common.datatypes import DataTypes, RowField, RowType
from penstock.sql.connectors import find_connector
from penstock.sql.connectors.base import KIND_COLUMN
from penstock.sql.connectors.jdbc import JdbcConnector
from penstock.sql.connectors.jdbc.sink import JdbcSink
from penstock.sql.connectors.spark_types import RowsToArrow

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3


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
        written = list(self.sink(kinds is not None).write(iter([self.batch(rows, kinds)])))
        count: int = written[0].column(0)[0].as_py()
        return count

    def batch(self, rows: Iterable[Sequence[Any]], kinds: Sequence[int] | None = None) -> pa.RecordBatch:
        if kinds is None:
            return RowsToArrow(self.row_type).batch([tuple(row) for row in rows])
        fields = [*self.row_type.fields, RowField(KIND_COLUMN, DataTypes.TINYINT())]
        with_kinds = [(*row, kind) for row, kind in zip(rows, kinds, strict=True)]
        return RowsToArrow(RowType(fields, nullable=False)).batch(with_kinds)

    def sink(self, kinds: bool = False) -> JdbcSink:
        return self.connector.sink(self.table, kinds)

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
