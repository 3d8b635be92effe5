"""Catalogs and what they hold, under PyFlink's path; the classes live in `penstock.catalog`."""

from __future__ import annotations

from penstock.catalog.catalog import Catalog, CatalogDescriptor
from penstock.catalog.errors import CatalogError
from penstock.catalog.identifiers import ObjectIdentifier, ObjectPath
from penstock.catalog.objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogTable,
    CatalogView,
)
from penstock.catalog.resolved_schema import (
    Column,
    ComputedColumn,
    MetadataColumn,
    PhysicalColumn,
    ResolvedSchema,
    UniqueConstraint,
    WatermarkSpec,
)
from penstock.connectors.jdbc.catalog import JdbcCatalog

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
    "JdbcCatalog",
    "MetadataColumn",
    "ObjectIdentifier",
    "ObjectPath",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]
