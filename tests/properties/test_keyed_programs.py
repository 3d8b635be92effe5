"""Random keyed programs, whatever the epoch cuts, parallelism and lost workers, equal a plain-Python model.

The programs run through the real coordinator, stages, exchange, state backends and checkpoint files; only Spark
is replaced by a loop in this process. A lost worker is everything in memory gone between two tasks.
"""

from __future__ import annotations

import glob
import random
import tempfile
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.common import Types
from penstock.common.errors import PenstockError
from penstock.common.watermark_strategy import Watermark, WatermarkGenerator, WatermarkStrategy
from penstock.connectors.sink import Committer, Sink, SinkWriter, WriterContext
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.in_process import forget
from tests.runtime.in_process import collect, failing_times, start

EVENT = Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()])
OUT = Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()])

events = st.lists(
    st.tuples(st.sampled_from("abcdefg"), st.integers(-50, 50), st.integers(0, 200)), max_size=40
)
shapes = st.fixed_dictionaries(
    {
        "records_per_epoch": st.integers(1, 50),
        "parallelism": st.integers(1, 4),
        "backend": st.sampled_from(["lmdb", "memory"]),
        "seed": st.integers(0, 2**16),
        "lose_workers": st.booleans(),
        "failures": st.integers(0, 2),
    }
)


class EveryEvent(WatermarkGenerator):
    """The watermark follows each event closely, so that firing times do not depend on epochs."""

    def __init__(self) -> None:
        self.greatest = -1

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event_timestamp > self.greatest:
            self.greatest = event_timestamp
            output.emit_watermark(Watermark(event_timestamp - 1))

    def on_periodic_emit(self, output: Any) -> None:
        pass


class Everything(KeyedProcessFunction):
    """Uses every kind of state, and a timer 20 after each event."""

    def __init__(self) -> None:
        self.seen_here = 0

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.recent = runtime_context.get_list_state(ListStateDescriptor("recent", Types.INT()))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.INT(), Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        key, number, time = value
        total = (self.total.value() or 0) + number
        self.total.update(total)
        self.recent.add(number)
        if number % 7 == 0:
            self.recent.clear()
        bucket = number % 3
        self.counts.put(bucket, (self.counts.get(bucket) or 0) + 1)
        if number % 11 == 0:
            self.counts.remove(bucket)
        ctx.timer_service().register_event_time_timer(time + 20)
        yield key, f"{sorted(self.counts.items())} {list(self.recent.get())}", total

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), "timer", timestamp


def model(stream: list[tuple[str, int, int]]) -> list[Any]:
    total: dict[str, int] = defaultdict(int)
    recent: dict[str, list[int]] = defaultdict(list)
    counts: dict[str, dict[int, int]] = defaultdict(dict)
    timers: set[tuple[int, str]] = set()
    out: list[Any] = []
    watermark = -1

    def fire(up_to: int) -> None:
        for due in sorted(t for t in timers if t[0] <= up_to):
            out.append((due[1], "timer", due[0]))
            timers.discard(due)

    for key, number, time in stream:
        total[key] += number
        recent[key].append(number)
        if number % 7 == 0:
            recent[key].clear()
        bucket = number % 3
        counts[key][bucket] = counts[key].get(bucket, 0) + 1
        if number % 11 == 0:
            counts[key].pop(bucket)
        timers.add((time + 20, key))
        out.append((key, f"{sorted(counts[key].items())} {recent[key]}", total[key]))
        if time > watermark:
            watermark = time
            fire(time - 1)
    fire(2**63)
    return out


class Lost(PenstockError):
    """What a lost executor is to the job: trying again helps."""

    retryable = True


def chaos(shape: dict[str, Any]) -> Any:
    generator = random.Random(shape["seed"])
    failures = [shape["failures"]]

    def interfere(plan: Any, partition: int) -> None:
        if shape["lose_workers"] and generator.random() < 0.4:
            forget()
        if failures[0] and generator.random() < 0.2:
            failures[0] -= 1
            raise Lost("lost on purpose")

    return interfere


