"""How an epoch's plan reaches the tasks of RDDs that were made before: beside them, as local properties of the job.

Spark sends a job's local properties with each of its tasks. Small plans travel in the property itself; of large ones
the property names a file in the job's checkpoint storage, which every executor can read anyway.
"""

from __future__ import annotations

import base64
import pickle
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.handles import FileRef
from penstock.checkpoint.storage import CheckpointStorage
from penstock.runtime.plan import LevelPlan

if TYPE_CHECKING:
    from pyspark import SparkContext

INLINE_BYTES = 32 * 1024
_PROPERTY = "penstock.plan"


class PlanDelivery:
    """The driver's side."""

    def __init__(self, context: SparkContext, storage: CheckpointStorage, submission: str) -> None:
        self._context = context
        self._storage = storage
        self._prefix = f"plans/{submission}"
        self._written: list[FileRef] = []

    def send(self, plans: Sequence[LevelPlan]) -> None:
        """Makes the plans known to the jobs that this thread runs from now on: one call of the JVM for all levels."""
        self.discard()
        small = packed(plans)
        sent: bytes | FileRef = small
        if len(small) > INLINE_BYTES:
            sent = self._storage.write_file(f"{self._prefix}-{plans[0].run_id}-{plans[0].epoch}", small)
            self._written.append(sent)
        text = base64.b64encode(pickle.dumps(sent, protocol=5)).decode()
        self._context.setLocalProperty(_PROPERTY, text)

    def discard(self) -> None:
        """Removes the files of the last epoch."""
        while self._written:
            self._storage.discard(self._written.pop())


def packed(plans: Sequence[LevelPlan]) -> bytes:
    """Handles of state are mostly paths, one like the other: a sixth of their size is left."""
    return zlib.compress(pickle.dumps(tuple(plans), protocol=5), 1)


_received: tuple[str, tuple[LevelPlan, ...]] = "", ()
"""The newest plans of this process: a worker runs several tasks of an epoch."""


def receive_plan(level: int, storage: Any) -> LevelPlan:
    """The task's side: the plan of its level; `storage` gives the job's checkpoint storage when it is needed."""
    from pyspark import TaskContext

    global _received
    context = TaskContext.get()
    assert context is not None
    text: Any = context.getLocalProperty(_PROPERTY)
    if _received[0] != text:
        sent = pickle.loads(base64.b64decode(text))
        raw = storage().read_file(sent) if isinstance(sent, FileRef) else sent
        _received = text, pickle.loads(zlib.decompress(raw))
    return _received[1][level]
