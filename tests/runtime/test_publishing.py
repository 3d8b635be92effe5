"""An epoch that was committed is published, also when publishing failed at first."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from penstock.common import Types
from penstock.datastream import StreamExecutionEnvironment
from penstock.runtime import coordinator
from tests.runtime.in_process import collect

SETTINGS = {
    "execution.epoch.max-records": "2",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1",
    "restart-strategy.fixed-delay.delay": "1 ms",
}


@pytest.mark.parametrize("failing_epoch", [1, 2, 3])
def test_output_that_could_not_be_published_is_published_after_the_restart(failing_epoch: int) -> None:
    publish, failures = coordinator.publish_commits, [failing_epoch]

    def refuse_once(metadata: Any, committers: Any, attempts: int) -> None:
        if metadata.epoch in failures:
            failures.remove(metadata.epoch)
            raise OSError("the disk is away")
        publish(metadata, committers, attempts)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection([1, 2, 3, 4, 5, 6], Types.LONG())
    with mock.patch.object(coordinator, "publish_commits", refuse_once):
        assert collect(stream, {**SETTINGS, "execution.runtime-mode": "STREAMING"}) == [1, 2, 3, 4, 5, 6]
    assert not failures
