"""Elasticsearch, as PyFlink spells it; refused by `build()`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Any

from penstock.datastream.connectors.unsupported import Choice, Settings, UnsupportedSink, refuse

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "FlushBackoffType",
]


class FlushBackoffType(Enum):
    """How the time between retries grows."""

    CONSTANT = (0,)
    EXPONENTIAL = (1,)
    NONE = (2,)


class ElasticsearchEmitter(Choice):
    """Which index and which document a record goes to."""

    @staticmethod
    def static_index(
        index: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        return ElasticsearchEmitter("static_index", index, key_field, doc_type)

    @staticmethod
    def dynamic_index(
        index_field: str, key_field: str | None = None, doc_type: str | None = None
    ) -> ElasticsearchEmitter:
        return ElasticsearchEmitter("dynamic_index", index_field, key_field, doc_type)


class ElasticsearchSinkBuilderBase(Settings, ABC):
    """Settings of an `ElasticsearchSink`."""

    def __init__(self) -> None:
        super().__init__()

    @abstractmethod
    def get_http_host_class(self) -> Any:
        """How hosts are described."""

    def set_emitter(self, emitter: Any) -> ElasticsearchSinkBuilderBase:
        return self._set("set_emitter", emitter)

    def set_hosts(self, hosts: Any) -> ElasticsearchSinkBuilderBase:
        return self._set("set_hosts", hosts)

    def set_delivery_guarantee(self, delivery_guarantee: Any) -> ElasticsearchSinkBuilderBase:
        return self._set("set_delivery_guarantee", delivery_guarantee)

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> ElasticsearchSinkBuilderBase:
        return self._set("set_bulk_flush_max_actions", num_max_actions)

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> ElasticsearchSinkBuilderBase:
        return self._set("set_bulk_flush_max_size_mb", max_size_mb)

    def set_bulk_flush_interval(self, interval_millis: int) -> ElasticsearchSinkBuilderBase:
        return self._set("set_bulk_flush_interval", interval_millis)

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: Any, max_retries: int, delay_millis: int
    ) -> ElasticsearchSinkBuilderBase:
        return self._set("set_bulk_flush_backoff_strategy", (flush_backoff_type, max_retries, delay_millis))

    def set_connection_username(self, username: str) -> ElasticsearchSinkBuilderBase:
        return self._set("set_connection_username", username)

    def set_connection_password(self, password: str) -> ElasticsearchSinkBuilderBase:
        return self._set("set_connection_password", password)

    def set_connection_path_prefix(self, prefix: str) -> ElasticsearchSinkBuilderBase:
        return self._set("set_connection_path_prefix", prefix)

    def set_connection_request_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        return self._set("set_connection_request_timeout", timeout)

    def set_connection_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        return self._set("set_connection_timeout", timeout)

    def set_socket_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        return self._set("set_socket_timeout", timeout)

    def build(self) -> ElasticsearchSink:
        return ElasticsearchSink(self._settings)


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch 6."""

    def __init__(self) -> None:
        super().__init__()

    def get_http_host_class(self) -> Any:
        return str


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """For Elasticsearch 7."""

    def __init__(self) -> None:
        super().__init__()

    def get_http_host_class(self) -> Any:
        return str


class ElasticsearchSink(UnsupportedSink):
    """Writes documents."""

    def __init__(self, j_elasticsearch_sink: Any) -> None:
        refuse("ElasticsearchSink", "there is no Elasticsearch client yet")
