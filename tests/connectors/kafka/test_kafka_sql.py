"""Kafka tables in SQL statements, on Spark: batch and streaming, upserts, event time, metadata."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.table import EnvironmentSettings, TableEnvironment
from tests.servers.kafka import KafkaServer

pytestmark = pytest.mark.spark

BIDS = [(i, f"item-{i % 3}", 10.0 * i) for i in range(30)]


@pytest.fixture(scope="module")
def topics(kafka: KafkaServer) -> KafkaServer:
    for name, partitions in (("bids", 3), ("copies", 2), ("totals", 1), ("windows", 1), ("batch", 1)):
        kafka.create(f"sql-{name}", partitions)
    for partition in range(3):
        values = [
            json.dumps({"id": i, "item": t, "price": p}).encode() for i, t, p in BIDS if i % 3 == partition
        ]
        for i, value in enumerate(values):
            kafka.send("sql-bids", [value], partition, timestamp=1000 * (3 * i + partition) + 1)
    return kafka


def environment(kafka: KafkaServer, mode: str) -> TableEnvironment:
    streaming = mode == "streaming"
    env = TableEnvironment.create(
        EnvironmentSettings.in_streaming_mode() if streaming else EnvironmentSettings.in_batch_mode()
    )
    client = f"'properties.bootstrap.servers' = '{kafka.servers}'"
    read = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset'"
    env.execute_sql(
        "CREATE TABLE bids (id INT, item STRING, price DOUBLE, ts TIMESTAMP(3) METADATA FROM 'timestamp', "
        "part INT METADATA FROM 'partition' VIRTUAL, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
        f"WITH ('connector' = 'kafka', 'topic' = 'sql-bids', 'format' = 'json', {client}, {read})"
    )
    for name in ("copies", "batch"):
        env.execute_sql(
            f"CREATE TABLE {name} (id INT, item STRING) WITH ('connector' = 'kafka', 'topic' = 'sql-{name}', "
            f"'format' = 'csv', 'sink.delivery-guarantee' = 'exactly-once', "
            f"'sink.transactional-id-prefix' = 'sql-{name}', {client}, {read})"
        )
    env.execute_sql(
        "CREATE TABLE totals (item STRING, n BIGINT, top DOUBLE, PRIMARY KEY (item) NOT ENFORCED) WITH "
        "('connector' = 'upsert-kafka', 'topic' = 'sql-totals', 'key.format' = 'raw', 'value.format' = 'json', "
        f"'scan.bounded.mode' = 'latest-offset', {client})"
    )
    return env


def rows(env: TableEnvironment, sql: str) -> list[tuple[Any, ...]]:
    with env.execute_sql(sql).collect() as found:
        return sorted(tuple(row) for row in found)


def test_batch_statements_read_and_write(topics: KafkaServer) -> None:
    env = environment(topics, "batch")
    counted = "SELECT item, COUNT(*), MAX(price), MAX(part) FROM bids GROUP BY item"
    assert rows(env, counted) == [(f"item-{i}", 10, 270.0 + 10 * i, i) for i in range(3)]
    env.execute_sql("INSERT INTO batch SELECT id, item FROM bids WHERE id < 4").wait()
    assert rows(env, "SELECT * FROM batch") == [(i, f"item-{i % 3}") for i in range(4)]
    with pytest.raises(ValidationError, match="produces updates and deletes"):
        rows(env, "SELECT * FROM totals")


def test_streaming_copies_counts_and_reads_what_was_counted(topics: KafkaServer) -> None:
    env = environment(topics, "streaming")
    env.get_config().set("execution.epoch.max-records", "4")
    env.get_config().set("parallelism.default", "2")
    env.execute_sql("INSERT INTO copies SELECT id, item FROM bids").wait()
    assert len(topics.read("sql-copies")) == len(BIDS)
    assert rows(env, "SELECT * FROM copies") == [(i, item) for i, item, _ in BIDS]
    env.execute_sql("INSERT INTO totals SELECT item, COUNT(*), MAX(price) FROM bids GROUP BY item").wait()
    written = topics.read("sql-totals")
    assert len(written) > 3 and all(m.value() is not None for m in written)
    final = {m.key(): json.loads(m.value()) for m in written}
    expected = {f"item-{i}".encode(): {"item": f"item-{i}", "n": 10, "top": 270.0 + 10 * i} for i in range(3)}
    assert final == expected
    topics.send("sql-totals", [(b"item-0", None)])
    with env.execute_sql("SELECT COUNT(*), SUM(n) FROM totals").collect() as changes:
        assert tuple(list(changes)[-1]) == (2, 20)


def test_windows_over_the_times_of_messages(topics: KafkaServer) -> None:
    env = environment(topics, "streaming")
    found = rows(
        env,
        "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY window_start, window_end",
    )
    starts = [dt.datetime(1970, 1, 1, 0, 0, s) for s in (0, 10, 20)]
    assert found == [(start, 10) for start in starts]


def test_an_unknown_topic_fails_the_statement_with_its_name(topics: KafkaServer) -> None:
    env = environment(topics, "streaming")
    env.execute_sql(
        "CREATE TABLE gone (v STRING) WITH ('connector' = 'kafka', 'topic' = 'gone', 'format' = 'raw', "
        f"'properties.bootstrap.servers' = '{topics.servers}', 'scan.startup.mode' = 'earliest-offset')"
    )
    with pytest.raises(Exception, match="cannot look up topic 'gone'") as caught:
        rows(env, "SELECT * FROM gone")
    assert isinstance(caught.value, ExternalSystemError) or "gone" in str(caught.value)
