"""RabbitMQ, as PyFlink spells it; refused by the constructors of source and sink."""

from __future__ import annotations

from typing import Any

from penstock.datastream.connectors.unsupported import Settings, refuse
from penstock.functions.legacy import SinkFunction, SourceFunction

__all__ = ["RMQConnectionConfig", "RMQSink", "RMQSource"]

_BECAUSE = "there is no RabbitMQ client yet"


class RMQConnectionConfig:
    """How to reach the broker."""

    def __init__(self, j_rmq_connection_config: Any) -> None:
        self._settings = dict(j_rmq_connection_config)

    def get_host(self) -> Any:
        return self._settings.get("set_host")

    def get_port(self) -> Any:
        return self._settings.get("set_port")

    def get_virtual_host(self) -> Any:
        return self._settings.get("set_virtual_host")

    def get_user_name(self) -> Any:
        return self._settings.get("set_user_name")

    def get_password(self) -> Any:
        return self._settings.get("set_password")

    def get_uri(self) -> Any:
        return self._settings.get("set_uri")

    def get_network_recovery_interval(self) -> Any:
        return self._settings.get("set_network_recovery_interval")

    def is_automatic_recovery(self) -> Any:
        return self._settings.get("set_automatic_recovery")

    def is_topology_recovery(self) -> Any:
        return self._settings.get("set_topology_recovery_enabled")

    def get_connection_timeout(self) -> Any:
        return self._settings.get("set_connection_timeout")

    def get_requested_channel_max(self) -> Any:
        return self._settings.get("set_requested_channel_max")

    def get_requested_frame_max(self) -> Any:
        return self._settings.get("set_requested_frame_max")

    def get_requested_heartbeat(self) -> Any:
        return self._settings.get("set_requested_heartbeat")

    class Builder(Settings):
        """Settings of an `RMQConnectionConfig`."""

        def __init__(self) -> None:
            super().__init__()

        def set_port(self, port: int) -> RMQConnectionConfig.Builder:
            return self._set("set_port", port)

        def set_host(self, host: str) -> RMQConnectionConfig.Builder:
            return self._set("set_host", host)

        def set_virtual_host(self, vhost: str) -> RMQConnectionConfig.Builder:
            return self._set("set_virtual_host", vhost)

        def set_user_name(self, user_name: str) -> RMQConnectionConfig.Builder:
            return self._set("set_user_name", user_name)

        def set_password(self, password: str) -> RMQConnectionConfig.Builder:
            return self._set("set_password", password)

        def set_uri(self, uri: str) -> RMQConnectionConfig.Builder:
            return self._set("set_uri", uri)

        def set_topology_recovery_enabled(
            self, topology_recovery_enabled: bool
        ) -> RMQConnectionConfig.Builder:
            return self._set("set_topology_recovery_enabled", topology_recovery_enabled)

        def set_requested_heartbeat(self, requested_heartbeat: int) -> RMQConnectionConfig.Builder:
            return self._set("set_requested_heartbeat", requested_heartbeat)

        def set_requested_frame_max(self, requested_frame_max: int) -> RMQConnectionConfig.Builder:
            return self._set("set_requested_frame_max", requested_frame_max)

        def set_requested_channel_max(self, requested_channel_max: int) -> RMQConnectionConfig.Builder:
            return self._set("set_requested_channel_max", requested_channel_max)

        def set_network_recovery_interval(
            self, network_recovery_interval: int
        ) -> RMQConnectionConfig.Builder:
            return self._set("set_network_recovery_interval", network_recovery_interval)

        def set_connection_timeout(self, connection_timeout: int) -> RMQConnectionConfig.Builder:
            return self._set("set_connection_timeout", connection_timeout)

        def set_automatic_recovery(self, automatic_recovery: bool) -> RMQConnectionConfig.Builder:
            return self._set("set_automatic_recovery", automatic_recovery)

        def set_prefetch_count(self, prefetch_count: int) -> RMQConnectionConfig.Builder:
            return self._set("set_prefetch_count", prefetch_count)

        def build(self) -> RMQConnectionConfig:
            return RMQConnectionConfig(self._settings)


class RMQSource(SourceFunction):
    """Reads a queue."""

    def __init__(
        self,
        connection_config: RMQConnectionConfig,
        queue_name: str,
        use_correlation_id: bool,
        deserialization_schema: Any,
    ) -> None:
        refuse("RMQSource", _BECAUSE)


class RMQSink(SinkFunction):
    """Writes a queue."""

    def __init__(
        self, connection_config: RMQConnectionConfig, queue_name: str, serialization_schema: Any
    ) -> None:
        refuse("RMQSink", _BECAUSE)
