"""A job that is stopped with a savepoint goes on from it, also at another parallelism."""

from __future__ import annotations

import pathlib
import threading
import time
from collections import defaultdict
from itertools import islice
from typing import Any

import pytest

from penstock.common import JobStatus, Time, Types, WatermarkStrategy
from penstock.common.errors import (
    JobCancelledError,
    JobEndedError,
    JobExecutionError,
    UserFunctionError,
    ValidationError,
)
from penstock.common.watermark_strategy import TimestampAssigner
from penstock.connectors.collect import CollectSink
from penstock.datastream import AggregateFunction, KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.connectors.datagen import DataGeneratorSource
from penstock.datastream.state import ValueStateDescriptor
from penstock.datastream.window import TumblingEventTimeWindows
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.coordinator import Coordinator
from tests.runtime.in_process import start

COUNTED = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value % 5, value, count


class Number(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


class CountElements(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def endless_counts(
    parallelism: int, settings: dict[str, str] | None = None, interfere: Any = None
) -> tuple[Any, CollectSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda i: i, None, None, Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "n", Types.LONG()).set_parallelism(1)
    counts = stream.key_by(lambda v: v % 5, key_type=Types.LONG()).process(Count(), COUNTED)
    counts = counts.set_parallelism(parallelism).uid("counts")
    sink = CollectSink(COUNTED)
    end = SinkTransformation("collect", (counts._transformation,), parallelism=1, sink=sink)
    return start([end], {"execution.epoch.max-records": "50", **(settings or {})}, interfere), sink


def test_a_job_stopped_with_a_savepoint_goes_on_from_it_at_another_parallelism(
    tmp_path: pathlib.Path,
) -> None:
    first_job, first_sink = endless_counts(1)
    rows = first_sink.iterator(first_job)
    seen = list(islice(rows, 120))
    path = first_job.stop_with_savepoint(directory=str(tmp_path))
    seen += list(rows)  # what was committed before the savepoint
    assert first_job.status() is JobStatus.FINISHED

    second_job, second_sink = endless_counts(3, {"execution.state-recovery.path": path})
    more = list(islice(second_sink.iterator(second_job), 200))
    second_job.cancel()

    counts = defaultdict(list)
    for key, _, count in seen + more:
        counts[key].append(count)
    for key in counts:
        assert sorted(counts[key]) == list(range(1, len(counts[key]) + 1)), key
    assert len({number for _, number, _ in seen + more}) == len(seen) + len(more)


def test_draining_fires_all_windows_before_the_savepoint(tmp_path: pathlib.Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = DataGeneratorSource(lambda i: i, None, None, Types.LONG())
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    stream = env.from_source(source, strategy, "n", Types.LONG()).set_parallelism(1)
    windows = stream.key_by(lambda v: v % 5, key_type=Types.LONG()).window(
        TumblingEventTimeWindows.of(Time.milliseconds(1000))
    )
    counts = windows.aggregate(CountElements(), output_type=Types.LONG())
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (counts._transformation,), parallelism=1, sink=sink)
    job = start([end], {"execution.epoch.max-records": "70"})
    rows = sink.iterator(job)
    seen = [next(rows)]
    path = job.stop_with_savepoint(drain=True, directory=str(tmp_path))
    seen += list(rows)
    assert job.status() is JobStatus.FINISHED and pathlib.Path(path).exists()
    # No element is left in a window: epochs have 70 elements, and 70 is no divisor of a window's 1000.
    assert sum(seen) % 70 == 0


def test_a_savepoint_does_not_disturb_the_job_that_goes_on(tmp_path: pathlib.Path) -> None:
    job, sink = endless_counts(2)
    rows = sink.iterator(job)
    before = list(islice(rows, 60))
    path = job.trigger_savepoint(str(tmp_path))
    after = list(islice(rows, 200))
    job.cancel()
    assert pathlib.Path(path).exists()
    numbers = [number for _, number, _ in before + after]
    assert len(set(numbers)) == len(numbers)
    with pytest.raises(JobCancelledError):
        job.wait(10)


def test_a_savepoint_needs_a_directory() -> None:
    job, sink = endless_counts(1)
    next(iter(sink.iterator(job)))
    with pytest.raises(ValidationError, match="no directory for the savepoint"):
        job.trigger_savepoint()
    job.cancel()


def three_numbers(function: Any = None, interfere: Any = None) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1, 2, 3], Types.LONG()).map(function or (lambda v: v), Types.LONG())
    end = SinkTransformation(
        "collect", (stream._transformation,), parallelism=1, sink=CollectSink(Types.LONG())
    )
    return start([end], {"execution.runtime-mode": "STREAMING"}, interfere)


