"""The options of `iceberg` tables, as Flink's connector names them. Those of the catalog are pyiceberg's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.connectors.iceberg.lake import IcebergTable
from penstock.connectors.option_values import at_least, millis
from penstock.formats.base import Option, boolean, one_of

CATALOG = "catalog."

OPTIONS = (
    Option("catalog-name", required=True),
    Option("catalog-type", one_of("sql", "rest", "hive", "glue", "dynamodb"), "sql"),
    Option("uri"),
    Option("warehouse"),
    Option("catalog-database", str, "default"),
    Option("catalog-table"),
    Option("snapshot-id", at_least(0)),
    Option("as-of-timestamp", at_least(0)),
    Option("streaming", boolean, False),
    Option("monitor-interval", millis, 60_000),
    Option("sink.unknown-outcome", one_of("skip", "publish")),
    Option("sink.parallelism", at_least(1)),
)


def lake(values: Mapping[str, Any], raw: Mapping[str, str], table_path: str) -> IcebergTable:
    properties = {"type": values["catalog-type"]}
    properties.update({name: values[name] for name in ("uri", "warehouse") if values[name] is not None})
    properties.update({k[len(CATALOG) :]: v for k, v in raw.items() if k.startswith(CATALOG)})
    name = values["catalog-table"] or table_path.split(".")[-1].strip("`")
    return IcebergTable(values["catalog-name"], properties, values["catalog-database"], name)
