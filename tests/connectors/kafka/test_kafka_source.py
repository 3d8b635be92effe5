"""`KafkaSource` against a real broker: what is read, from where to where, and that nothing is lost or read twice."""

from __future__ import annotations

import itertools
import logging
import time
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.common.serialization import DeserializationSchema, SimpleStringSchema
from penstock.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource,
    DynamicKafkaSourceBuilder,
    KafkaRecordDeserializationSchema,
    SingleClusterTopicMetadataService,
)
from penstock.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaSourceBuilder,
    KafkaTopicPartition,
)
from tests.connectors.epochs import SourceLoop
from tests.servers.kafka import PASSWORD, KafkaServer

_numbers = itertools.count()
LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    """Three partitions: p0 has a0..a4, p1 has b0..b2, p2 is empty; message i of each was made at 1000 * i."""
    name = kafka.create(f"source-{next(_numbers)}", 3)
    for partition, letter, count in ((0, "a", 5), (1, "b", 3)):
        for i in range(count):
            kafka.send(name, [f"{letter}{i}".encode()], partition, timestamp=1000 * i + 1)
    return name


def builder(kafka: KafkaServer, *topics: str) -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers(kafka.servers)
    made.set_value_only_deserializer(SimpleStringSchema())
    return made.set_topics(*topics) if topics else made


def read(made: KafkaSourceBuilder, **loop: Any) -> list[str]:
    source = SourceLoop(made.build(), **loop)
    try:
        return source.run_to_end()
    finally:
        source.enumerator.close()


def test_a_bounded_source_reads_every_partition_in_order_with_the_times_of_its_messages(
    kafka: KafkaServer, topic: str
) -> None:
    loop = SourceLoop(builder(kafka, topic).set_bounded(LATEST).build())
    loop.run_to_end()
    assert loop.collected == {
        f"{topic}-0": ["a0", "a1", "a2", "a3", "a4"],
        f"{topic}-1": ["b0", "b1", "b2"],
        f"{topic}-2": [],
    }
    assert loop.timestamps[f"{topic}-1"] == [1, 1001, 2001]


def test_epochs_of_any_size_with_crashes_read_everything_once(kafka: KafkaServer, topic: str) -> None:
    loop = SourceLoop(builder(kafka, topic).set_bounded(LATEST).build(), max_records=2)
    loop.run_epoch(crash=True)
    loop.recover()
    loop.run_epoch()
    loop.run_epoch(crash=True)
    loop.recover()
    assert sorted(loop.run_to_end()) == ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]


def test_an_endless_source_goes_on_with_what_comes_later(kafka: KafkaServer, topic: str) -> None:
    loop = SourceLoop(builder(kafka, topic).set_starting_offsets(LATEST).build())
    assert loop.run_epoch() == 0
    kafka.send(topic, [b"c0", b"c1"], 2)
    loop.now_ms += 1
    assert loop.run_epoch() == 2
    assert loop.values == ["c0", "c1"]
    loop.enumerator.close()


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (KafkaOffsetsInitializer.earliest(), ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]),
        (KafkaOffsetsInitializer.latest(), []),
        (KafkaOffsetsInitializer.timestamp(1500), ["a2", "a3", "a4", "b2"]),
        (KafkaOffsetsInitializer.timestamp(3001), ["a3", "a4"]),
    ],
)
def test_reading_begins_where_it_is_told_to(
    kafka: KafkaServer, topic: str, start: KafkaOffsetsInitializer, expected: list[str]
) -> None:
    assert sorted(read(builder(kafka, topic).set_starting_offsets(start).set_bounded(LATEST))) == expected


