"""What a catalog holds: databases, tables, views and functions.

`CatalogTable` is also what connectors get to see: they read `physical_schema`, `metadata_columns`, `partition_keys`,
`primary_key` and `options`, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.catalog.conditions import Clause
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.catalog.table_schema import TableSchema, as_schema
from penstock.common.datatypes import RowField, RowType

__all__ = ["CatalogBaseTable", "CatalogDatabase", "CatalogFunction", "CatalogTable", "CatalogView"]


@dataclass(frozen=True)
class CatalogBaseTable:
    """What tables and views share: a declared schema, options and a comment."""

    schema: Schema = field(default_factory=Schema)
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_table(
        schema: Schema | TableSchema,
        partition_keys: list[str] | None = None,
        properties: Mapping[str, str] | None = None,
        comment: str | None = None,
    ) -> CatalogTable:
        """A table to be put into a catalog.

        Args:
            schema: Its columns.
            partition_keys: Its partition columns, in order.
            properties: Its options; "connector" among them.
            comment: What people are told about it.
        """
        return CatalogTable(as_schema(schema), dict(properties or {}), comment, tuple(partition_keys or ()))

    @staticmethod
    def create_view(
        original_query: str,
        expanded_query: str,
        schema: Schema | TableSchema,
        properties: Mapping[str, str],
        comment: str | None = None,
    ) -> CatalogView:
        """A view to be put into a catalog.

        Args:
            original_query: The query as it was written.
            expanded_query: The query with full names of tables; this one is run.
            schema: The columns of its result.
            properties: Its options.
            comment: What people are told about it.
        """
        return CatalogView(as_schema(schema), dict(properties), comment, original_query, expanded_query)

    @property
    def kind(self) -> str:
        """What it is, for messages and comparison: 'table' or 'view'."""
        return "view" if isinstance(self, CatalogView) else "table"

    def get_schema(self) -> TableSchema:
        """The physical columns, in the form of Flink 1.x."""
        columns = [(c.name, c.data_type) for c in self.schema.columns if c.data_type is not None]
        return TableSchema([name for name, _ in columns], [data_type for _, data_type in columns])

    def get_unresolved_schema(self) -> Schema:
        """The columns, watermarks and key as declared."""
        return self.schema

    def get_options(self) -> dict[str, str]:
        """A copy of the options."""
        return dict(self.options)

    def get_comment(self) -> str:
        """The comment, "" if there is none."""
        return self.comment or ""

    def get_description(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """The same as `get_description`."""
        return self.comment

    def copy(self) -> Any:
        """An equal table or view whose options are its own."""
        return replace(self, options=dict(self.options))


@dataclass(frozen=True)
class CatalogTable(CatalogBaseTable):
    """A table of a connector.

    `requested_metadata` is filled for one query: the metadata columns it wants from the connector, in order,
    which come behind the physical columns of `batch_relation`. So is `filters`, for connectors that use them.
    """

    partition_keys: tuple[str, ...] = ()
    distribution: str | None = None
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
        """The columns of the declared primary key; empty if there is none."""
        return self.schema.primary_key

    def with_options(self, options: Mapping[str, str]) -> CatalogTable:
        """The same table with these options in place of its own."""
        return replace(self, options=dict(options))


@dataclass(frozen=True)
class CatalogView(CatalogBaseTable):
    """A query with a name. Names in it are resolved where it was created."""

    original_query: str = ""
    expanded_query: str = ""
    current_catalog: str = ""
    current_database: str = ""

    def get_original_query(self) -> str:
        """The query as it was written."""
        return self.original_query

    def get_expanded_query(self) -> str:
        """The query with full names of tables; this one is run."""
        return self.expanded_query


@dataclass(frozen=True)
class CatalogDatabase:
    """A namespace of tables with properties."""

    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None

    @staticmethod
    def create_instance(properties: Mapping[str, str], comment: str | None = None) -> CatalogDatabase:
        """A database to be put into a catalog."""
        return CatalogDatabase(dict(properties), comment)

    def get_properties(self) -> dict[str, str]:
        """A copy of the properties."""
        return dict(self.properties)

    def get_comment(self) -> str:
        """The comment, "" if there is none."""
        return self.comment or ""

    def get_description(self) -> str | None:
        """The comment, None if there is none."""
        return self.comment

    def get_detailed_description(self) -> str | None:
        """The same as `get_description`."""
        return self.comment

    def copy(self) -> CatalogDatabase:
        """An equal database whose properties are its own."""
        return CatalogDatabase(dict(self.properties), self.comment)


@dataclass(frozen=True)
class CatalogFunction:
    """A user's function by the name of its class: `module.Class` for Python."""

    class_name: str
    language: str = "PYTHON"
    resources: tuple[str, ...] = ()

    @staticmethod
    def create_instance(class_name: str, function_language: str = "Python") -> CatalogFunction:
        """A function to be put into a catalog.

        Args:
            class_name: The path of the class or function, `module.Name`.
            function_language: "Python"; functions in Java or Scala cannot be called.
        """
        return CatalogFunction(class_name, function_language.upper())

    def get_class_name(self) -> str:
        """The path of the class or function, `module.Name`."""
        return self.class_name

    def get_function_language(self) -> str:
        """The language, in upper case."""
        return self.language

    def get_description(self) -> str | None:
        """A text that is the same for all functions."""
        return "This is a user-defined function"

    def get_detailed_description(self) -> str | None:
        """The same as `get_description`."""
        return "This is a user-defined function"

    def get_options(self) -> dict[str, str]:
        """Always empty: functions have no options here."""
        return {}

    def is_generic(self) -> bool:
        """Always True: a function does not belong to one kind of catalog."""
        return True

    def copy(self) -> CatalogFunction:
        """The function itself: it cannot be changed."""
        return self
