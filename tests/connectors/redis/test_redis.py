"""Rows and commands to a real Redis server, and lookups by key."""

from __future__ import annotations

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from penstock import common, datastream
from penstock.common.errors import (
    ExternalSystemError,
    MalformedRecordError,
    NotSupportedError,
    TypeMismatchError,
    ValidationError,
)
from penstock.connectors.redis.table import RedisConnector
from penstock.datastream.connectors import redis
from penstock.datastream.connectors.redis import AsyncSinkSettings, RedisSink
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.connectors.declared import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, DeclaredTable
from tests.connectors.epochs import SinkLoop
from tests.connectors.pages import program, unnamed
from tests.connectors.scripted import in_this_process, play
from tests.runtime.in_process import run_in_process
from tests.servers.redis import PASSWORD, RedisServer


@pytest.fixture
def prefix() -> str:
    return f"{uuid.uuid4().hex[:8]}:"


def declared(server: RedisServer, columns: str, key: list[str] | None = None, **more: str) -> DeclaredTable:
    given = {name.replace("__", ".").replace("_", "-"): value for name, value in more.items()}
    options = {
        "connector": "redis",
        "url": server.url,
        "password": PASSWORD,
        "sink.retry-delay": "1 ms",
        **given,
    }
    return DeclaredTable(columns, options, key or [])


# --- tables by key


def test_rows_are_hashes_that_replace_each_other_and_go(redis_server: RedisServer, prefix: str) -> None:
    table = declared(redis_server, "id INT, item STRING, price DECIMAL(9, 2)", ["id"], key__prefix=prefix)
    table.write(
        [
            (1, "pen", Decimal("1.50")),
            (2, "ink", None),
            (1, "pen", Decimal("1.50")),
            (1, None, Decimal(2)),
            (2, "x", None),
        ],
        [INSERT, INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE],
    )
    client = redis_server.client()
    assert client.keys(f"{prefix}*") == [f"{prefix}1"]
    assert client.hgetall(f"{prefix}1") == {"price": "2"}
    table.write([(1, None, None)], [UPDATE_BEFORE])  # no row after: it is gone
    assert client.keys(f"{prefix}*") == []


def test_values_of_all_types_come_back_from_a_hash(redis_server: RedisServer, prefix: str) -> None:
    table = declared(
        redis_server,
        "a STRING, i BIGINT, b BOOLEAN, f FLOAT, g DOUBLE, d DECIMAL(20, 4), dy DATE, tm TIME(3), ts TIMESTAMP(6), "
        "z TIMESTAMP_LTZ(3), bin BYTES, k INT",
        ["k", "a"], key__prefix=prefix,
    )  # fmt: skip
    row = (
        "it's: ünï", 1 << 40, True, 0.5, 0.1, Decimal("-1234567890123456.7890"), dt.date(1969, 12, 31),
        dt.time(23, 59, 59, 999000), dt.datetime(2024, 2, 29, 1, 2, 3, 4),
        dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc), b"\x00\xff'", 7,
    )  # fmt: skip
    empty = ("b", *[None] * 10, 8)
    table.write([row, empty])
    found = table.lookup(["a", "k"], (row[0], 7), ("b", 8), ("c", 9))
    assert found == [[(*row[:9], dt.datetime(2024, 1, 1, 12), *row[10:])], [empty], []]


def test_a_row_may_be_one_text_in_a_format(redis_server: RedisServer, prefix: str) -> None:
    table = declared(
        redis_server,
        "id INT, tags ARRAY<STRING>",
        ["id"],
        key__prefix=prefix,
        data_type="string",
        format="json",
    )
    table.write([(1, ["a", "b"]), (2, None)])
    client = redis_server.client()
    assert json.loads(client.get(f"{prefix}1")) == {"id": 1, "tags": ["a", "b"]}
    assert table.lookup(["id"], (1,), (2,), (3,)) == [[(1, ["a", "b"])], [(2, None)], []]
    client.set(f"{prefix}4", "no json")
    with pytest.raises(MalformedRecordError, match="json record cannot be read") as error:
        table.lookup(["id"], (4,))
    assert f"Redis key '{prefix}4'" in str(error.value)


