"""A Spark session, and savepoints of jobs that ran without one."""

from __future__ import annotations

import pathlib
from itertools import islice
from typing import Any

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.ids import OperatorUid
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.collect import CollectSink
from penstock.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
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
from penstock.runtime.spark.session import get_spark
from tests.runtime.in_process import start

PERSON = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.LONG()])
KEY = Types.TUPLE([Types.LONG(), Types.STRING()])


@pytest.fixture(scope="session")
def spark() -> Any:
    return get_spark({"spark.master": "local[2]", "spark.driver.memory": "1g"}).newSession()


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Everything(KeyedProcessFunction):
    """Every kind of keyed state, and timers."""

    def open(self, runtime_context: Any) -> None:
        context = runtime_context
        self.person = context.get_state(ValueStateDescriptor("person", PERSON))
        self.seen = context.get_list_state(ListStateDescriptor("seen", Types.LONG()))
        self.stock = context.get_map_state(MapStateDescriptor("stock", Types.STRING(), Types.LONG()))
        self.total = context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        )
        self.mean = context.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.TUPLE([Types.LONG(), Types.LONG()]))
        )
        self.secret = context.get_state(ValueStateDescriptor("secret", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.person.update((f"p{value}", value))
        self.seen.add(value)
        self.stock.put(f"i{value % 2}", value)
        self.total.add(value)
        self.mean.add(value)
        self.secret.update({"last": value})
        ctx.timer_service().register_event_time_timer(10_000 + value)
        yield value


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def numbers(env: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    source = DataGeneratorSource(lambda i: i, None, None, Types.LONG())
    return env.from_source(source, strategy, "n", Types.LONG()).set_parallelism(1).uid("numbers")


def savepoint_of(stream: Any, folder: pathlib.Path, elements: int, settings: dict[str, str]) -> str:
    """Runs a stream until it has given some elements, and stops it with a savepoint."""
    sink = CollectSink(stream._transformation.output_type)
    end = SinkTransformation("collect", (stream._transformation,), parallelism=1, sink=sink)
    job = start([end], {"execution.epoch.max-records": "20", **settings})
    list(islice(sink.iterator(job), elements))
    return job.stop_with_savepoint(directory=str(folder))


def key_of(value: int) -> tuple[int, str]:
    return value % 5, "k" * (1 + value % 5 * 40)


def everything(env: Any, parallelism: int = 2) -> Any:
    keyed = numbers(env).key_by(key_of, key_type=KEY)
    return keyed.process(Everything(), Types.LONG()).set_parallelism(parallelism).uid("all")


@pytest.fixture(scope="session")
def savepoint(tmp_path_factory: Any) -> tuple[str, int]:
    """The path, and how many numbers from 0 on have been counted."""
    env = StreamExecutionEnvironment.get_execution_environment()
    path = savepoint_of(everything(env), tmp_path_factory.mktemp("savepoints"), 40, {})
    from penstock.checkpoint.contents import open_contents

    (split,) = open_contents(path).metadata.sources[OperatorUid("numbers")].splits.values()
    return path, int(split[1])


@pytest.fixture(scope="session")
def windows(tmp_path_factory: Any) -> dict[str, str]:
    """Savepoints of three kinds of windows over the numbers, by kind."""
    kinds = {
        "tumbling": TumblingEventTimeWindows.of(Time.milliseconds(1000)),
        "sliding": SlidingEventTimeWindows.of(Time.milliseconds(30), Time.milliseconds(10)),
        "session": EventTimeSessionWindows.with_gap(Time.milliseconds(15)),
    }
    found = {}
    for name, assigner in kinds.items():
        env = StreamExecutionEnvironment.get_execution_environment()
        stream = numbers(env)
        windowed = stream.key_by(lambda v: v % 5 * 100, key_type=Types.LONG()).window(assigner)
        means = windowed.aggregate(
            Mean(), accumulator_type=Types.TUPLE([Types.LONG(), Types.LONG()]), output_type=Types.DOUBLE()
        )
        both = (
            means.uid("w")
            .set_parallelism(2)
            .map(lambda m: int(m), Types.LONG())
            .union(stream.map(lambda v: v, Types.LONG()))
        )
        found[name] = savepoint_of(both, tmp_path_factory.mktemp(name), 60, {})
    return found
