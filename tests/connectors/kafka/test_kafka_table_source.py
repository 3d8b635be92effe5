"""Reading `kafka` tables: formats, keys, metadata, where reading begins and ends, and what is refused."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from typing import Any

import pytest

from penstock.common.errors import MalformedRecordError, NotSupportedError, PenstockError, ValidationError
from penstock.connectors.kafka import table_reader
from penstock.connectors.source import BadRecord, EnumeratorContext, ReaderContext
from tests.connectors.kafka.kafka_tables import Table, kafka_options
from tests.servers.kafka import KafkaServer

_numbers = itertools.count()
ROWS = [(1, "ä", 1.5), (2, None, -0.25), (3, 'quo"te,', 1e10)]


@pytest.fixture
def topic(kafka: KafkaServer) -> str:
    return kafka.create(f"table-{next(_numbers)}")


def as_json(**fields: Any) -> bytes:
    return json.dumps(fields).encode()


@pytest.mark.parametrize("blocks", [True, False])
def test_json_in_blocks_and_message_by_message(
    kafka: KafkaServer, topic: str, blocks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not blocks:
        monkeypatch.setattr(table_reader, "block_decoder", lambda part: None)
    kafka.send(topic, [as_json(a=a, b=b, c=c) for a, b, c in ROWS])
    table = Table("a INT, b STRING, c DOUBLE", kafka_options(kafka, topic, format="json"))
    assert table.read() == ROWS
    assert table.read(max_records=1) == ROWS
    assert table.read(columns=["b"]) == [(None, b, None) for _, b, _ in ROWS]
    assert table.read(columns=[]) != []


def test_messages_that_look_like_two_lines_or_two_objects_are_one_row(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [b'{"a":\n1}', b'{"a":2}{"a":3}', b'{"a":4}\n{"a":5}', b'{"a":6}', (b"k", None)])
    assert Table("a INT", kafka_options(kafka, topic, format="json")).read() == [(1,), (2,), (4,), (6,)]


@pytest.mark.parametrize("blocks", [True, False])
def test_csv(kafka: KafkaServer, topic: str, blocks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not blocks:
        monkeypatch.setattr(table_reader, "block_decoder", lambda part: None)
    kafka.send(topic, [b"1,x,1.5", b'2,"a ""b"", c",2', b"3,y,7"])
    table = Table("a INT, b STRING, c DOUBLE", kafka_options(kafka, topic, format="csv"))
    assert table.read() == [(1, "x", 1.5), (2, 'a "b", c', 2.0), (3, "y", 7.0)]


def test_csv_with_an_open_quote_does_not_swallow_the_next_message(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [b'1,"x', b'y",2', b"3,z"])
    options = kafka_options(kafka, topic, format="csv", csv__ignore_parse_errors="true")
    assert Table("a INT, b STRING", options).read() == [(None, "2"), (3, "z")]


def test_raw_and_its_null(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, ["ü".encode(), (b"k", None), b"\xff"])
    assert Table("a STRING", kafka_options(kafka, topic, format="raw")).read() == [("ü",), (None,), ("�",)]
    assert Table("a BYTES", kafka_options(kafka, topic, format="raw")).read() == [
        ("ü".encode(),), (None,), (b"\xff",),
    ]  # fmt: skip


def test_avro_without_schema(kafka: KafkaServer, topic: str) -> None:
    import io

    import fastavro

    schema = {
        "type": "record",
        "name": "x",
        "fields": [{"name": "a", "type": ["null", "int"]}, {"name": "b", "type": ["null", "string"]}],
    }
    for row in ({"a": 1, "b": "x"}, {"a": None, "b": "y"}):
        out = io.BytesIO()
        fastavro.schemaless_writer(out, schema, row)
        kafka.send(topic, [out.getvalue()])
    table = Table("a INT, b STRING", kafka_options(kafka, topic, format="avro"))
    assert table.read() == [(1, "x"), (None, "y")]
    kafka.send(topic, [b"\x08"])
    with pytest.raises(MalformedRecordError, match="avro record cannot be read"):
        table.read()


def test_changes_have_their_kinds(kafka: KafkaServer, topic: str) -> None:
    kafka.send(
        topic,
        [
            as_json(before=None, after={"a": 1, "b": "x"}, op="c"),
            as_json(before={"a": 1, "b": "x"}, after={"a": 1, "b": "y"}, op="u"),
            (b"k", None),
            as_json(before={"a": 1, "b": "y"}, after=None, op="d"),
        ],
    )
    table = Table("a INT, b STRING", kafka_options(kafka, topic, format="debezium-json"), ["offset"])
    assert table.read() == [(1, "x", 0, 0), (1, "x", 1, 1), (1, "y", 1, 2), (1, "y", 3, 3)]


@pytest.mark.parametrize("name", ["canal-json", "maxwell-json"])
def test_other_formats_of_changes(kafka: KafkaServer, topic: str, name: str) -> None:
    row = {"a": 1, "b": "x"}
    event = {"data": [row], "type": "INSERT"} if name == "canal-json" else {"data": row, "type": "insert"}
    kafka.send(topic, [json.dumps(event).encode()])
    assert Table("a INT, b STRING", kafka_options(kafka, topic, format=name)).read() == [(1, "x", 0)]


# --- keys and metadata


def test_keys_have_their_own_format_and_names(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [(b'{"id":7}', b"x,1"), (b'{"id":8}', b"y,2"), b"no key,3"])
    options = kafka_options(
        kafka, topic, key__format="json", key__fields="k_id", key__fields_prefix="k_", value__format="csv",
        value__fields_include="EXCEPT_KEY", key__json__ignore_parse_errors="true",
    )  # fmt: skip
    table = Table(
        "k_id BIGINT, v STRING, n INT", {**options, "key.fields": "k_id", "key.fields-prefix": "k_"}
    )
    assert table.read() == [(7, "x", 1), (8, "y", 2)]


def test_of_a_column_in_both_the_value_counts(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [(b'{"a":1}', b'{"a":2,"b":3}')])
    options = kafka_options(kafka, topic, key__format="json", key__fields="a", value__format="json")
    assert Table("a INT, b INT", options).read() == [(2, 3)]


def test_all_metadata(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [(b"k", b"x", [("h", b"1"), ("n", None)]), b"y"], timestamp=1234)
    keys = ["topic", "partition", "headers", "leader-epoch", "offset", "timestamp", "timestamp-type"]
    table = Table("v STRING", kafka_options(kafka, topic, format="raw"), keys)
    at = dt.datetime(1970, 1, 1, 0, 0, 1, 234000, dt.timezone.utc)
    assert table.read() == [
        ("x", topic, 0, {"h": b"1", "n": None}, 0, 0, at, "CreateTime"),
        ("y", topic, 0, {}, 0, 1, at, "CreateTime"),
    ]


def test_a_message_that_cannot_be_read_is_named(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [b'{"a":1}', b'{"a":"x"}'])
    with pytest.raises(MalformedRecordError) as caught:
        Table("a INT", kafka_options(kafka, topic, format="json")).read()
    assert f"offset 1, topic '{topic}', partition 0" in str(caught.value)
    assert "json.ignore-parse-errors" in str(caught.value)


# --- from where to where


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"scan.startup.mode": "latest-offset"}, []),
        ({"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": "2000"}, ["b", "c"]),
        (
            {
                "scan.startup.mode": "specific-offsets",
                "scan.startup.specific-offsets": "partition:0,offset:1;partition:5,offset:9",
            },
            ["b", "c"],
        ),
        ({"scan.bounded.mode": "timestamp", "scan.bounded.timestamp-millis": "2000"}, ["a"]),
        (
            {
                "scan.bounded.mode": "specific-offsets",
                "scan.bounded.specific-offsets": "partition:0,offset:2",
            },
            ["a", "b"],
        ),
        (
            {
                "scan.startup.mode": "group-offsets",
                "properties.group.id": "table-group",
                "properties.auto.offset.reset": "earliest",
            },
            ["a", "b", "c"],
        ),
    ],
)
def test_reading_begins_and_ends_where_it_is_told_to(
    kafka: KafkaServer, topic: str, options: dict[str, str], expected: list[str]
) -> None:
    for i, value in enumerate("abc", 1):
        kafka.send(topic, [value.encode()], timestamp=1000 * i)
    table = Table("v STRING", {**kafka_options(kafka, topic, format="raw"), **options})
    assert [v for (v,) in table.read()] == expected


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"topic-pattern": "x"}, "exactly one of the options"),
        ({"scan.startup.mode": "timestamp"}, "'scan.startup.timestamp-millis' is required"),
        ({"scan.bounded.mode": "specific-offsets"}, "'scan.bounded.specific-offsets' is required"),
        (
            {
                "scan.startup.mode": "specific-offsets",
                "scan.startup.specific-offsets": "partition:0,offset:1",
                "topic": "a;b",
            },
            "single topic",
        ),
        ({"scan.startup.specific-offsets": "0:1"}, "expected 'partition:0,offset:42"),
        ({"scan.startup.mode": "group-offsets"}, "there is no group"),
        ({"key.fields": "a"}, "can only be declared if there is a 'key.format'"),
        ({"key.format": "json"}, "requires one or more 'key.fields'"),
        ({"key.format": "json", "key.fields": "z"}, "could not find the field 'z'"),
        ({"key.format": "json", "key.fields": "a", "key.fields-prefix": "k_"}, "a key prefix is not allowed"),
        ({"key.format": "debezium-json", "key.fields": "a"}, "INSERT-only"),
        ({"format": "parquet"}, "is one for files"),
        ({"format": "jsom"}, "there is no format 'jsom'"),
        ({"properties.sasl.jaas.config": "com.example.Own required;"}, "login modules"),
        ({"properties.ssl.truststore.location": "/x.jks"}, "PEM"),
        ({"scan.starup.mode": "x"}, "has no option 'scan.starup.mode'"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(options: dict[str, str], reason: str) -> None:
    pytest.importorskip("confluent_kafka")
    given = {
        "connector": "kafka",
        "topic": "t",
        "properties.bootstrap.servers": "nowhere:9092",
        "scan.startup.mode": "earliest-offset",
        "format": "json",
        **options,
    }
    with pytest.raises((ValidationError, NotSupportedError), match=reason) as caught:
        table = Table("a INT, b INT", given)
        table.connector.validate(table.table, "source")
    assert isinstance(caught.value, PenstockError)


def test_a_primary_key_needs_a_format_of_changes() -> None:
    pytest.importorskip("confluent_kafka")
    options = {"connector": "kafka", "topic": "t", "properties.bootstrap.servers": "h:1", "format": "json"}
    table = Table("a INT NOT NULL", {**options, "scan.startup.mode": "earliest-offset"}, key=["a"])
    with pytest.raises(ValidationError, match="doesn't support defining a PRIMARY KEY"):
        table.connector.validate(table.table, "source")


def test_messages_that_cannot_be_decoded_can_be_left_out(kafka: KafkaServer, topic: str) -> None:
    kafka.send(topic, [b'{"a": 1}', b"oops", b'{"a": 3}', b'{"a":'], timestamp=7)
    table = Table("a INT", kafka_options(kafka, topic, format="json"))
    bad: list[BadRecord] = []
    source = table.connector.source(table.table)
    enumerator, reader = source.create_enumerator(EnumeratorContext(1, {})), source.create_reader()
    [split] = enumerator.discover()
    reader.open(ReaderContext(0, 1, {}, 0, bad.append))
    limit = enumerator.plan_read(split, None, 0)
    assert limit is not None
    rows = [row for batch in reader.read(split, None, limit) for row in batch.values]
    assert rows == [(1,), (3,)]
    assert [(b.raw, b.split, b.offset, b.timestamp) for b in bad] == [
        (b"oops", f"{topic}-0", "1", 7), (b'{"a":', f"{topic}-0", "3", 7),
    ]  # fmt: skip
    reader.close()
    enumerator.close()


def test_messages_without_rows_do_not_end_a_bounded_table(kafka: KafkaServer, topic: str) -> None:
    """An epoch that has read enough messages, and too few rows, is not the end."""
    kafka.send(topic, [b"oops" if n % 3 else as_json(a=n) for n in range(30)])
    options = kafka_options(kafka, topic, format="json", json__ignore_parse_errors="true")
    assert Table("a INT", options).read(max_records=2) == [(n,) for n in range(0, 30, 3)]
