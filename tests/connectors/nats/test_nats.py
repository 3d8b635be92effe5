"""Streams of a real NATS server, read and written by programs and tables, without Spark."""

from __future__ import annotations

import datetime as dt
import json
import pathlib
import time
import uuid
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.connectors.source import BadRecord, EnumeratorContext, ReaderContext
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import nats as api
from penstock.datastream.connectors.nats import AsyncSinkSettings, NatsSink, NatsSource, NatsSourceBuilder
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.declared import DeclaredTable
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.connectors.pages import program
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import Chaos, run_in_process
from tests.servers.nats import PASSWORD, USER, NatsServer


@pytest.fixture
def stream(nats_server: NatsServer) -> str:
    """A stream of the subjects `<name>.a` and `<name>.b`: a0, b0, a1, b1, …, a9, b9."""
    name = nats_server.create(f"s{uuid.uuid4().hex[:8]}")
    for i in range(10):
        nats_server.send(f"{name}.a", f"a{i}".encode())
        nats_server.send(f"{name}.b", f"b{i}".encode())
    return name


ALL = [f"{letter}{i}" for i in range(10) for letter in "ab"]


def builder(server: NatsServer, stream: str) -> NatsSourceBuilder:
    made = NatsSource.builder().set_url(server.url).set_login(USER, PASSWORD).set_stream(stream)
    return made.set_value_only_deserializer(SimpleStringSchema())


def read(made: NatsSourceBuilder, **loop: Any) -> list[str]:
    source = SourceLoop(made.build(), **loop)
    try:
        return source.run_to_end()
    finally:
        source.enumerator.close()


@pytest.mark.parametrize("max_records", [None, 1, 3])
def test_a_bounded_source_reads_all_in_order(
    nats_server: NatsServer, stream: str, max_records: int | None
) -> None:
    assert read(builder(nats_server, stream).set_bounded(), max_records=max_records) == ALL


def test_subjects_are_splits(nats_server: NatsServer, stream: str) -> None:
    made = builder(nats_server, stream).set_subjects(f"{stream}.a", f"{stream}.b").set_bounded()
    loop = SourceLoop(made.build(), max_records=3)
    loop.run_to_end()
    assert list(loop.collected.values()) == [[f"a{i}" for i in range(10)], [f"b{i}" for i in range(10)]]
    nobody = builder(nats_server, stream).set_subjects(f"{stream}.c").set_bounded()
    assert read(nobody) == []


def test_crashes_lose_nothing_and_read_nothing_twice(nats_server: NatsServer, stream: str) -> None:
    loop = SourceLoop(builder(nats_server, stream).set_bounded().build(), max_records=4)
    loop.run_epoch(crash=True)
    loop.recover()
    loop.run_epoch()
    loop.run_epoch(crash=True)
    loop.recover()
    assert loop.run_to_end() == ALL


def test_where_reading_begins(nats_server: NatsServer, stream: str) -> None:
    assert read(builder(nats_server, stream).set_start(19).set_bounded()) == ["a9", "b9"]
    time.sleep(0.05)  # the server's clock must have moved
    moment = dt.datetime.now(dt.timezone.utc)
    assert read(builder(nats_server, stream).set_start(moment).set_bounded()) == []
    nats_server.send(f"{stream}.a", b"later")
    assert read(builder(nats_server, stream).set_start(moment).set_bounded()) == ["later"]
    loop = SourceLoop(builder(nats_server, stream).set_start("latest").build())
    assert loop.run_epoch() == 0
    nats_server.send(f"{stream}.a", b"new")
    loop.now_ms += 1
    loop.run_epoch()
    assert loop.values == ["new"]
    loop.enumerator.close()


