"""The tables of a PostgreSQL or MySQL server as a catalog that can be read, and written to by INSERT.

    CREATE CATALOG pg WITH ('type' = 'jdbc', 'default-database' = 'shop', 'username' = 'ann', 'password' = '…',
                            'base-url' = 'jdbc:postgresql://host:5432');
    SELECT * FROM pg.shop.orders;             -- schema public
    SELECT * FROM pg.shop.`audit.orders`;     -- another schema of PostgreSQL

Tables come with the connector 'jdbc', Flink's types for their columns and their primary key. Nothing is remembered:
every question is asked of the server, over a connection of its own. What tables there are is the database's business,
so statements that would create, change or drop something are refused, as in Flink.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from penstock.catalog.catalog import Catalog
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction, CatalogTable
from penstock.catalog.schema import Schema
from penstock.common.errors import ExternalSystemError, NotSupportedError, PenstockError, ValidationError
from penstock.connectors.jdbc.catalog_mysql import MySqlMetadata
from penstock.connectors.jdbc.catalog_postgresql import PostgresMetadata
from penstock.connectors.jdbc.dialect import Login, find_dialect
from penstock.connectors.jdbc.url import JdbcUrl
from penstock.util.exceptions import DatabaseNotExistException, TableNotExistException

REQUIRED = ("default-database", "username", "password", "base-url")
_METADATA = {"PostgreSQL": PostgresMetadata(), "MySQL": MySqlMetadata()}


class JdbcCatalog(Catalog):
    """`CREATE CATALOG c WITH ('type' = 'jdbc', …)`."""

    def __init__(
        self, catalog_name: str, default_database: str, username: str, pwd: str, base_url: str
    ) -> None:
        self.name = catalog_name
        self._default = default_database
        self._username, self._password = username, pwd
        self._base, _, self._query = base_url.partition("?")
        self._base = self._base.rstrip("/")
        url = JdbcUrl.parse(self._base)
        self._dialect = find_dialect(url)
        if self._dialect.name not in _METADATA:
            raise NotSupportedError(
                f"a JDBC catalog of {self._dialect.name}", "catalogs exist for PostgreSQL and MySQL only"
            )
        if url.database:
            raise ValidationError(
                f"the 'base-url' of catalog '{catalog_name}' must not name a database: {url.shown}",
                do="leave it out; 'default-database' says which one is meant where none is named",
            )
        self._metadata = _METADATA[self._dialect.name]

    @staticmethod
    def from_options(name: str, options: dict[str, str]) -> JdbcCatalog:
        """The catalog that `CREATE CATALOG … WITH ('type' = 'jdbc', …)` describes.

        Raises:
            ValidationError: An option that is needed is missing.
        """
        missing = [key for key in REQUIRED if key not in options]
        if missing:
            raise ValidationError(f"catalog '{name}' of type 'jdbc' needs the option '{missing[0]}'")
        return JdbcCatalog(name, *(options[key] for key in REQUIRED))

    def open(self) -> None:
        """Tries whether the server can be reached."""
        with self._connected(self._default):
            pass

    # --- reading

    def get_default_database(self) -> str:
        return self._default

    def list_databases(self) -> list[str]:
        with self._connected(self._default) as connection:
            return self._metadata.databases(connection)

    def get_database(self, database_name: str) -> CatalogDatabase:
        self._check_database(database_name)
        return CatalogDatabase()

    def list_tables(self, database_name: str) -> list[str]:
        self._check_database(database_name)
        with self._connected(database_name) as connection:
            return self._metadata.tables(connection, database_name)

    def list_views(self, database_name: str) -> list[str]:
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        if not self.database_exists(table_path.database_name):
            return False
        full_name = self._metadata.full_name(table_path.object_name)
        return full_name in self.list_tables(table_path.database_name)

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        database, name = table_path.database_name, table_path.object_name
        self._check_database(database)
        with self._connected(database) as connection:
            columns = self._metadata.columns(connection, database, name)
            key_name, key = self._metadata.primary_key(connection, database, name)
        if not columns:
            raise TableNotExistException(f"table {table_path} does not exist in catalog {self.name}")
        builder = Schema.new_builder()
        for column in columns:
            builder.column(column.name, column.flink_type(table_path.get_full_name()))
        if key:
            builder.primary_key_named(key_name, *key)
        options = {
            "connector": "jdbc",
            "url": self._url(database),
            "table-name": self._metadata.table_name(name),
            "username": self._username,
            "password": self._password,
        }
        return CatalogTable(builder.build(), options)

    def _check_database(self, name: str) -> None:
        if not self.database_exists(name):
            raise DatabaseNotExistException(f"database {name} does not exist in catalog {self.name}")

    # --- the server

    def _url(self, database: str) -> str:
        return f"{self._base}/{database}" + (f"?{self._query}" if self._query else "")

    @contextmanager
    def _connected(self, database: str) -> Iterator[Any]:
        """A connection for a while; errors of the driver name the catalog and the server."""
        url = JdbcUrl.parse(self._url(database))
        try:
            connection = self._dialect.connect(Login(url, self._username, self._password))
            try:
                yield connection
            finally:
                connection.close()
        except PenstockError:
            raise
        except self._dialect.errors() as error:
            raise ExternalSystemError(
                f"catalog '{self.name}' cannot ask its database: {' '.join(str(error).split())}",
                where=url.shown,
                do="check 'base-url', 'default-database', 'username' and 'password'",
            ) from error

    # --- refused

    def _refuse(self, what: str) -> NoReturn:
        raise NotSupportedError(f"{what} in a JDBC catalog", "the database's own statements do that")

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        self._refuse("CREATE DATABASE")

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        self._refuse("DROP DATABASE")

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        self._refuse("ALTER DATABASE")

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        self._refuse("CREATE TABLE or VIEW")

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._refuse("DROP TABLE or VIEW")

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        self._refuse("ALTER TABLE … RENAME")

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        self._refuse("ALTER TABLE")

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        self._refuse("CREATE FUNCTION")

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        self._refuse("ALTER FUNCTION")

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        self._refuse("DROP FUNCTION")