@pytest.mark.parametrize("kind", ["hash", "string"])
def test_keys_live_as_long_as_the_table_says(redis_server: RedisServer, prefix: str, kind: str) -> None:
    more = {"format": "json"} if kind == "string" else {}
    declared(
        redis_server, "id INT, v INT", ["id"], key__prefix=prefix, ttl="1 h", data_type=kind, **more
    ).write([(1, 2)])
    assert 3_500_000 < redis_server.client().pttl(f"{prefix}1") <= 3_600_000


# --- rows one after the other


def test_lists_streams_and_channels_keep_the_order_of_rows(redis_server: RedisServer, prefix: str) -> None:
    client = redis_server.client()
    rows = [(i, f"v{i}" if i % 2 else None) for i in range(1200)]
    one = {"name": f"{prefix}x", "sink__batch__max_size": "100"}
    declared(redis_server, "id INT, v STRING", data_type="list", format="csv", **one).write(rows)
    assert client.lrange(f"{prefix}x", 0, -1)[:2] == ["0,", "1,v1"] and client.llen(f"{prefix}x") == 1200
    client.delete(f"{prefix}x")
    declared(redis_server, "id INT, v STRING", data_type="stream", **one).write(rows)
    entries = [fields for _, fields in client.xrange(f"{prefix}x")]
    assert entries[:2] == [{"id": "0"}, {"id": "1", "v": "v1"}] and [int(e["id"]) for e in entries] == [
        *range(1200)
    ]
    listener = client.pubsub()
    listener.subscribe(f"{prefix}x")
    listener.get_message(timeout=5)
    declared(redis_server, "id INT, v STRING", data_type="channel", format="json", **one).write(rows[:3])
    heard = [json.loads(listener.get_message(timeout=5)["data"])["id"] for _ in range(3)]
    assert heard == [0, 1, 2]
    listener.close()


# --- what can be wrong


@pytest.mark.parametrize(
    ("columns", "key", "options", "what"),
    [
        ("id INT", [], {}, "needs a PRIMARY KEY"),
        ("id INT", ["id"], {"data_type": "list", "name": "x", "format": "json"}, "it has no PRIMARY KEY"),
        ("id INT", [], {"data_type": "list", "format": "json"}, "a list needs a 'name'"),
        ("id INT", [], {"data_type": "list", "name": "x"}, "a list needs a 'format'"),
        ("id INT", ["id"], {"format": "json"}, "a hash has the columns as fields, and no 'format'"),
        ("id INT, a ARRAY<INT>", ["id"], {}, "is no single value"),
        ("id INT", ["id"], {"url": "http://x"}, "'url' is 'http://x'"),
        ("id INT", ["id"], {"stream__max_length": "5"}, "'stream.max-length' is for a stream"),
        ("id INT", ["id"], {"data_type": "string", "format": "debezium-json"}, "is one of changes"),
    ],
)
def test_tables_that_cannot_be_meant_are_refused(
    columns: str, key: list[str], options: dict[str, str], what: str
) -> None:
    pytest.importorskip("redis")
    given = {"connector": "redis", "url": "redis://localhost"}
    given |= {name.replace("__", ".").replace("_", "-"): value for name, value in options.items()}
    with pytest.raises(ValidationError, match=what):
        DeclaredTable(columns, given, key).validated("sink")


def test_only_the_whole_key_can_be_asked_for(redis_server: RedisServer) -> None:
    table = declared(redis_server, "a INT, b INT, c INT", ["a", "b"])
    with pytest.raises(ValidationError, match="by the whole primary key"):
        table.connector.lookup_source(table.table, [0])
    with pytest.raises(NotSupportedError, match="asked for the rows of a key"):
        table.connector.source(table.table)


