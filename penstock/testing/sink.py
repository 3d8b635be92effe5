"""A sink for tests of whole jobs that keeps what was committed, and only that."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Sequence
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from penstock.connectors.sink import Committer, Sink, SinkWriter, WriterContext

__all__ = ["CollectingSink"]


class CollectingSink(Sink):
    """`results()` are all committed elements, by epoch and subtask; each exactly once, or the job is wrong.

    They are kept in a folder, so that they outlive failures of the job; name one to find them again in
    another process.
    """

    def __init__(self, folder: str | None = None) -> None:
        self.folder = folder or tempfile.mkdtemp(prefix="penstock-collecting-sink-")

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> SinkWriter:
        """Called by the runtime in a task, for every epoch."""
        return _CollectingWriter(context)

    def create_committer(self) -> Committer:
        """Called by the runtime in the driver: publishes what epochs have written."""
        return _CollectingCommitter(self.folder)

    def results(self) -> list[Any]:
        """The committed values so far."""
        values: list[Any] = []
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".committed"):
                with open(os.path.join(self.folder, name), "rb") as file:
                    values.extend(pickle.load(file))
        return values


class _CollectingWriter(SinkWriter):
    def __init__(self, context: WriterContext) -> None:
        self._name = f"{context.epoch:08d}-{context.subtask_index:04d}"
        self._values: list[Any] = []

    def write(self, values: list[Any], timestamps: list[int] | None) -> None:
        self._values.extend(values)

    def prepare_commit(self, end_of_input: bool) -> Sequence[Any]:
        return [(self._name, cloudpickle.dumps(self._values))] if self._values else []


class _CollectingCommitter(Committer):
    def __init__(self, folder: str) -> None:
        self._folder = folder

    def commit(self, committables: Sequence[Any]) -> None:
        os.makedirs(self._folder, exist_ok=True)
        for name, data in committables:
            path = os.path.join(self._folder, name)
            with open(path + ".part", "wb") as file:
                file.write(data)
            os.replace(path + ".part", path + ".committed")
