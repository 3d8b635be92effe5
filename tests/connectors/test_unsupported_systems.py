"""Systems without a client: programs can be written, and are refused with the reason before they run."""

import ast

import pytest

from penstock.common import SimpleStringSchema
from penstock.common.errors import NotSupportedError
from penstock.datastream.connectors.cassandra import CassandraSink
from penstock.datastream.connectors.dynamic_kafka import KafkaMetadataService, KafkaStreamSubscriber
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions
from penstock.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
)
from penstock.datastream.connectors.kinesis import KinesisFirehoseSink, KinesisStreamsSink
from penstock.datastream.connectors.pulsar import PulsarSink, PulsarSource, StartCursor
from penstock.datastream.connectors.rabbitmq import RMQConnectionConfig
from tests.parity.refused_systems import MODULES, SYSTEMS, module_text

JDBC = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:x://h").with_user_name("u").build()
RMQ = RMQConnectionConfig.Builder().set_host("h").set_port(5672).set_uri("amqp://h").build()

PROGRAMS = {
    "FlinkKafkaConsumer": lambda: FlinkKafkaConsumer("t", SimpleStringSchema(), {}),
    "FlinkKafkaProducer": lambda: FlinkKafkaProducer("t", SimpleStringSchema(), {}),
    "KafkaMetadataService": lambda: KafkaMetadataService(object()),
    "KafkaStreamSubscriber": lambda: KafkaStreamSubscriber(object()),
    "CassandraSink": lambda: CassandraSink.add_sink(None).set_query("q").set_host("h").build(),
    "KinesisStreamsSink": lambda: KinesisStreamsSink.builder().set_stream_name("s").build(),
    "KinesisFirehoseSink": lambda: KinesisFirehoseSink.builder().build(),
    "PulsarSource": lambda: PulsarSource.builder().set_start_cursor(StartCursor.earliest()).build(),
    "PulsarSink": lambda: PulsarSink.builder().set_topics("t").build(),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_building_is_refused_with_the_reason(name):
    with pytest.raises(NotSupportedError) as error:
        PROGRAMS[name]()
    assert f"not supported: {name}, because" in str(error.value)


@pytest.mark.parametrize("system", SYSTEMS)
def test_modules_are_what_the_inventory_makes_of_them(system):
    """python tests/parity/refused_systems.py, then ruff format, writes them."""
    written = (MODULES / f"{system}.py").read_text()
    assert ast.dump(ast.parse(module_text(system))) == ast.dump(ast.parse(written))


def test_settings_that_are_plain_data_can_be_read_back():
    assert JDBC.get_db_url() == "jdbc:x://h" and JDBC.get_driver_name() is None
    options = JdbcExecutionOptions.builder().with_batch_size(7).build()
    assert (options.get_batch_size(), options.get_max_retries()) == (7, 3)
    assert (RMQ.get_host(), RMQ.get_port()) == ("h", 5672)
