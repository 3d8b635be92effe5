"""What a nearly empty epoch costs by the number of subtasks, beside a bare Spark job with as many tasks.

The job reads a few records an epoch, has one exchange and keyed state. The bare job is as many Python tasks, a
shuffle, and as many again, each with next to nothing to do. Medians of the epochs after the first ones; also how
often a subtask found its state in the memory of its process.
usage: many_subtasks.py [--parallelism 2,16,64,128,256] [--epochs 20] [--master local[2]]
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.common import Configuration, Types, WatermarkStrategy
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.runtime.spark.session import get_spark

ROWS_PER_SUBTASK = 4
WARM_UP = 4
LATE = 100


class Trickle(Source):
    """`epochs` epochs with a few numbers for every subtask."""

    def __init__(self, parallelism: int, epochs: int) -> None:
        self.parallelism, self.epochs = parallelism, epochs

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return Enumerator(self)

    def create_reader(self) -> SourceReader:
        return Reader()


class Enumerator(SplitEnumerator):
    def __init__(self, source: Trickle) -> None:
        self.source = source
        self.reported = False

    def discover(self) -> Sequence[SourceSplit]:
        if self.reported:
            return ()
        self.reported = True
        return [SourceSplit(str(i)) for i in range(self.source.parallelism)]

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        end = (position or 0) + ROWS_PER_SUBTASK
        return ReadLimit(end_position=end, split_ends=end >= self.source.epochs * ROWS_PER_SUBTASK)


class Reader(SourceReader):
    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        start, lane = position or 0, int(split.split_id)
        yield SourceBatch(
            [i * 7919 + lane for i in range(start, limit.end_position)], None, limit.end_position
        )


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)


def epochs(parallelism: int, count: int, settings: dict[str, str]) -> dict[str, Any]:
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism).set_max_parallelism(max(128, parallelism))
    stream = env.from_source(
        Trickle(parallelism, count), WatermarkStrategy.no_watermarks(), "trickle", Types.LONG()
    )
    stream.key_by(lambda v: v, key_type=Types.LONG()).process(Count(), Types.LONG()).print()
    job = env.submit("many subtasks")
    job.wait()
    timings = list(job.statistics.recent)[WARM_UP:]
    return {
        "epoch_ms": statistics.median(t.total_ms for t in timings),
        "work_ms": statistics.median(t.busy_ms for t in timings),
        "warm": sum(t.warm for t in timings) / sum(t.subtasks for t in timings),
        "each_ms": [t.total_ms for t in timings],
        "launching_ms": statistics.median(t.launching_ms for t in timings[-LATE:]),
        "working_ms": statistics.median(t.working_ms for t in timings[-LATE:]),
    }


def bare(context: Any, parallelism: int, count: int) -> float:
    seconds = []
    for _ in range(count):
        started = time.perf_counter()
        pairs = context.parallelize(range(parallelism), parallelism).map(lambda i: (i, b"x"))
        moved = pairs.partitionBy(parallelism, int).mapPartitions(lambda rows: [sum(1 for _ in rows)])
        assert sum(moved.collect()) == parallelism
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds[1:]) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--parallelism", type=lambda t: [int(n) for n in t.split(",")], default=[2, 16, 64, 128, 256]
    )
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--master", help="of Spark; the local machine by default")
    parser.add_argument("--checkpoints", help="a folder for checkpoints; needed on a cluster")
    arguments = parser.parse_args()
    settings = {"spark.master": arguments.master} if arguments.master else {}
    if arguments.checkpoints:
        settings["execution.checkpointing.dir"] = arguments.checkpoints
    context = get_spark({k: v for k, v in settings.items() if k.startswith("spark.")}).sparkContext
    epochs(2, 8, settings)  # warms the JVM up
    results = []
    print(f"{'subtasks':>9s} {'epoch':>9s} {'bare job':>9s} {'ratio':>6s} {'warm':>7s}   (medians, ms)")
    for parallelism in arguments.parallelism:
        measured = epochs(parallelism, arguments.epochs, settings)
        measured.pop("each_ms")
        measured |= {"parallelism": parallelism, "bare_ms": bare(context, parallelism, 6)}
        results.append(measured)
        ratio = measured["epoch_ms"] / measured["bare_ms"]
        print(
            f"{parallelism:9d} {measured['epoch_ms']:9.0f} {measured['bare_ms']:9.0f} {ratio:6.2f}"
            f" {measured['warm']:7.1%}",
            flush=True,
        )
    print(json.dumps(results))


if __name__ == "__main__":
    main()
