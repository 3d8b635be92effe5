"""Pulsar, as PyFlink spells it; refused by `build()`.

Written by tests/parity/refused_systems.py from the inventory of PyFlink's API: change it there.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.unsupported import (
    Choice,
    Settings,
    UnsupportedSink,
    UnsupportedSource,
    refuse,
)

__all__ = [
    "DeliveryGuarantee",
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

_BECAUSE = "penstock has no client for Pulsar"


class MessageDelayer(Choice):
    """As PyFlink has it."""

    @staticmethod
    def fixed(duration: Any) -> MessageDelayer:
        """A choice that is remembered; what would act on it is refused."""
        return MessageDelayer("fixed", duration)

    @staticmethod
    def never() -> MessageDelayer:
        """A choice that is remembered; what would act on it is refused."""
        return MessageDelayer("never")


class PulsarSink(UnsupportedSink):
    """As PyFlink has it."""

    def __init__(self, j_object: Any = None) -> None:
        refuse("PulsarSink", _BECAUSE)

    @staticmethod
    def builder() -> PulsarSinkBuilder:
        """Begins the settings; `build()` refuses them."""
        return PulsarSinkBuilder()


class PulsarSinkBuilder(Settings):
    """As PyFlink has it: settings of a `PulsarSink`."""

    def __init__(self) -> None:
        super().__init__()

    def build(self) -> Any:
        """Refused: there is no PulsarSink here. NotSupportedError says why, and what to do."""
        refuse("PulsarSink", _BECAUSE)

    def delay_sending_message(self, message_delayer: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("delay_sending_message", message_delayer)

    def set_admin_url(self, admin_url: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_admin_url", admin_url)

    def set_authentication(self, auth_plugin_class_name: Any, auth_params_string: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_authentication", auth_plugin_class_name, auth_params_string)

    def set_config(self, key: Any, value: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_config", key, value)

    def set_delivery_guarantee(self, delivery_guarantee: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_delivery_guarantee", delivery_guarantee)

    def set_producer_name(self, producer_name: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_producer_name", producer_name)

    def set_properties(self, config: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_properties", config)

    def set_serialization_schema(self, serialization_schema: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_serialization_schema", serialization_schema)

    def set_service_url(self, service_url: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_service_url", service_url)

    def set_topic_router(self, topic_router_class_name: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_topic_router", topic_router_class_name)

    def set_topic_routing_mode(self, topic_routing_mode: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_topic_routing_mode", topic_routing_mode)

    def set_topics(self, topics: Any) -> PulsarSinkBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_topics", topics)


class PulsarSource(UnsupportedSource):
    """As PyFlink has it."""

    def __init__(self, j_object: Any = None) -> None:
        refuse("PulsarSource", _BECAUSE)

    @staticmethod
    def builder() -> PulsarSourceBuilder:
        """Begins the settings; `build()` refuses them."""
        return PulsarSourceBuilder()


class PulsarSourceBuilder(Settings):
    """As PyFlink has it: settings of a `PulsarSource`."""

    def __init__(self) -> None:
        super().__init__()

    def build(self) -> Any:
        """Refused: there is no PulsarSource here. NotSupportedError says why, and what to do."""
        refuse("PulsarSource", _BECAUSE)

    def set_admin_url(self, admin_url: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_admin_url", admin_url)

    def set_authentication(self, auth_plugin_class_name: Any, auth_params_string: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_authentication", auth_plugin_class_name, auth_params_string)

    def set_bounded_stop_cursor(self, stop_cursor: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_bounded_stop_cursor", stop_cursor)

    def set_config(self, key: Any, value: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_config", key, value)

    def set_config_with_dict(self, config: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_config_with_dict", config)

    def set_consumer_name(self, consumer_name: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_consumer_name", consumer_name)

    def set_deserialization_schema(self, deserialization_schema: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_deserialization_schema", deserialization_schema)

    def set_properties(self, config: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_properties", config)

    def set_range_generator(self, range_generator: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_range_generator", range_generator)

    def set_service_url(self, service_url: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_service_url", service_url)

    def set_start_cursor(self, start_cursor: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_start_cursor", start_cursor)

    def set_subscription_name(self, subscription_name: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_subscription_name", subscription_name)

    def set_topic_pattern(self, topic_pattern: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_topic_pattern", topic_pattern)

    def set_topics(self, topics: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_topics", topics)

    def set_unbounded_stop_cursor(self, stop_cursor: Any) -> PulsarSourceBuilder:
        """Remembered, so that programs read and type-check; what is made of it is refused."""
        return self._set("set_unbounded_stop_cursor", stop_cursor)


class RangeGenerator(Choice):
    """As PyFlink has it."""

    @staticmethod
    def fixed_key(
        support_null_key: Any = False, keys: Any = None, key_bytes: Any = None, ordering_key_bytes: Any = None
    ) -> RangeGenerator:
        """A choice that is remembered; what would act on it is refused."""
        return RangeGenerator("fixed_key", support_null_key, keys, key_bytes, ordering_key_bytes)

    @staticmethod
    def full() -> RangeGenerator:
        """A choice that is remembered; what would act on it is refused."""
        return RangeGenerator("full")


class StartCursor(Choice):
    """As PyFlink has it."""

    @staticmethod
    def default_start_cursor() -> StartCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StartCursor("default_start_cursor")

    @staticmethod
    def earliest() -> StartCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StartCursor("earliest")

    @staticmethod
    def from_message_id(message_id: Any, inclusive: Any = True) -> StartCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StartCursor("from_message_id", message_id, inclusive)

    @staticmethod
    def from_publish_time(timestamp: Any) -> StartCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StartCursor("from_publish_time", timestamp)

    @staticmethod
    def latest() -> StartCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StartCursor("latest")


class StopCursor(Choice):
    """As PyFlink has it."""

    @staticmethod
    def after_event_time(timestamp: Any) -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("after_event_time", timestamp)

    @staticmethod
    def after_message_id(message_id: Any) -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("after_message_id", message_id)

    @staticmethod
    def after_publish_time(timestamp: Any) -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("after_publish_time", timestamp)

    @staticmethod
    def at_event_time(timestamp: Any) -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("at_event_time", timestamp)

    @staticmethod
    def at_message_id(message_id: Any) -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("at_message_id", message_id)

    @staticmethod
    def at_publish_time(timestamp: Any) -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("at_publish_time", timestamp)

    @staticmethod
    def default_stop_cursor() -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("default_stop_cursor")

    @staticmethod
    def latest() -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("latest")

    @staticmethod
    def never() -> StopCursor:
        """A choice that is remembered; what would act on it is refused."""
        return StopCursor("never")


class TopicRoutingMode(Enum):
    """As PyFlink has it."""

    ROUND_ROBIN = 0
    MESSAGE_KEY_HASH = 1
    CUSTOM = 2
