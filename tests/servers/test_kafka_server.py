"""The broker that other tests rely on."""

from __future__ import annotations

from tests.servers.kafka import KafkaServer


def test_messages_are_there_in_order_with_key_headers_and_time(kafka: KafkaServer) -> None:
    kafka.create("server-order", 2)
    kafka.send("server-order", [b"a", (b"k", b"b"), (b"k", None, [("h", b"1")])], partition=1, timestamp=7)

    found = [(m.partition(), m.offset(), m.key(), m.value(), m.headers()) for m in kafka.read("server-order")]

    assert found == [(1, 0, None, b"a", None), (1, 1, b"k", b"b", None), (1, 2, b"k", None, [("h", b"1")])]
    assert [m.timestamp()[1] for m in kafka.read("server-order")] == [7, 7, 7]
