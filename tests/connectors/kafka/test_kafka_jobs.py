"""Kafka to Kafka in whole jobs, without Spark: what fails, a task or the broker, is not seen in the output.

Coordinator, stages and checkpoints are the real ones; tasks fail and workers are lost at random (seeded) points.
"""

from __future__ import annotations

import base64
import json
import os
import pathlib
import threading
import time
from collections import defaultdict
from functools import partial
from typing import Any

import pytest

from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.common.serialization import DeserializationSchema
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from tests.runtime.in_process import Chaos, run_in_process
from tests.servers.kafka import KafkaServer

KEYS, PER_KEY = 6, 400
SETTINGS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "1 ms",
    "execution.epoch.max-records": "150",
}


@pytest.fixture
def run_here(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Makes jobs run in this process, disturbed by what is given."""
    return partial(run_in_process, monkeypatch)


def topics(kafka: KafkaServer, name: str) -> tuple[str, str]:
    """An input of `key:number`, each key in one partition and in order, and an empty output."""
    source, sink = kafka.create(f"{name}-in", 3), kafka.create(f"{name}-out", 3)
    for partition in range(3):
        keys = [k for k in range(KEYS) if k % 3 == partition]
        kafka.send(source, [f"{k}:{n}".encode() for n in range(PER_KEY) for k in keys], partition)
    return source, sink


def build(
    kafka: KafkaServer, source: str, sink: str, checkpoints: pathlib.Path
) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for key, value in {**SETTINGS, "execution.checkpointing.dir": str(checkpoints)}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    read = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(source).set_group_id(sink)
    read.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    read.set_property("default.api.timeout.ms", "4000")
    serializer = KafkaRecordSerializationSchema.builder().set_topic(sink)
    serializer.set_key_serialization_schema(Key()).set_value_serialization_schema(SimpleStringSchema())
    write = KafkaSink.builder().set_bootstrap_servers(kafka.servers)
    write.set_record_serializer(serializer.build()).set_property("default.api.timeout.ms", "4000")
    write.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(sink)
    stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "in")
    stream.key_by(lambda text: text.split(":")[0]).map(lambda text: text).sink_to(write.build())
    return env


class Key(SimpleStringSchema):
    def serialize(self, element: Any) -> bytes:
        return element.split(":")[0].encode()


def check(kafka: KafkaServer, sink: str) -> None:
    """Every message once, and those of a key in order."""
    by_key = defaultdict(list)
    for message in kafka.read(sink):
        key, number = message.value().decode().split(":")
        by_key[int(key)].append(int(number))
    assert dict(by_key) == {key: list(range(PER_KEY)) for key in range(KEYS)}


@pytest.mark.parametrize("seed", range(3))
def test_every_message_comes_once_and_in_order_whatever_fails(
    kafka: KafkaServer, tmp_path: pathlib.Path, run_here: Any, seed: int
) -> None:
    chaos = Chaos(seed, 0.2)
    run_here(chaos)
    source, sink = topics(kafka, f"chaos-{seed}")
    build(kafka, source, sink, tmp_path).execute(f"chaos-{seed}")
    check(kafka, sink)
    assert chaos.failures > 0


@pytest.mark.skipif(
    "PENSTOCK_KILLS" not in os.environ,
    reason="only in `make chaos`, until it has passed there often: clients once waited minutes for the broker",
)
def test_a_broker_that_is_killed_and_comes_back_loses_and_doubles_nothing(
    kafka: KafkaServer, tmp_path: pathlib.Path, run_here: Any
) -> None:
    epochs = [0]

    def slowly(plan: Any, partition: Any) -> None:
        epochs[0] += 1
        time.sleep(0.05)

    run_here(slowly)
    source, sink = topics(kafka, "broker")
    env = build(kafka, source, sink, tmp_path)
    restarted = threading.Thread(target=lambda: (_wait(lambda: epochs[0] > 8), kafka.kill(), kafka.start()))
    restarted.start()
    env.execute("broker")
    before = epochs[0]
    restarted.join()
    assert before > 20
    check(kafka, sink)


def _wait(condition: Any) -> None:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)


class Numbers(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)


@pytest.mark.parametrize("poison", [[], [b"two", b"four"]])
def test_messages_that_cannot_be_read_become_dead_letters(
    kafka: KafkaServer, tmp_path: pathlib.Path, run_here: Any, poison: list[bytes]
) -> None:
    run_here(None)
    topic = kafka.create(f"dead-{len(poison)}")
    kafka.send(topic, [b"1", *poison, b"5"], timestamp=1000)
    configuration = Configuration()
    configuration.set_string("penstock.dead-letter.path", str(tmp_path))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    read = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic)
    read.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(Numbers())
    stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "in")
    assert list(stream.execute_and_collect("dead")) == [1, 5]
    dead = [json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.read_text().splitlines()]
    assert [(d["split"], d["offset"], base64.b64decode(d["raw"]), d["event_time"]) for d in dead] == [
        (f"{topic}-0", str(1 + i), body, 1000) for i, body in enumerate(poison)
    ]


def test_dead_letters_go_to_a_topic_once(kafka: KafkaServer, tmp_path: pathlib.Path, run_here: Any) -> None:
    chaos = Chaos(5, 0.3)
    run_here(chaos)
    topic, dead = kafka.create("with-poison"), kafka.create("dead-letters")
    kafka.send(topic, [b"two" if n % 10 == 2 else str(n).encode() for n in range(60)])
    configuration = Configuration()
    settings = {
        **SETTINGS,
        "penstock.dead-letter.topic": dead,
        "penstock.dead-letter.properties.bootstrap.servers": kafka.servers,
        "execution.checkpointing.dir": str(tmp_path),
        "execution.epoch.max-records": "7",
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    read = KafkaSource.builder().set_bootstrap_servers(kafka.servers).set_topics(topic)
    read.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(Numbers())
    stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "in")
    assert list(stream.execute_and_collect("dead")) == [n for n in range(60) if n % 10 != 2]
    found = [json.loads(message.value()) for message in kafka.read(dead)]
    assert [letter["offset"] for letter in found] == [str(n) for n in range(60) if n % 10 == 2]
    assert chaos.failures > 0
