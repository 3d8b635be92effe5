"""Queues of a real RabbitMQ broker, read and written by programs and tables, without Spark."""

from __future__ import annotations

import json
import pathlib
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common import Configuration, SimpleStringSchema, WatermarkStrategy
from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.common.serialization import DeserializationSchema
from penstock.connectors.rabbitmq.table import RabbitConnector
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors import rabbitmq as api
from penstock.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.declared import DeclaredTable
from tests.connectors.epochs import SinkLoop, SourceLoop
from tests.connectors.pages import program, unnamed
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import Chaos, run_in_process
from tests.servers.rabbitmq import RabbitServer


@pytest.fixture
def queue() -> str:
    return f"q-{uuid.uuid4().hex[:8]}"


def config(server: RabbitServer, **more: Any) -> RMQConnectionConfig:
    builder = RMQConnectionConfig.Builder().set_host("127.0.0.1").set_port(server.port).set_virtual_host("/")
    builder.set_user_name("guest").set_password(more.get("password", "guest")).set_connection_timeout(5000)
    return builder.set_prefetch_count(more.get("prefetch", 100)).build()


def reading(server: RabbitServer, queue: str, ids: bool = False, **more: Any) -> SourceLoop:
    source = RMQSource(config(server, **more), queue, ids, SimpleStringSchema())
    return SourceLoop(source.source_func)


def until(loop: SourceLoop, count: int) -> list[str]:
    """Runs epochs until so many records are committed."""
    wait_for(lambda: loop.run_epoch() >= 0 and len(loop.values) >= count)
    return loop.values


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.01)


# --- reading


def test_messages_are_acknowledged_when_their_epoch_is_committed(rabbitmq: RabbitServer, queue: str) -> None:
    sent = [f"m{i}" for i in range(250)]
    rabbitmq.publish(queue, [m.encode() for m in sent])
    loop = reading(
        rabbitmq, queue
    )  # the prefetch is smaller than the queue: it goes on only if there are acks
    assert until(loop, 250) == sent
    assert loop.timestamps["queue"][0] == 1_700_000_000_000
    loop.enumerator.close()
    assert rabbitmq.left(queue) == []


def test_what_is_not_committed_comes_again_and_an_epoch_that_is_repeated_is_the_same(
    rabbitmq: RabbitServer, queue: str
) -> None:
    rabbitmq.publish(queue, [b"a", b"b", b"c"])
    loop = reading(rabbitmq, queue)
    loop.max_records = 1
    wait_for(lambda: loop.run_epoch(crash=True) > 0)
    loop.recover()  # a new connection: nothing was acknowledged, so all of it comes again
    assert until(loop, 3) == ["a", "b", "c"]
    loop.enumerator.close()


