"""The options of `kafka` and `upsert-kafka` tables, and what must hold between them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.common.config_values import parse_duration
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.delivery import DeliveryGuarantee
from penstock.connectors.kafka.admin import KafkaTopicPartition
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from penstock.connectors.kafka.subscription import Subscription
from penstock.formats.base import Option, one_of

PROPERTIES = "properties."
_PAIR = re.compile(r"partition:(\d+),offset:(\d+)")


def _list(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(";") if part.strip())


def _millis(text: str) -> int:
    return parse_duration(text).to_millis()


def _at_least_one(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("it must be at least 1")
    return number


def _offsets(text: str) -> dict[int, int]:
    pairs = [_PAIR.fullmatch(pair) for pair in text.split(";") if pair]
    if not pairs or any(pair is None for pair in pairs):
        raise ValueError("expected 'partition:0,offset:42;partition:1,offset:300'")
    return {int(pair[1]): int(pair[2]) for pair in pairs if pair}


_MODES = ("latest-offset", "group-offsets", "timestamp", "specific-offsets")
_TOPICS = (Option("topic", _list), Option("topic-pattern"))
_GUARANTEES = one_of("at-least-once", "exactly-once", "none")
_BOUNDED = (
    Option("scan.bounded.mode", one_of("unbounded", *_MODES), "unbounded"),
    Option("scan.bounded.specific-offsets", _offsets),
    Option("scan.bounded.timestamp-millis", int),
    Option("scan.topic-partition-discovery.interval", _millis, 300_000),
    Option("scan.parallelism", _at_least_one),
)
_SINK = (
    Option("sink.parallelism", _at_least_one),
    Option("sink.delivery-guarantee", _GUARANTEES, "at-least-once"),
    Option("sink.transactional-id-prefix"),
    Option("sink.transaction-naming-strategy", one_of("INCREMENTING", "POOLING"), "INCREMENTING"),
)
_FIELDS = (
    Option("key.fields-prefix", str, ""),
    Option("value.fields-include", one_of("ALL", "EXCEPT_KEY"), "ALL"),
)

KAFKA_OPTIONS = (
    *_TOPICS,
    Option("properties.bootstrap.servers", required=True),
    Option("properties.group.id"),
    Option("format"),
    Option("key.format"),
    Option("key.fields", _list, ()),
    *_FIELDS,
    Option("value.format"),
    Option("scan.startup.mode", one_of("earliest-offset", *_MODES), "group-offsets"),
    Option("scan.startup.specific-offsets", _offsets),
    Option("scan.startup.timestamp-millis", int),
    *_BOUNDED,
    Option("sink.partitioner", str, "default"),
    Option("sink.semantic", _GUARANTEES),
    *_SINK,
)
UPSERT_OPTIONS = (
    *_TOPICS,
    Option("properties.bootstrap.servers", required=True),
    Option("properties.group.id"),
    Option("key.format", required=True),
    Option("value.format", required=True),
    *_FIELDS,
    *_BOUNDED,
    Option("sink.buffer-flush.max-rows", int, 0),
    Option("sink.buffer-flush.interval", _millis, 0),
    *_SINK,
)


def properties(options: Mapping[str, str]) -> dict[str, str]:
    """The settings of the client among a table's options."""
    return {k[len(PROPERTIES) :]: v for k, v in options.items() if k.startswith(PROPERTIES)}


def check(values: Mapping[str, Any]) -> None:
    """Refuses options that only make sense together, or not at all."""
    if bool(values["topic"]) == bool(values["topic-pattern"]):
        raise ValidationError("exactly one of the options 'topic' and 'topic-pattern' must be given")
    for kind in ("startup", "bounded"):
        _check_mode(values, kind)


def _check_mode(values: Mapping[str, Any], kind: str) -> None:
    mode = values.get(f"scan.{kind}.mode")
    for wanted, option in (("timestamp", "timestamp-millis"), ("specific-offsets", "specific-offsets")):
        name = f"scan.{kind}.{option}"
        if mode == wanted and values[name] is None:
            raise ValidationError(f"'{name}' is required in '{wanted}' {kind} mode but missing")
    if mode == "specific-offsets" and (not values["topic"] or len(values["topic"]) > 1):
        raise ValidationError(f"specific offsets as {kind} mode can only be given for a single topic")


def subscription(values: Mapping[str, Any]) -> Subscription:
    return Subscription(topics=values["topic"] or (), pattern=values["topic-pattern"])


def starting(values: Mapping[str, Any], client: Mapping[str, str]) -> KafkaOffsetsInitializer:
    """Where reading begins; an `upsert-kafka` table is always read from its beginning."""
    mode = values.get("scan.startup.mode", "earliest-offset")
    if mode == "group-offsets":
        return KafkaOffsetsInitializer.committed_offsets(_reset(client))
    return _place(values, "startup", mode)


def stopping(values: Mapping[str, Any]) -> KafkaOffsetsInitializer | None:
    """Where reading ends; None: never."""
    mode = values["scan.bounded.mode"]
    if mode == "unbounded":
        return None
    if mode == "group-offsets":
        return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)
    return _place(values, "bounded", mode)


def _place(values: Mapping[str, Any], kind: str, mode: str) -> KafkaOffsetsInitializer:
    if mode == "earliest-offset":
        return KafkaOffsetsInitializer.earliest()
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "timestamp":
        return KafkaOffsetsInitializer.timestamp(values[f"scan.{kind}.timestamp-millis"])
    [topic] = values["topic"]
    named = values[f"scan.{kind}.specific-offsets"].items()
    otherwise = KafkaOffsetResetStrategy.EARLIEST if kind == "startup" else KafkaOffsetResetStrategy.LATEST
    return KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, p): o for p, o in named}, otherwise)


def _reset(client: Mapping[str, str]) -> KafkaOffsetResetStrategy:
    text = client.get("auto.offset.reset", "none")
    try:
        return KafkaOffsetResetStrategy[text.upper()]
    except KeyError:
        raise ValidationError(
            f"invalid value {text!r} for option 'properties.auto.offset.reset'",
            do="use earliest, latest or none",
        ) from None


def guarantee(values: Mapping[str, Any]) -> DeliveryGuarantee:
    """What the sink promises; 'sink.semantic' is the older name of the option."""
    text = values.get("sink.semantic") or values["sink.delivery-guarantee"]
    return DeliveryGuarantee[text.upper().replace("-", "_")]


def check_partitioner(values: Mapping[str, Any], where: str) -> None:
    """Refuses partitioners that do not go with the table, and those that are classes."""
    name = values["sink.partitioner"]
    if name == "round-robin" and values["key.fields"]:
        raise ValidationError(
            "the 'round-robin' partitioner only works when option 'key.fields' is not specified", where=where
        )
    if name not in ("default", "fixed", "round-robin"):
        raise NotSupportedError(
            f"'sink.partitioner' = '{name}'",
            "its value is a class of Java's",
            where=where,
            do="use default, fixed or round-robin",
        )