@pytest.mark.timeout(60)
def test_a_savepoint_of_a_job_that_has_finished_is_refused_at_once(tmp_path: pathlib.Path) -> None:
    job = three_numbers()
    job.wait(30)
    with pytest.raises(JobEndedError, match=r"it has ended \(FINISHED\)"):
        job.trigger_savepoint(str(tmp_path))
    with pytest.raises(JobEndedError, match=r"it has ended \(FINISHED\)"):
        job.stop_with_savepoint(directory=str(tmp_path))


@pytest.mark.timeout(60)
def test_a_savepoint_of_a_job_that_failed_is_refused_with_the_cause(tmp_path: pathlib.Path) -> None:
    job = three_numbers(lambda v: v // 0)
    with pytest.raises(JobExecutionError):
        job.wait(30)
    with pytest.raises(JobEndedError, match=r"it has ended \(FAILED\)") as caught:
        job.trigger_savepoint(str(tmp_path))
    assert isinstance(caught.value.__cause__, UserFunctionError)


@pytest.mark.timeout(60)
def test_a_request_that_waits_while_the_last_epoch_runs_is_refused(tmp_path: pathlib.Path) -> None:
    """The input ends with epoch 1, so no epoch follows before which a savepoint could be written."""
    jobs: list[Any] = []
    may_run, asked = threading.Event(), threading.Event()

    def interfere(plan: Any, partition: int) -> None:
        may_run.wait(30)
        threading.Thread(target=ask).start()
        asked.wait(30)
        waiting = jobs[0]._coordinator._requests
        while not waiting:  # the request is in the queue
            time.sleep(0.001)

    errors: list[BaseException] = []

    def ask() -> None:
        asked.set()
        try:
            jobs[0].trigger_savepoint(str(tmp_path))
        except JobEndedError as error:
            errors.append(error)

    jobs.append(three_numbers(interfere=interfere))
    may_run.set()
    jobs[0].wait(30)
    while not errors:
        time.sleep(0.001)


@pytest.mark.timeout(60)
def test_a_request_that_comes_while_the_job_is_being_closed_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late: list[Any] = []
    close = Coordinator._close

    def ask_then_close(self: Coordinator) -> None:
        late.append(self.between_epochs(lambda: "never"))
        close(self)

    monkeypatch.setattr(Coordinator, "_close", ask_then_close)
    three_numbers().wait(30)
    assert late[0].refused and late[0].done.is_set()


def test_a_job_goes_on_after_a_drain_that_failed(tmp_path: pathlib.Path) -> None:
    """The failed epoch leaves nothing behind: every element is counted once all the same."""
    draining: list[int] = []
    failures: list[int] = []

    def fail_at_the_end(plan: Any, partition: int) -> None:
        sources = [n.source for s in plan.subtasks for n in s.nodes.values() if n.source is not None]
        if any(source.last and not source.assigned for source in sources):
            draining.append(plan.epoch)
        if plan.level == 1 and draining and not failures:
            failures.append(plan.epoch)
            raise OSError("the network is away")

    job, sink = endless_counts(2, {}, fail_at_the_end)
    rows = sink.iterator(job)
    seen = list(islice(rows, 60))
    with pytest.raises(OSError, match="the network is away"):
        job.stop_with_savepoint(drain=True, directory=str(tmp_path))
    seen += list(islice(rows, 200))
    job.cancel()
    numbers = [number for _, number, _ in seen]
    assert len(set(numbers)) == len(numbers) and failures == draining
    counts = defaultdict(list)
    for key, _, count in seen:
        counts[key].append(count)
    assert all(sorted(c) == list(range(1, len(c) + 1)) for c in counts.values())