def test_with_correlation_ids_nothing_is_read_twice_though_an_acknowledgement_is_lost(
    rabbitmq: RabbitServer, queue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.connectors.rabbitmq.consumer import RabbitConsumer

    rabbitmq.publish(queue, [b"a", b"b", b"c", b"d"], ids=True)
    loop = reading(rabbitmq, queue, ids=True)
    with monkeypatch.context() as patch:  # the driver dies between the commit and the acknowledgement
        patch.setattr(RabbitConsumer, "_acknowledge", lambda self, channel: None)
        assert until(loop, 4) == ["a", "b", "c", "d"]
        loop.recover()
    rabbitmq.publish(queue, [b"e"], ids=True)
    assert until(loop, 5) == ["a", "b", "c", "d", "e"]
    wait_for(lambda: loop.run_epoch() == 0 and loop.enumerator.snapshot() == ())  # all is settled
    loop.enumerator.close()
    assert rabbitmq.left(queue) == []
    rabbitmq.publish(queue, [b"without"])
    missing = reading(rabbitmq, queue, ids=True)
    with pytest.raises(MalformedRecordError, match="a message has no correlation id"):
        until(missing, 1)
    missing.enumerator.close()


def test_a_lost_connection_fails_the_epoch_and_the_next_start_goes_on(
    rabbitmq: RabbitServer, queue: str
) -> None:
    rabbitmq.publish(queue, [b"a", b"b"])
    loop = reading(rabbitmq, queue)
    assert until(loop, 2) == ["a", "b"]
    rabbitmq.kill()
    with pytest.raises(ExternalSystemError, match=f"cannot read the queue '{queue}'") as error:
        until(loop, 3)
    assert error.value.retryable and "guest:guest" not in str(error.value)
    rabbitmq.start()
    loop.recover()
    rabbitmq.publish(queue, [b"c"])
    wait_for(lambda: loop.run_epoch() >= 0 and "c" in loop.values)
    loop.enumerator.close()


def test_a_wrong_password_is_not_tried_again(rabbitmq: RabbitServer, queue: str) -> None:
    with pytest.raises(ExternalSystemError, match="cannot read the queue") as error:
        until(reading(rabbitmq, queue, password="wrong"), 1)
    assert not error.value.retryable and "check user name, password" in str(error.value)
    sink = RMQSink(config(rabbitmq, password="wrong"), queue, SimpleStringSchema()).sink_func
    with pytest.raises(ExternalSystemError, match="cannot publish") as error:
        SinkLoop(sink).run_epoch([["a"]])
    assert not error.value.retryable


def test_connections_need_all_their_parts() -> None:
    with pytest.raises(ValidationError, match="there is no virtual host"):
        RMQConnectionConfig.Builder().set_host("h").set_port(1).build()
    with pytest.raises(ValidationError, match="the address is 'http://h'"):
        RMQSource(RMQConnectionConfig.Builder().set_uri("http://h").build(), "q", False, SimpleStringSchema())


# --- writing


def test_messages_are_published_in_order_and_survive_the_broker(rabbitmq: RabbitServer, queue: str) -> None:
    loop = SinkLoop(RMQSink(config(rabbitmq), queue, SimpleStringSchema()).sink_func)
    sent = [f"m{i}" for i in range(1200)]
    loop.run_epoch([sent[:700]])
    wait_for(lambda: rabbitmq.knows_for_good(queue))
    rabbitmq.kill()
    rabbitmq.start()
    loop.run_epoch([sent[700:]])
    assert [body.decode() for body in rabbitmq.left(queue)] == sent


def test_a_message_that_no_queue_takes_is_an_error(rabbitmq: RabbitServer) -> None:
    table = declared(rabbitmq, "id INT", exchange="amq.direct", routing_key="nowhere")
    with pytest.raises(ExternalSystemError, match="no queue takes the messages: NO_ROUTE"):
        table.write([(1,)])
    with pytest.raises(ExternalSystemError, match=r"cannot publish: .*no exchange 'missing'") as error:
        declared(rabbitmq, "id INT", exchange="missing").write([(1,)])
    assert not error.value.retryable


# --- tables


def declared(server: RabbitServer, columns: str, **more: str) -> DeclaredTable:
    given = {name.replace("_", "-"): value for name, value in more.items()}
    return DeclaredTable(columns, {"connector": "rabbitmq", "url": server.url, "format": "json", **given})


def test_rows_go_through_a_queue(rabbitmq: RabbitServer, queue: str) -> None:
    table = declared(rabbitmq, "id INT, v STRING", queue=queue)
    table.write([(1, "a"), (2, None)])
    assert [json.loads(body) for body in rabbitmq.left(queue)] == [{"id": 1, "v": "a"}, {"id": 2, "v": None}]
    loop = SourceLoop(table.validated("source").connector.source(table.table))
    assert until(loop, 2) == [(1, "a"), (2, None)]
    rabbitmq.publish(queue, [b"no json"])
    with pytest.raises(MalformedRecordError, match="json record cannot be read") as error:
        until(loop, 3)
    assert f"queue '{queue}'" in str(error.value) and "message 2" in str(error.value)
    loop.enumerator.close()


def test_changes_go_through_a_queue_in_a_format_of_changes(rabbitmq: RabbitServer, queue: str) -> None:
    table = declared(rabbitmq, "id INT, v STRING", queue=queue, format="debezium-json")
    table.write([(1, "a"), (1, "a")], [0, 3])
    loop = SourceLoop(table.connector.source(table.table))
    assert until(loop, 2) == [(1, "a", 0), (1, "a", 3)]
    loop.enumerator.close()


@pytest.mark.parametrize(
    ("options", "direction", "what"),
    [
        ({}, "source", "reading needs a 'queue'"),
        ({"queue": "q", "exchange": "x"}, "sink", "one of them"),
        ({"queue": "q", "routing-key": "x"}, "sink", "a 'routing-key' is for an 'exchange'"),
        ({"queue": "q", "format": "parquet"}, "sink", "is one for files"),
        ({"queue": "q", "url": "http://x"}, "source", "the address is"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(options: dict[str, str], direction: Any, what: str) -> None:
    pytest.importorskip("pika")
    given = {"connector": "rabbitmq", "url": "amqp://h", "format": "json", **options}
    with pytest.raises(ValidationError, match=what):
        DeclaredTable("id INT", given).validated(direction)


def test_a_query_reads_and_writes_queues(rabbitmq: RabbitServer, queue: str) -> None:
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    play("rabbit_rows", [[(1, "a"), (2, "b")]])
    env.execute_sql(
        "CREATE TABLE rows_ (id INT, v STRING) WITH ('connector' = 'scripted', 'script' = 'rabbit_rows')"
    )
    env.execute_sql(
        f"CREATE TABLE q (id INT, v STRING) WITH ('connector' = 'rabbitmq', 'url' = '{rabbitmq.url}', "
        f"'queue' = '{queue}', 'format' = 'json')"
    )
    with in_this_process():
        env.execute_sql("INSERT INTO q SELECT id, UPPER(v) FROM rows_").wait()
        found = env.execute_sql("SELECT id, v FROM q").collect()
        assert [tuple(next(found)) for _ in range(2)] == [(1, "A"), (2, "B")]
        found.close()


# --- whole jobs


def test_every_message_is_seen_once_whatever_fails(
    rabbitmq: RabbitServer, queue: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chaos = Chaos(3, 0.3)
    run_in_process(monkeypatch, chaos)
    sent = [f"m{i}" for i in range(600)]
    rabbitmq.publish(queue, [m.encode() for m in sent], ids=True)
    settings = {
        "restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.fixed-delay.delay": "1 ms", "execution.checkpointing.dir": str(tmp_path),
    }  # fmt: skip
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = RMQSource(config(rabbitmq, prefetch=50), queue, True, SimpleStringSchema()).source_func
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "queue")
    iterator = stream.map(lambda text: text).execute_and_collect("rabbit")
    assert sorted(next(iterator) for _ in range(600)) == sorted(sent)
    iterator.close()
    assert chaos.failures > 0


def test_messages_that_cannot_be_read_become_dead_letters(
    rabbitmq: RabbitServer, queue: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in_process(monkeypatch, None)
    rabbitmq.publish(queue, [b"1", b"two", b"3"])
    configuration = Configuration()
    configuration.set_string("penstock.dead-letter.path", str(tmp_path))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    source = RMQSource(config(rabbitmq), queue, False, Numbers()).source_func
    iterator = env.from_source(source, WatermarkStrategy.no_watermarks(), "queue").execute_and_collect("dead")
    assert [next(iterator), next(iterator)] == [1, 3]
    iterator.close()
    wait_for(lambda: bool(list(tmp_path.glob("*.jsonl"))))
    [letter] = [
        json.loads(line) for file in tmp_path.glob("*.jsonl") for line in file.read_text().splitlines()
    ]
    assert (letter["split"], letter["offset"], letter["raw"]) == (queue, "1", "dHdv")
    assert letter["error"].startswith("ValueError: ") and letter["event_time"] == 1_700_000_000_000


class Numbers(DeserializationSchema):
    def deserialize(self, message: bytes) -> Any:
        return int(message)


def test_the_program_of_the_page_runs_and_every_option_is_named(
    rabbitmq: RabbitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in_process(monkeypatch, None)
    names = {"host": "127.0.0.1", "port": rabbitmq.port, **vars(common), **vars(datastream), **vars(api)}
    exec(program("rabbitmq"), names)
    assert sorted(rabbitmq.left("orders")) == [b"ink", b"pen"]  # two tasks write
    assert unnamed("rabbitmq", [o.name for o in RabbitConnector.options]) == []
