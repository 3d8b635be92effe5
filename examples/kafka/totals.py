"""Orders from a Kafka topic, their totals per item in another one: SQL writes, a DataStream program reads.

    python examples/kafka/totals.py                     starts a broker of its own, and stops it at the end
    python examples/kafka/totals.py localhost:9092      uses a broker that is there; makes two topics

The totals are written exactly once, by an `upsert-kafka` table: for each item the last message counts.
"""

from __future__ import annotations

import json
import pathlib
import sys
import uuid

from penstock.common import SimpleStringSchema, WatermarkStrategy
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from penstock.table import EnvironmentSettings, TableEnvironment

ORDERS = [("tea", 3), ("coffee", 1), ("tea", 2), ("cake", 5), ("coffee", 4)]


def produce(servers: str, orders_topic: str, totals_topic: str) -> None:
    """Makes the topics and writes the orders."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": servers})
    for made in admin.create_topics([NewTopic(orders_topic, 2), NewTopic(totals_topic, 2)]).values():
        made.result(30)
    producer = Producer({"bootstrap.servers": servers})
    for item, amount in ORDERS:
        producer.produce(orders_topic, json.dumps({"item": item, "amount": amount}), key=item)
    producer.flush(30)


def count(servers: str, orders_topic: str, totals_topic: str) -> None:
    """Reads the orders that are there, and writes their totals."""
    env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    client = f"'properties.bootstrap.servers' = '{servers}'"
    env.execute_sql(
        f"CREATE TABLE orders (item STRING, amount INT) WITH ('connector' = 'kafka', 'topic' = '{orders_topic}', "
        f"'format' = 'json', {client}, 'scan.startup.mode' = 'earliest-offset', "
        "'scan.bounded.mode' = 'latest-offset')"
    )
    env.execute_sql(
        "CREATE TABLE totals (item STRING, total INT, PRIMARY KEY (item) NOT ENFORCED) WITH ("
        f"'connector' = 'upsert-kafka', 'topic' = '{totals_topic}', 'key.format' = 'raw', 'value.format' = 'json', "
        f"{client}, 'sink.delivery-guarantee' = 'exactly-once', 'sink.transactional-id-prefix' = '{totals_topic}')"
    )
    env.execute_sql("INSERT INTO totals SELECT item, SUM(amount) FROM orders GROUP BY item").wait()


def show(servers: str, totals_topic: str) -> dict[str, int]:
    """The last total of each item."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(totals_topic)
        .set_property("isolation.level", "read_committed")
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "totals")
    found = {row["item"]: row["total"] for row in map(json.loads, stream.execute_and_collect())}
    print(found)
    return found


def run(servers: str) -> dict[str, int]:
    suffix = uuid.uuid4().hex[:8]
    orders, totals = f"orders-{suffix}", f"totals-{suffix}"
    produce(servers, orders, totals)
    count(servers, orders, totals)
    return show(servers, totals)


def main() -> None:
    if len(sys.argv) > 1:
        run(sys.argv[1])
        return
    sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))
    from tests.servers.kafka import KafkaServer  # fetches the broker's jars with Maven, once

    broker = KafkaServer()
    try:
        run(broker.servers)
    finally:
        broker.stop()


if __name__ == "__main__":
    main()
