"""The contract of a catalog: something that stores databases, tables, views and functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.catalog.errors import CatalogError
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction, CatalogView

__all__ = ["Catalog", "CatalogDescriptor"]


@dataclass(frozen=True)
class CatalogDescriptor:
    """How a catalog was asked for: its name, its options, a comment."""

    catalog_name: str
    configuration: Mapping[str, str]
    comment: str | None = None

    @staticmethod
    def of(catalog_name: str, configuration: Any, comment: str | None = None) -> CatalogDescriptor:
        options = configuration.to_dict() if hasattr(configuration, "to_dict") else dict(configuration)
        return CatalogDescriptor(catalog_name, options, comment)


class Catalog:
    """Stores databases and their objects.

    Methods raise `CatalogError` where an object is missing or there already, unless the `ignore` flag says
    that this is fine. Nothing here knows of temporary objects: those belong to the session.
    """

    def open(self) -> None:
        """Called once when the catalog is registered."""

    def close(self) -> None:
        """Called once when the session lets go of it."""

    def get_default_database(self) -> str:
        raise NotImplementedError

    def list_databases(self) -> list[str]:
        raise NotImplementedError

    def get_database(self, database_name: str) -> CatalogDatabase:
        raise NotImplementedError

    def database_exists(self, database_name: str) -> bool:
        return database_name in self.list_databases()

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        raise NotImplementedError

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        raise NotImplementedError

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        raise NotImplementedError

    def list_tables(self, database_name: str) -> list[str]:
        """Tables and views."""
        raise NotImplementedError

    def list_views(self, database_name: str) -> list[str]:
        paths = [ObjectPath(database_name, name) for name in self.list_tables(database_name)]
        return [p.object_name for p in paths if isinstance(self.get_table(p), CatalogView)]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        raise NotImplementedError

    def table_exists(self, table_path: ObjectPath) -> bool:
        if not self.database_exists(table_path.database_name):
            return False
        return table_path.object_name in self.list_tables(table_path.database_name)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        raise NotImplementedError

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        raise NotImplementedError

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        raise NotImplementedError

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        raise NotImplementedError

    def list_functions(self, database_name: str) -> list[str]:
        return []

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        raise CatalogError(f"function {function_path} does not exist")

    def function_exists(self, function_path: ObjectPath) -> bool:
        return function_path.object_name.lower() in self.list_functions(function_path.database_name)

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        raise NotImplementedError

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        raise NotImplementedError

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        raise NotImplementedError
