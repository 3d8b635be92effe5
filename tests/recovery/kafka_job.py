"""The program that recovery tests start, kill and start again: Kafka to Kafka, by SQL and by a program, in one job.

    in ─▶ SQL: filter, a running count per key ─┬─▶ out-sql       a `kafka` table
                                                └─▶ DataStream: a count per key in state ─▶ out-program   a KafkaSink

kafka_job.py SERVERS IN OUT CHECKPOINTS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys
from typing import Any

from penstock.common import Configuration, SimpleStringSchema, Types
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import KafkaRecordSerializationSchema, KafkaSink
from penstock.datastream.state import ValueStateDescriptor
from penstock.table import StreamTableEnvironment

SETTINGS = {
    "parallelism.default": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "10000",
    "restart-strategy.fixed-delay.delay": "10 ms",
}
COUNTED = """
    SELECT k, n, COUNT(*) OVER (PARTITION BY k ORDER BY proc RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS c
    FROM messages WHERE n >= 0
"""


class Key(SimpleStringSchema):
    def serialize(self, element: str) -> bytes:
        return element.split(":")[0].encode()


class Count(KeyedProcessFunction):
    """Adds how many records of the key there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value[0]}:{value[1]}:{count}"


def run(servers: str, source: str, sink: str, checkpoints: str, records_per_epoch: str) -> None:
    configuration = Configuration()
    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": checkpoints,
        "execution.epoch.max-records": records_per_epoch,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    t_env = StreamTableEnvironment.create(env)
    client = f"'properties.bootstrap.servers' = '{servers}'"
    t_env.execute_sql(
        f"CREATE TABLE messages (k INT, n INT, proc AS PROCTIME()) WITH ('connector' = 'kafka', {client}, "
        f"'topic' = '{source}', 'properties.group.id' = '{sink}', 'format' = 'csv', "
        "'scan.startup.mode' = 'earliest-offset')"
    )
    t_env.execute_sql(
        f"CREATE TABLE counted (k INT, n INT, c BIGINT) WITH ('connector' = 'kafka', {client}, "
        f"'topic' = '{sink}-sql', 'key.format' = 'csv', 'key.fields' = 'k', 'value.format' = 'csv', "
        "'sink.delivery-guarantee' = 'exactly-once', "
        f"'sink.transactional-id-prefix' = '{sink}-sql', 'properties.transaction.timeout.ms' = '60000')"
    )
    table = t_env.sql_query(COUNTED)
    statements = t_env.create_statement_set()
    statements.add_insert("counted", table)
    statements.attach_as_datastream()
    rows = t_env.to_data_stream(table)
    counted = rows.key_by(lambda row: row[0], Types.INT()).process(Count(), Types.STRING())
    counted.sink_to(program_sink(servers, f"{sink}-program"))
    env.execute("kafka to kafka")


def program_sink(servers: str, topic: str) -> KafkaSink:
    serializer = KafkaRecordSerializationSchema.builder().set_topic(topic).set_key_serialization_schema(Key())
    serializer.set_value_serialization_schema(SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(serializer.build())
    sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(topic)
    return sink.build()


if __name__ == "__main__":
    run(*sys.argv[1:])
