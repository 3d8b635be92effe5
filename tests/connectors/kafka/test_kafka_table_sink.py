"""Writing `kafka` and `upsert-kafka` tables: the messages that rows and changes become."""

from __future__ import annotations

import datetime as dt
import itertools
from typing import Any

import pytest

from penstock.common.errors import NotSupportedError, ValidationError
from penstock.connectors.table import SinkRequest
from tests.connectors.kafka.kafka_tables import Table, kafka_options
from tests.servers.kafka import KafkaServer

_numbers = itertools.count()
INSERT, BEFORE, AFTER, DELETE = range(4)


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    return kafka.create(f"table-sink-{next(_numbers)}")


def messages(kafka: KafkaServer, topic: str) -> list[tuple[Any, Any]]:
    return [(m.key(), m.value()) for m in kafka.read(topic)]


@pytest.mark.parametrize("guarantee", ["none", "at-least-once", "exactly-once"])
def test_rows_are_messages(kafka: KafkaServer, topic: str, guarantee: str) -> None:
    options = kafka_options(kafka, topic, format="json", sink__delivery_guarantee=guarantee)
    table = Table("a INT, b STRING", {**options, "sink.transactional-id-prefix": f"rows-{topic}"})
    table.write((1, "ä"), (2, None))
    assert messages(kafka, topic) == [(None, '{"a":1,"b":"ä"}'.encode()), (None, b'{"a":2,"b":null}')]
    assert table.read() == [(1, "ä"), (2, None)]


@pytest.mark.parametrize("name", ["json", "csv", "avro"])
def test_what_is_written_can_be_read(kafka: KafkaServer, topic: str, name: str) -> None:
    columns = "a BIGINT, b STRING, c DOUBLE, d DECIMAL(8, 2), e TIMESTAMP(3), f BOOLEAN, g DATE"
    at, day = dt.datetime(2024, 2, 29, 1, 2, 3, 456000), dt.date(1969, 12, 31)
    from decimal import Decimal

    rows = [
        (1, "x y", 0.1, Decimal("-1.50"), at, True, day),
        (-9, 'q",', 2.0, Decimal("7.00"), at, False, day),
    ]
    table = Table(columns, kafka_options(kafka, topic, format=name))
    table.write(*rows)
    assert table.read() == rows


def test_keys_prefixes_and_fields(kafka: KafkaServer, topic: str) -> None:
    options = kafka_options(
        kafka, topic, key__format="json", value__format="csv", value__fields_include="EXCEPT_KEY"
    )
    table = Table("k_id INT, v STRING", {**options, "key.fields": "k_id", "key.fields-prefix": "k_"})
    table.write((7, "x"))
    assert messages(kafka, topic) == [(b'{"id":7}', b"x")]


def test_raw_null_is_a_message_without_a_value(kafka: KafkaServer, topic: str) -> None:
    Table("v STRING", kafka_options(kafka, topic, format="raw")).write(("x",), (None,), ("",))
    assert messages(kafka, topic) == [(None, b"x"), (None, None), (None, b"")]


def test_headers_and_timestamp_can_be_written(kafka: KafkaServer, topic: str) -> None:
    keys = ["timestamp", "headers", "offset"]
    table = Table(
        "v STRING", kafka_options(kafka, topic, format="raw"), keys, written=["timestamp", "headers"]
    )
    at = dt.datetime(1970, 1, 1, 0, 0, 5, tzinfo=dt.timezone.utc)
    table.write(("x", at, {"h": b"1"}), ("y", None, None))
    [first, second] = kafka.read(topic)
    assert (first.headers(), first.timestamp()[1]) == ([("h", b"1")], 5000)
    assert second.headers() is None and second.timestamp()[1] > 1_600_000_000_000


def test_the_topic_can_be_chosen_by_row_among_those_that_are_named(kafka: KafkaServer, topic: str) -> None:
    other = kafka.create(f"{topic}-other")
    options = kafka_options(kafka, f"{topic};{other}", format="raw")
    table = Table("v STRING", options, ["topic"], written=["topic"])
    table.write(("x", topic), ("y", other))
    assert (messages(kafka, topic), messages(kafka, other)) == ([(None, b"x")], [(None, b"y")])
    with pytest.raises(ValidationError, match="which the table does not allow"):
        table.write(("z", "elsewhere"))
    with pytest.raises(ValidationError, match="needs one topic"):
        Table("v STRING", options).write(("x",))


def test_the_fixed_partitioner_gives_a_subtask_one_partition(kafka: KafkaServer) -> None:
    name = kafka.create("fixed", 2)
    table = Table("v STRING", kafka_options(kafka, name, format="raw", sink__partitioner="fixed"))
    table.write(("a",), ("b",), ("c",), subtask=3)
    assert [m.partition() for m in kafka.read(name)] == [1, 1, 1]


