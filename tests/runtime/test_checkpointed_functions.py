"""Functions that keep operator state are told once that they are restored, and find all of it then."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import ExternalSystemError
from penstock.connectors.collect import CollectSink
from penstock.datastream import (
    CheckpointedFunction,
    FlatMapFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from penstock.datastream.state import ListStateDescriptor
from penstock.graph.transformations import SinkTransformation
from penstock.runtime.in_process import Interference, forget
from tests.runtime.in_process import StopAt, collect, failing_times, start

SEEN: list[list[int]] = []
"""What subtasks found in the union when they were restored."""
SETTINGS = {
    "execution.runtime-mode": "STREAMING",
    "execution.epoch.max-records": "10",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "1 ms",
}


class Parts(MapFunction, CheckpointedFunction):
    """Every subtask leaves its number in the union."""

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def initialize_state(self, context: Any) -> None:
        descriptor = ListStateDescriptor("parts", Types.LONG())
        self.parts = context.get_operator_state_store().get_union_list_state(descriptor)
        if context.is_restored():
            SEEN.append(sorted(self.parts.get()))

    def snapshot_state(self, context: Any) -> None:
        self.parts.update([self.subtask])

    def map(self, value: int) -> int:
        return value


class Buffer(FlatMapFunction, CheckpointedFunction):
    """Holds elements back until there are 7; those that wait are list state."""

    def __init__(self) -> None:
        self.buffered: list[int] = []

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(
            ListStateDescriptor("buffered", Types.LONG())
        )
        if context.is_restored():
            self.buffered.extend(self.state.get())

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.buffered)

    def flat_map(self, value: int) -> Any:
        self.buffered.append(value)
        if len(self.buffered) >= 7:
            yield from self.buffered
            self.buffered.clear()


def lost_at(epoch: int) -> Interference:
    """The process of the workers goes away between two epochs, which no job notices as a failure."""
    gone = []

    def interfere(plan: Any, partition: int) -> None:
        if plan.epoch == epoch and not gone:
            gone.append(plan.epoch)
            forget()

    return interfere


@pytest.mark.parametrize("how", ["lost", "failed"])
def test_every_subtask_that_is_opened_anew_sees_the_whole_union_once(how: str) -> None:
    SEEN.clear()
    interfere = lost_at(3) if how == "lost" else failing_times(1, 3, lambda: ExternalSystemError("once"))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(3)
    numbers = env.from_sequence(1, 120).map(Parts(), Types.LONG())
    assert sorted(collect(numbers, SETTINGS, interfere)) == list(range(1, 121))
    assert SEEN == [[0, 1, 2]] * 3


def buffering(parallelism: int, settings: dict[str, str], interfere: Any = None) -> tuple[Any, CollectSink]:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_sequence(1, 200).set_parallelism(1).uid("source").rebalance()
    buffered = numbers.flat_map(Buffer(), Types.LONG()).set_parallelism(parallelism).uid("buffer")
    sink = CollectSink(Types.LONG())
    end = SinkTransformation("collect", (buffered._transformation,), parallelism=1, uid="sink", sink=sink)
    return start([end], {**SETTINGS, **settings}, interfere), sink


@pytest.mark.parametrize("parallelism", [1, 2, 3, 5])
def test_what_waits_in_a_list_is_there_once_after_a_restore(parallelism: int, tmp_path: pathlib.Path) -> None:
    stop = StopAt(5)
    job, before = buffering(2, {"execution.checkpointing.dir": str(tmp_path / "checkpoints")}, stop)
    savepoint = stop.stop(job, tmp_path / "savepoints")
    first = list(before.iterator(job))
    job, after = buffering(parallelism, {"execution.state-recovery.path": savepoint})
    found = sorted(first + list(after.iterator(job)))
    assert found == sorted(set(found))
    assert len(found) > 200 - 7 * parallelism


@pytest.mark.parametrize("epoch", [1, 2, 4])
def test_what_waits_in_a_list_is_there_once_after_a_loss(epoch: int) -> None:
    job, sink = buffering(2, {}, lost_at(epoch))
    found = sorted(sink.iterator(job))
    assert found == sorted(set(found)) and len(found) > 200 - 14
