"""Partitions, statistics and models of catalogs in memory."""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.catalog import Catalog
from penstock.catalog.identifiers import ObjectPath
from penstock.catalog.in_memory_store import Database, Partitions, Statistics
from penstock.catalog.objects import CatalogTable
from penstock.catalog.partitions import CatalogModel, CatalogPartition, CatalogPartitionSpec
from penstock.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics
from penstock.util.exceptions import (
    ModelAlreadyExistException,
    ModelNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    TableNotPartitionedException,
)

__all__ = ["InMemoryModels", "InMemoryPartitions"]


class _Stored(Catalog):
    """Has its databases in a dict, and is told of changes."""

    _databases: dict[str, Database]

    def _database(self, name: str) -> Database:
        """The database of that name, which has to be there."""
        raise self._lacks("_database")

    def _changed(self) -> None:
        """Called after every change; the file catalog writes itself then."""


class InMemoryPartitions(_Stored):
    """Partitions that were declared. Those that a table has on disk are the connector's business."""

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        keys = self._partition_keys(table_path)
        if partition_spec is None:
            return list(self._partitions(table_path))
        partition_spec.check(keys, full=False, where=str(table_path))
        return [spec for spec in self._partitions(table_path) if partition_spec.is_part_of(spec)]

    def _partition_keys(self, table_path: ObjectPath) -> tuple[str, ...]:
        table = self.get_table(table_path)
        keys = table.partition_keys if isinstance(table, CatalogTable) else ()
        if not keys:
            raise TableNotPartitionedException(f"table {table_path} is not partitioned")
        return keys

    def _partitions(self, table_path: ObjectPath) -> Partitions:
        found = self._databases.get(table_path.database_name)
        return found.partitions.get(table_path.object_name, {}) if found is not None else {}

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        return partition_spec in self._partitions(table_path)

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        if not self.partition_exists(table_path, partition_spec):
            raise PartitionNotExistException(f"table {table_path} has no partition {partition_spec}")
        return self._partitions(table_path)[partition_spec]

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        partition_spec.check(self._partition_keys(table_path), full=True, where=str(table_path))
        if self.partition_exists(table_path, partition_spec):
            if ignore_if_exists:
                return
            raise PartitionAlreadyExistsException(f"table {table_path} has the partition {partition_spec}")
        partitions = self._database(table_path.database_name).partitions
        partitions.setdefault(table_path.object_name, {})[partition_spec] = partition
        self._changed()

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        self.get_partition(table_path, partition_spec)
        del self._partitions(table_path)[partition_spec]
        self._database(table_path.database_name).statistics.pop(
            (table_path.object_name, partition_spec), None
        )
        self._changed()

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        if ignore_if_not_exists and not self.partition_exists(table_path, partition_spec):
            return
        self.get_partition(table_path, partition_spec)
        self._partitions(table_path)[partition_spec] = new_partition
        self._changed()

    def _forget_partitions(self, table_path: ObjectPath) -> None:
        database, name = self._database(table_path.database_name), table_path.object_name
        database.partitions.pop(name, None)
        database.statistics = {key: item for key, item in database.statistics.items() if key[0] != name}

    def _move_partitions(self, table_path: ObjectPath, renamed: ObjectPath) -> None:
        database, old, new = (
            self._database(table_path.database_name),
            table_path.object_name,
            renamed.object_name,
        )
        if old in database.partitions:
            database.partitions[new] = database.partitions[old]
        for (name, spec), item in list(database.statistics.items()):
            if name == old:
                database.statistics[new, spec] = item

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        self._check_table(table_path)
        return self._statistics(table_path, None).table

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        self._check_table(table_path)
        return self._statistics(table_path, None).columns

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        self.get_partition(table_path, partition_spec)
        return self._statistics(table_path, partition_spec).table

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        self.get_partition(table_path, partition_spec)
        return self._statistics(table_path, partition_spec).columns

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._check_table(table_path)
            self._keep(table_path, None, replace(self._statistics(table_path, None), table=table_statistics))

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        if not ignore_if_not_exists or self.table_exists(table_path):
            self._check_table(table_path)
            self._keep(
                table_path, None, replace(self._statistics(table_path, None), columns=column_statistics)
            )

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if not ignore_if_not_exists or self.partition_exists(table_path, partition_spec):
            self.get_partition(table_path, partition_spec)
            known = self._statistics(table_path, partition_spec)
            self._keep(table_path, partition_spec, replace(known, table=partition_statistics))

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        if not ignore_if_not_exists or self.partition_exists(table_path, partition_spec):
            self.get_partition(table_path, partition_spec)
            known = self._statistics(table_path, partition_spec)
            self._keep(table_path, partition_spec, replace(known, columns=column_statistics))

    def _statistics(self, path: ObjectPath, spec: CatalogPartitionSpec | None) -> Statistics:
        return self._database(path.database_name).statistics.get((path.object_name, spec), Statistics())

    def _keep(self, path: ObjectPath, spec: CatalogPartitionSpec | None, statistics: Statistics) -> None:
        self._database(path.database_name).statistics[path.object_name, spec] = statistics


class InMemoryModels(_Stored):
    """Models by their names."""

    def list_models(self, database_name: str) -> list[str]:
        return sorted(self._database(database_name).models)

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        if not self.model_exists(model_path):
            raise ModelNotExistException(f"model {model_path} does not exist")
        return self._database(model_path.database_name).models[model_path.object_name]

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        models = self._database(model_path.database_name).models
        if model_path.object_name in models:
            if ignore_if_exists:
                return
            raise ModelAlreadyExistException(f"model {model_path} already exists")
        models[model_path.object_name] = model
        self._changed()

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        self.get_model(model_path)
        del self._database(model_path.database_name).models[model_path.object_name]
        self._changed()

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        model = self.get_model(model_path)
        self.create_model(ObjectPath(model_path.database_name, new_model_name), model, False)
        self.drop_model(model_path, False)

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        if ignore_if_not_exists and not self.model_exists(model_path):
            return
        self.get_model(model_path)
        self._database(model_path.database_name).models[model_path.object_name] = new_model
        self._changed()
