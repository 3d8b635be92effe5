"""Runs one operator subtask by itself, in a task: no job, no exchange, state on the local disk.

A reader opens it over the state of a savepoint's share. A bootstrap feeds it a dataset, in epochs that keep memory
bounded, and takes the state that is there at the end.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from typing import Any

from penstock.checkpoint.handles import KeyedStateHandle
from penstock.checkpoint.storage import CheckpointStorage
from penstock.common.codecs import compile_codec
from penstock.common.ids import EpochId, OperatorUid
from penstock.common.key_groups import key_group_range
from penstock.common.typeinfo import TypeInformation
from penstock.metrics import MetricGroup
from penstock.operators.base import EpochClock, Operator, OperatorContext, Output
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend
from penstock.state.keyed import StoredKeyedBackend
from penstock.state.operator import MemoryOperatorStateBackend

_EPOCH_ELEMENTS = 50_000


@dataclass(frozen=True)
class Place:
    """Which subtask of which operator."""

    uid: str
    subtask: int
    parallelism: int
    max_parallelism: int

    @property
    def groups(self) -> tuple[int, int]:
        """The first and the last key group of the subtask."""
        groups = key_group_range(self.subtask, self.max_parallelism, self.parallelism)
        return groups[0], groups[-1]


class Discarded(Output):
    """Nobody reads what the operator gives."""

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        """Forgets the elements."""

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        """Forgets the elements."""

    def emit_watermark(self, watermark: int) -> None:
        """Forgets the watermark."""

    def emit_idle(self, idle: bool) -> None:
        """Forgets the idleness."""


@contextmanager
def scratch_storage() -> Iterator[tuple[CheckpointStorage, str]]:
    """Storage that lasts as long as the task, and a folder beside it."""
    folder = tempfile.mkdtemp(prefix="penstock-state-")
    try:
        yield CheckpointStorage(f"{folder}/files", "scratch", durable=False), folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def open_backend(
    place: Place,
    key_type: TypeInformation | None,
    storage: CheckpointStorage,
    folder: str,
    groups: tuple[int, int],
) -> StoredKeyedBackend:
    """Keyed state of one share of the key groups."""
    return open_keyed_backend(
        "lmdb",
        local_dir=folder,
        job_id="state-processor",
        uid=place.uid,
        subtask=place.subtask,
        first_key_group=groups[0],
        last_key_group=groups[1],
        max_parallelism=place.max_parallelism,
        key_codec=compile_codec(key_type),
        storage=storage,
        file_prefix="shared",
    )


def context_for(place: Place, backend: StoredKeyedBackend | None) -> OperatorContext:
    """What an operator is set up with outside of a job."""
    return OperatorContext(
        uid=OperatorUid(place.uid),
        name=place.uid,
        subtask_index=place.subtask,
        parallelism=place.parallelism,
        max_parallelism=place.max_parallelism,
        clock=EpochClock(EpochId(1), 0),
        metrics=MetricGroup(),
        operator_state=MemoryOperatorStateBackend(place.subtask, place.parallelism),
        keyed_state=backend,
        job_name="state-processor",
    )


def run_keyed(
    operator: Operator,
    place: Place,
    key_type: TypeInformation | None,
    elements: Iterable[tuple[Any, int | None]],
    storage: CheckpointStorage,
    folder: str,
) -> KeyedStateHandle:
    """Feeds an operator elements and their timestamps; returns where its keyed state lies."""
    backend = open_backend(place, key_type, storage, folder, place.groups)
    context = context_for(place, backend)
    operator.setup(context, Discarded())
    handle: KeyedStateHandle | None = None
    rest, opened = iter(elements), False
    try:
        while True:
            batch = list(islice(rest, _EPOCH_ELEMENTS))
            if not batch and handle is not None:
                return handle
            epoch = EpochId(context.clock.epoch)
            restore = KeyedStateRestore(EpochId(epoch - 1), *place.groups, (handle,) if handle else ())
            snapshot = backend.begin_epoch(restore, 0)
            if not opened:
                operator.open()
                opened = True
            operator.begin_epoch()
            _feed(operator, batch)
            operator.end_epoch()
            handle = next_handle(restore, snapshot, epoch, backend.end_epoch(epoch))
            context.clock.epoch = EpochId(epoch + 1)
    finally:
        if opened:
            operator.close()
        backend.close()


def _feed(operator: Operator, batch: list[tuple[Any, int | None]]) -> None:
    if not batch:
        return
    timed = batch[0][1] is not None
    times = [time for _, time in batch if time is not None]
    operator.process_batch(0, [value for value, _ in batch], times if timed else None)


def run_unkeyed(operator: Operator, place: Place, elements: Iterable[Any]) -> bytes | None:
    """Feeds an operator elements; returns its operator state."""
    context = context_for(place, None)
    operator.setup(context, Discarded())
    operator.open()
    try:
        operator.begin_epoch()
        rest = iter(elements)
        while batch := list(islice(rest, _EPOCH_ELEMENTS)):
            operator.process_batch(0, batch, None)
        operator.end_epoch()
        return context.operator_state.snapshot()
    finally:
        operator.close()
