"""A keyed job for a cluster, in a process of its own: counts endless numbers by key, in small epochs.

usage: job.py MASTER CHECKPOINTS EPOCHS [key=value …]
Prints a line of JSON: the counts, and how often subtasks had their state in memory in each epoch.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.collect import CollectSink
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.number_seq import NumberSequenceSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.submit import submit_job

KEYS = 11
ROWS_PER_EPOCH = 40


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value, count


def main() -> None:
    master, checkpoints, epochs = sys.argv[1], sys.argv[2], int(sys.argv[3])
    configuration = Configuration()
    settings = {
        "spark.master": master,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "execution.checkpointing.dir": checkpoints,
        "execution.epoch.max-records": str(ROWS_PER_EPOCH // 3),
        "execution.runtime-mode": "STREAMING",
    }
    for key, value in {**settings, **dict(a.split("=", 1) for a in sys.argv[4:])}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(3)
    numbers = NumberSequenceSource(0, epochs * ROWS_PER_EPOCH - 1)
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    counts = stream.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(
        Count(), Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    sink = CollectSink(counts._transformation.output_type)
    end = SinkTransformation("collect", (counts._transformation,), parallelism=1, sink=sink)
    job = submit_job([end], configuration, "cluster job")
    rows = []
    for row in sink.iterator(job):
        rows.append(tuple(row))
        if len(rows) % 100 == 0:
            sys.stderr.write(f"{len(rows)} rows\n")
            sys.stderr.flush()
    warm = [(t.warm, t.subtasks) for t in job.statistics.recent]
    sys.stdout.write(json.dumps({"rows": rows, "warm": warm, "restarts": job.statistics.restarts}) + "\n")


if __name__ == "__main__":
    main()
