"""The session's catalogs: current catalog and database, temporary objects, how a name is completed.

A name of one part is looked for in the current database, of two parts in the current catalog. Temporary
objects belong to the session and hide a catalog's object of the same path.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

from penstock.catalog.catalog import Catalog
from penstock.catalog.errors import CatalogError
from penstock.catalog.identifiers import ObjectIdentifier, ObjectPath
from penstock.catalog.in_memory import GenericInMemoryCatalog
from penstock.catalog.modules import Modules
from penstock.catalog.objects import CatalogTable, CatalogView
from penstock.catalog.partitions import CatalogModel
from penstock.common.near_names import did_you_mean
from penstock.util.exceptions import TableAlreadyExistException

Path = tuple[str, ...]


class CatalogManager:
    """Owns the catalogs and temporary objects of one TableEnvironment."""

    def __init__(self, catalog_name: str = "default_catalog", database: str = "default_database") -> None:
        self.catalogs: dict[str, Catalog] = {catalog_name: GenericInMemoryCatalog(catalog_name, database)}
        self.descriptors: dict[str, dict[str, str]] = {catalog_name: {"type": "generic_in_memory"}}
        self.comments: dict[str, str] = {}
        self.current_catalog = catalog_name
        self.current_database: str | None = database
        self.temporary: dict[ObjectIdentifier, Any] = {}
        self.temporary_functions: dict[ObjectIdentifier, Any] = {}
        self.temporary_models: dict[ObjectIdentifier, CatalogModel] = {}
        self.system_functions: dict[str, Any] = {}
        self.modules = Modules()
        self._unnamed = itertools.count()

    def at(self, catalog: str, database: str) -> CatalogManager:
        """The same catalogs seen from another current database."""
        other = copy.copy(self)
        other.current_catalog, other.current_database = catalog, database
        return other

    # -- catalogs and databases ------------------------------------------------------------------------

    def catalog(self, name: str) -> Catalog:
        if name not in self.catalogs:
            hint = did_you_mean(name, self.catalogs)
            raise CatalogError(f"a catalog with name [{name}] does not exist", do=hint)
        return self.catalogs[name]

    def register_catalog(self, name: str, catalog: Catalog, options: dict[str, str] | None = None) -> None:
        if name in self.catalogs:
            raise CatalogError(f"catalog {name} already exists")
        catalog.open()
        self.catalogs[name] = catalog
        self.descriptors[name] = dict(options or {})

    def drop_catalog(self, name: str, if_exists: bool) -> None:
        if name not in self.catalogs:
            if if_exists:
                return
            raise CatalogError(f"catalog {name} does not exist")
        if name == self.current_catalog:
            raise CatalogError(f"catalog {name} is the current catalog", do="USE another CATALOG first")
        self.catalogs.pop(name).close()

    def use_catalog(self, name: str) -> None:
        catalog = self.catalog(name)
        self.current_catalog = name
        self.current_database = catalog.get_default_database()

    def use_database(self, path: Path) -> None:
        catalog_name = path[0] if len(path) > 1 else self.current_catalog
        catalog = self.catalog(catalog_name)
        if not catalog.database_exists(path[-1]):
            hint = did_you_mean(path[-1], catalog.list_databases())
            raise CatalogError(
                f"a database with name [{path[-1]}] does not exist in the catalog: [{catalog_name}]", do=hint
            )
        self.current_catalog, self.current_database = catalog_name, path[-1]

    def database_path(self, path: Path) -> tuple[str, str]:
        """catalog and database of a path that names a database, or the current ones."""
        if not path:
            return self.current_catalog, self.current_database or ""
        return (path[0], path[1]) if len(path) > 1 else (self.current_catalog, path[0])

    def identifier(self, path: Path) -> ObjectIdentifier:
        """The complete name of an object."""
        if len(path) == 3:
            return ObjectIdentifier(*path)
        if len(path) == 2:
            return ObjectIdentifier(self.current_catalog, *path)
        return ObjectIdentifier(self.current_catalog, self.current_database or "", path[0])

    # -- tables ----------------------------------------------------------------------------------------

    def find_table(self, path: Path) -> tuple[ObjectIdentifier, Any] | None:
        """A table, a view or a registered plan; temporary ones first."""
        identifier = self.identifier(path)
        if identifier in self.temporary:
            return identifier, self.temporary[identifier]
        catalog = self.catalogs.get(identifier.catalog_name)
        if catalog is None or not catalog.table_exists(identifier.to_object_path()):
            return None
        return identifier, catalog.get_table(identifier.to_object_path())

    def resolve_table(self, path: Path) -> tuple[ObjectIdentifier, Any]:
        found = self.find_table(path)
        if found is None:
            raise self.table_not_found(path)
        return found

    def table_not_found(self, path: Path) -> CatalogError:
        """The error for a name that nothing has, with names that are near."""
        hint = did_you_mean(path[-1], self._neighbours(path))
        return CatalogError(
            f"object '{'.'.join(path)}' not found", do=hint or "SHOW TABLES lists what there is"
        )

    def _neighbours(self, path: Path) -> list[str]:
        identifier = self.identifier(path)
        names = [i.object_name for i in self.temporary if i.database_name == identifier.database_name]
        catalog = self.catalogs.get(identifier.catalog_name)
        if catalog is not None and catalog.database_exists(identifier.database_name):
            names += catalog.list_tables(identifier.database_name)
        return names

    def create_table(
        self, path: Path, table: Any, *, temporary: bool, if_not_exists: bool
    ) -> ObjectIdentifier:
        identifier = self.identifier(path)
        if temporary:
            if identifier in self.temporary:
                if if_not_exists:
                    return identifier
                raise CatalogError(f"temporary table '{identifier}' already exists")
            self.temporary[identifier] = table
            return identifier
        try:
            self._checked(identifier).create_table(identifier.to_object_path(), table, if_not_exists)
        except TableAlreadyExistException as error:
            place = f"`{identifier.catalog_name}`.`{identifier.database_name}`.`{identifier.object_name}`"
            raise type(error)(
                f"Could not execute CreateTable in path {place}: {error.what}", where=error.where, do=error.do
            ) from error
        return identifier

    def name_unnamed(self, table: Any) -> str:
        """Makes a table that has no name a temporary one, so that a query can speak of it."""
        name = f"UnnamedTable${next(self._unnamed)}"
        self.create_table((name,), table, temporary=True, if_not_exists=False)
        return name

    def _checked(self, identifier: ObjectIdentifier) -> Catalog:
        catalog = self.catalog(identifier.catalog_name)
        if not catalog.database_exists(identifier.database_name):
            raise CatalogError(
                f"database {identifier.database_name} does not exist in catalog {identifier.catalog_name}"
            )
        return catalog

    def drop_table(self, path: Path, *, view: bool, temporary: bool, if_exists: bool) -> None:
        """DROP TABLE drops no view and DROP VIEW no table; a temporary object is in the way of the other."""
        identifier = self.identifier(path)
        word = "view" if view else "table"
        if temporary:
            if identifier in self.temporary and isinstance(self.temporary[identifier], CatalogTable) != view:
                del self.temporary[identifier]
            elif not if_exists:
                raise CatalogError(
                    f"temporary {word} with identifier '{identifier.as_summary_string()}' does not exist"
                )
            return
        if identifier in self.temporary:
            raise CatalogError(
                f"temporary {word} with identifier '{identifier.as_summary_string()}' exists",
                do=f"DROP TEMPORARY {word.upper()} it first",
            )
        catalog = self.catalogs.get(identifier.catalog_name)
        object_path = identifier.to_object_path()
        exists = catalog is not None and catalog.table_exists(object_path)
        if exists and catalog is not None and isinstance(catalog.get_table(object_path), CatalogView) == view:
            catalog.drop_table(object_path, if_exists)
        elif not if_exists:
            raise CatalogError(f"{word} with identifier '{identifier.as_summary_string()}' does not exist")

    def list_tables(self, path: Path = (), *, views_only: bool = False) -> list[str]:
        catalog_name, database = self.database_path(path)
        catalog = self.catalog(catalog_name)
        if not catalog.database_exists(database):
            raise CatalogError(
                f"a database with name [{database}] does not exist in the catalog: [{catalog_name}]"
            )
        names = set()
        for name in catalog.list_tables(database):
            if not views_only or isinstance(catalog.get_table(ObjectPath(database, name)), CatalogView):
                names.add(name)
        for identifier, table in self.temporary.items():
            if (identifier.catalog_name, identifier.database_name) == (catalog_name, database):
                if not views_only or not _is_table(table):
                    names.add(identifier.object_name)
                else:
                    names.discard(identifier.object_name)
        return sorted(names)

    # -- functions -------------------------------------------------------------------------------------

    def find_function(self, name: str) -> Any | None:
        """A user's function by name or path: system ones, temporary ones, then the catalog's.

        One that a catalog keeps is a `CatalogFunction`, which only says what to import.
        """
        path = tuple(name.split("."))
        if len(path) == 1 and name.lower() in self.system_functions:
            return self.system_functions[name.lower()]
        identifier = self.identifier((*path[:-1], path[-1].lower()))
        if identifier in self.temporary_functions:
            return self.temporary_functions[identifier]
        catalog = self.catalogs.get(identifier.catalog_name)
        if catalog is None or not catalog.database_exists(identifier.database_name):
            return None
        if not catalog.function_exists(identifier.to_object_path()):
            return None
        return catalog.get_function(identifier.to_object_path())


def _is_table(table: Any) -> bool:
    return not isinstance(table, CatalogView)
