"""The program that recovery tests start, kill and start again.

Numbers 0..n-1 are counted per key in keyed state and written by an exactly-once FileSink. Usage:
    job.py OUTPUT CHECKPOINTS NUMBERS RECORDS_PER_EPOCH
"""

from __future__ import annotations

import sys
from typing import Any

from penstock.common import Configuration, Encoder, Types, WatermarkStrategy
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.file_system import FileSink, OutputFileConfig
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor

KEYS = 17


class Numbered(KeyedProcessFunction):
    """Emits 'key,number,how many of this key so far'."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value % KEYS},{value},{count}"


def main(output: str, checkpoints: str, numbers: int, records_per_epoch: int) -> None:
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", checkpoints)
    configuration.set_string("execution.epoch.max-records", str(records_per_epoch))
    configuration.set_string("restart-strategy.type", "fixed-delay")
    configuration.set_string("restart-strategy.fixed-delay.attempts", "100")
    configuration.set_string("restart-strategy.fixed-delay.delay", "10 ms")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    source = NumberSequenceSource(0, numbers - 1)
    sink = (
        FileSink.for_row_format(output, Encoder.simple_string_encoder())
        .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".csv").build())
        .build()
    )
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    keyed = stream.key_by(lambda v: v % KEYS, key_type=Types.LONG())
    keyed.process(Numbered(), Types.STRING()).sink_to(sink)
    env.execute("recovery")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
