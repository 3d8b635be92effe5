"""`'connector' = 'elasticsearch-7'` and `'opensearch'`: tables whose rows become documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.datatypes import (
    ArrayType,
    BinaryType,
    MapType,
    MultisetType,
    RowType,
    VarBinaryType,
)
from penstock.common.errors import ValidationError
from penstock.connectors.elasticsearch import options as o
from penstock.connectors.elasticsearch.index import index_of
from penstock.connectors.elasticsearch.sink import ElasticsearchTableSink
from penstock.connectors.request_table import RequestTable
from penstock.connectors.table import Direction, SinkRequest

if TYPE_CHECKING:
    from penstock.catalog.objects import CatalogTable

_NO_KEYS = (ArrayType, MapType, MultisetType, RowType, BinaryType, VarBinaryType)


class Elasticsearch7Connector(RequestTable):
    """A sink; with a primary key rows replace each other, and their ids are the key's values."""

    name = "elasticsearch-7"
    options = o.OPTIONS
    directions = ("sink",)

    def check(self, table: CatalogTable, for_: Direction) -> None:
        o.cluster(self.values)
        index_of(self.values["index"], table.physical_schema, 0)
        for place in self.key_places(table):
            field = table.physical_schema.fields[place]
            if isinstance(field.data_type, _NO_KEYS):
                raise ValidationError(
                    f"the column '{field.name}' of type {field.data_type.as_summary()} cannot be part of a "
                    "document's id"
                )

    def sink(self, table: CatalogTable, request: SinkRequest) -> ElasticsearchTableSink:
        return ElasticsearchTableSink(
            o.cluster(self.values),
            self.values["index"],
            self.message(table),
            self.key_places(table),
            self.values["document-id.key-delimiter"],
            request.changelog,
            o.flush_settings(self.values),
        )


class OpenSearchConnector(Elasticsearch7Connector):
    """The same API, under Flink's name for it."""

    name = "opensearch"
