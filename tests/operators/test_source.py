"""What a source subtask tells of the elements that it emits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.common.ids import OperatorUid
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import ReadLimit, SourceBatch, SourceReader, SourceSplit
from penstock.metrics import MetricGroup
from penstock.operators.base import EpochClock, OperatorContext
from penstock.operators.source import SourceOperator
from penstock.state.operator import MemoryOperatorStateBackend
from penstock.testing.output import CollectingOutput

SPLIT = SourceSplit("events")
EPOCH_MS, MADE_MS, EMITTED_MS = 10_000, 10_120, 10_150


class Events(SourceReader):
    """One element that is made after the epoch has begun."""

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        yield SourceBatch(["made"], [MADE_MS], 1, True)


def test_the_lag_of_event_time_is_taken_when_an_element_is_emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = SourceOperator(Events(), WatermarkStrategy.for_monotonous_timestamps(), True)
    metrics, state = MetricGroup(), MemoryOperatorStateBackend(0, 1)
    clock = EpochClock(processing_time_ms=EPOCH_MS)
    operator.setup(
        OperatorContext(OperatorUid("source"), "source", 0, 1, 128, clock, metrics, state),
        CollectingOutput(),
    )
    operator.begin_epoch()
    assert metrics.snapshot()["currentEmitEventTimeLag"]["value"] is None
    monkeypatch.setattr(time, "time", lambda: EMITTED_MS / 1000)
    for _ in operator.read(SPLIT, None, ReadLimit()):
        pass
    monkeypatch.setattr(time, "time", lambda: EMITTED_MS / 1000 + 60)
    assert metrics.snapshot()["currentEmitEventTimeLag"]["value"] == EMITTED_MS - MADE_MS