def test_a_format_of_changes_writes_them(kafka: KafkaServer, topic: str) -> None:
    table = Table("a INT", kafka_options(kafka, topic, format="debezium-json"))
    table.write((1,), (1,), (2,), kinds=[INSERT, BEFORE, AFTER])
    assert table.read() == [(1, 0), (1, 3), (2, 0)]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sink.delivery-guarantee": "exactly-once"}, "needs a prefix"),
        ({"sink.partitioner": "org.example.Mine"}, "a class of Java's"),
        (
            {"sink.partitioner": "round-robin", "key.format": "raw", "key.fields": "v"},
            "only works when option 'key.fields'",
        ),
        ({"sink.delivery-guarantee": "twice"}, "supported values"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(options: dict[str, str], reason: str) -> None:
    pytest.importorskip("confluent_kafka")
    given = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "nowhere:1", "format": "raw"}
    with pytest.raises((ValidationError, NotSupportedError), match=reason):
        table = Table("v STRING", {**given, **options})
        table.connector.validate(table.table, "sink")


def test_metadata_that_only_the_broker_makes_cannot_be_written() -> None:
    pytest.importorskip("confluent_kafka")
    given = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "nowhere:1", "format": "raw"}
    table = Table("v STRING", given, ["offset"], written=["offset"])
    with pytest.raises(ValidationError, match="cannot write the metadata column 'offset'"):
        table.connector.validate(table.table, "sink")


# --- upsert-kafka


def upsert(kafka: KafkaServer, topic: str, **more: str) -> Table:
    options = kafka_options(kafka, topic, key__format="json", value__format="json", **more)
    del options["scan.startup.mode"]
    return Table("k INT NOT NULL, v STRING", {**options, "connector": "upsert-kafka"}, key=["k"])


def test_a_row_that_comes_is_a_message_and_one_that_goes_has_no_value(kafka: KafkaServer, topic: str) -> None:
    table = upsert(kafka, topic)
    table.write(
        (1, "a"), (2, "b"), (1, "a"), (1, "c"), (2, "b"), kinds=[INSERT, INSERT, BEFORE, AFTER, DELETE]
    )
    assert messages(kafka, topic) == [
        (b'{"k":1}', b'{"k":1,"v":"a"}'),
        (b'{"k":2}', b'{"k":2,"v":"b"}'),
        (b'{"k":1}', b'{"k":1,"v":"c"}'),
        (b'{"k":2}', None),
    ]
    expected = [(1, "a", AFTER), (2, "b", AFTER), (1, "c", AFTER), (2, None, DELETE)]
    assert table.read() == expected
    assert table.read(max_records=3) == expected  # a batch without a deletion is decoded as a block


def test_half_an_update_is_a_deletion_if_no_other_half_follows(kafka: KafkaServer, topic: str) -> None:
    upsert(kafka, topic).write((1, "a"), (2, "b"), (1, "a"), kinds=[INSERT, INSERT, BEFORE])
    assert messages(kafka, topic)[-1] == (b'{"k":1}', None)


def test_of_buffered_changes_the_last_of_each_key_is_sent(kafka: KafkaServer, topic: str) -> None:
    table = upsert(
        kafka, topic, sink__buffer_flush__max_rows="100", sink__buffer_flush__interval="1 s",
        value__fields_include="EXCEPT_KEY",
    )  # fmt: skip
    table.write((1, "a"), (2, "b"), (1, "c"), (2, "b"), kinds=[INSERT, INSERT, AFTER, DELETE])
    assert messages(kafka, topic) == [(b'{"k":1}', b'{"v":"c"}'), (b'{"k":2}', None)]
    assert table.read() == [(1, "c", AFTER), (2, None, DELETE)]


def test_changes_of_a_key_go_to_one_writer(kafka: KafkaServer, topic: str) -> None:
    table = upsert(kafka, topic)
    needs = table.connector.sink_requirements(table.table, SinkRequest(changelog=True, parallelism=4))
    assert (needs.partition_by, needs.parallelism) == ((0,), 4)


@pytest.mark.parametrize(
    ("options", "key", "reason"),
    [
        ({}, [], "require to define a PRIMARY KEY"),
        ({"value.format": "debezium-json"}, ["k"], "not in insert-only mode"),
        ({"sink.buffer-flush.max-rows": "10"}, ["k"], "must be set to be greater than zero together"),
        ({"key.format": ""}, ["k"], "there is no format"),
    ],
)
def test_what_an_upsert_table_cannot_be(options: dict[str, str], key: list[str], reason: str) -> None:
    pytest.importorskip("confluent_kafka")
    given = {
        "connector": "upsert-kafka",
        "topic": "t",
        "properties.bootstrap.servers": "nowhere:1",
        "key.format": "json",
        "value.format": "json",
        **options,
    }
    with pytest.raises(ValidationError, match=reason):
        table = Table("k INT NOT NULL, v STRING", given, key=key)
        table.connector.validate(table.table, "sink")
