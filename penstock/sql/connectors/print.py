"""The print connector: rows on standard output (or standard error), in Flink's form `+I[1, x]`.

The rows are printed by the driver, where the program runs: a worker's output is nowhere to be seen on a cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    LocalZonedTimestampType,
    MapType,
    MultisetType,
    RowType,
    TimestampType,
    VarBinaryType,
)
from penstock.formats import values as v
from penstock.formats.base import Option, boolean
from penstock.sql.connectors.base import KIND_COLUMN, ChangelogMode, SqlConnector
from penstock.sql.connectors.filesystem.partitions import value_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from penstock.catalog.objects import CatalogTable

_KINDS = ("+I", "-U", "+U", "-D")


class PrintConnector(SqlConnector):
    name = "print"
    all_or_nothing = False  # lines appear as they come
    options = (
        Option("print-identifier"),
        Option("standard-error", boolean, False),
        Option("sink.parallelism", int),
    )
    directions = ("sink",)

    def changelog_mode(self, table: CatalogTable) -> ChangelogMode:
        return "changelog"

    def write_batch(
        self,
        spark: SparkSession,
        table: CatalogTable,
        df: DataFrame,
        overwrite: bool = False,
        static_partition: Mapping[str, Any] | None = None,
    ) -> None:
        line = self.printer(table.physical_schema)
        has_kind = df.columns[-1] == KIND_COLUMN
        out = self.stream()
        for row in df.toLocalIterator(prefetchPartitions=True):
            kind, values = (row[-1], row[:-1]) if has_kind else (0, row)
            out.write(line(kind, values) + "\n")
        out.flush()

    def stream(self) -> Any:
        return sys.stderr if self.values["standard-error"] else sys.stdout

    def printer(self, row_type: RowType) -> Callable[[int, Any], str]:
        """One line for one change."""
        prefix = f"{self.values['print-identifier']}> " if self.values["print-identifier"] else ""
        texts = [text_of(f.data_type) for f in row_type.fields]

        def line(kind: int, row: Any) -> str:
            values = ("null" if x is None else text(x) for text, x in zip(texts, row, strict=True))
            return f"{prefix}{_KINDS[kind]}[{', '.join(values)}]"

        return line


def text_of(data_type: DataType) -> Callable[[Any], str]:
    """How Java prints a value of the type."""
    if isinstance(data_type, FloatType):
        return v.format_single
    if isinstance(data_type, DoubleType):
        return v.format_double
    if isinstance(data_type, DecimalType):
        return lambda value: format(value, "f")
    if isinstance(data_type, (BooleanType, TimestampType, LocalZonedTimestampType)):
        return value_text
    if isinstance(data_type, (BinaryType, VarBinaryType)):
        return lambda value: "[" + ", ".join(str(b - 256 if b > 127 else b) for b in value) + "]"
    if isinstance(data_type, ArrayType):
        element = _or_null(text_of(data_type.element_type))
        return lambda value: "[" + ", ".join(map(element, value)) + "]"
    if isinstance(data_type, (MapType, MultisetType)):
        return _map_text(data_type)
    if isinstance(data_type, RowType):
        texts = [_or_null(text_of(f.data_type)) for f in data_type.fields]
        return lambda row: "+I[" + ", ".join(t(x) for t, x in zip(texts, row, strict=True)) + "]"
    return str


def _map_text(data_type: MapType | MultisetType) -> Callable[[Any], str]:
    if isinstance(data_type, MapType):
        key, item = text_of(data_type.key_type), text_of(data_type.value_type)
    else:
        key, item = text_of(data_type.element_type), str
    to_key, to_item = _or_null(key), _or_null(item)
    return lambda value: "{" + ", ".join(f"{to_key(k)}={to_item(x)}" for k, x in value.items()) + "}"


def _or_null(text: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "null" if value is None else text(value)
