"""How many messages a Kafka source knows of and has not read; no broker is asked."""

from __future__ import annotations

from typing import Any

from penstock.connectors.kafka.admin import KafkaTopicPartition
from penstock.connectors.kafka.enumerator import KafkaEnumerator, KafkaSplit


def enumerator(**ends: int) -> KafkaEnumerator:
    reading: Any = None
    made = KafkaEnumerator(reading)
    made._ends = {KafkaTopicPartition(topic, 0): end for topic, end in ends.items()}
    return made


def test_pending_is_what_lies_between_position_and_end() -> None:
    split = KafkaSplit("a-0", "a", 0, start=10)
    assert enumerator(a=50).pending_records(split, 30) == 20
    assert enumerator(a=50).pending_records(split, None) == 40


def test_nothing_is_pending_behind_the_stop_or_in_a_topic_that_was_made_anew() -> None:
    assert enumerator(a=50).pending_records(KafkaSplit("a-0", "a", 0, 10, stop=35), 30) == 5
    assert enumerator(a=50).pending_records(KafkaSplit("a-0", "a", 0, 10), 70) == 0


def test_of_a_partition_whose_end_was_never_asked_for_nobody_knows() -> None:
    assert enumerator().pending_records(KafkaSplit("a-0", "a", 0), 3) is None
