"""The programs whose savepoints are kept under tests/compat, one folder per version that wrote them.

    PYTHONPATH=. python -m tests.compat.programs           writes those of this version

A program and its uids never change; a new version adds a folder. What is in the old ones must stay readable.
"""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import penstock
from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.configuration import Configuration
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.collect import CollectSink
from penstock.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from penstock.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs
from tests.runtime.in_process import StopAt

FOLDER = pathlib.Path(__file__).parent
NUMBERS = 240
STOPPED_AT_EPOCH = 4
PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
RESULT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class Everything(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        context = runtime_context
        self.person = context.get_state(ValueStateDescriptor("person", PERSON))
        self.seen = context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.stock = context.get_map_state(MapStateDescriptor("stock", Types.STRING(), Types.LONG()))
        self.total = context.get_reducing_state(ReducingStateDescriptor("total", max, Types.LONG()))
        self.sum = context.get_aggregating_state(AggregatingStateDescriptor("sum", Sum(), Types.LONG()))
        self.any = context.get_state(ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        person = self.person.value()
        self.person.update((f"p{value}", 1 + (person["age"] if person else 0)))
        self.seen.add(value)
        self.stock.put(f"{'long ' * 40}{value % 3}", value)
        self.total.add(value)
        self.sum.add(value)
        self.any.update({"last": value, "set": (1, 2)})
        if value % 5 == 0:
            ctx.timer_service().register_event_time_timer(value + 90)
        yield "count", value, self.person.value()["age"] + self.sum.get() + self.total.get()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield "timer", timestamp, sum(self.seen.get()) + sum(self.stock.values()) + self.any.value()["last"]


class Named(MapFunction):
    def __init__(self, name: str) -> None:
        self.name = name

    def map(self, value: int) -> tuple[str, int, int]:
        return self.name, 0, value


def datastream(parallelism: int) -> Any:
    """All kinds of keyed state, timers and windows; returns the end of the program."""
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    source = env.from_sequence(0, NUMBERS - 1).set_parallelism(1).uid("source")
    stream = source.assign_timestamps_and_watermarks(strategy).set_parallelism(1).uid("times")
    keyed = stream.key_by(lambda v: v % 7, key_type=Types.LONG())
    ends = [keyed.process(Everything(), RESULT).set_parallelism(parallelism).uid("everything")]
    kinds = {
        "tumbling": TumblingEventTimeWindows.of(Time.milliseconds(100)),
        "sliding": SlidingEventTimeWindows.of(Time.milliseconds(60), Time.milliseconds(20)),
        "session": EventTimeSessionWindows.with_gap(Time.milliseconds(10)),
    }
    for name, assigner in kinds.items():
        sums = keyed.window(assigner).aggregate(Sum(), output_type=Types.LONG())
        sums = sums.set_parallelism(parallelism).uid(name)
        shown = sums.map(Named(name), RESULT)
        ends.append(shown.set_parallelism(parallelism).uid(f"{name}-shown"))
    return ends[0].union(*ends[1:])


def start(stream: Any, settings: dict[str, str], interfere: Any = None) -> tuple[Any, Any]:
    """Starts a program without Spark; the job and its results."""
    sink = CollectSink(RESULT)
    end = SinkTransformation("collect", (stream._transformation,), parallelism=1, sink=sink, uid="collect")
    fixed = {"execution.runtime-mode": "STREAMING", "execution.epoch.max-records": "25"}
    configuration = Configuration.from_dict({**fixed, **settings})
    job = submit.submit_job([end], configuration, "compat", lambda job: InProcessEpochs(job, interfere))
    return job, sink.iterator(job)


def write() -> None:
    """Writes the savepoint of this version's DataStream program."""
    target = FOLDER / penstock.__version__ / "datastream"
    shutil.rmtree(target, ignore_errors=True)
    stop = StopAt(STOPPED_AT_EPOCH)
    job, _ = start(datastream(2), {}, stop)
    shutil.move(stop.stop(job, target.parent), target)


if __name__ == "__main__":
    write()
