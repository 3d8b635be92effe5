"""Totals per key from Kafka to Kafka, exactly once; on PyFlink where that is installed, else on penstock.

usage: kafka_flink_api.py SERVERS process|thread|... CHECKPOINTS [FROM TO]...   the last run counts
"""

import json
import sys
import time

try:
    import pyflink  # noqa: F401
except ImportError:
    from penstock.runtime.compat import install_pyflink_alias

    install_pyflink_alias()

from pyflink.common import Configuration, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from pyflink.datastream.state import ValueStateDescriptor


class Totals(KeyedProcessFunction):
    def open(self, runtime_context):
        kept = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        self.totals = runtime_context.get_state(ValueStateDescriptor("totals", kept))

    def process_element(self, value, ctx):
        n, total, highest = self.totals.value() or (0, 0, 0)
        key, v = value
        self.totals.update((n + 1, total + v, max(highest, v)))
        yield json.dumps({"k": key, "n": n + 1, "total": total + v, "highest": max(highest, v)})


def parsed(text):
    message = json.loads(text)
    return message["k"], message["v"]


def run(servers, mode, checkpoints, source, sink):
    configuration = Configuration()
    settings = {
        "parallelism.default": "2",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.dir": f"file://{checkpoints}",
    }
    if mode in ("process", "thread"):
        settings["python.execution-mode"] = mode
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    read = KafkaSource.builder().set_bootstrap_servers(servers).set_topics(source)
    read.set_starting_offsets(KafkaOffsetsInitializer.earliest()).set_bounded(
        KafkaOffsetsInitializer.latest()
    )
    read.set_value_only_deserializer(SimpleStringSchema())
    serializer = KafkaRecordSerializationSchema.builder().set_topic(sink)
    serializer.set_value_serialization_schema(SimpleStringSchema())
    write = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(serializer.build())
    write.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix(sink)
    write.set_property("transaction.timeout.ms", "600000")
    stream = env.from_source(read.build(), WatermarkStrategy.no_watermarks(), "messages")
    pair = Types.TUPLE([Types.STRING(), Types.LONG()])
    chosen = stream.map(parsed, pair).filter(lambda value: value[1] >= 100_000)
    totals = chosen.key_by(lambda value: value[0], Types.STRING()).process(Totals(), Types.STRING())
    totals.sink_to(write.build())
    started = time.perf_counter()
    env.execute("totals")
    return time.perf_counter() - started


def main():
    servers, mode, checkpoints, *topics = sys.argv[1:]
    while topics:
        source, sink, *topics = topics
        seconds = run(servers, mode, checkpoints, source, sink)
    print(json.dumps({"seconds": seconds}))


main()
