"""Catalogs and what they hold, under PyFlink's path; the classes live in `penstock.catalog`."""

from __future__ import annotations

import penstock.table.resolved_expression  # noqa: F401  for ComputedColumn.get_expression
from penstock.catalog.catalog import Catalog, CatalogDescriptor
from penstock.catalog.errors import CatalogError
from penstock.catalog.hive import HiveCatalog
from penstock.catalog.identifiers import ObjectIdentifier, ObjectPath
from penstock.catalog.in_memory import GenericInMemoryCatalog
from penstock.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from penstock.catalog.partitions import CatalogModel, CatalogPartition, CatalogPartitionSpec
from penstock.catalog.resolved_schema import (
    Column,
    ComputedColumn,
    Constraint,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from penstock.catalog.statistics import CatalogColumnStatistics, CatalogTableStatistics
from penstock.connectors.jdbc.catalog import JdbcCatalog


class Procedure:
    """What CALL runs. No catalog of ours has any: `Catalog.list_procedures` is empty."""


__all__ = [
    "Catalog",
    "CatalogBaseTable",
    "CatalogColumnStatistics",
    "CatalogDatabase",
    "CatalogDescriptor",
    "CatalogError",
    "CatalogFunction",
    "CatalogModel",
    "CatalogPartition",
    "CatalogPartitionSpec",
    "CatalogTable",
    "CatalogTableStatistics",
    "CatalogView",
    "Column",
    "ComputedColumn",
    "Constraint",
    "GenericInMemoryCatalog",
    "HiveCatalog",
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "Procedure",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]