def test_messages_that_limits_have_removed_are_told(nats_server: NatsServer) -> None:
    stream = nats_server.create(f"s{uuid.uuid4().hex[:8]}", max_msgs=3)
    nats_server.send(f"{stream}.a", b"0", b"1", b"2")

    def begun(made: NatsSourceBuilder) -> SourceLoop:
        loop = SourceLoop(made.build(), max_records=1)
        loop.run_epoch()
        nats_server.send(f"{stream}.a", b"3", b"4", b"5")
        loop.now_ms += 1
        return loop

    loop = begun(builder(nats_server, stream))
    with pytest.raises(
        ExternalSystemError, match="messages 2 to 3 were removed by the stream's limits"
    ) as error:
        loop.run_epoch()
    assert not error.value.retryable and "scan.on-missing" in str(error.value)
    skipping = begun(builder(nats_server, stream).set_skip_missing())
    for _ in range(4):
        skipping.run_epoch()
        skipping.now_ms += 1
    assert skipping.values[1:] == ["3", "4", "5"]


def test_what_cannot_be_read_is_refused(nats_server: NatsServer, stream: str) -> None:
    queue = nats_server.create(f"s{uuid.uuid4().hex[:8]}", retention="workqueue")
    with pytest.raises(ValidationError, match="it forgets messages when they are acknowledged"):
        read(builder(nats_server, queue).set_bounded())
    with pytest.raises(ExternalSystemError, match="there is no stream 'nowhere'") as error:
        read(builder(nats_server, "nowhere").set_bounded())
    assert not error.value.retryable
    with pytest.raises(ExternalSystemError, match="uthorization") as error:
        read(builder(nats_server, stream).set_login(USER, "wrong").set_bounded())
    assert not error.value.retryable and "check user name" in str(error.value)
    away = NatsSource.builder().set_url("nats://127.0.0.1:1").set_stream("s").set_bounded()
    with pytest.raises(ExternalSystemError, match="cannot connect") as error:
        read(away.set_value_only_deserializer(SimpleStringSchema()))
    assert error.value.retryable


# --- writing


def sink(server: NatsServer, subject: str, **settings: Any) -> SinkLoop:
    made = NatsSink.builder().set_url(server.url).set_login(USER, PASSWORD).set_subject(subject)
    made.set_settings(AsyncSinkSettings(max_in_flight_requests=1, initial_backoff_ms=10, **settings))
    return SinkLoop(made.set_value_serialization_schema(SimpleStringSchema()).build())


def test_elements_are_published_in_order_also_when_the_server_is_killed(nats_server: NatsServer) -> None:
    stream = nats_server.create(f"s{uuid.uuid4().hex[:8]}")
    loop = sink(nats_server, f"{stream}.x", max_batch_size=100)
    sent = [f"m{i}" for i in range(1000)]
    loop.run_epoch([sent[:700]])
    nats_server.kill()
    nats_server.start()
    loop.run_epoch([sent[700:]])
    assert [body.decode() for _, body in nats_server.read(stream)] == sent


def test_a_subject_without_a_stream_is_an_error(nats_server: NatsServer) -> None:
    with pytest.raises(ExternalSystemError, match="no stream listens to the subject") as error:
        sink(nats_server, "nobody.hears").run_epoch([["x"]])
    assert not error.value.retryable


# --- tables


def options(server: NatsServer, **more: str) -> dict[str, str]:
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    return {
        "connector": "nats", "url": server.url, "username": USER, "password": PASSWORD, "format": "json", **given,
    }  # fmt: skip


