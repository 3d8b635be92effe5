"""CREATE TABLE … LIKE: what a new table takes over from another one.

Each part of the base table has a strategy: INCLUDING takes it and refuses duplicates, EXCLUDING leaves it,
OVERWRITING takes it and lets the new definition win. Physical columns always come along.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.catalog.objects import CatalogTable
from penstock.catalog.schema import Schema, SchemaColumn
from penstock.common.errors import ValidationError

_DEFAULTS = {
    "CONSTRAINTS": "INCLUDING",
    "DISTRIBUTION": "INCLUDING",
    "GENERATED": "INCLUDING",
    "METADATA": "INCLUDING",
    "OPTIONS": "OVERWRITING",
    "PARTITIONS": "INCLUDING",
    "WATERMARKS": "INCLUDING",
}


def merge_like(table: CatalogTable, base: CatalogTable, choices: tuple[tuple[str, str], ...]) -> CatalogTable:
    """The table with what its strategies take over from the base."""
    strategy = dict(_DEFAULTS)
    for action, what in choices:
        if what == "ALL":
            strategy = dict.fromkeys(_DEFAULTS, action)
    for action, what in choices:
        if what == "ALL":
            continue
        if what not in _DEFAULTS:
            raise ValidationError(f"LIKE knows no {what}", do="use one of " + ", ".join(_DEFAULTS))
        strategy[what] = action
    return replace(
        table,
        schema=_schema(table, base, strategy),
        options=_options(table, base, strategy["OPTIONS"]),
        comment=table.comment or base.comment,
        partition_keys=_partitions(table, base, strategy["PARTITIONS"]),
        distribution=table.distribution
        or (base.distribution if strategy["DISTRIBUTION"] != "EXCLUDING" else None),
    )


def _schema(table: CatalogTable, base: CatalogTable, strategy: dict[str, str]) -> Schema:
    columns = _columns(table, base, strategy)
    watermarks = table.schema.watermarks
    inherited = base.schema.watermarks if strategy["WATERMARKS"] != "EXCLUDING" else ()
    if inherited and watermarks and strategy["WATERMARKS"] == "INCLUDING":
        raise ValidationError(
            "the base table already has a watermark",
            do="use EXCLUDING WATERMARKS or OVERWRITING WATERMARKS",
        )
    key, key_name = table.schema.primary_key, table.schema.primary_key_name
    if base.schema.primary_key and strategy["CONSTRAINTS"] != "EXCLUDING":
        if key:
            raise ValidationError("the base table already has a primary key", do="use EXCLUDING CONSTRAINTS")
        key, key_name = base.schema.primary_key, base.schema.primary_key_name
    return replace(
        table.schema,
        columns=columns,
        watermarks=watermarks or inherited,
        primary_key=key,
        primary_key_name=key_name,
    )


def _columns(table: CatalogTable, base: CatalogTable, strategy: dict[str, str]) -> tuple[SchemaColumn, ...]:
    merged: list[SchemaColumn] = []
    for column in base.schema.columns:
        if column.is_computed and strategy["GENERATED"] == "EXCLUDING":
            continue
        if column.is_metadata and strategy["METADATA"] == "EXCLUDING":
            continue
        merged.append(column)
    for column in table.schema.columns:
        index = next((i for i, c in enumerate(merged) if c.name == column.name), None)
        if index is None:
            merged.append(column)
            continue
        part = "GENERATED" if merged[index].is_computed else "METADATA"
        if merged[index].is_physical or strategy[part] != "OVERWRITING":
            raise ValidationError(f"a column named '{column.name}' already exists in the base table")
        merged[index] = column
    return tuple(merged)


def _options(table: CatalogTable, base: CatalogTable, strategy: str) -> dict[str, str]:
    if strategy == "EXCLUDING":
        return dict(table.options)
    if strategy == "INCLUDING":
        for key in table.options:
            if key in base.options:
                raise ValidationError(
                    f"there already exists an option ['{key}' -> '{base.options[key]}'] in the base table",
                    do="use EXCLUDING OPTIONS or OVERWRITING OPTIONS",
                )
    return {**base.options, **table.options}


def _partitions(table: CatalogTable, base: CatalogTable, strategy: str) -> tuple[str, ...]:
    if strategy == "EXCLUDING" or not base.partition_keys:
        return table.partition_keys
    if table.partition_keys:
        raise ValidationError("the base table already has partitions", do="use EXCLUDING PARTITIONS")
    return base.partition_keys
