"""What a catalog in memory keeps per database."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.catalog.objects import CatalogBaseTable, CatalogDatabase, CatalogFunction
from penstock.catalog.partitions import CatalogModel, CatalogPartition, CatalogPartitionSpec
from penstock.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics

__all__ = ["Database", "Statistics"]

Partitions = dict[CatalogPartitionSpec, CatalogPartition]


@dataclass
class Statistics:
    """Of a table or one of its partitions, as far as somebody said."""

    table: CatalogTableStatistics = field(default_factory=CatalogTableStatistics)
    columns: CatalogColumnStatistics = field(default_factory=CatalogColumnStatistics)


@dataclass
class Database:
    """The objects of a database by their names; partitions and statistics by the name of their table."""

    info: CatalogDatabase
    tables: dict[str, CatalogBaseTable] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    partitions: dict[str, Partitions] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)
    statistics: dict[tuple[str, CatalogPartitionSpec | None], Statistics] = field(default_factory=dict)