def test_wrong_passwords_wrong_types_and_dead_servers_are_named(
    redis_server: RedisServer, prefix: str
) -> None:
    with pytest.raises(ExternalSystemError, match=r"refused: .*password") as error:
        declared(redis_server, "id INT, v INT", ["id"], password="hunter2").write([(1, 2)])
    assert "hunter2" not in str(error.value) and not error.value.retryable
    redis_server.client().set(f"{prefix}l", "x")
    with pytest.raises(ExternalSystemError, match=r"a command was refused: .*WRONGTYPE") as error:
        declared(redis_server, "id INT", data_type="list", name=f"{prefix}l", format="json").write([(1,)])
    assert not error.value.retryable
    away = declared(
        redis_server, "id INT, v INT", ["id"], url="redis://ann:x@127.0.0.1:1", sink__max_retries="1"
    )
    with pytest.raises(
        ExternalSystemError, match=r"not accepted in 2 tries: redis://\*\*\*@127.0.0.1:1"
    ) as error:
        away.write([(1, 2)])
    assert error.value.retryable


def test_a_server_that_is_started_again_gets_everything(redis_server: RedisServer, prefix: str) -> None:
    table = declared(redis_server, "id INT, v INT", ["id"], key__prefix=prefix, sink__max_retries="9")
    loop = table.loop()
    loop.run_epoch([[(1, 1)]])
    redis_server.kill()
    redis_server.start()
    loop.run_epoch([[(2, 2), (3, 3)]])
    assert len(redis_server.client().keys(f"{prefix}*")) == 2  # what it forgot is not ours to remember


# --- programs and queries


def counted(value: tuple[str, int]) -> list[tuple[Any, ...]]:
    return [("HINCRBY", value[0], "sum", value[1]), ("RPUSH", f"{value[0]}:all", value[1])]


def test_elements_become_commands_in_the_order_of_their_keys(redis_server: RedisServer, prefix: str) -> None:
    builder = RedisSink.builder().set_url(redis_server.url).set_login(None, PASSWORD).set_command(counted)
    sink = builder.set_settings(AsyncSinkSettings(max_batch_size=3)).build()
    SinkLoop(sink).run_epoch([[(f"{prefix}{n % 2}", n) for n in range(20)]])
    client = redis_server.client()
    assert client.lrange(f"{prefix}0:all", 0, -1) == [str(n) for n in range(0, 20, 2)]
    assert client.hget(f"{prefix}1", "sum") == str(sum(range(1, 20, 2)))
    with pytest.raises(TypeMismatchError, match="a command is a tuple"):
        SinkLoop(RedisSink.builder().set_url("redis://x").set_command(str.split).build()).run_epoch([["a b"]])
    with pytest.raises(ValidationError, match="no server"):
        RedisSink.builder().build()


def test_a_query_joins_with_what_redis_holds(redis_server: RedisServer, prefix: str) -> None:
    redis_server.client().hset(f"{prefix}1", mapping={"name": "pen"})
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    play("redis_orders", [[(1, 1), (2, 2)]])
    env.execute_sql(
        "CREATE TABLE orders (n INT, item INT, pt AS PROCTIME()) "
        "WITH ('connector' = 'scripted', 'script' = 'redis_orders')"
    )
    secret = PASSWORD.replace("'", "''")
    env.execute_sql(
        "CREATE TABLE items (id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('connector' = 'redis', "
        f"'url' = '{redis_server.url}', 'password' = '{secret}', 'key.prefix' = '{prefix}')"
    )
    with in_this_process():
        rows = env.execute_sql(
            "SELECT n, name FROM orders LEFT JOIN items FOR SYSTEM_TIME AS OF orders.pt ON items.id = orders.item"
        ).collect()
        assert sorted(tuple(row) for row in rows) == [(1, "pen"), (2, None)]


def test_the_program_of_the_page_runs_and_every_option_is_named(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_in_process(monkeypatch, None)
    url = f"redis://:{PASSWORD.replace(' ', '%20')}@127.0.0.1:{redis_server.port}/0"
    exec(program("redis"), {"url": url, **vars(common), **vars(datastream), **vars(redis)})
    client = redis_server.client()
    assert (client.get("last:pen"), client.get("last:ink")) == ("3", "2")
    assert unnamed("redis", [o.name for o in RedisConnector.options]) == []
