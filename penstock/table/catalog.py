"""What a catalog holds: databases, tables, views and functions, and the paths that name them.

    ObjectIdentifier   catalog.database.object, always complete
    CatalogTable       a table of a connector: schema, options, partition keys
    CatalogView        a query with a name
    Catalog            something that stores those; the implementations are in `sql/catalogs/`

`CatalogTable` is also what connectors get to see (`sql/connectors`): they read `physical_schema`,
`metadata_columns`, `partition_keys`, `primary_key` and `options`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import RowField, RowType
from penstock.common.errors import ValidationError
from penstock.table.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from penstock.table.schema import Schema, SchemaColumn

if TYPE_CHECKING:
    from penstock.sql.conditions import Clause

__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogError",
    "CatalogFunction",
    "CatalogTable",
    "CatalogView",
    "Column",
    "ComputedColumn",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class CatalogError(ValidationError):
    """An object is missing, or is there already."""

    code = "CATALOG"


@dataclass(frozen=True, order=True)
class ObjectPath:
    """database.object within one catalog."""

    database_name: str = ""
    object_name: str = ""

    @staticmethod
    def from_string(full_name: str) -> ObjectPath:
        parts = full_name.split(".")
        if len(parts) != 2:
            raise ValidationError(f"{full_name!r} is not a path", do="write it as database.object")
        return ObjectPath(*parts)

    def get_database_name(self) -> str:
        return self.database_name

    def get_object_name(self) -> str:
        return self.object_name

    def get_full_name(self) -> str:
        return f"{self.database_name}.{self.object_name}"

    def compare_to(self, other: ObjectPath) -> int:
        return (self > other) - (self < other)

    def __str__(self) -> str:
        return self.get_full_name()


@dataclass(frozen=True, order=True)
class ObjectIdentifier:
    """catalog.database.object."""

    catalog_name: str
    database_name: str
    object_name: str

    @staticmethod
    def of(catalog_name: str, database_name: str, object_name: str) -> ObjectIdentifier:
        return ObjectIdentifier(catalog_name, database_name, object_name)

    def get_catalog_name(self) -> str:
        return self.catalog_name

    def get_database_name(self) -> str:
        return self.database_name

    def get_object_name(self) -> str:
        return self.object_name

    def to_object_path(self) -> ObjectPath:
        return ObjectPath(self.database_name, self.object_name)

    def to_list(self) -> list[str]:
        return [self.catalog_name, self.database_name, self.object_name]

    def as_serializable_string(self) -> str:
        return ".".join("`" + part.replace("`", "``") + "`" for part in self.to_list())

    def as_summary_string(self) -> str:
        return ".".join(self.to_list())

    def __str__(self) -> str:
        return self.as_serializable_string()


@dataclass(frozen=True)
class CatalogBaseTable:
    """What tables and views share: a declared schema, options and a comment."""

    schema: Schema = field(default_factory=Schema)
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_table(
        schema: Schema,
        partition_keys: list[str] | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogTable:
        return CatalogTable(schema, dict(properties or {}), comment, tuple(partition_keys or ()))

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: Schema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogView:
        return CatalogView(schema, dict(properties), comment, original_query, expanded_query)

    def get_unresolved_schema(self) -> Schema:
        return self.schema

    def get_options(self) -> dict[str, str]:
        return dict(self.options)

    def get_comment(self) -> str:
        return self.comment or ""

    def get_description(self) -> str | None:
        return self.comment

    def get_detailed_description(self) -> str | None:
        return self.comment

    def copy(self) -> Any:
        return replace(self, options=dict(self.options))


@dataclass(frozen=True)
class CatalogTable(CatalogBaseTable):
    """A table of a connector.

    `requested_metadata` is filled for one query: the metadata columns it wants from the connector, in order,
    which come behind the physical columns of `batch_relation`. So is `filters`, for connectors that use them.
    """

    partition_keys: tuple[str, ...] = ()
    distribution: str | None = None
    snapshot: str | None = None
    requested_metadata: tuple[SchemaColumn, ...] = ()
    filters: tuple[Clause, ...] = ()

    @property
    def physical_schema(self) -> RowType:
        """The columns the external system stores, in order, partition columns included."""
        columns = [c for c in self.schema.columns if c.is_physical and c.data_type is not None]
        return RowType([RowField(c.name, c.data_type) for c in columns if c.data_type], nullable=False)

    @property
    def metadata_columns(self) -> list[SchemaColumn]:
        """Declared metadata columns: `.name`, `.metadata_key`, `.data_type`, `.is_virtual`."""
        return [c for c in self.schema.columns if c.is_metadata]

    @property
    def sink_schema(self) -> RowType:
        """What an INSERT writes: physical columns and metadata columns that are not virtual."""
        kept = [c for c in self.schema.columns if c.is_physical or (c.is_metadata and not c.is_virtual)]
        return RowType([RowField(c.name, c.data_type) for c in kept if c.data_type], nullable=False)

    @property
    def primary_key(self) -> tuple[str, ...]:
        return self.schema.primary_key

    @property
    def is_partitioned(self) -> bool:
        return bool(self.partition_keys)

    def with_options(self, options: Mapping[str, str]) -> CatalogTable:
        return replace(self, options=dict(options))


@dataclass(frozen=True)
class CatalogView(CatalogBaseTable):
    """A query with a name. Names in it are resolved where it was created."""

    original_query: str = ""
    expanded_query: str = ""
    current_catalog: str = ""
    current_database: str = ""

    def get_original_query(self) -> str:
        return self.original_query

    def get_expanded_query(self) -> str:
        return self.expanded_query


@dataclass(frozen=True)
class CatalogDatabase:
    """A namespace of tables with properties."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogDatabase:
        return CatalogDatabase(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        return dict(self.properties)

    def get_comment(self) -> str:
        return self.comment or ""

    def get_description(self) -> str | None:
        return self.comment

    def get_detailed_description(self) -> str | None:
        return self.comment

    def copy(self) -> CatalogDatabase:
        return CatalogDatabase(dict(self.properties), self.comment)


@dataclass(frozen=True)
class CatalogFunction:
    """A user's function by the name of its class: `module.Class` for Python."""

    class_name: str
    language: str = "PYTHON"
    resources: tuple[str, ...] = ()

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        return CatalogFunction(class_name, function_language.upper())

    def get_class_name(self) -> str:
        return self.class_name

    def get_function_language(self) -> str:
        return self.language

    def is_generic(self) -> bool:
        return True

    def copy(self) -> CatalogFunction:
        return self


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
    """Stores databases and their objects. Implementations are in `sql/catalogs/`.

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


def __getattr__(name: str) -> Any:
    """PyFlink has `JdbcCatalog` here; it is built on SQL's connectors, which are built on this module."""
    if name == "JdbcCatalog":
        from penstock.sql.catalogs.jdbc import JdbcCatalog

        return JdbcCatalog
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
