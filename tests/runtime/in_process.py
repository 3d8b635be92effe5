"""Runs whole programs through coordinator and stages without Spark, with failures where a test wants them."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any

from penstock.common import Types
from penstock.common.configuration import Configuration
from penstock.common.errors import ExternalSystemError
from penstock.connectors.collect import CollectSink
from penstock.datastream import DataStream, KeyedProcessFunction
from penstock.datastream.state import ValueStateDescriptor
from penstock.graph.transformations import SinkTransformation
from penstock.runtime import submit
from penstock.runtime.in_process import InProcessEpochs, Interference, forget
from penstock.runtime.running_job import RunningJob


class Count(KeyedProcessFunction):
    """The number of the element among those of its key."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


def start(
    sinks: list[Any], settings: dict[str, str] | None = None, interfere: Interference | None = None
) -> RunningJob:
    configuration = Configuration()
    for key, value in (settings or {}).items():
        configuration.set_string(key, value)
    return submit.submit_job(sinks, configuration, "test job", lambda job: InProcessEpochs(job, interfere))


def collect(
    stream: DataStream, settings: dict[str, str] | None = None, interfere: Interference | None = None
) -> list[Any]:
    """All elements of a bounded program."""
    transformation = stream._transformation
    sink = CollectSink(transformation.output_type)
    end = SinkTransformation("collect", (transformation,), parallelism=1, sink=sink)
    job = start([end], settings, interfere)
    values = list(sink.iterator(job))
    job.wait(60)
    return values


def failing_times(n: int, at_epoch: int, error: Callable[[], BaseException]) -> Interference:
    """Raises in the first task of an epoch, the first `n` times it is tried."""
    left = [n]

    def interfere(plan: Any, partition: int) -> None:
        if plan.epoch == at_epoch and left[0] > 0:
            left[0] -= 1
            raise error()

    return interfere


class StopAt:
    """Stops a job with a savepoint when an epoch has run: it is held back until the request is there."""

    def __init__(self, epoch: int) -> None:
        self._epoch = epoch
        self._job: Any = None
        self._reached = threading.Event()

    def __call__(self, plan: Any, partition: int) -> None:
        if plan.epoch == self._epoch:
            self._reached.set()
            while self._job is None or not self._job.coordinator._requests:
                time.sleep(0.001)

    def stop(self, job: RunningJob, folder: Any) -> str:
        """Returns the path of the savepoint."""
        assert self._reached.wait(60), "the job never came to the epoch"
        self._job = job
        return job.stop_with_savepoint(directory=str(folder))


class Chaos:
    """Fails tasks, and loses worker processes, with a seeded probability."""

    def __init__(self, seed: int, probability: float) -> None:
        self.random = random.Random(seed)
        self.probability = probability
        self.failures = 0

    def __call__(self, plan: Any, partition: Any) -> None:
        if self.random.random() < self.probability:
            self.failures += 1
            if self.random.random() < 0.5:
                forget()
            raise ExternalSystemError("chaos")


_submit_job = submit.submit_job


def run_in_process(monkeypatch: Any, interfere: Interference | None) -> None:
    """Makes the jobs of programs run in this process for the rest of a test."""

    def submitted(sinks: Any, configuration: Any, name: str) -> RunningJob:
        return _submit_job(sinks, configuration, name, lambda job: InProcessEpochs(job, interfere))

    monkeypatch.setattr(submit, "submit_job", submitted)