def test_offsets_by_partition_and_the_strategy_for_the_others(kafka: KafkaServer, topic: str) -> None:
    offsets = {KafkaTopicPartition(topic, 0): 3}
    from_earliest = KafkaOffsetsInitializer.offsets(offsets)
    assert sorted(read(builder(kafka, topic).set_starting_offsets(from_earliest).set_bounded(LATEST))) == [
        "a3", "a4", "b0", "b1", "b2",
    ]  # fmt: skip
    from_latest = KafkaOffsetsInitializer.offsets(offsets, KafkaOffsetResetStrategy.LATEST)
    assert read(builder(kafka, topic).set_starting_offsets(from_latest).set_bounded(LATEST)) == ["a3", "a4"]


def test_reading_stops_before_the_stopping_offsets(kafka: KafkaServer, topic: str) -> None:
    stop = KafkaOffsetsInitializer.offsets(
        {KafkaTopicPartition(topic, i): n for i, n in enumerate((2, 1, 0))}
    )
    assert sorted(read(builder(kafka, topic).set_bounded(stop))) == ["a0", "a1", "b0"]
    assert sorted(read(builder(kafka, topic).set_bounded(KafkaOffsetsInitializer.timestamp(1001)))) == [
        "a0", "b0",
    ]  # fmt: skip


def test_offsets_are_committed_to_the_group_and_a_later_job_goes_on_from_them(
    kafka: KafkaServer, topic: str
) -> None:
    group = f"group-{topic}"
    first = builder(kafka, topic).set_group_id(group)
    first.set_bounded(KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 4}))
    read(first.set_property("auto.offset.reset", "none"))

    committed = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    second = builder(kafka, topic).set_group_id(group).set_starting_offsets(committed).set_bounded(LATEST)

    assert sorted(read(second)) == ["a4", "b0", "b1", "b2"]


def test_committed_offsets_that_are_not_there_are_an_error_unless_a_strategy_says_otherwise(
    kafka: KafkaServer, topic: str
) -> None:
    made = builder(kafka, topic).set_group_id("nobody").set_bounded(LATEST)
    made.set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
    with pytest.raises(ExternalSystemError, match="group 'nobody' has no committed offset") as caught:
        read(made)
    assert not caught.value.retryable


def test_topics_by_pattern_and_single_partitions(kafka: KafkaServer) -> None:
    mine = [kafka.create(f"pattern-{x}", 2) for x in ("one", "two")]
    kafka.create("pattern-three-not")
    for name in mine:
        kafka.send(name, [name.encode()], 1)
    by_pattern = builder(kafka).set_topic_pattern("pattern-(one|two|three)").set_bounded(LATEST)
    assert sorted(read(by_pattern)) == ["pattern-one", "pattern-two"]
    by_partition = builder(kafka).set_partitions({KafkaTopicPartition(mine[0], 1)}).set_bounded(LATEST)
    assert read(by_partition) == ["pattern-one"]


def test_partitions_that_are_added_are_found_and_read_from_their_beginning(kafka: KafkaServer) -> None:
    from confluent_kafka.admin import NewPartitions

    name = kafka.create("grows")
    kafka.send(name, [b"old"])
    made = builder(kafka, name).set_starting_offsets(LATEST)
    loop = SourceLoop(made.set_property("partition.discovery.interval.ms", "1").build())
    loop.run_epoch()
    admin = kafka.admin()
    admin.create_partitions([NewPartitions(name, 2)])[name].result(20)
    kafka.send(name, [b"new"], 1)
    loop.recover()
    for _ in range(50):
        loop.now_ms += 10
        loop.run_epoch()
        if loop.values:
            break
        time.sleep(0.1)
    assert loop.values == ["new"]
    assert not loop.enumerator.no_more_splits
    loop.enumerator.close()


