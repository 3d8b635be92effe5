"""Cassandra, as PyFlink spells it; refused by `add_sink()`."""

from __future__ import annotations

from enum import Enum
from typing import Any

from penstock.datastream.connectors.unsupported import Choice, Settings, refuse

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]


class ConsistencyLevel(Enum):
    """How many replicas have to agree."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class MapperOptions(Settings):
    """How records are written."""

    def __init__(self) -> None:
        super().__init__()

    def ttl(self, ttl: int) -> MapperOptions:
        return self._set("ttl", ttl)

    def timestamp(self, timestamp: int) -> MapperOptions:
        return self._set("timestamp", timestamp)

    def consistency_level(self, cl: Any) -> MapperOptions:
        return self._set("consistency_level", cl)

    def tracing(self, enabled: bool) -> MapperOptions:
        return self._set("tracing", enabled)

    def save_null_fields(self, enabled: bool) -> MapperOptions:
        return self._set("save_null_fields", enabled)

    def if_not_exists(self, enabled: bool) -> MapperOptions:
        return self._set("if_not_exists", enabled)


class ClusterBuilder:
    """How to find the cluster."""

    def __init__(self, j_cluster_builder: Any) -> None:
        self.description = j_cluster_builder


class CassandraCommitter(Choice):
    """Where the write-ahead log's progress is kept."""

    @staticmethod
    def default_checkpoint_committer(builder: Any, key_space: str | None = None) -> CassandraCommitter:
        return CassandraCommitter("default_checkpoint_committer", builder, key_space)


class CassandraFailureHandler(Choice):
    """What to do with a record that cannot be written."""

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        return CassandraFailureHandler("no_op")


class CassandraSink(Settings):
    """Writes rows of a stream."""

    def __init__(self, j_cassandra_sink: Any) -> None:
        super().__init__()
        refuse("CassandraSink", "there is no Cassandra client yet")

    @staticmethod
    def add_sink(input: Any) -> CassandraSink.CassandraSinkBuilder:
        return CassandraSink.CassandraSinkBuilder(input)

    def name(self, name: str) -> CassandraSink:
        return self._set("name", name)

    def uid(self, uid: str) -> CassandraSink:
        return self._set("uid", uid)

    def set_uid_hash(self, uid_hash: str) -> CassandraSink:
        return self._set("set_uid_hash", uid_hash)

    def set_parallelism(self, parallelism: int) -> CassandraSink:
        return self._set("set_parallelism", parallelism)

    def disable_chaining(self) -> CassandraSink:
        return self._set("disable_chaining", True)

    def slot_sharing_group(self, slot_sharing_group: str) -> CassandraSink:
        return self._set("slot_sharing_group", slot_sharing_group)

    class CassandraSinkBuilder(Settings):
        """Settings of a `CassandraSink`."""

        def __init__(self, j_cassandra_sink_builder: Any) -> None:
            super().__init__()

        def set_query(self, query: str) -> CassandraSink.CassandraSinkBuilder:
            return self._set("set_query", query)

        def set_host(self, host: str, port: int = 9042) -> CassandraSink.CassandraSinkBuilder:
            return self._set("set_host", (host, port))

        def set_cluster_builder(self, builder: Any) -> CassandraSink.CassandraSinkBuilder:
            return self._set("set_cluster_builder", builder)

        def enable_write_ahead_log(self, committer: Any = None) -> CassandraSink.CassandraSinkBuilder:
            return self._set("enable_write_ahead_log", committer)

        def set_mapper_options(self, options: Any) -> CassandraSink.CassandraSinkBuilder:
            return self._set("set_mapper_options", options)

        def set_failure_handler(self, failure_handler: Any) -> CassandraSink.CassandraSinkBuilder:
            return self._set("set_failure_handler", failure_handler)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: int, duration: Any = None
        ) -> CassandraSink.CassandraSinkBuilder:
            return self._set("set_max_concurrent_requests", (max_concurrent_requests, duration))

        def enable_ignore_null_fields(self) -> CassandraSink.CassandraSinkBuilder:
            return self._set("enable_ignore_null_fields", True)

        def build(self) -> CassandraSink:
            return CassandraSink(self._settings)
