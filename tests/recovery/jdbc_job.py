"""The program that recovery tests start, kill and start again: numbers, counted by key, to a table of a database.

jdbc_job.py URL USER PASSWORD TABLE NUMBERS CHECKPOINTS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys

from penstock.common import Configuration, Row, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from penstock.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor

KEYS = 8
ROWS = Types.ROW([Types.LONG(), Types.LONG(), Types.LONG()])
SETTINGS = {
    "parallelism.default": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "100",
    "restart-strategy.fixed-delay.delay": "10 ms",
}


class Count(KeyedProcessFunction):
    """The key, the number, and how many numbers of the key there were."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context):
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield Row(value % KEYS, value, count)


def run(
    url: str, user: str, password: str, table: str, numbers: str, checkpoints: str, records_per_epoch: str
) -> None:
    configuration = Configuration()
    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": checkpoints,
        "execution.epoch.max-records": records_per_epoch,
    }
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url)
    connection.with_user_name(user).with_password(password)
    source = NumberSequenceSource(0, int(numbers) - 1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    counted = stream.key_by(lambda n: n % KEYS, Types.LONG()).process(Count(), ROWS)
    insert = f"INSERT INTO {table} VALUES (?, ?, ?)"
    counted.sink_to(JdbcSink.exactly_once_sink(insert, ROWS, connection.build()))
    env.execute("numbers to jdbc")


if __name__ == "__main__":
    run(*sys.argv[1:])
