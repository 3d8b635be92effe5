"""Databases and tables that live as long as the session."""

from __future__ import annotations

from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.in_memory_parts import InMemoryModels, InMemoryPartitions
from penstock.catalog.in_memory_store import Database
from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction
from penstock.util.exceptions import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    TableAlreadyExistException,
    TableNotExistException,
)


class GenericInMemoryCatalog(InMemoryPartitions, InMemoryModels):
    """The catalog behind `default_catalog` and 'type' = 'generic_in_memory'."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        self.name = name
        self._default = default_database
        self._databases = {default_database: Database(CatalogDatabase())}

    def get_default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        return list(self._databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        return self._database(database_name).info

    def _database(self, name: str) -> Database:
        if name not in self._databases:
            raise DatabaseNotExistException(f"database {name} does not exist in catalog {self.name}")
        return self._databases[name]

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        if name in self._databases:
            if ignore_if_exists:
                return
            raise DatabaseAlreadyExistException(f"database {name} already exists in catalog {self.name}")
        self._databases[name] = Database(database)
        self._changed()

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        if name not in self._databases:
            if ignore_if_exists:
                return
            raise DatabaseNotExistException(f"database {name} does not exist in catalog {self.name}")
        if self._databases[name].tables and not cascade:
            raise DatabaseNotEmptyException(f"database {name} is not empty", do="use DROP DATABASE … CASCADE")
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
        tables = self._tables(table_path)
        if table_path.object_name not in tables:
            raise TableNotExistException(f"table {table_path} does not exist in catalog {self.name}")
        return tables[table_path.object_name]

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        tables = self._database(table_path.database_name).tables
        if table_path.object_name in tables:
            if ignore_if_exists:
                return
            raise TableAlreadyExistException(
                f"table (or view) {table_path} already exists in catalog {self.name}",
                do="write CREATE TABLE IF NOT EXISTS, or DROP TABLE first",
            )
        tables[table_path.object_name] = table
        self._changed()

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        tables = self._tables(table_path)
        if table_path.object_name not in tables:
            if ignore_if_not_exists:
                return
            raise TableNotExistException(f"table {table_path} does not exist in catalog {self.name}")
        del tables[table_path.object_name]
        self._forget_partitions(table_path)
        self._changed()

    def _tables(self, path: ObjectPath) -> dict[str, CatalogBaseTable]:
        """The tables beside `path`: none where there is no such database."""
        found = self._databases.get(path.database_name)
        return found.tables if found is not None else {}

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        table = self.get_table(table_path)
        renamed = ObjectPath(table_path.database_name, new_table_name)
        self.create_table(renamed, table, False)
        self._move_partitions(table_path, renamed)
        self.drop_table(table_path, False)

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and not self.table_exists(table_path):
            return
        if self.get_table(table_path).kind != new_table.kind:
            raise CatalogException(
                f"{table_path} cannot become a {new_table.kind}", do="drop it and create it anew"
            )
        self._database(table_path.database_name).tables[table_path.object_name] = new_table
        self._changed()

    def list_functions(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).functions)

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        if not self.function_exists(function_path):
            raise FunctionNotExistException(f"function {function_path} does not exist in catalog {self.name}")
        return self._database(function_path.database_name).functions[function_path.object_name.lower()]

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        self._database(function_path.database_name)
        if self.function_exists(function_path):
            if ignore_if_exists:
                return
            raise FunctionAlreadyExistException(
                f"function {function_path} already exists in catalog {self.name}"
            )
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
            raise FunctionNotExistException(f"function {function_path} does not exist in catalog {self.name}")
        del self._database(function_path.database_name).functions[function_path.object_name.lower()]
        self._changed()

    def _changed(self) -> None:
        """Called after every change; the file catalog writes itself then."""
