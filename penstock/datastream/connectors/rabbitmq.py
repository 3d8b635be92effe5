"""RabbitMQ, as PyFlink spells it: `env.add_source(RMQSource(...))`, `stream.add_sink(RMQSink(...))`."""

from __future__ import annotations

from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.serialization import DeserializationSchema, SerializationSchema
from penstock.connectors.message_bodies import SchemaDecoder
from penstock.connectors.message_sinks import ElementMessageSink
from penstock.connectors.rabbitmq.client import RabbitAddress, pika_library
from penstock.connectors.rabbitmq.sink import RabbitTarget
from penstock.connectors.rabbitmq.source import DEFAULT_PREFETCH, RabbitSource
from penstock.datastream.connectors.unsupported import Settings
from penstock.functions.legacy import SinkFunction, SourceFunction

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]


class RMQConnectionConfig:
    """How to reach the broker."""

    def __init__(self, j_rmq_connection_config: Any) -> None:
        self._settings = dict(j_rmq_connection_config)

    def get_host(self) -> Any:
        """The broker's host, None where a URI was set instead."""
        return self._settings.get("set_host")

    def get_port(self) -> Any:
        """The broker's port, None where a URI was set instead."""
        return self._settings.get("set_port")

    def get_virtual_host(self) -> Any:
        """The virtual host, None where a URI was set instead."""
        return self._settings.get("set_virtual_host")

    def get_user_name(self) -> Any:
        """The user, None where a URI was set instead."""
        return self._settings.get("set_user_name")

    def get_password(self) -> Any:
        """The password, None where a URI was set instead."""
        return self._settings.get("set_password")

    def get_uri(self) -> Any:
        """The URI, None where its parts were set instead."""
        return self._settings.get("set_uri")

    def get_network_recovery_interval(self) -> Any:
        """What was set; it has no effect."""
        return self._settings.get("set_network_recovery_interval")

    def is_automatic_recovery(self) -> Any:
        """What was set; it has no effect."""
        return self._settings.get("set_automatic_recovery")

    def is_topology_recovery(self) -> Any:
        """What was set; it has no effect."""
        return self._settings.get("set_topology_recovery_enabled")

    def get_connection_timeout(self) -> Any:
        """How many milliseconds connecting may take, None if it was not set."""
        return self._settings.get("set_connection_timeout")

    def get_requested_channel_max(self) -> Any:
        """What was set; it has no effect."""
        return self._settings.get("set_requested_channel_max")

    def get_requested_frame_max(self) -> Any:
        """What was set; it has no effect."""
        return self._settings.get("set_requested_frame_max")

    def get_requested_heartbeat(self) -> Any:
        """The seconds between heartbeats, None if it was not set."""
        return self._settings.get("set_requested_heartbeat")

    def _address(self) -> RabbitAddress:
        given = self._settings
        timeout_ms, heartbeat = given.get("set_connection_timeout"), given.get("set_requested_heartbeat")
        uri = given.get("set_uri") or RabbitAddress.of_parts(
            given["set_host"],
            given["set_port"],
            given["set_virtual_host"],
            given["set_user_name"],
            given["set_password"],
        )
        return RabbitAddress(uri, 10.0 if timeout_ms is None else timeout_ms / 1000, heartbeat)

    class Builder(Settings):
        """Settings of an `RMQConnectionConfig`: an URI, or host, port, virtual host, user name and password.

        Recovery settings and bounds of channels and frames are without effect: a connection that is lost fails the
        job, which then goes on by its restart strategy.
        """

        def __init__(self) -> None:
            super().__init__()

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            """The broker's port."""
            return self._set("set_port", port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            """The broker's host."""
            return self._set("set_host", host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            """The virtual host, "/" on most brokers."""
            return self._set("set_virtual_host", vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            """The user to log in as."""
            return self._set("set_user_name", user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            """The user's password."""
            return self._set("set_password", password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            """Everything in one text, `amqp://user:password@host:5672/vhost`; its parts are ignored then."""
            return self._set("set_uri", uri)

        def set_topology_recovery_enabled(
            self, topology_recovery_enabled: bool
        ) -> RMQConnectionConfig.Builder:
            """Kept, without effect: a lost connection fails the job, which starts again."""
            return self._set("set_topology_recovery_enabled", topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            """Seconds between heartbeats; the broker's choice if it is not said."""
            return self._set("set_requested_heartbeat", requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            """Kept, without effect: the size of frames is the client library's choice."""
            return self._set("set_requested_frame_max", requested_frame_max)

        def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfig.Builder:
            """Kept, without effect: a connection has one channel."""
            return self._set("set_requested_channel_max", requested_channel_max)

        def set_network_recovery_interval(
            self, network_recovery_interval: int
        ) -> RMQConnectionConfig.Builder:
            """Kept, without effect: the job's restart strategy says when it is tried again."""
            return self._set("set_network_recovery_interval", network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            """How many milliseconds connecting may take; 10,000 if it is not said."""
            return self._set("set_connection_timeout", connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            """Kept, without effect: a lost connection fails the job, which starts again."""
            return self._set("set_automatic_recovery", automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            """How many messages the broker sends ahead of their acknowledgement."""
            return self._set("set_prefetch_count", prefetch_count)

        def build(self) -> RMQConnectionConfig:
            """The configuration.

            Raises:
                ValidationError: There is no URI, and of the five parts one is missing.
            """
            if self._settings.get("set_uri") is None:
                for name in ("host", "port", "virtual_host", "user_name", "password"):
                    if self._settings.get(f"set_{name}") is None:
                        raise ValidationError(
                            f"there is no {name.replace('_', ' ')}", do=f"call set_{name}, or set_uri"
                        )
            return RMQConnectionConfig(self._settings)


class RMQSource(SourceFunction):
    """Reads a queue, which is made if it is not there; messages are acknowledged when their epoch is committed.

    Exactly once with `use_correlation_id`, where every message has an id of its own; else at least once.
    """

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: DeserializationSchema,
    ) -> None:
        prefetch = connection_config._settings.get("set_prefetch_count") or DEFAULT_PREFETCH
        super().__init__(
            RabbitSource(
                connection_config._address(),
                queue_name,
                SchemaDecoder(deserialization_schema),
                use_correlation_id,
                prefetch,
                deserialization_schema.get_produced_type(),
            )
        )


class RMQSink(SinkFunction):
    """Publishes to a queue, which is made if it is not there; at least once."""

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        serialization_schema: SerializationSchema,
    ) -> None:
        pika_library()
        target = RabbitTarget(connection_config._address(), "", queue_name)
        super().__init__(ElementMessageSink(target, serialization_schema))
