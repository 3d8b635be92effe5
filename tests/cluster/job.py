"""A keyed job for a cluster, in a process of its own: counts endless numbers by key, in small epochs.

usage: job.py MASTER CHECKPOINTS EPOCHS [key=value …]
Prints a line of JSON: the counts, how often subtasks had their state in memory in each epoch, and the parallelisms
that the job has had. `rescale=2` asks for one after the first rows; with `until=3` it ends some rows after that.
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
        "parallelism.default": "3",
    }
    given = dict(argument.split("=", 1) for argument in sys.argv[4:])
    rescale, until = given.pop("rescale", None), given.pop("until", None)
    for key, value in {**settings, **given}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    numbers = NumberSequenceSource(0, epochs * ROWS_PER_EPOCH - 1)
    stream = env.from_source(numbers, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    counts = stream.key_by(lambda v: v % KEYS, key_type=Types.LONG()).process(
        Count(), Types.TUPLE([Types.LONG(), Types.LONG()])
    )
    sink = CollectSink(counts._transformation.output_type)
    end = SinkTransformation("collect", (counts._transformation,), parallelism=1, sink=sink)
    job = submit_job([end], configuration, "cluster job")
    rows: list[Any] = []
    seen: list[int] = []
    ends_at = None
    for row in sink.iterator(job):
        rows.append(tuple(row))
        parallelism = max(node.parallelism for node in job.coordinator.job.graph.nodes)
        if parallelism not in seen[-1:]:
            seen.append(parallelism)
        if len(rows) % 100 == 0:
            sys.stderr.write(f"{len(rows)} rows, parallelism {parallelism}\n")
            sys.stderr.flush()
            if rescale is not None:
                job.rescale(int(rescale))
                rescale = None
        if until is not None and ends_at is None and parallelism == int(until):
            ends_at = len(rows) + 5 * ROWS_PER_EPOCH
        if len(rows) == ends_at:
            job.cancel()
            break
    warm = [(t.warm, t.subtasks) for t in job.statistics.recent]
    told = {"rows": rows, "warm": warm, "restarts": job.statistics.restarts, "parallelism": seen}
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
