"""What an epoch costs before any work: 1,000 rows, one exchange, keyed state; and over how much existing state.

The same job is run over 10 thousand and over 5 million existing keys: the epochs that follow the loading touch
1,000 keys each. Prints where the time goes: the tasks' own work, the rest of the Spark job, commit and publish.
usage: epoch_overhead.py [--large 5000000] [--epochs 60]
"""

from __future__ import annotations

import argparse
import json
import statistics
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

PARALLELISM = 2
ROWS_PER_EPOCH = 1_000
SCATTER = 2_654_435_761  # spreads the touched keys over all of them


class LoadThenTouch(Source):
    """First every key once, as fast as it goes; then `epochs` small epochs that touch scattered keys."""

    def __init__(self, keys: int, epochs: int) -> None:
        self.keys = keys
        self.total = keys + epochs * ROWS_PER_EPOCH

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> SplitEnumerator:
        return Enumerator(self)

    def create_reader(self) -> SourceReader:
        return Reader(self)


class Enumerator(SplitEnumerator):
    def __init__(self, source: LoadThenTouch) -> None:
        self.source = source
        self.reported = False

    def discover(self) -> Sequence[SourceSplit]:
        if self.reported:
            return ()
        self.reported = True
        return [SourceSplit(str(i)) for i in range(PARALLELISM)]

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        position = position or 0
        loading = self.source.keys // PARALLELISM
        if position < loading:
            return ReadLimit(end_position=loading, split_ends=False)
        return ReadLimit(
            end_position=position + ROWS_PER_EPOCH // PARALLELISM,
            split_ends=position + ROWS_PER_EPOCH // PARALLELISM >= self.source.total // PARALLELISM,
        )


class Reader(SourceReader):
    def __init__(self, source: LoadThenTouch) -> None:
        self.keys = source.keys

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        index, lane = position or 0, int(split.split_id)
        while index < limit.end_position:
            after = min(index + 2_000, limit.end_position)
            numbers = (i * PARALLELISM + lane for i in range(index, after))
            yield SourceBatch([n if n < self.keys else n * SCATTER % self.keys for n in numbers], None, after)
            index = after


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)


def measure(keys: int, epochs: int) -> dict[str, float]:
    configuration = Configuration()
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    source = LoadThenTouch(keys, epochs)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "keys", Types.LONG())
    stream.key_by(lambda v: v, key_type=Types.LONG()).process(Count(), Types.LONG()).print()
    job = env.submit("epoch overhead")
    job.wait()
    small = [t for t in job.statistics.recent if t.records == ROWS_PER_EPOCH][5:]
    return {
        "keys": keys,
        "epochs": len(small),
        "median_ms": statistics.median(t.total_ms for t in small),
        "task_work_ms": statistics.median(t.busy_ms for t in small),
        "spark_job_ms": statistics.median(t.spark_ms for t in small),
        "commit_publish_ms": statistics.median(t.total_ms - t.spark_ms for t in small),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=int, default=5_000_000)
    parser.add_argument("--epochs", type=int, default=60)
    arguments = parser.parse_args()
    measure(10_000, 20)  # starts Spark and warms its code up
    results = [measure(keys, arguments.epochs) for keys in (10_000, arguments.large)]
    print(
        f"{'existing keys':>14s} {'epoch':>8s} {'Spark job':>10s} {'task work':>10s} {'commit':>8s}   (medians, ms)"
    )
    for r in results:
        print(
            f"{r['keys']:14,.0f} {r['median_ms']:8.0f} {r['spark_job_ms']:10.0f} "
            f"{r['task_work_ms']:10.0f} {r['commit_publish_ms']:8.1f}"
        )
    ratio = results[1]["median_ms"] / results[0]["median_ms"]
    print(f"over {arguments.large:,} keys an epoch takes {ratio:.2f} x as long")
    print(json.dumps({"results": results, "ratio": round(ratio, 3)}))


if __name__ == "__main__":
    main()