def test_read_committed_sees_no_open_and_no_aborted_transaction(kafka: KafkaServer) -> None:
    from confluent_kafka import Producer

    name = kafka.create("transactions")
    producer = Producer({"bootstrap.servers": kafka.servers, "transactional.id": "source-test"})
    producer.init_transactions(20)
    for i, commit in enumerate((True, False, True)):
        producer.begin_transaction()
        producer.produce(name, f"m{i}".encode())
        producer.commit_transaction(20) if commit else (producer.flush(), producer.abort_transaction(20))
    producer.begin_transaction()
    producer.produce(name, b"open")
    producer.flush(20)

    committed = builder(kafka, name).set_property("isolation.level", "read_committed").set_bounded(LATEST)
    assert read(committed) == ["m0", "m2"]
    assert read(builder(kafka, name).set_bounded(LATEST)) == ["m0", "m1", "m2", "open"]

    loop = SourceLoop(
        builder(kafka, name).set_property("isolation.level", "read_committed").build(), max_records=1
    )
    while loop.run_epoch():
        loop.now_ms += 1
    assert loop.values == ["m0", "m2"]
    producer.commit_transaction(20)
    for _ in range(50):
        loop.now_ms += 1
        if loop.run_epoch():
            break
        time.sleep(0.1)
    assert loop.values == ["m0", "m2", "open"]
    loop.enumerator.close()


def _with_deleted_messages(kafka: KafkaServer, name: str) -> str:
    from confluent_kafka import TopicPartition

    kafka.create(name)
    kafka.send(name, [f"m{i}".encode() for i in range(6)])
    admin = kafka.admin()
    for future in admin.delete_records([TopicPartition(name, 0, 4)]).values():
        future.result(20)
    return name


@pytest.mark.parametrize("offset", [1, 100])
def test_an_offset_out_of_range_goes_by_the_reset_strategy_and_is_said(
    kafka: KafkaServer, caplog: pytest.LogCaptureFixture, offset: int
) -> None:
    name = _with_deleted_messages(kafka, f"deleted-{offset}")
    offsets = {KafkaTopicPartition(name, 0): offset}

    def values(strategy: KafkaOffsetResetStrategy) -> list[str]:
        made = builder(kafka, name).set_starting_offsets(KafkaOffsetsInitializer.offsets(offsets, strategy))
        loop = SourceLoop(made.build())
        loop.run_epoch()
        loop.enumerator.close()
        return loop.values

    with caplog.at_level(logging.WARNING):
        assert values(KafkaOffsetResetStrategy.EARLIEST) == ["m4", "m5"]
    assert f"offset {offset} is out of range: the partition has the offsets 4 to 6" in caplog.text
    assert values(KafkaOffsetResetStrategy.LATEST) == []
    with pytest.raises(ExternalSystemError, match=f"offset {offset} is out of range"):
        values(KafkaOffsetResetStrategy.NONE)


class Picky(DeserializationSchema):
    """Two records for each message; refuses one of them."""

    def deserialize_all(self, message: bytes) -> list[str]:
        if message == b"b1":
            raise ValueError("not this one")
        return [message.decode(), message.decode().upper()]


def test_a_message_that_cannot_be_read_is_named(kafka: KafkaServer, topic: str) -> None:
    with pytest.raises(MalformedRecordError, match="not this one") as caught:
        read(builder(kafka, topic).set_value_only_deserializer(Picky()).set_bounded(LATEST))
    assert caught.value.where is not None
    assert caught.value.where.startswith(f"offset 1, topic '{topic}', partition 1, Kafka cluster 127.0.0.1")


def test_tombstones_hold_no_record(kafka: KafkaServer) -> None:
    name = kafka.create("tombstones")
    kafka.send(name, [(b"k", b"v"), (b"k", None), (b"k", b"w")])
    assert read(builder(kafka, name).set_bounded(LATEST)) == ["v", "w"]


def test_an_unknown_topic_is_named(kafka: KafkaServer) -> None:
    with pytest.raises(ExternalSystemError, match="cannot look up topic 'not-there'") as caught:
        read(builder(kafka, "not-there").set_bounded(LATEST))
    assert "create the topic" in str(caught.value)
    with pytest.raises(ExternalSystemError, match="has no partition 7"):
        name = kafka.create("one-partition")
        read(builder(kafka).set_partitions({KafkaTopicPartition(name, 7)}).set_bounded(LATEST))


