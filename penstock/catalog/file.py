"""A catalog that survives restarts: one folder, one JSON file per database.

Tables are kept as the CREATE statement that makes them again, so a file can be read, reviewed and edited by hand. Who
makes the catalog says how to write and read such statements. A file is written aside and renamed, so that a crash
leaves the old one.
"""

from __future__ import annotations

import json
import os
import pathlib
import urllib.parse
from collections.abc import Callable
from typing import Any

from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.in_memory import GenericInMemoryCatalog
from penstock.catalog.in_memory_store import Database
from penstock.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from penstock.catalog.partitions import CatalogModel, CatalogPartition, CatalogPartitionSpec
from penstock.catalog.schema import Schema
from penstock.common.errors import ValidationError

ToDdl = Callable[[ObjectIdentifier, CatalogTable], str]
FromDdl = Callable[[str], CatalogTable]


class FileCatalog(GenericInMemoryCatalog):
    """`CREATE CATALOG c WITH ('type' = 'file', 'path' = '/folder')`."""

    def __init__(self, name: str, path: str, default_database: str, to_ddl: ToDdl, from_ddl: FromDdl) -> None:
        super().__init__(name, default_database)
        self._to_ddl = to_ddl
        self._from_ddl = from_ddl
        text = urllib.parse.urlparse(path).path if path.startswith("file:") else path
        self._folder = pathlib.Path(text)

    def open(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(self._folder.glob("*.json")):
            self._databases[file.stem] = self._read(file)
        self._changed()

    def _read(self, file: pathlib.Path) -> Database:
        try:
            stored = json.loads(file.read_text())
        except ValueError as error:
            raise ValidationError(f"the catalog file {file} is damaged: {error}") from error
        database = Database(CatalogDatabase(stored["properties"], stored["comment"]))
        database.tables = {name: self._from_json(item) for name, item in stored["tables"].items()}
        for name, item in stored["functions"].items():
            database.functions[name] = CatalogFunction(item["class"], item["language"])
        for name, items in stored.get("partitions", {}).items():
            database.partitions[name] = {
                CatalogPartitionSpec(item["values"]): CatalogPartition(item["properties"], item["comment"])
                for item in items
            }
        database.models = {name: _model_from_json(item) for name, item in stored.get("models", {}).items()}
        return database

    def _changed(self) -> None:
        for name, database in self._databases.items():
            self._write(name, database)
        for file in self._folder.glob("*.json"):
            if file.stem not in self._databases:
                file.unlink()

    def _write(self, name: str, database: Database) -> None:
        tables = {
            n: self._to_json(ObjectIdentifier(self.name, name, n), t) for n, t in database.tables.items()
        }
        functions = {
            n: {"class": f.class_name, "language": f.language} for n, f in database.functions.items()
        }
        content = {
            "properties": dict(database.info.properties),
            "comment": database.info.comment,
            "tables": tables,
            "functions": functions,
            "partitions": {
                n: [_partition_to_json(spec, p) for spec, p in items.items()]
                for n, items in database.partitions.items()
            },
            "models": {n: _model_to_json(m) for n, m in database.models.items()},
        }
        partial = self._folder / f"{name}.json.{os.getpid()}"
        partial.write_text(json.dumps(content, indent=2))
        partial.replace(self._folder / f"{name}.json")

    def _to_json(self, identifier: ObjectIdentifier, table: CatalogBaseTable) -> dict[str, Any]:
        if isinstance(table, CatalogView):
            return _view_to_json(table)
        if not isinstance(table, CatalogTable):
            raise ValidationError(f"'{identifier.as_summary_string()}' cannot be kept in a file catalog")
        return {"kind": "table", "ddl": self._to_ddl(identifier, table)}

    def _from_json(self, item: dict[str, Any]) -> CatalogBaseTable:
        return _view_from_json(item) if item["kind"] == "view" else self._from_ddl(item["ddl"])


def _partition_to_json(spec: CatalogPartitionSpec, partition: CatalogPartition) -> dict[str, Any]:
    return {
        "values": spec.get_partition_spec(),
        "properties": partition.get_properties(),
        "comment": partition.comment,
    }


def _model_to_json(model: CatalogModel) -> dict[str, Any]:
    return {
        "input": _columns_to_json(model.input_schema),
        "output": _columns_to_json(model.output_schema),
        "options": model.get_options(),
        "comment": model.comment,
    }


def _model_from_json(item: dict[str, Any]) -> CatalogModel:
    schemas = _schema_from_json(item["input"]), _schema_from_json(item["output"])
    return CatalogModel(*schemas, item["options"], item["comment"])


def _columns_to_json(schema: Schema) -> list[list[str]]:
    return [[c.name, c.data_type.as_sql()] for c in schema.columns if c.data_type]


def _schema_from_json(columns: list[list[str]]) -> Schema:
    builder = Schema.new_builder()
    for name, data_type in columns:
        builder.column(name, data_type)
    return builder.build()


def _view_to_json(view: CatalogView) -> dict[str, Any]:
    return {
        "kind": "view",
        "query": view.original_query,
        "columns": _columns_to_json(view.schema),
        "catalog": view.current_catalog,
        "database": view.current_database,
        "comment": view.comment,
    }


def _view_from_json(item: dict[str, Any]) -> CatalogView:
    query, schema = item["query"], _schema_from_json(item["columns"])
    return CatalogView(schema, {}, item["comment"], query, query, item["catalog"], item["database"])