@settings(max_examples=60, deadline=None)
@given(events, shapes)
def test_state_and_timers_do_not_depend_on_cuts_parallelism_or_lost_workers(
    stream: list[tuple[str, int, int]], shape: dict[str, Any]
) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_generator(EveryEvent).with_timestamp_assigner(lambda v, t: v[2])
    out = (
        env.from_collection(stream, type_info=EVENT)
        .assign_timestamps_and_watermarks(strategy)
        .set_parallelism(1)
        .key_by(lambda v: v[0], key_type=Types.STRING())
        .process(Everything(), OUT)
        .set_parallelism(shape["parallelism"])
    )
    got = collect(
        out,
        {
            "execution.epoch.max-records": str(shape["records_per_epoch"]),
            "state.backend.type": shape["backend"],
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.attempts": "10",
            "restart-strategy.fixed-delay.delay": "1 ms",
        },
        chaos(shape),
    )
    assert sorted(got) == sorted(model(stream))
    for key in {e[0] for e in stream}:
        assert [v for v in got if v[0] == key] == [v for v in model(stream) if v[0] == key]


@pytest.mark.parametrize("records_per_epoch", [1, 3, 100])
def test_what_a_function_counts_in_its_constructor_attributes_survives_epochs_and_workers(
    records_per_epoch: int,
) -> None:
    class Numbering(KeyedProcessFunction):
        def __init__(self) -> None:
            self.n = 0

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.n += 1
            yield self.n

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection([*range(10)], type_info=Types.INT())
    out = stream.key_by(lambda v: 0).process(Numbering(), Types.INT())
    got = collect(
        out,
        {"execution.epoch.max-records": str(records_per_epoch)},
        lambda plan, partition: forget(),
    )
    assert got == [*range(1, 11)]


def program(stream: list[tuple[str, int, int]], parallelism: int) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_generator(EveryEvent).with_timestamp_assigner(lambda v, t: v[2])
    return (
        env.from_collection(stream, type_info=EVENT)
        .assign_timestamps_and_watermarks(strategy)
        .set_parallelism(1)
        .key_by(lambda v: v[0], key_type=Types.STRING())
        .process(Everything(), OUT)
        .set_parallelism(parallelism)
    )


COMMITTED: dict[tuple[int, int], list[Any]] = {}


class TableSink(Sink):
    """Keeps what was committed, by epoch and subtask: committing again changes nothing."""

    def create_writer(self, context: WriterContext, restored: Any = ()) -> SinkWriter:
        return TableWriter(context)

    def create_committer(self) -> Committer:
        return TableCommitter()


class TableWriter(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self.place = (context.epoch, context.subtask_index)
        self.values: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self.values.extend(values)

    def prepare_commit(self, end_of_input: bool) -> list[Any]:
        return [(self.place, self.values)]


class TableCommitter(Committer):
    def commit(self, committables: Any) -> None:
        COMMITTED.update(committables)


@settings(max_examples=25, deadline=None)
@given(
    events.filter(lambda e: len(e) > 4),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(2, 4),
    st.booleans(),
)
def test_a_job_restored_at_another_parallelism_goes_on_where_it_was(
    stream: list[tuple[str, int, int]], before: int, after: int, cut: int, other_backend: bool
) -> None:
    COMMITTED.clear()
    cut = min(cut, (len(stream) + 1) // 2)
    with tempfile.TemporaryDirectory() as directory:
        common = {"execution.checkpointing.dir": directory, "execution.epoch.max-records": "2"}
        first = start(
            [into_table(program(stream, before))],
            {**common, "restart-strategy.type": "none"},
            failing_times(1, cut, lambda: PenstockError("for good")),
        )
        with pytest.raises(PenstockError, match="for good"):
            first.wait(60)
        newest = max(glob.glob(f"{directory}/*/chk-*"), key=lambda p: int(p.rsplit("-", 1)[1]))
        backend = "hashmap" if other_backend else "rocksdb"
        start(
            [into_table(program(stream, after))],
            {**common, "execution.state-recovery.path": newest, "state.backend.type": backend},
        ).wait(60)
    got = [value for values in COMMITTED.values() for value in values]
    assert sorted(got) == sorted(model(stream))


def into_table(stream: Any) -> SinkTransformation:
    return SinkTransformation("table", (stream._transformation,), parallelism=1, sink=TableSink())