def test_a_broker_that_is_away_is_named_with_its_address() -> None:
    pytest.importorskip("confluent_kafka")
    made = KafkaSource.builder().set_bootstrap_servers("127.0.0.1:1").set_topics("t").set_bounded(LATEST)
    made.set_value_only_deserializer(SimpleStringSchema()).set_property("default.api.timeout.ms", "1000")
    with pytest.raises(ExternalSystemError) as caught:
        read(made)
    assert "Kafka cluster 127.0.0.1:1" in str(caught.value)
    assert "bootstrap.servers" in str(caught.value)
    assert caught.value.retryable


def guarded(kafka: KafkaServer, topic: str, password: str) -> KafkaSourceBuilder:
    made = builder(kafka, topic).set_bootstrap_servers(kafka.guarded_servers).set_bounded(LATEST)
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    login = f'{module} required username="penstock" password="{password}";'
    settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login}
    return made.set_properties({**settings, "default.api.timeout.ms": "3000"})


def test_credentials_in_javas_form_open_the_door_and_wrong_ones_are_said(
    kafka: KafkaServer, topic: str
) -> None:
    assert len(read(guarded(kafka, topic, PASSWORD))) == 8
    with pytest.raises(ExternalSystemError, match="Authentication failed") as caught:
        read(guarded(kafka, topic, "wrong"))
    assert not caught.value.retryable
    assert "the user's name and password" in str(caught.value)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda b: b.set_topics("a").set_topic_pattern("b"), "already said to read a"),
        (lambda b: b.build(), "not said what to read"),
        (lambda b: b.set_topics("a").build(), "there is no deserializer"),
        (
            lambda b: (
                b.set_topics("a")
                .set_value_only_deserializer(SimpleStringSchema())
                .set_starting_offsets(KafkaOffsetsInitializer.committed_offsets())
                .build()
            ),
            "there is no group",
        ),
        (lambda b: b.set_topic_pattern("("), "the topic pattern"),
        (
            lambda b: (
                KafkaSource.builder()
                .set_topics("a")
                .set_value_only_deserializer(SimpleStringSchema())
                .build()
            ),
            "bootstrap.servers",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_when_the_source_is_built(make: Any, reason: str) -> None:
    pytest.importorskip("confluent_kafka")
    with pytest.raises(ValidationError, match=reason):
        make(KafkaSource.builder().set_bootstrap_servers("nowhere:9092"))


def test_streams_of_one_cluster_are_its_topics(kafka: KafkaServer, topic: str) -> None:
    def streams() -> DynamicKafkaSourceBuilder:
        service = SingleClusterTopicMetadataService("here", {"bootstrap.servers": kafka.servers})
        made = DynamicKafkaSource.builder().set_kafka_metadata_service(service).set_bounded(LATEST)
        schema = KafkaRecordDeserializationSchema.value_only(SimpleStringSchema())
        return made.set_deserializer(schema).set_property("stream-metadata-discovery-interval-ms", "1000")

    all_of_it = ["a0", "a1", "a2", "a3", "a4", "b0", "b1", "b2"]
    for made in (streams().set_stream_ids({topic}), streams().set_stream_pattern(f"{topic}.*")):
        source = made.build()
        assert isinstance(source, DynamicKafkaSource)
        loop = SourceLoop(source)
        assert sorted(loop.run_to_end()) == all_of_it
        loop.enumerator.close()
    with pytest.raises(ValidationError, match="there is no metadata service"):
        DynamicKafkaSource.builder().set_stream_ids({topic}).build()


def test_tombstones_do_not_end_a_bounded_source(kafka: KafkaServer) -> None:
    topic = kafka.create(f"source-{next(_numbers)}")
    kafka.send(topic, [(b"k", None) if n % 3 else str(n).encode() for n in range(30)])
    found = read(builder(kafka, topic).set_bounded(LATEST), max_records=2)
    assert found == [str(n) for n in range(0, 30, 3)]
