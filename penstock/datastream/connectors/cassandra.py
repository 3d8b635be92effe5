"""Cassandra, as PyFlink spells it; refused by `build()`.

Written by tests/parity/refused_systems.py from the inventory of PyFlink's API: change it there.
"""

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

_BECAUSE = "penstock has no client for Cassandra"


class CassandraCommitter(Choice):
    """As PyFlink has it."""

    @staticmethod
    def default_checkpoint_committer(builder: Any, key_space: Any = None) -> CassandraCommitter:
        """A choice that is remembered; what would act on it is refused."""
        return CassandraCommitter("default_checkpoint_committer", builder, key_space)


class CassandraFailureHandler(Choice):
    """As PyFlink has it."""

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """A choice that is remembered; what would act on it is refused."""
        return CassandraFailureHandler("no_op")


class CassandraSink(Settings):
    """As PyFlink has it."""

    def __init__(self, j_object: Any = None) -> None:
        refuse("CassandraSink", _BECAUSE)

    @staticmethod
    def add_sink(input: Any) -> CassandraSink.CassandraSinkBuilder:
        """Begins the settings; `build()` refuses them."""
        return CassandraSink.CassandraSinkBuilder()

    def disable_chaining(self) -> CassandraSink:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("disable_chaining", True)

    def name(self, name: Any) -> CassandraSink:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("name", name)

    def set_parallelism(self, parallelism: Any) -> CassandraSink:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_parallelism", parallelism)

    def set_uid_hash(self, uid_hash: Any) -> CassandraSink:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_uid_hash", uid_hash)

    def slot_sharing_group(self, slot_sharing_group: Any) -> CassandraSink:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("slot_sharing_group", slot_sharing_group)

    def uid(self, uid: Any) -> CassandraSink:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("uid", uid)

    class CassandraSinkBuilder(Settings):
        """As PyFlink has it: settings of a `CassandraSink`."""

        def __init__(self, j_object: Any = None) -> None:
            super().__init__()

        def build(self) -> Any:
            """Refused: there is no CassandraSink here. NotSupportedError says why, and what to do."""
            refuse("CassandraSink", _BECAUSE)

        def enable_ignore_null_fields(self) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("enable_ignore_null_fields", True)

        def enable_write_ahead_log(self, committer: Any = None) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("enable_write_ahead_log", committer)

        def set_cluster_builder(self, builder: Any) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("set_cluster_builder", builder)

        def set_failure_handler(self, failure_handler: Any) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("set_failure_handler", failure_handler)

        def set_host(self, host: Any, port: Any = 9042) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("set_host", host, port)

        def set_mapper_options(self, options: Any) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("set_mapper_options", options)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: Any, duration: Any = None
        ) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("set_max_concurrent_requests", max_concurrent_requests, duration)

        def set_query(self, query: Any) -> CassandraSink.CassandraSinkBuilder:
            """Remembered, so that programs read and type-check; what is made of it is refused."""
            return self._set("set_query", query)


class ClusterBuilder(Settings):
    """As PyFlink has it: settings of a `Cluster`."""

    def __init__(self, j_object: Any = None) -> None:
        super().__init__()


class ConsistencyLevel(Enum):
    """As PyFlink has it."""

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
    """As PyFlink has it."""

    def __init__(self) -> None:
        super().__init__()

    def consistency_level(self, cl: Any) -> MapperOptions:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("consistency_level", cl)

    def if_not_exists(self, enabled: Any) -> MapperOptions:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("if_not_exists", enabled)

    def save_null_fields(self, enabled: Any) -> MapperOptions:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("save_null_fields", enabled)

    def timestamp(self, timestamp: Any) -> MapperOptions:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("timestamp", timestamp)

    def tracing(self, enabled: Any) -> MapperOptions:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("tracing", enabled)

    def ttl(self, ttl: Any) -> MapperOptions:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("ttl", ttl)
