"""The contract of a catalog: something that stores databases, tables, views and functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction, CatalogView
from penstock.catalog.partitions import CatalogModel, CatalogPartition, CatalogPartitionSpec
from penstock.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics
from penstock.common.errors import NotSupportedError
from penstock.util.exceptions import (
    FunctionNotExistException,
    ModelNotExistException,
    PartitionNotExistException,
    TableNotExistException,
)

__all__ = ["Catalog", "CatalogDescriptor"]


@dataclass(frozen=True)
class CatalogDescriptor:
    """How a catalog was asked for: its name, its options, a comment."""

    catalog_name: str
    configuration: Mapping[str, str]
    comment: str | None = None

    @staticmethod
    def of(catalog_name: str, configuration: Any, comment: str | None = None) -> CatalogDescriptor:
        """Describes a catalog that is to be created.

        Args:
            catalog_name: The name it is registered under.
            configuration: Its options, as a `Configuration` or a dict; "type" says which kind it is.
            comment: What people are told about it.
        """
        options = configuration.to_dict() if hasattr(configuration, "to_dict") else dict(configuration)
        return CatalogDescriptor(catalog_name, options, comment)


class Catalog:
    """Stores databases and their objects.

    Methods raise the exceptions of `penstock.util.exceptions` where an object is missing or there already, unless the
    `ignore` flag says that this is fine. What a kind of catalog does not have raises NotSupportedError. Nothing
    here knows of temporary objects: those belong to the session.
    """

    def _lacks(self, method: str) -> NotSupportedError:
        return NotSupportedError(
            f"{method} of a {type(self).__name__}", "catalogs of this kind do not have it"
        )

    def open(self) -> None:
        """Called once when the catalog is registered."""

    def close(self) -> None:
        """Called once when the session lets go of it."""

    def get_default_database(self) -> str:
        """The database that `USE CATALOG` goes to."""
        raise self._lacks("get_default_database")

    def list_databases(self) -> list[str]:
        """The names of all databases."""
        raise self._lacks("list_databases")

    def get_database(self, database_name: str) -> CatalogDatabase:
        """What is known about a database.

        Raises:
            DatabaseNotExistException: There is none of this name.
        """
        raise self._lacks("get_database")

    def database_exists(self, database_name: str) -> bool:
        """Whether there is a database of this name."""
        return database_name in self.list_databases()

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Adds an empty database.

        Raises:
            DatabaseAlreadyExistException: There is one of this name, and `ignore_if_exists` is False.
        """
        raise self._lacks("create_database")

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        """Removes a database.

        Args:
            name: The database.
            ignore_if_exists: Nothing happens if there is no such database. (The name is PyFlink's.)
            cascade: Remove its tables as well; without it a database that has tables is refused.
        """
        raise self._lacks("drop_database")

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Replaces the properties and the comment of a database."""
        raise self._lacks("alter_database")

    def list_tables(self, database_name: str) -> list[str]:
        """Tables and views."""
        raise self._lacks("list_tables")

    def list_views(self, database_name: str) -> list[str]:
        """The names of the views of a database."""
        paths = [ObjectPath(database_name, name) for name in self.list_tables(database_name)]
        return [p.object_name for p in paths if isinstance(self.get_table(p), CatalogView)]

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """A table or view as it was declared.

        Raises:
            TableNotExistException: There is none at this path.
        """
        raise self._lacks("get_table")

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Whether there is a table or view at this path."""
        if not self.database_exists(table_path.database_name):
            return False
        return table_path.object_name in self.list_tables(table_path.database_name)

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Adds a table or a view.

        Raises:
            TableAlreadyExistException: There is one at this path, and `ignore_if_exists` is False.
            DatabaseNotExistException: There is no such database.
        """
        raise self._lacks("create_table")

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Removes a table or a view; what an external system stores stays there."""
        raise self._lacks("drop_table")

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Gives a table or view another name in the same database."""
        raise self._lacks("rename_table")

    def alter_table(
        self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool
    ) -> None:
        """Replaces a table or view; a table cannot become a view, nor a view a table."""
        raise self._lacks("alter_table")

    def list_functions(self, database_name: str) -> list[str]:
        """The names of the functions of a database, in lower case."""
        return []

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """A function, whatever the case of its name.

        Raises:
            FunctionNotExistException: There is none at this path.
        """
        raise FunctionNotExistException(f"function {function_path} does not exist")

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Whether there is a function at this path, whatever the case of its name."""
        if not self.database_exists(function_path.database_name):
            return False
        return function_path.object_name.lower() in self.list_functions(function_path.database_name)

    def create_function(
        self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool
    ) -> None:
        """Adds a function by the name of its class."""
        raise self._lacks("create_function")

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replaces a function."""
        raise self._lacks("alter_function")

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Removes a function."""
        raise self._lacks("drop_function")

    # Partitions: a catalog that keeps none has tables without any.

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """The partitions of a table; those with the values of `partition_spec`, if it is given."""
        return []

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """What is known about one partition of a table.

        Args:
            table_path: The table.
            partition_spec: A value for each of its partition columns.

        Raises:
            PartitionNotExistException: The table has no such partition.
        """
        raise PartitionNotExistException(f"table {table_path} has no partition {partition_spec}")

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Whether a table has this partition."""
        return partition_spec in self.list_partitions(table_path)

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Adds a partition to a partitioned table."""
        raise self._lacks("create_partition")

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Removes a partition from what the catalog knows; no data is deleted."""
        raise self._lacks("drop_partition")

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replaces what is known about a partition."""
        raise self._lacks("alter_partition")

    # Models.

    def list_models(self, database_name: str) -> list[str]:
        """The names of the models of a database."""
        return []

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """A model as it was declared.

        Raises:
            ModelNotExistException: There is none at this path.
        """
        raise ModelNotExistException(f"model {model_path} does not exist")

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Whether there is a model at this path."""
        if not self.database_exists(model_path.database_name):
            return False
        return model_path.object_name in self.list_models(model_path.database_name)

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Adds a model."""
        raise self._lacks("create_model")

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Removes a model."""
        raise self._lacks("drop_model")

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Gives a model another name in the same database."""
        raise self._lacks("rename_model")

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        """Replaces a model."""
        raise self._lacks("alter_model")

    # Statistics: nothing is known unless a kind of catalog keeps what it is told.

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Counts and sizes of a table; -1 where the catalog was not told."""
        self._check_table(table_path)
        return CatalogTableStatistics()

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """What is known about the columns of a table; nothing where the catalog was not told."""
        self._check_table(table_path)
        return CatalogColumnStatistics()

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Counts and sizes of one partition; -1 where the catalog was not told."""
        self.get_partition(table_path, partition_spec)
        return CatalogTableStatistics()

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """What is known about the columns of one partition."""
        self.get_partition(table_path, partition_spec)
        return CatalogColumnStatistics()

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """Counts and sizes of several partitions, in the order of `partition_specs`."""
        return [self.get_partition_statistics(table_path, spec) for spec in partition_specs]

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """What is known about the columns of several partitions, in the order of `partition_specs`."""
        return [self.get_partition_column_statistics(table_path, spec) for spec in partition_specs]

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Keeps counts and sizes of a table for whoever asks; plans do not depend on them."""
        raise self._lacks("alter_table_statistics")

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Keeps what is said about a table's columns for whoever asks; plans do not depend on it."""
        raise self._lacks("alter_table_column_statistics")

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Keeps counts and sizes of one partition for whoever asks; plans do not depend on them."""
        raise self._lacks("alter_partition_statistics")

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Keeps what is said about a partition's columns for whoever asks."""
        raise self._lacks("alter_partition_column_statistics")

    def _check_table(self, table_path: ObjectPath) -> None:
        if not self.table_exists(table_path):
            raise TableNotExistException(f"table {table_path} does not exist")

    # What Flink's catalogs may have beside these, and none of ours has.

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Always empty: materialized tables are not supported."""
        return []

    def list_procedures(self, database_name: str) -> list[str]:
        """Always empty: catalogs have no procedures here."""
        return []

    def get_procedure(self, procedure_path: ObjectPath) -> Any:
        """Refused: catalogs have no procedures here."""
        raise self._lacks("get_procedure")
