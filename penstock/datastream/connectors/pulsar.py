"""Pulsar, as PyFlink spells it; refused by `build()`."""

from __future__ import annotations

from enum import Enum
from typing import Any

from penstock.datastream.connectors.unsupported import (
    Choice,
    Settings,
    UnsupportedSink,
    UnsupportedSource,
    refuse,
)

__all__ = [
    "MessageDelayer",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RangeGenerator",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]

_BECAUSE = "there is no Pulsar client yet"


class StartCursor(Choice):
    """Where reading begins."""

    @staticmethod
    def default_start_cursor() -> StartCursor:
        return StartCursor("default_start_cursor")

    @staticmethod
    def earliest() -> StartCursor:
        return StartCursor("earliest")

    @staticmethod
    def latest() -> StartCursor:
        return StartCursor("latest")

    @staticmethod
    def from_message_id(message_id: bytes, inclusive: bool = True) -> StartCursor:
        return StartCursor("from_message_id", message_id, inclusive)

    @staticmethod
    def from_publish_time(timestamp: int) -> StartCursor:
        return StartCursor("from_publish_time", timestamp)


class StopCursor(Choice):
    """Where reading ends."""

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        return StopCursor("default_stop_cursor")

    @staticmethod
    def never() -> StopCursor:
        return StopCursor("never")

    @staticmethod
    def latest() -> StopCursor:
        return StopCursor("latest")

    @staticmethod
    def at_event_time(timestamp: int) -> StopCursor:
        return StopCursor("at_event_time", timestamp)

    @staticmethod
    def after_event_time(timestamp: int) -> StopCursor:
        return StopCursor("after_event_time", timestamp)

    @staticmethod
    def at_publish_time(timestamp: int) -> StopCursor:
        return StopCursor("at_publish_time", timestamp)

    @staticmethod
    def after_publish_time(timestamp: int) -> StopCursor:
        return StopCursor("after_publish_time", timestamp)

    @staticmethod
    def at_message_id(message_id: bytes) -> StopCursor:
        return StopCursor("at_message_id", message_id)

    @staticmethod
    def after_message_id(message_id: bytes) -> StopCursor:
        return StopCursor("after_message_id", message_id)


class RangeGenerator(Choice):
    """Which keys are read."""

    @staticmethod
    def full() -> RangeGenerator:
        return RangeGenerator("full")

    @staticmethod
    def fixed_key(
        support_null_key: bool = False,
        keys: Any = None,
        key_bytes: Any = None,
        ordering_key_bytes: Any = None,
    ) -> RangeGenerator:
        return RangeGenerator("fixed_key", support_null_key, keys, key_bytes, ordering_key_bytes)


class PulsarSource(UnsupportedSource):
    """Reads topics; built with `PulsarSource.builder()`."""

    def __init__(self, j_pulsar_source: Any) -> None:
        refuse("PulsarSource", _BECAUSE)

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        return PulsarSourceBuilder()


class PulsarSourceBuilder(Settings):
    """Settings of a `PulsarSource`."""

    def __init__(self) -> None:
        super().__init__()

    def set_admin_url(self, admin_url: str) -> PulsarSourceBuilder:
        return self._set("set_admin_url", admin_url)

    def set_service_url(self, service_url: str) -> PulsarSourceBuilder:
        return self._set("set_service_url", service_url)

    def set_subscription_name(self, subscription_name: str) -> PulsarSourceBuilder:
        return self._set("set_subscription_name", subscription_name)

    def set_topics(self, topics: Any) -> PulsarSourceBuilder:
        return self._set("set_topics", topics)

    def set_topic_pattern(self, topic_pattern: str) -> PulsarSourceBuilder:
        return self._set("set_topic_pattern", topic_pattern)

    def set_consumer_name(self, consumer_name: str) -> PulsarSourceBuilder:
        return self._set("set_consumer_name", consumer_name)

    def set_range_generator(self, range_generator: Any) -> PulsarSourceBuilder:
        return self._set("set_range_generator", range_generator)

    def set_start_cursor(self, start_cursor: Any) -> PulsarSourceBuilder:
        return self._set("set_start_cursor", start_cursor)

    def set_unbounded_stop_cursor(self, stop_cursor: Any) -> PulsarSourceBuilder:
        return self._set("set_unbounded_stop_cursor", stop_cursor)

    def set_bounded_stop_cursor(self, stop_cursor: Any) -> PulsarSourceBuilder:
        return self._set("set_bounded_stop_cursor", stop_cursor)

    def set_deserialization_schema(self, deserialization_schema: Any) -> PulsarSourceBuilder:
        return self._set("set_deserialization_schema", deserialization_schema)

    def set_authentication(self, auth_plugin_class_name: str, auth_params_string: Any) -> PulsarSourceBuilder:
        return self._set("set_authentication", (auth_plugin_class_name, auth_params_string))

    def set_config(self, key: Any, value: Any) -> PulsarSourceBuilder:
        return self._set("set_config", (key, value))

    def set_config_with_dict(self, config: Any) -> PulsarSourceBuilder:
        return self._set("set_config_with_dict", config)

    def set_properties(self, config: Any) -> PulsarSourceBuilder:
        return self._set("set_properties", config)

    def build(self) -> PulsarSource:
        return PulsarSource(self._settings)


class TopicRoutingMode(Enum):
    """How a record finds its topic."""

    ROUND_ROBIN = 0
    MESSAGE_KEY_HASH = 1
    CUSTOM = 2


class MessageDelayer(Choice):
    """When consumers get to see a message."""

    @staticmethod
    def never() -> MessageDelayer:
        return MessageDelayer("never")

    @staticmethod
    def fixed(duration: Any) -> MessageDelayer:
        return MessageDelayer("fixed", duration)


class PulsarSink(UnsupportedSink):
    """Writes topics; built with `PulsarSink.builder()`."""

    def __init__(self, j_pulsar_sink: Any) -> None:
        refuse("PulsarSink", _BECAUSE)

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        return PulsarSinkBuilder()


class PulsarSinkBuilder(Settings):
    """Settings of a `PulsarSink`."""

    def __init__(self) -> None:
        super().__init__()

    def set_admin_url(self, admin_url: str) -> PulsarSinkBuilder:
        return self._set("set_admin_url", admin_url)

    def set_service_url(self, service_url: str) -> PulsarSinkBuilder:
        return self._set("set_service_url", service_url)

    def set_producer_name(self, producer_name: str) -> PulsarSinkBuilder:
        return self._set("set_producer_name", producer_name)

    def set_topics(self, topics: Any) -> PulsarSinkBuilder:
        return self._set("set_topics", topics)

    def set_delivery_guarantee(self, delivery_guarantee: Any) -> PulsarSinkBuilder:
        return self._set("set_delivery_guarantee", delivery_guarantee)

    def set_topic_routing_mode(self, topic_routing_mode: Any) -> PulsarSinkBuilder:
        return self._set("set_topic_routing_mode", topic_routing_mode)

    def set_topic_router(self, topic_router_class_name: str) -> PulsarSinkBuilder:
        return self._set("set_topic_router", topic_router_class_name)

    def set_serialization_schema(self, serialization_schema: Any) -> PulsarSinkBuilder:
        return self._set("set_serialization_schema", serialization_schema)

    def set_authentication(self, auth_plugin_class_name: str, auth_params_string: Any) -> PulsarSinkBuilder:
        return self._set("set_authentication", (auth_plugin_class_name, auth_params_string))

    def delay_sending_message(self, message_delayer: Any) -> PulsarSinkBuilder:
        return self._set("delay_sending_message", message_delayer)

    def set_config(self, key: str, value: Any) -> PulsarSinkBuilder:
        return self._set("set_config", (key, value))

    def set_properties(self, config: Any) -> PulsarSinkBuilder:
        return self._set("set_properties", config)

    def build(self) -> PulsarSink:
        return PulsarSink(self._settings)
