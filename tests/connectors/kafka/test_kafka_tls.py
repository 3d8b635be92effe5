"""A broker that wants TLS, and a user's name and password over it: reading, writing, transactions, tables."""

from __future__ import annotations

import pathlib
import time
from typing import Any

import pytest

from penstock.common import SimpleStringSchema
from penstock.common.errors import ExternalSystemError
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from tests.connectors.declared import DeclaredTable
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.servers.certificates import make_certificate
from tests.servers.kafka import PASSWORD, USER, KafkaServer

_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def settings(kafka: KafkaServer, **more: str) -> dict[str, str]:
    """Java's names, as in a program that comes from Flink."""
    return {
        "bootstrap.servers": kafka.secure_servers,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{_MODULE} required username="{USER}" password="{more.get("password", PASSWORD)}";',
        "ssl.truststore.location": more.get("certificate", kafka.certificate),
        "default.api.timeout.ms": "8000",
    }


def read(kafka: KafkaServer, topic: str, **more: str) -> list[str]:
    made = KafkaSource.builder().set_topics(topic).set_bounded(KafkaOffsetsInitializer.latest())
    made.set_value_only_deserializer(SimpleStringSchema()).set_properties(settings(kafka, **more))
    return SourceLoop(made.build()).run_to_end()


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.EXACTLY_ONCE])
def test_messages_go_there_and_back(kafka: KafkaServer, guarantee: DeliveryGuarantee) -> None:
    topic = kafka.create(f"tls-{guarantee.name}")
    serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
    serializer.set_value_serialization_schema(SimpleStringSchema())
    made = KafkaSink.builder().set_record_serializer(serializer.build()).set_delivery_guarantee(guarantee)
    made.set_transactional_id_prefix(topic)
    for name, value in settings(kafka).items():
        made.set_property(name, value)
    loop = SinkLoop(made.build(), now_ms=int(time.time() * 1000))
    loop.run_epoch([["a", "b"]])
    loop.recover()
    loop.run_epoch([["c"]])
    assert read(kafka, topic) == ["a", "b", "c"]


def test_a_table_has_the_same_settings(kafka: KafkaServer) -> None:
    topic = kafka.create("tls-table")
    kafka.send(topic, [b'{"id": 1}', b'{"id": 2}'])
    options: dict[str, str] = {f"properties.{name}": value for name, value in settings(kafka).items()}
    options |= {
        "connector": "kafka",
        "topic": topic,
        "format": "json",
        "scan.startup.mode": "earliest-offset",
    }
    table = DeclaredTable("id INT", {**options, "scan.bounded.mode": "latest-offset"}).validated("source")
    rows: list[Any] = SourceLoop(table.connector.source(table.table)).run_to_end()
    assert rows == [(1,), (2,)]


def test_wrong_passwords_and_certificates_that_nobody_signed_are_said(
    kafka: KafkaServer, tmp_path: pathlib.Path
) -> None:
    topic = kafka.create("tls-refused")
    with pytest.raises(ExternalSystemError, match="Authentication failed") as caught:
        read(kafka, topic, password="wrong")
    assert not caught.value.retryable
    other, _ = make_certificate(tmp_path, "other")
    with pytest.raises(ExternalSystemError, match="certificate") as caught:
        read(kafka, topic, certificate=other)
    assert "ssl.ca.location" in str(caught.value) and not caught.value.retryable
