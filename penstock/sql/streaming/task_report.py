"""What a stage of a streaming query tells the driver.

Each stage is a function from record batches to record batches for `mapInArrow`, made in the driver for one epoch.
What it learns (positions, watermarks, state handles) goes into an accumulator as `TaskReport`s. A task that Spark
runs twice reports twice; both reports describe the same committed input, so either will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from penstock.checkpoint.handles import KeyedStateHandle
from penstock.runtime.plan import SplitProgress

Batches = Iterator[pa.RecordBatch]
Stage = Callable[[Batches], Batches]


@dataclass
class TaskReport:
    """What one subtask of a node has to say about an epoch."""

    uid: str
    subtask: int
    splits: tuple[SplitProgress, ...] = ()
    keyed: KeyedStateHandle | None = None
    watermark: int | None = None
    records_in: int = 0
    records_out: int = 0
    metrics: dict[str, int] = field(default_factory=dict)
    next_wakeup_ms: int | None = None
    advanced: int | None = None
    """The watermark an operator has been advanced to."""
    busy_ms: float = 0.0
    """Processor time; the clock on the wall would also count the waiting for Spark."""


@dataclass(frozen=True)
class Chain:
    """Stages that follow each other without leaving the Python process."""

    stages: tuple[Stage, ...]

    def __call__(self, batches: Batches) -> Batches:
        for stage in self.stages:
            batches = stage(batches)
        return batches
