"""An epoch that runs again in the same processes starts from what is committed, not from what the first run left."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.common import Configuration, Time, Types, WatermarkStrategy
from penstock.connectors.collect import CollectSink
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.in_process import InProcessEpochs
from penstock.runtime.plan import LevelPlan, SubtaskReport
from penstock.runtime.submit import submit_job
from tests.runtime.test_savepoints import Number


class EachEpochTwice(InProcessEpochs):
    """What Spark does to an epoch whose tasks it had to repeat after a loss."""

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        super().run(plans)
        return super().run(plans)


class Numbered(MapFunction):
    """The element, and which one of its subtask it is."""

    def __init__(self) -> None:
        self.seen = 0

    def map(self, value: int) -> tuple[int, int]:
        self.seen += 1
        return self.seen, value


def test_a_run_in_vain_leaves_no_trace() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    sums = (
        env.from_sequence(0, 99)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda number: number % 2, Types.LONG())
        .window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
        .reduce(lambda a, b: a + b)
        .map(Numbered())
    )
    sink = CollectSink(sums._transformation.output_type)
    end = SinkTransformation("collect", (sums._transformation,), parallelism=1, sink=sink)
    configuration = Configuration()
    configuration.set_string("execution.runtime-mode", "STREAMING")
    configuration.set_string("execution.epoch.max-records", "40")
    found = list(sink.iterator(submit_job([end], configuration, "twice", EachEpochTwice)))
    expected = [sum(range(ten + odd, ten + 10, 2)) for ten in range(0, 100, 10) for odd in (0, 1)]
    assert sorted(total for _, total in found) == sorted(expected)
    assert [number for number, _ in found] == list(range(1, 21))
