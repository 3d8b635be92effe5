"""Catalogs that CREATE CATALOG can make; `create_catalog_from_options` reads the 'type' option."""

from __future__ import annotations

from penstock.catalog.catalog import Catalog
from penstock.catalog.file import FileCatalog
from penstock.catalog.in_memory import GenericInMemoryCatalog
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.sql.ddl_text import table_from_text, table_text

TYPES = ("generic_in_memory", "file", "jdbc", "spark")


_OPTIONS = {
    "generic_in_memory": {"type", "default-database", "property-version"},
    "file": {"type", "default-database", "path"},
    "jdbc": {
        "type", "default-database", "username", "password", "base-url", "compatible-mode", "property-version",
    },
}  # fmt: skip


def check_catalog_options(name: str, options: dict[str, str]) -> None:
    """Refuses options that a catalog of this type does not have."""
    kind = options.get("type", "")
    unknown = sorted(set(options) - _OPTIONS.get(kind, set(options)))
    if unknown:
        raise ValidationError(
            f"unsupported options found for catalog '{name}': {', '.join(unknown)}",
            do=f"use {', '.join(sorted(_OPTIONS[kind]))}",
        )


def create_catalog_from_options(name: str, options: dict[str, str]) -> Catalog:
    """The catalog of CREATE CATALOG name WITH (options)."""
    kind = options.get("type")
    if kind is None:
        raise ValidationError(f"catalog '{name}' has no 'type' option", do="use one of " + ", ".join(TYPES))
    check_catalog_options(name, options)
    default = options.get("default-database", "default")
    if kind == "generic_in_memory":
        return GenericInMemoryCatalog(name, default)
    if kind == "file":
        if "path" not in options:
            raise ValidationError(f"catalog '{name}' needs a 'path' option: the folder it lives in")
        return FileCatalog(name, options["path"], default, table_text, table_from_text)
    if kind == "spark":
        from penstock.sql.spark.catalog import SparkCatalog

        return SparkCatalog(name, options.get("default-database", "default"))
    if kind == "jdbc":
        from penstock.connectors.jdbc.catalog import JdbcCatalog

        return JdbcCatalog.from_options(name, options)
    if kind == "hive":
        raise NotSupportedError(f"catalogs of type '{kind}'", "nothing here reads that system's tables yet")
    raise ValidationError(f"there is no catalog type '{kind}'", do="use one of " + ", ".join(TYPES))
