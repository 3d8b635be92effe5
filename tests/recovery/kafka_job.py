"""The program that recovery tests start, kill and start again: Kafka to Kafka, a count per key between.

kafka_job.py SERVERS IN OUT CHECKPOINTS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys

from penstock.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.base import DeliveryGuarantee
from penstock.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from penstock.datastream.state import ValueStateDescriptor

SETTINGS = {
    "parallelism.default": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "10 ms",
}


class Key(SimpleStringSchema):
    def serialize(self, element: str) -> bytes:
        return element.split(":")[0].encode()


class Count(KeyedProcessFunction):
    """Adds how many records of the key there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value}:{count}"


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
    read = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(source).set_group_id(sink)
    read.set_bounded(KafkaOffsetsInitializer.latest()).set_value_only_deserializer(SimpleStringSchema())
    serializer = KafkaRecordSerializationSchema.builder().set_topic(sink).set_key_serialization_schema(Key())
    serializer.set_value_serialization_schema(SimpleStringSchema())
    write = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(serializer.build())
    write.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(sink)
    stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "in")
    counted = stream.key_by(lambda text: text.split(":")[0], Types.STRING()).process(Count(), Types.STRING())
    counted.sink_to(write.build())
    env.execute("kafka to kafka")


if __name__ == "__main__":
    run(*sys.argv[1:])
