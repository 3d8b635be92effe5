"""Documents to a cluster: of programs, which have dicts, and of tables."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import json
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.common.errors import ValidationError
from penstock.connectors.async_sink import (
    DEFAULT_SETTINGS,
    AsyncSinkBase,
    AsyncSinkSettings,
    Request,
    RequestClient,
    RequestConverter,
)
from penstock.connectors.elasticsearch.bulk import Action, BulkClient, Cluster
from penstock.connectors.elasticsearch.index import index_of
from penstock.connectors.message_part import MessagePart
from penstock.connectors.request_table import ChangeConverter
from penstock.connectors.sink import WriterContext
from penstock.formats.base import INSERT

__all__ = ["DocumentSink", "ElasticsearchTableSink", "Emitter", "document_id"]


class BulkSink(AsyncSinkBase):
    """What sinks of documents share: the cluster."""

    cluster: Cluster

    @property
    def system(self) -> str:
        return self.cluster.shown

    @property
    def client_identity(self) -> Hashable:
        return self.cluster

    def create_client(self) -> RequestClient:
        return BulkClient(self.cluster)


def _request(action: Action) -> Request:
    return Request(action, action.size_bytes, None if action.id is None else (action.index, action.id))


# --- programs


@dataclass(frozen=True)
class Emitter:
    """Which index and which document an element, a dict, goes to.

    Attributes:
        index: The name of the index or, if `dynamic`, of the field that holds it.
        key_field: The field that holds the document's id; None: the cluster makes one up.
    """

    index: str
    key_field: str | None = None
    doc_type: str | None = None
    dynamic: bool = False


@dataclass(frozen=True)
class DocumentSink(BulkSink):
    """Elements are documents."""

    cluster: Cluster
    emitter: Emitter
    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Documents(self.emitter)


class _Documents(RequestConverter):
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def convert(self, value: Any) -> Iterable[Request]:
        emitter = self._emitter
        index = str(self._field(value, emitter.index)) if emitter.dynamic else emitter.index
        id_ = None if emitter.key_field is None else str(self._field(value, emitter.key_field))
        document = json.dumps(value, default=_plain).encode()
        return [_request(Action("index", index, id_, document, emitter.doc_type))]

    def _field(self, value: Any, name: str) -> Any:
        found = value.get(name)
        if found is None:
            raise ValidationError(f"a document has no '{name}', which chooses its place: {value!r}")
        return found


def _plain(value: Any) -> Any:
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, (dt.date, dt.time, dt.datetime)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    raise TypeError(f"{value!r} has no form in JSON")


# --- tables


@dataclass(frozen=True)
class ElasticsearchTableSink(BulkSink):
    """How rows become documents: by primary key they replace each other, without one each is a document."""

    cluster: Cluster
    index: str
    message: MessagePart
    key_places: tuple[int, ...] = ()
    key_delimiter: str = "_"
    changelog: bool = False
    settings: AsyncSinkSettings = DEFAULT_SETTINGS

    def create_converter(self, context: WriterContext) -> RequestConverter:
        return _Rows(self, context)


class _Rows(ChangeConverter):
    def __init__(self, sink: ElasticsearchTableSink, context: WriterContext) -> None:
        super().__init__(sink.changelog, sink.key_places)
        self._delimiter = sink.key_delimiter
        self._index_of = index_of(sink.index, sink.message.row_type, context.processing_time_ms)
        self._encoder = sink.message.encoder()

    def come(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        document = self._encoder.encode(INSERT, row)
        if not key:
            return _request(Action("index", self._index_of(row), None, document))
        return _request(Action("update", self._index_of(row), document_id(key, self._delimiter), document))

    def gone(self, row: tuple[Any, ...], key: tuple[Any, ...]) -> Request:
        return _request(Action("delete", self._index_of(row), document_id(key, self._delimiter)))


def document_id(key: tuple[Any, ...], delimiter: str) -> str:
    """The values of the primary key as one text.

    >>> document_id((1, True, dt.datetime(2024, 1, 1, 10)), "_")
    '1_true_2024-01-01T10:00'
    """
    return delimiter.join(map(_key_text, key))


def _key_text(value: Any) -> str:
    """As Java shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        aware = value.tzinfo is not None
        local = value.astimezone(dt.timezone.utc) if aware else value
        return f"{local.date()}T{_key_text(local.time())}" + ("Z" if aware else "")
    if isinstance(value, dt.time):
        shown = value.isoformat()
        return shown.removesuffix(":00") if not value.second and not value.microsecond else shown
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    return str(value)
