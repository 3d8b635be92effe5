"""A worker that grows beyond its limit: who is told what, and how the job goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.errors import JobExecutionError, WorkerMemoryError
from penstock.common.typeinfo import Types
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.runtime import memory_guard, worker
from penstock.runtime.memory_guard import MemoryGuard, OverMemoryLimit
from penstock.runtime.pacing import Pacing
from tests.runtime.in_process import collect


class Memory:
    """What the process seems to use."""

    used = 0

    def __call__(self) -> int:
        return self.used


def work(steps: int, memory: Memory, grows_to: int) -> Iterator[int]:
    for step in range(steps):
        memory.used = grows_to if step == 1 else 0
        if step == 1:
            for _ in range(10_000):  # the exception comes between two steps of Python
                time.sleep(0.001)
        yield step


def test_work_below_the_limit_is_left_alone() -> None:
    guard = MemoryGuard(Memory())
    assert list(guard.watched(iter(range(5)), 100)) == [0, 1, 2, 3, 4]


def test_work_that_grows_beyond_the_limit_is_stopped() -> None:
    memory = Memory()
    done = []
    with pytest.raises(OverMemoryLimit):
        for step in MemoryGuard(memory).watched(work(3, memory, 200), 100):
            done.append(step)
    assert done == [0]


def test_what_a_task_needed_is_counted_from_its_begin() -> None:
    memory = Memory()
    guard = MemoryGuard(memory)
    memory.used = 70
    guard.begin_task()
    memory.used = 100
    assert guard.growth_bytes() == 30
    memory.used = 80
    assert guard.growth_bytes() == 30


def test_epochs_that_did_not_fit_are_followed_by_smaller_ones() -> None:
    pacing = Pacing(500, bounded=True, budget=40_000)
    pacing.too_large()
    assert pacing.next_budget() == 10_000
    pacing.observe(10_000, elapsed_ms=20, work_ms=10)
    assert pacing.next_budget() == 10_000


class Hoard(KeyedProcessFunction):
    """Pretends to need much memory whenever more than two records come in one epoch."""

    def open(self, runtime_context: Any) -> None:
        self.epoch_of: dict[int, int] = {}

    def process_element(self, value: Any, ctx: Any) -> Any:
        _seen.append(value)
        if len(_seen) - _reported[0] > 2:
            _memory.used = 1 << 40
            for _ in range(5_000):
                time.sleep(0.001)
        yield value


_seen: list[int] = []
_reported = [0]
_memory = Memory()


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    _seen.clear()
    _reported[0] = 0
    _memory.used = 0
    monkeypatch.setattr(worker, "GUARD", MemoryGuard(_memory))
    monkeypatch.setattr(memory_guard, "anonymous_bytes", _memory)
    yield


def new_epoch(plan: Any, partition: int) -> None:
    if plan.level == 0:
        _reported[0] = len(_seen)
        _memory.used = 0


def program() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection(list(range(6)), Types.INT())
    return stream.key_by(lambda v: 0).process(Hoard(), Types.INT()).name("hoard")


@pytest.mark.usefixtures("guard")
def test_the_job_goes_on_with_smaller_epochs() -> None:
    settings = {
        "execution.epoch.max-records": "8",
        "execution.runtime-mode": "STREAMING",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    assert collect(program(), settings, new_epoch) == list(range(6))


@pytest.mark.usefixtures("guard")
def test_without_a_restart_the_error_names_operator_and_limit() -> None:
    settings = {"execution.worker.memory-limit": "64 mb", "execution.runtime-mode": "STREAMING"}
    with pytest.raises(JobExecutionError) as failed:
        collect(program(), settings, new_epoch)
    cause = failed.value.__cause__
    assert isinstance(cause, WorkerMemoryError)
    assert "its limit is 64 MiB" in str(cause)
    assert "operator 'hoard'" in str(cause) and "key groups 0 to 127, last key 0" in str(cause)
