"""Databases and tables that live as long as the session."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.catalog.catalog import Catalog
from penstock.catalog.errors import CatalogError
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction


@dataclass
class _Database:
    info: CatalogDatabase
    tables: dict[str, CatalogBaseTable] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)


class GenericInMemoryCatalog(Catalog):
    """The catalog behind `default_catalog` and 'type' = 'generic_in_memory'."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        self.name = name
        self._default = default_database
        self._databases = {default_database: _Database(CatalogDatabase())}

    def get_default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return list(self._databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        return self._database(database_name).info

    def _database(self, name: str) -> _Database:
        if name not in self._databases:
            raise CatalogError(f"database {name} does not exist in catalog {self.name}")
        return self._databases[name]

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if name in self._databases:
            if ignore_if_exists:
                return
            raise CatalogError(f"database {name} already exists in catalog {self.name}")
        self._databases[name] = _Database(database)
        self._changed()

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        if name not in self._databases:
            if ignore_if_exists:
                return
            raise CatalogError(f"database {name} does not exist in catalog {self.name}")
        if self._databases[name].tables and not cascade:
            raise CatalogError(f"database {name} is not empty", do="use DROP DATABASE … CASCADE")
        del self._databases[name]
        self._changed()

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        if name not in self._databases and ignore_if_not_exists:
            return
        self._database(name).info = new_database
        self._changed()

    def list_tables(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).tables)

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        tables = self._database(table_path.database_name).tables
        if table_path.object_name not in tables:
            raise CatalogError(f"table {table_path} does not exist in catalog {self.name}")
        return tables[table_path.object_name]

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        tables = self._database(table_path.database_name).tables
        if table_path.object_name in tables:
            if ignore_if_exists:
                return
            raise CatalogError(f"table (or view) {table_path} already exists in catalog {self.name}")
        tables[table_path.object_name] = table
        self._changed()

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        tables = self._database(table_path.database_name).tables
        if table_path.object_name not in tables:
            if ignore_if_not_exists:
                return
            raise CatalogError(f"table {table_path} does not exist in catalog {self.name}")
        del tables[table_path.object_name]
        self._changed()

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        table = self.get_table(table_path)
        self.create_table(ObjectPath(table_path.database_name, new_table_name), table, False)
        self.drop_table(table_path, False)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        self.get_table(table_path)
        self._database(table_path.database_name).tables[table_path.object_name] = new_table
        self._changed()

    def list_functions(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).functions)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        functions = self._database(function_path.database_name).functions
        name = function_path.object_name.lower()
        if name not in functions:
            raise CatalogError(f"function {function_path} does not exist in catalog {self.name}")
        return functions[name]

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        if self.function_exists(function_path):
            if ignore_if_exists:
                return
            raise CatalogError(f"function {function_path} already exists in catalog {self.name}")
        functions = self._database(function_path.database_name).functions
        functions[function_path.object_name.lower()] = function
        self._changed()

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        if not self.function_exists(function_path) and ignore_if_not_exists:
            return
        self.get_function(function_path)
        functions = self._database(function_path.database_name).functions
        functions[function_path.object_name.lower()] = new_function
        self._changed()

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if not self.function_exists(function_path):
            if ignore_if_not_exists:
                return
            raise CatalogError(f"function {function_path} does not exist in catalog {self.name}")
        del self._database(function_path.database_name).functions[function_path.object_name.lower()]
        self._changed()

    def _changed(self) -> None:
        """Called after every change; the file catalog writes itself then."""
