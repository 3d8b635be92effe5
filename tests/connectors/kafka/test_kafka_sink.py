"""`KafkaSink` against a real broker: what is written, and that exactly once holds wherever something fails."""

from __future__ import annotations

import itertools
import pathlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.common.serialization import SerializationSchema, SimpleStringSchema
from penstock.connectors import kept_output
from penstock.connectors.kafka import sink as sink_module
from penstock.connectors.kafka import transactions
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)
from tests.connectors.epochs import SinkLoop
from tests.connectors.kafka import failing_clients
from tests.servers.kafka import KafkaServer

_numbers = itertools.count()


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    return kafka.create(f"sink-{next(_numbers)}", 3)


class FirstLetter(SerializationSchema):
    def serialize(self, element: Any) -> bytes:
        return element[:1].encode()


def builder(kafka: KafkaServer, topic: Any, guarantee: DeliveryGuarantee) -> KafkaSinkBuilder:
    serializer = KafkaRecordSerializationSchema.builder().set_value_serialization_schema(SimpleStringSchema())
    serializer.set_key_serialization_schema(FirstLetter())
    serializer.set_topic(topic) if isinstance(topic, str) else serializer.set_topic_selector(topic)
    made = KafkaSink.builder().set_bootstrap_servers(kafka.servers).set_delivery_guarantee(guarantee)
    return made.set_record_serializer(serializer.build())


def exactly_once(kafka: KafkaServer, topic: Any, **properties: str) -> KafkaSink:
    made = builder(kafka, topic, DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(f"tx-{topic}")
    for name, value in properties.items():
        made.set_property(name.replace("_", "."), value)
    return made.build()


def running(sink: KafkaSink, **settings: Any) -> SinkLoop:
    return SinkLoop(sink, **{"now_ms": int(time.time() * 1000), **settings})


def values(kafka: KafkaServer, topic: str) -> list[str]:
    return sorted(m.value().decode() for m in kafka.read(topic))


# --- what is written


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.NONE, DeliveryGuarantee.AT_LEAST_ONCE])
def test_messages_are_there_after_the_last_epoch(
    kafka: KafkaServer, topic: str, guarantee: DeliveryGuarantee
) -> None:
    loop = SinkLoop(builder(kafka, topic, guarantee).build(), parallelism=2)
    loop.run_epoch([["a1", "b1"], ["c1"]])
    loop.run_epoch([["a2"], []], end_of_input=True)
    assert values(kafka, topic) == ["a1", "a2", "b1", "c1"]


def test_at_least_once_has_delivered_an_epoch_when_it_is_prepared(kafka: KafkaServer, topic: str) -> None:
    loop = SinkLoop(builder(kafka, topic, DeliveryGuarantee.AT_LEAST_ONCE).build())
    loop.run_epoch([["a"]], crash="prepared")
    assert values(kafka, topic) == ["a"]


def test_keys_lie_where_javas_client_puts_them(kafka: KafkaServer, topic: str) -> None:
    loop = SinkLoop(builder(kafka, topic, DeliveryGuarantee.AT_LEAST_ONCE).build())
    letters = "abcdef"
    loop.run_epoch([[letter + "1" for letter in letters]])
    # toPositive(murmur2(key)) % 3 of org.apache.kafka.common.utils.Utils
    expected = {letter: (_murmur2(letter.encode()) & 0x7FFFFFFF) % 3 for letter in letters}
    assert {m.key().decode(): m.partition() for m in kafka.read(topic)} == expected


