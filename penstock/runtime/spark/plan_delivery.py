"""How an epoch's plan reaches the tasks of RDDs that were made before: beside them, as local properties of the job.

Spark sends a job's local properties with each of its tasks. Small plans travel in the property itself; of large ones
the property names a file in the job's checkpoint storage, which every executor can read anyway.
"""

from __future__ import annotations

import base64
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.storage import CheckpointStorage
from penstock.runtime.plan import LevelPlan

if TYPE_CHECKING:
    from pyspark import SparkContext

INLINE_BYTES = 16 * 1024
_PROPERTY = "penstock.plan."


class PlanDelivery:
    """The driver's side."""

    def __init__(self, context: SparkContext, storage: CheckpointStorage, submission: str) -> None:
        self._context = context
        self._storage = storage
        self._prefix = f"plans/{submission}"
        self._written: list[FileRef] = []

    def send(self, plans: Sequence[LevelPlan]) -> None:
        """Makes the plans known to the jobs that this thread runs from now on."""
        self.discard()
        for plan in plans:
            packed = pickle.dumps(plan, protocol=5)
            sent: bytes | FileRef = packed
            if len(packed) > INLINE_BYTES:
                name = f"{self._prefix}-{plan.run_id}-{plan.epoch}-{plan.level}"
                sent = self._storage.write_file(name, packed)
                self._written.append(sent)
            text = base64.b85encode(pickle.dumps(sent, protocol=5)).decode()
            self._context.setLocalProperty(f"{_PROPERTY}{plan.level}", text)

    def discard(self) -> None:
        """Removes the files of the last epoch."""
        while self._written:
            self._storage.discard(self._written.pop())


_received: dict[int, tuple[str, LevelPlan]] = {}
"""By level, the newest plan of this process: a worker runs several tasks of a level."""


def receive_plan(level: int, storage: Any) -> LevelPlan:
    """The task's side: the plan of its level; `storage` gives the job's checkpoint storage when it is needed."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    text: Any = context.getLocalProperty(f"{_PROPERTY}{level}")
    known = _received.get(level)
    if known is not None and known[0] == text:
        return known[1]
    sent = pickle.loads(base64.b85decode(text))
    packed = storage().read_file(sent) if isinstance(sent, FileRef) else sent
    plan: LevelPlan = pickle.loads(packed)
    _received[level] = text, plan
    return plan
