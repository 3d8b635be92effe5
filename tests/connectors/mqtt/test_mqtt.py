"""Topics of a real MQTT broker, read and written by programs and tables, without Spark."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common import SimpleStringSchema
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.datastream.connectors import mqtt as api
from penstock.datastream.connectors.mqtt import AsyncSinkSettings, MqttSink, MqttSource
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.declared import DeclaredTable
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.connectors.pages import program
from tests.connectors.scripted import in_this_process
from tests.runtime.in_process import run_in_process
from tests.servers.mosquitto import PASSWORD, USER, MosquittoServer


@pytest.fixture
def topic() -> str:
    return f"t{uuid.uuid4().hex[:8]}"


def reading(server: MosquittoServer, *topics: str, password: str = PASSWORD) -> SourceLoop:
    made = MqttSource.builder().set_url(server.url).set_login(USER, password).set_topics(*topics)
    made.set_client_id(f"job-{topics[0].split('/')[0]}").set_value_only_deserializer(SimpleStringSchema())
    return SourceLoop(made.build())


def until(loop: SourceLoop, count: int) -> list[str]:
    wait_for(lambda: loop.run_epoch() >= 0 and len(loop.values) >= count)
    return loop.values


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


def test_messages_come_in_order_and_more_than_the_broker_has_under_way(
    mosquitto: MosquittoServer, topic: str
) -> None:
    loop = reading(mosquitto, f"{topic}/#")
    loop.run_epoch()  # subscribes
    sent = [f"m{i}" for i in range(500)]
    mosquitto.send(f"{topic}/a", *(m.encode() for m in sent))
    assert until(loop, 500) == sent
    loop.enumerator.close()


def test_what_is_not_committed_comes_again_and_what_comes_meanwhile_waits(
    mosquitto: MosquittoServer, topic: str
) -> None:
    loop = reading(mosquitto, topic)
    loop.run_epoch()
    mosquitto.send(topic, b"a", b"b")
    assert until(loop, 2) == ["a", "b"]
    mosquitto.send(topic, b"c")
    wait_for(lambda: loop.run_epoch(crash=True) > 0)
    loop.recover()  # nothing was acknowledged, so it comes again
    mosquitto.send(topic, b"d")
    assert until(loop, 4) == ["a", "b", "c", "d"]
    loop.enumerator.close()


def test_a_lost_connection_fails_the_epoch_and_the_next_start_goes_on(
    mosquitto: MosquittoServer, topic: str
) -> None:
    loop = reading(mosquitto, topic)
    loop.run_epoch()
    mosquitto.send(topic, b"a")
    assert until(loop, 1) == ["a"]
    mosquitto.kill()
    with pytest.raises(ExternalSystemError, match="the connection is lost") as error:
        wait_for(lambda: loop.run_epoch() < 0)
    assert error.value.retryable
    mosquitto.start()
    loop.recover()
    loop.run_epoch()
    mosquitto.send(topic, b"b")
    assert until(loop, 2)[-1] == "b"
    loop.enumerator.close()


def test_a_broker_that_refuses_or_is_away(mosquitto: MosquittoServer, topic: str) -> None:
    with pytest.raises(ExternalSystemError, match="cannot connect: Not authorized") as error:
        reading(mosquitto, topic, password="wrong").run_epoch()
    assert not error.value.retryable and "check user name" in str(error.value)
    away = MqttSource.builder().set_url("mqtt://127.0.0.1:1").set_topics("t").set_client_id("c")
    with pytest.raises(ExternalSystemError, match="cannot connect") as error:
        SourceLoop(away.set_value_only_deserializer(SimpleStringSchema()).build()).run_epoch()
    assert error.value.retryable


def test_elements_are_published_in_order(mosquitto: MosquittoServer, topic: str) -> None:
    found, listener = mosquitto.listen(topic)
    made = MqttSink.builder().set_url(mosquitto.url).set_login(USER, PASSWORD).set_topic(topic)
    made.set_settings(AsyncSinkSettings(max_batch_size=100, max_in_flight_requests=1))
    loop = SinkLoop(made.set_value_serialization_schema(SimpleStringSchema()).build())
    sent = [f"m{i}" for i in range(1000)]
    loop.run_epoch([sent[:700]])
    loop.run_epoch([sent[700:]])
    wait_for(lambda: len(found) >= 1000)
    listener.disconnect()
    assert [body.decode() for _, body in found] == sent


def options(server: MosquittoServer, topic: str, **more: str) -> dict[str, str]:
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    return {
        "connector": "mqtt", "url": server.url, "username": USER, "password": PASSWORD, "format": "json",
        "topic": topic, **given,
    }  # fmt: skip


def test_rows_go_through_a_topic(mosquitto: MosquittoServer, topic: str) -> None:
    table = DeclaredTable("id INT, v STRING", options(mosquitto, topic, scan__client_id=f"job-{topic}"))
    loop = SourceLoop(table.validated("source").connector.source(table.table))
    loop.run_epoch()
    found, listener = mosquitto.listen(topic)
    table.write([(1, "a"), (2, None)])
    assert until(loop, 2) == [(1, "a"), (2, None)]
    wait_for(lambda: len(found) == 2)
    listener.disconnect()
    assert [json.loads(body) for _, body in found] == [{"id": 1, "v": "a"}, {"id": 2, "v": None}]
    mosquitto.send(topic, b"no json")
    with pytest.raises(MalformedRecordError, match="json record cannot be read") as error:
        until(loop, 3)
    assert f"topic '{topic}'" in str(error.value)
    loop.enumerator.close()


@pytest.mark.parametrize(
    ("given", "direction", "what"),
    [
        ({}, "source", "reading needs a 'scan.client-id'"),
        ({"scan.client-id": "c", "qos": "0"}, "source", "would lose messages"),
        ({"topic": "a/#"}, "sink", "one 'topic', without wildcards"),
        ({"url": "http://h"}, "sink", "the address of an MQTT broker is"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(given: dict[str, str], direction: Any, what: str) -> None:
    pytest.importorskip("paho.mqtt")
    base = {"connector": "mqtt", "url": "mqtt://h", "topic": "t", "format": "json"}
    with pytest.raises(ValidationError, match=what):
        DeclaredTable("id INT", {**base, **given}).validated(direction)


def test_a_query_reads_topics_with_their_names(mosquitto: MosquittoServer, topic: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    given = options(mosquitto, f"{topic}/+", scan__client_id=f"job-{topic}")
    clause = ", ".join(f"'{name}' = '{value}'" for name, value in given.items())
    env.execute_sql(
        f"CREATE TABLE q (id INT, t STRING METADATA FROM 'topic' VIRTUAL, v STRING) WITH ({clause})"
    )
    reading(mosquitto, f"{topic}/+").run_epoch()  # makes the session, so that nothing is missed
    mosquitto.send(f"{topic}/x", b'{"id": 1, "v": "a"}')
    mosquitto.send(f"{topic}/y", b'{"id": 2, "v": "b"}')
    with in_this_process():
        found = env.execute_sql("SELECT t, id, v FROM q").collect()
        assert [tuple(next(found)) for _ in range(2)] == [(f"{topic}/x", 1, "a"), (f"{topic}/y", 2, "b")]
        found.close()


def test_the_program_of_the_page_runs(mosquitto: MosquittoServer, monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_process(monkeypatch, None)
    found, listener = mosquitto.listen("shop/#")
    names = {"url": mosquitto.url, "user": USER, "password": PASSWORD}
    exec(program("mqtt"), {**names, **vars(common), **vars(datastream), **vars(api)})
    wait_for(lambda: len(found) == 2)
    listener.disconnect()
    assert sorted(found) == [("shop/orders", b"ink"), ("shop/orders", b"pen")]
