"""A running job gets another parallelism between two epochs, and its results are those of one that never did."""

from __future__ import annotations

import pathlib
from collections import Counter
from typing import Any

import pytest

from penstock.common import Time, Types, WatermarkStrategy
from penstock.common.errors import JobEndedError, ValidationError
from penstock.connectors.collect import CollectSink
from penstock.datastream import StreamExecutionEnvironment
from penstock.datastream.job_handle import job_client
from penstock.datastream.window import SlidingEventTimeWindows
from penstock.graph.stream_graph import GraphSettings, build_stream_graph
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.in_process import forget
from penstock.runtime.rescaling import Reactive, follow_cores
from penstock.sql.streaming import jobs
from tests.connectors.scripted import in_this_process
from tests.runtime.in_process import start
from tests.runtime.test_rescaled_savepoints import NUMBERS, QUERY, TOP, TYPE, Remember, folded, sql
from tests.runtime.test_savepoints import CountElements, Number, endless_counts


def program(settings: dict[str, str], interfere: Any = None) -> tuple[Any, CollectSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Number())
    stream = env.from_sequence(0, NUMBERS - 1).set_parallelism(1).uid("source")
    timed = stream.assign_timestamps_and_watermarks(strategy).set_parallelism(1).uid("times")
    keyed = timed.key_by(lambda v: v % 13, key_type=Types.LONG())
    first = keyed.process(Remember(), TYPE).uid("remember")
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(50), Time.milliseconds(20)))
    second = windows.aggregate(CountElements(), output_type=Types.LONG()).uid("w")
    both = first.union(second.map(lambda n: ("window", 0, n), TYPE).uid("map"))
    sink = CollectSink(TYPE)
    end = SinkTransformation("collect", (both._transformation,), parallelism=1, sink=sink, uid="end")
    chosen = {
        "execution.runtime-mode": "STREAMING",
        "execution.epoch.max-records": "30",
        "parallelism.default": "2",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
        "restart-strategy.fixed-delay.attempts": "5",
    }
    return start([end], {**chosen, **settings}, interfere), sink


class Rescaling:
    """Asks for another parallelism while an epoch runs; notes which ones its tasks were."""

    def __init__(self, wanted: dict[int, Any], lose_at: int | None = None) -> None:
        self.wanted = wanted
        self.lose_at = lose_at
        self.seen: dict[int, set[int]] = {}
        self.job: Any = None

    def __call__(self, plan: Any, partition: int) -> None:
        while self.job is None:
            pass
        coordinator = self.job.coordinator
        self.seen.setdefault(plan.epoch, set()).update(n.parallelism for n in coordinator.job.graph.nodes)
        if plan.epoch in self.wanted:
            wanted = self.wanted.pop(plan.epoch)
            coordinator.between_epochs(lambda: coordinator.rescale(wanted))
        if plan.epoch == self.lose_at:
            self.lose_at = None
            forget()
            raise OSError("the worker was lost")


def run(rescaling: Rescaling, settings: dict[str, str]) -> Counter[Any]:
    rescaling.job, sink = program(settings, rescaling)
    return Counter(sink.iterator(rescaling.job))


@pytest.fixture(scope="module")
def whole() -> Counter[Any]:
    job, sink = program({})
    return Counter(sink.iterator(job))


def test_a_job_is_rescaled_up_and_down_while_it_runs(whole: Counter[Any], tmp_path: pathlib.Path) -> None:
    rescaling = Rescaling({4: 3, 8: 5, 12: 1}, lose_at=9)
    assert run(rescaling, {"execution.checkpointing.dir": str(tmp_path)}) == whole
    assert [rescaling.seen[epoch] for epoch in (4, 5, 9, 13)] == [{1, 2}, {1, 3}, {1, 5}, {1}]
    assert rescaling.job.statistics.restarts == 1  # rescaling is none


def test_one_operator_is_rescaled_by_its_uid(whole: Counter[Any]) -> None:
    rescaling = Rescaling({3: {"remember": 4}})
    assert run(rescaling, {}) == whole
    assert rescaling.seen[4] == {1, 2, 4}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"nobody": 2}, "no operator 'nobody'"),
        ({"remember": 0}, "is not a parallelism"),
        ({"remember": 500}, "max"),
        (1000, "the parallelism 1000 of the job is above its max parallelism"),
    ],
)
def test_a_parallelism_that_cannot_be_is_refused_and_the_job_goes_on(
    wanted: Any, message: str, whole: Counter[Any]
) -> None:
    refused: list[Any] = []

    class Asking(Rescaling):
        def __call__(self, plan: Any, partition: int) -> None:
            if plan.epoch == 2 and not refused:
                while self.job is None:
                    pass
                coordinator = self.job.coordinator
                refused.append(coordinator.between_epochs(lambda: coordinator.rescale(wanted)))

    assert run(Asking({}), {}) == whole
    assert isinstance(refused[0].error, ValidationError) and message in str(refused[0].error)


def test_a_job_that_has_ended_is_not_rescaled() -> None:
    job, sink = program({})
    list(sink.iterator(job))
    job.wait(60)
    with pytest.raises(JobEndedError):
        job.rescale(3)


def test_the_client_of_a_job_rescales_it() -> None:
    job, _ = endless_counts(2)
    client = job_client(job)
    client.rescale({"counts": 3}).result()
    assert {n.uid: n.parallelism for n in job.coordinator.job.graph.nodes}["counts"] == 3
    with pytest.raises(ValidationError, match="max parallelism"):
        client.rescale({"counts": 1000}).result()
    client.cancel().result()


@pytest.mark.parametrize("query", [QUERY, TOP], ids=["join-and-group", "top-n"])
def test_a_query_is_rescaled_while_it_runs(query: str) -> None:
    with in_this_process():
        whole = folded(sql(2, query, {}).collect())
    rescaling, submit = Rescaling({4: 3, 8: 1}), jobs.submit

    def noting(*arguments: Any) -> Any:
        rescaling.job = submit(*arguments)
        return rescaling.job

    with in_this_process(rescaling), pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "submit", noting)
        assert folded(sql(2, query, {}).collect()) == whole
    assert not rescaling.wanted
    assert 3 in rescaling.seen[5] and rescaling.seen[9] == {1}


def test_reactive_mode_follows_the_cores_and_looks_now_and_then() -> None:
    cores, now = [2], [0.0]
    reactive = Reactive(lambda: cores[0], lambda: now[0])
    assert reactive.change() == 2
    cores[0] = 4
    assert reactive.change() is None  # a moment ago
    now[0] = 2.0
    assert reactive.change() == 4
    now[0] = 4.0
    assert reactive.change() is None


def test_reactive_mode_ignores_what_the_program_has_set_but_one_and_a_max_parallelism() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_sequence(0, 9).set_parallelism(1).uid("alone")
    few = numbers.map(lambda v: v).set_parallelism(2).set_max_parallelism(3).uid("few")
    many = few.map(lambda v: v).set_parallelism(7).uid("many")
    last = many.map(lambda v: v).uid("last")
    graph = build_stream_graph([last._transformation], GraphSettings(parallelism=1))
    assert follow_cores(graph, 5) == {"few": 3, "many": 5, "last": 5}
    in_batch = build_stream_graph([last._transformation], GraphSettings(parallelism=1, batch_mode=True))
    assert follow_cores(in_batch, 5) == {}
