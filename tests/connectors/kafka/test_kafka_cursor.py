"""A cursor gives every message once, wherever reads begin, end and fail."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError
from penstock.connectors.kafka.client import KafkaCluster
from penstock.connectors.kafka.cursor import PartitionCursor
from penstock.connectors.kafka.offsets import KafkaOffsetResetStrategy
from tests.servers.kafka import KafkaServer

COUNT = 500
_numbers = itertools.count()


@pytest.fixture
def cursor(kafka: KafkaServer) -> Iterator[PartitionCursor]:
    """At a partition of 500 messages, whose values are their offsets."""
    topic = kafka.create(f"cursor-{next(_numbers)}")
    kafka.send(topic, [str(i).encode() for i in range(COUNT)])
    cluster = KafkaCluster({"bootstrap.servers": kafka.servers, "default.api.timeout.ms": "5000"})
    made = PartitionCursor(cluster, topic, 0, KafkaOffsetResetStrategy.NONE, "test")
    yield made
    made.close()


def offsets(cursor: PartitionCursor, start: int, end: int, most: int | None = None) -> list[int]:
    found: list[int] = []
    for batch, _ in cursor.read(start, end, lambda: None if most is None else most - len(found)):
        found += [m.offset() for m in batch]
    return found


@pytest.mark.parametrize("seed", range(5))
def test_reads_of_any_length_one_after_the_other_give_every_message_once(
    cursor: PartitionCursor, seed: int
) -> None:
    chance, at, found = random.Random(seed), 0, []
    while at < COUNT:
        end = min(COUNT, at + chance.randint(1, 60))
        most = chance.choice([None, 1, 7, 1000])
        for batch, after in cursor.read(at, end, lambda n=most: n):
            found += [m.offset() for m in batch]
            at = after
            if most is not None:
                break
    assert found == list(range(COUNT))


def test_going_back_reads_again(cursor: PartitionCursor) -> None:
    assert offsets(cursor, 0, 10) == list(range(10))
    assert offsets(cursor, 3, 6) == [3, 4, 5]
    assert offsets(cursor, 6, 8) == [6, 7]
    assert offsets(cursor, 490, COUNT) == list(range(490, COUNT))


def test_what_was_fetched_when_a_read_failed_is_read_again(
    cursor: PartitionCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert offsets(cursor, 0, 10, 10) == list(range(10))
    poll = cursor._poll

    def takes_and_fails(size: int) -> Any:
        assert poll(size)
        raise ExternalSystemError("the broker is gone")

    monkeypatch.setattr(cursor, "_poll", takes_and_fails)
    with pytest.raises(ExternalSystemError):
        offsets(cursor, 10, 100)
    monkeypatch.undo()
    assert offsets(cursor, 10, 100) == list(range(10, 100))


def test_a_partition_that_gives_no_answer_is_named(
    cursor: PartitionCursor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cursor, "_poll", lambda size: [])
    cursor._cluster.properties["default.api.timeout.ms"] = "50"
    with pytest.raises(ExternalSystemError, match=r"partition 0 gave no answer for 0\.05 s"):
        offsets(cursor, 0, 10)
