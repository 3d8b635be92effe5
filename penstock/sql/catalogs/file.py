"""A catalog that survives restarts: one folder, one JSON file per database.

Tables are kept as the CREATE statement that makes them again (`operations/show_create.py`), so a file can be
read, reviewed and edited by hand. A file is written aside and renamed, so that a crash leaves the old one.
"""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
from typing import Any

from penstock.common.errors import ValidationError
from penstock.sql.catalogs.in_memory import GenericInMemoryCatalog, _Database
from penstock.table.catalog import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
    ObjectIdentifier,
)
from penstock.table.schema import Schema


class FileCatalog(GenericInMemoryCatalog):
    """`CREATE CATALOG c WITH ('type' = 'file', 'path' = '/folder')`."""

    def __init__(self, name: str, path: str, default_database: str = "default") -> None:
        super().__init__(name, default_database)
        text = urllib.parse.urlparse(path).path if path.startswith("file:") else path
        self._folder = pathlib.Path(text)

    def open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(self._folder.glob("*.json")):
            self._databases[file.stem] = self._read(file)
        self._changed()

    def _read(self, file: pathlib.Path) -> _Database:
        try:
            stored = json.loads(file.read_text())
        except ValueError as error:
            raise ValidationError(f"the catalog file {file} is damaged: {error}") from error
        database = _Database(CatalogDatabase(stored["properties"], stored["comment"]))
        database.tables = {name: _from_json(item) for name, item in stored["tables"].items()}
        for name, item in stored["functions"].items():
            database.functions[name] = CatalogFunction(item["class"], item["language"])
        return database

    def _changed(self) -> None:
        for name, database in self._databases.items():
            self._write(name, database)
        for file in self._folder.glob("*.json"):
            if file.stem not in self._databases:
                file.unlink()

    def _write(self, name: str, database: _Database) -> None:
        tables = {n: _to_json(ObjectIdentifier(self.name, name, n), t) for n, t in database.tables.items()}
        functions = {
            n: {"class": f.class_name, "language": f.language} for n, f in database.functions.items()
        }
        content = {
            "properties": dict(database.info.properties),
            "comment": database.info.comment,
            "tables": tables,
            "functions": functions,
        }
        partial = self._folder / f"{name}.json.{os.getpid()}"
        partial.write_text(json.dumps(content, indent=2))
        partial.replace(self._folder / f"{name}.json")


def _to_json(identifier: ObjectIdentifier, table: CatalogBaseTable) -> dict[str, Any]:
    from penstock.sql.operations.show_create import table_text

    if isinstance(table, CatalogView):
        return {
            "kind": "view",
            "query": table.original_query,
            "columns": [[c.name, c.data_type.as_sql()] for c in table.schema.columns if c.data_type],
            "catalog": table.current_catalog,
            "database": table.current_database,
            "comment": table.comment,
        }
    if not isinstance(table, CatalogTable):
        raise ValidationError(f"'{identifier.as_summary_string()}' cannot be kept in a file catalog")
    return {"kind": "table", "ddl": table_text(identifier, table)}


def _from_json(item: dict[str, Any]) -> CatalogBaseTable:
    from penstock.sql.dialect.statement_parser import parse_statement
    from penstock.sql.dialect.statements import CreateTableStatement

    if item["kind"] == "view":
        builder = Schema.new_builder()
        for name, data_type in item["columns"]:
            builder.column(name, data_type)
        query = item["query"]
        return CatalogView(
            builder.build(), {}, item["comment"], query, query, item["catalog"], item["database"]
        )
    made = parse_statement(item["ddl"])
    if not isinstance(made, CreateTableStatement):
        raise ValidationError("a table of the catalog file is not a CREATE TABLE statement")
    return CatalogTable(made.schema, made.options, made.comment, made.partition_keys, made.distribution)
