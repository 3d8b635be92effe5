"""Elasticsearch, as PyFlink spells it: elements are dicts, which become documents."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any, TypeVar

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.elasticsearch.bulk import Cluster
from penstock.connectors.elasticsearch.options import bulk_settings
from penstock.connectors.elasticsearch.sink import DocumentSink, Emitter
from penstock.connectors.http.client import HttpSettings
from penstock.connectors.sink import Sink, SinkWriter, WriterContext
from penstock.datastream.connectors.unsupported import Settings

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "FlushBackoffType",
]

_Self = TypeVar("_Self", bound="ElasticsearchSinkBuilderBase")


class FlushBackoffType(Enum):
    """How the time between retries grows."""

    CONSTANT = (0,)
    EXPONENTIAL = (1,)
    NONE = (2,)


class ElasticsearchEmitter:
    """Which index and which document a record goes to."""

    def __init__(self, j_emitter: Emitter) -> None:
        self._emitter = j_emitter

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """All to one index. The field `key_field` holds the id of a document; without it the cluster makes one up.

        Args:
            doc_type: For clusters before version 7.
        """
        return ElasticsearchEmitter(Emitter(index, key_field, doc_type))

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        """To the index that the field `index_field` names."""
        return ElasticsearchEmitter(Emitter(index_field, key_field, doc_type, dynamic=True))


class ElasticsearchSinkBuilderBase(Settings, ABC):
    """Settings of an `ElasticsearchSink`."""

    def __init__(self) -> None:
        super().__init__()

    @abstractmethod
    def get_http_host_class(self) -> Any:
        """How hosts are described."""

    def set_emitter(self: _Self, emitter: ElasticsearchEmitter) -> _Self:
        """What makes requests of an element."""
        return self._set("emitter", emitter)

    def set_hosts(self: _Self, hosts: str | Sequence[str]) -> _Self:
        """Addresses of the cluster: `http://host:9200`, or `host:9200`."""
        return self._set("hosts", [hosts] if isinstance(hosts, str) else list(hosts))

    def set_delivery_guarantee(self: _Self, delivery_guarantee: DeliveryGuarantee) -> _Self:
        """AT_LEAST_ONCE or NONE; here documents are accepted before their epoch ends either way.

        Raises:
            NotSupportedError: EXACTLY_ONCE, as in Flink. With a key field documents replace each other anyway.
        """
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise NotSupportedError(
                "EXACTLY_ONCE of an ElasticsearchSink",
                "Elasticsearch has no transactions",
                do="give documents a key field: one that is written again replaces itself",
            )
        return self._set("guarantee", delivery_guarantee)

    def set_bulk_flush_max_actions(self: _Self, num_max_actions: int) -> _Self:
        """Documents of a bulk request, 1000; -1: their number decides nothing."""
        return self._set("actions", num_max_actions)

    def set_bulk_flush_max_size_mb(self: _Self, max_size_mb: int) -> _Self:
        """Megabytes of a bulk request; -1, the default: they decide nothing."""
        return self._set("size_mb", max_size_mb)

    def set_bulk_flush_interval(self: _Self, interval_millis: int) -> _Self:
        """Without effect: what is buffered is sent at the end of every epoch."""
        return self._set("interval", interval_millis)

    def set_bulk_flush_backoff_strategy(
        self: _Self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> _Self:
        """How often, and after what pause, actions are sent again that the cluster has no time for."""
        if flush_backoff_type is not FlushBackoffType.NONE and (max_retries < 1 or delay_millis < 0):
            raise ValidationError(f"{max_retries} retries after {delay_millis} ms make no sense")
        return self._set("backoff", (flush_backoff_type, max_retries, delay_millis))

    def set_connection_username(self: _Self, username: str) -> _Self:
        """The user to log in as."""
        return self._set("username", username)

    def set_connection_password(self: _Self, password: str) -> _Self:
        """The user's password."""
        return self._set("password", password)

    def set_connection_path_prefix(self: _Self, prefix: str) -> _Self:
        """What stands in front of every path, where a proxy wants it."""
        return self._set("prefix", prefix)

    def set_connection_request_timeout(self: _Self, timeout: int) -> _Self:
        """Without effect: there is no pool of connections to wait for."""
        return self._set("request_timeout", timeout)

    def set_connection_timeout(self: _Self, timeout: int) -> _Self:
        """How long making a connection may take, in milliseconds."""
        return self._set("connection_timeout", timeout)

    def set_socket_timeout(self: _Self, timeout: int) -> _Self:
        """How long an answer may take, in milliseconds."""
        return self._set("socket_timeout", timeout)

    def build(self) -> ElasticsearchSink:
        """The sink.

        Raises:
            ValidationError: There is no emitter or no host.
        """
        given = self._settings
        if not given.get("hosts"):
            raise ValidationError("there is no host to write to", do="call set_hosts")
        if given.get("emitter") is None:
            raise ValidationError("nothing says where documents go", do="call set_emitter")
        how, retries, delay_ms = given.get("backoff", (FlushBackoffType.NONE, 0, 0))
        size_mb = given.get("size_mb", -1)
        settings = bulk_settings(
            given.get("actions", 1000),
            size_mb << 20 if size_mb > 0 else 0,
            0 if how is FlushBackoffType.NONE else retries,
            delay_ms,
            how is FlushBackoffType.EXPONENTIAL,
        )
        return ElasticsearchSink(DocumentSink(self._cluster(), given["emitter"]._emitter, settings))

    def _cluster(self) -> Cluster:
        given = self._settings
        connection = HttpSettings(
            username=given.get("username"),
            password=given.get("password"),
            connect_timeout_s=given.get("connection_timeout", 10_000) / 1000,
            read_timeout_s=given.get("socket_timeout", 30_000) / 1000,
        )
        hosts = [host if "://" in host else f"http://{host}" for host in given["hosts"]]
        return Cluster(tuple(hosts), connection, given.get("prefix", ""))


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch 6: emitters have a `doc_type`."""

    def __init__(self) -> None:
        super().__init__()

    def get_http_host_class(self) -> Any:
        """Hosts are texts here, such as `http://host:9200`."""
        return str


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch 7 and later, and for OpenSearch."""

    def __init__(self) -> None:
        super().__init__()

    def get_http_host_class(self) -> Any:
        """Hosts are texts here, such as `http://host:9200`."""
        return str


class ElasticsearchSink(Sink):
    """Writes documents, at least once; made by a builder."""

    def __init__(self, j_elasticsearch_sink: DocumentSink) -> None:
        self._sink = j_elasticsearch_sink

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        return self._sink.create_writer(context, restored)