def _murmur2(data: bytes) -> int:
    """Appleby's MurmurHash2 with the seed that Kafka uses, for 32 bits."""
    m, mask = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if data[whole:]:
        h = (h ^ int.from_bytes(data[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return h ^ h >> 15


class ByLetter(KafkaTopicSelector):
    def __init__(self, *topics: str) -> None:
        self.topics = topics

    def apply(self, data: Any) -> str:
        return self.topics[data[0] != "a"]


def test_a_selector_chooses_topics_and_messages_have_their_records_times(kafka: KafkaServer) -> None:
    topics = [kafka.create(f"chosen-{x}") for x in "ab"]
    sink = builder(kafka, ByLetter(*topics), DeliveryGuarantee.AT_LEAST_ONCE).build()
    writer = SinkLoop(sink)._writer(0, ())
    writer.write(["a", "b"], [1234, -9])
    writer.prepare_commit(True)
    [first], [second] = kafka.read(topics[0]), kafka.read(topics[1])
    assert (first.value(), first.timestamp()[1]) == (b"a", 1234)
    assert second.value() == b"b" and abs(second.timestamp()[1] - time.time() * 1000) < 60_000


def test_what_is_missing_is_said_when_the_sink_is_built() -> None:
    pytest.importorskip("confluent_kafka")
    with pytest.raises(ValidationError, match="there is no serializer"):
        KafkaSink.builder().set_bootstrap_servers("h:1").build()
    with pytest.raises(ValidationError, match="needs a prefix"):
        serializer = KafkaRecordSerializationSchema.builder().set_topic("t")
        serializer.set_value_serialization_schema(SimpleStringSchema())
        made = KafkaSink.builder().set_bootstrap_servers("h:1").set_record_serializer(serializer.build())
        made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()
    with pytest.raises(ValidationError, match="there is no topic"):
        KafkaRecordSerializationSchema.builder().build()


def test_an_unknown_topic_is_named(kafka: KafkaServer) -> None:
    made = builder(kafka, "no-such-topic", DeliveryGuarantee.AT_LEAST_ONCE)
    made.set_property("topic.metadata.propagation.max.ms", "500").set_property("delivery.timeout.ms", "5000")
    with pytest.raises(ExternalSystemError, match="cannot write to topic 'no-such-topic'"):
        SinkLoop(made.build()).run_epoch([["a"]])


# --- exactly once


def test_nothing_is_visible_before_the_checkpoint_is_durable_and_all_of_it_after(
    kafka: KafkaServer, topic: str
) -> None:
    loop = running(exactly_once(kafka, topic), parallelism=2)
    loop.run_epoch([["a1", "b1"], ["c1"]], between=lambda: _is_empty(kafka, topic))
    assert values(kafka, topic) == ["a1", "b1", "c1"]
    loop.run_epoch([[], []])
    loop.run_epoch([["a2"], []])
    assert values(kafka, topic) == ["a1", "a2", "b1", "c1"]


def _is_empty(kafka: KafkaServer, topic: str) -> None:
    assert kafka.read(topic, "read_uncommitted") == []


def test_every_crash_leaves_each_message_once(kafka: KafkaServer, topic: str) -> None:
    loop = running(exactly_once(kafka, topic), parallelism=2)
    loop.run_epoch([["a1"], ["b1"]])
    loop.run_epoch([["lost", "lost"], []], crash="writing")
    loop.recover()
    loop.run_epoch([["lost"], ["lost"]], crash="prepared")
    loop.recover()
    loop.run_epoch([["a2"], ["b2"]], crash="publishing")
    loop.recover()
    loop.recover()
    loop.run_epoch([["a3"], []])
    loop.recover()
    assert values(kafka, topic) == ["a1", "a2", "a3", "b1", "b2"]


@pytest.fixture
def failing(
    kafka: KafkaServer, topic: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., SinkLoop]:
    """Makes a loop whose client fails once: `failing(how)`."""

    def make(how: type[failing_clients.FailsOnce], **properties: str) -> SinkLoop:
        monkeypatch.setattr(transactions, "TransactionClient", how)
        return running(exactly_once(kafka, topic, penstock_failed=str(tmp_path / how.__name__), **properties))

    return make


def test_a_driver_that_dies_in_a_transaction_leaves_none_of_its_messages(
    kafka: KafkaServer, topic: str, failing: Callable[..., SinkLoop]
) -> None:
    loop = running(exactly_once(kafka, topic))
    loop.run_epoch([["first"]])  # so that there is a mark, which the open transaction is about to change
    loop.sink = failing(failing_clients.DriverDiesBeforeTheCommit).sink
    loop._committer = loop.sink.create_committer()
    with pytest.raises(SystemExit):
        loop.run_epoch([["a", "b"]])
    loop.recover()
    assert values(kafka, topic) == ["a", "b", "first"]


def test_a_driver_that_dies_after_a_commit_of_which_it_does_not_know_writes_nothing_twice(
    kafka: KafkaServer, topic: str, failing: Callable[..., SinkLoop]
) -> None:
    loop = failing(failing_clients.DriverDiesAfterTheCommit)
    with pytest.raises(SystemExit):
        loop.run_epoch([["a", "b"]])
    loop.recover()
    loop.run_epoch([["c"]])
    assert values(kafka, topic) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "how", [failing_clients.ClientDiesBeforeTheCommit, failing_clients.ClientDiesAfterTheCommit]
)
def test_a_client_that_dies_is_replaced_and_the_epoch_published_once(
    kafka: KafkaServer,
    topic: str,
    failing: Callable[..., SinkLoop],
    how: type[failing_clients.FailsOnce],
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = failing(how)
    loop.run_epoch([["a", "b"]])
    loop.run_epoch([["c"]])
    assert values(kafka, topic) == ["a", "b", "c"]
    assert "is published again: the client's process ended with signal 6" in caplog.text


def test_a_call_that_never_comes_back_is_given_up_and_the_epoch_published_once(
    kafka: KafkaServer,
    topic: str,
    failing: Callable[..., SinkLoop],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(transactions, "_MARK_PATIENCE_S", 0.5)
    loop = failing(failing_clients.NeverComesBack)
    loop.run_epoch([["a1", "b1"]])
    monkeypatch.undo()
    loop.run_epoch([["a2"]])
    assert values(kafka, topic) == ["a1", "a2", "b1"]
    assert "is published again: no answer to mark for 0.5 s" in caplog.text


def test_a_transaction_that_the_broker_has_thrown_away_is_written_again(
    kafka: KafkaServer, topic: str, failing: Callable[..., SinkLoop]
) -> None:
    loop = failing(failing_clients.TakesTooLong, transaction_timeout_ms="1500")
    loop.run_epoch([["a", "b"]])
    assert values(kafka, topic) == ["a", "b"]
    assert len(kafka.read(topic, "read_uncommitted")) == 4


def test_a_driver_that_was_replaced_cannot_write(kafka: KafkaServer, topic: str) -> None:
    zombie = running(exactly_once(kafka, topic))
    zombie.run_epoch([["a"]])
    old = zombie._committer
    zombie.recover()
    zombie.run_epoch([["b"]])
    zombie._committer = old
    with pytest.raises(ExternalSystemError, match="another program has taken over") as caught:
        zombie.run_epoch([["zombie"]])
    assert not caught.value.retryable
    assert values(kafka, topic) == ["a", "b"]


def test_a_driver_that_is_behind_publishes_nothing_and_stops_nobody(kafka: KafkaServer, topic: str) -> None:
    loop = running(exactly_once(kafka, topic))
    loop.run_epoch([["a"]], crash="publishing")
    behind = loop._last_committables
    loop.recover()
    loop.run_epoch([["b"]])
    ahead, loop._last_committables = loop._last_committables, behind
    current = loop._committer
    with pytest.raises(ExternalSystemError, match="epoch 2 of this job was published before it"):
        loop.recover()
    loop._committer, loop._last_committables = current, ahead
    loop.run_epoch([["c"]])
    assert values(kafka, topic) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("decision", "expected"), [("skip", ["a", "b", "c"]), ("publish", ["a", "a", "b", "c"])]
)
def test_a_job_that_was_set_back_goes_on_as_it_is_told(
    kafka: KafkaServer, topic: str, decision: str, expected: list[str]
) -> None:
    loop = running(exactly_once(kafka, topic))
    loop.run_epoch([["a"]])
    behind = loop._last_committables
    loop.run_epoch([["b"]])
    loop._last_committables = behind
    made = builder(kafka, topic, DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(f"tx-{topic}")
    loop.sink = made.set_property(transactions.UNKNOWN_OUTCOME, decision).build()
    loop.recover()
    loop.epoch = 1
    loop.run_epoch([["c"]])  # in the place of the epoch that came after the checkpoint
    assert values(kafka, topic) == expected


def test_a_job_that_starts_from_nothing_is_not_taken_for_the_one_before(
    kafka: KafkaServer, topic: str
) -> None:
    for value in ("first", "second"):
        running(exactly_once(kafka, topic), job_id="same").run_epoch([[value]])
    assert values(kafka, topic) == ["first", "second"]


def test_an_epoch_of_which_nobody_knows_any_more_is_not_guessed_at(kafka: KafkaServer, topic: str) -> None:
    eight_days_ms = 8 * 24 * 3600 * 1000
    loop = running(exactly_once(kafka, topic), now_ms=int(time.time() * 1000) - eight_days_ms)
    with pytest.raises(ExternalSystemError, match="so old that the brokers may have forgotten"):
        loop.run_epoch([["a"]])


def test_many_messages_lie_in_files_of_the_checkpoint_and_keep_their_order(
    kafka: KafkaServer, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_module, "BLOCK_BYTES", 20_000)
    monkeypatch.setattr(kept_output, "INLINE_BYTES", 5_000)
    name = kafka.create("large")
    storage = CheckpointStorage(str(tmp_path), "job")
    loop = running(exactly_once(kafka, name), storage=storage)
    sent = [f"x{i:06}" for i in range(3000)]
    loop.run_epoch([sent], crash="publishing")
    files = list(tmp_path.rglob("1-*"))
    assert len(files) > 5 and len(loop._last_committables) < 8_000
    loop.recover()
    assert [m.value().decode() for m in kafka.read(name)] == sent


def test_a_message_that_the_broker_refuses_fails_the_commit_with_the_topics_name(
    kafka: KafkaServer,
) -> None:
    name = kafka.create("small-messages", max__message__bytes="1000")
    with pytest.raises(ExternalSystemError, match="cannot be published in small-messages"):
        running(exactly_once(kafka, name)).run_epoch([["a" * 2000]])
    assert kafka.read(name) == []