def test_rows_go_through_a_stream(nats_server: NatsServer) -> None:
    stream = nats_server.create(f"s{uuid.uuid4().hex[:8]}")
    given = options(nats_server, stream=stream, subject=f"{stream}.x", scan__bounded__mode="latest")
    table = DeclaredTable("id INT, v STRING", given)
    table.write([(1, "a"), (2, None)])
    assert [json.loads(body) for _, body in nats_server.read(stream)] == [
        {"id": 1, "v": "a"}, {"id": 2, "v": None},
    ]  # fmt: skip
    source = table.validated("source").connector.source(table.table)
    assert SourceLoop(source).run_to_end() == [(1, "a"), (2, None)]
    nats_server.send(f"{stream}.x", b"no json")
    with pytest.raises(MalformedRecordError, match="json record cannot be read") as error:
        SourceLoop(source).run_to_end()
    assert f"message 3, stream '{stream}'" in str(error.value)
    bad: list[BadRecord] = []
    enumerator, reader = source.create_enumerator(EnumeratorContext(1, {})), source.create_reader()
    [split] = enumerator.discover()
    reader.open(ReaderContext(0, 1, {}, 0, bad.append))
    limit = enumerator.plan_read(split, None, 0)
    assert [row for batch in reader.read(split, None, limit) for row in batch.values] == [(1, "a"), (2, None)]
    assert [(b.raw, b.offset) for b in bad] == [(b"no json", "3")]
    reader.close()


@pytest.mark.parametrize(
    ("given", "direction", "what"),
    [
        ({"subject": "x"}, "source", "reading needs a 'stream'"),
        ({"subject": "x.*"}, "sink", "one 'subject', without wildcards"),
        ({"stream": "s", "scan.startup.mode": "sequence"}, "source", "'scan.startup.sequence' belongs to"),
        ({"stream": "s", "scan.startup.sequence": "3"}, "source", "'scan.startup.sequence' belongs to"),
        ({"stream": "s", "url": "nats://u:p@h"}, "source", "without a login"),
        ({"stream": "s", "username": "u"}, "source", "a user name needs a password"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(given: dict[str, str], direction: Any, what: str) -> None:
    pytest.importorskip("nats")
    base = {"connector": "nats", "url": "nats://h:4222", "format": "json"}
    with pytest.raises(ValidationError, match=what):
        DeclaredTable("id INT", {**base, **given}).validated(direction)


def test_a_query_reads_and_writes_streams_with_metadata(nats_server: NatsServer) -> None:
    stream = nats_server.create(f"s{uuid.uuid4().hex[:8]}")
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    play("nats_rows", [[(1, "a"), (2, "b")]])
    env.execute_sql(
        "CREATE TABLE rows_ (id INT, v STRING) WITH ('connector' = 'scripted', 'script' = 'nats_rows')"
    )
    given = options(nats_server, stream=stream, subject=f"{stream}.x", scan__bounded__mode="latest")
    clause = ", ".join(f"'{name}' = '{value}'".replace("it's", "it''s") for name, value in given.items())
    env.execute_sql(
        "CREATE TABLE q (id INT, v STRING, s STRING METADATA FROM 'subject' VIRTUAL, "
        f"n BIGINT METADATA FROM 'sequence' VIRTUAL) WITH ({clause})"
    )
    with in_this_process():
        env.execute_sql("INSERT INTO q SELECT id, UPPER(v) FROM rows_").wait()
        found = [tuple(row) for row in env.execute_sql("SELECT n, s, id, v FROM q").collect()]
    assert found == [(1, f"{stream}.x", 1, "A"), (2, f"{stream}.x", 2, "B")]


def test_every_message_is_seen_once_whatever_fails(
    nats_server: NatsServer, stream: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chaos = Chaos(3, 0.3)
    run_in_process(monkeypatch, chaos)
    configuration = Configuration()
    for key, value in {
        "restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 ms", "execution.checkpointing.dir": str(tmp_path),
        "execution.epoch.max-records": "3",
    }.items():  # fmt: skip
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = builder(nats_server, stream).set_bounded().build()
    read_ = env.from_source(source, WatermarkStrategy.no_watermarks(), "stream")
    assert list(read_.execute_and_collect("nats")) == ALL
    assert chaos.failures > 0


def test_the_program_of_the_page_runs(nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_process(monkeypatch, None)
    nats_server.create("orders", "orders.>")
    names = {"url": nats_server.url, "user": USER, "password": PASSWORD}
    exec(program("nats"), {**names, **vars(common), **vars(datastream), **vars(api)})
    assert sorted(nats_server.read("orders")) == [("orders.new", b"ink"), ("orders.new", b"pen")]
