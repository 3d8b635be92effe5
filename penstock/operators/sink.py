"""Hands elements to a sink's writer, and the writer's committables to the driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.checkpoint.epoch_files import EpochFiles
from penstock.common.codecs import compile_codec
from penstock.common.points import Point, reach
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.sink import Sink, SinkWriter, WriterContext
from penstock.operators.base import Operator


class SinkOperator(Operator):
    """One writer per epoch. Elements are brought to their declared type first, as at every edge of a job."""

    def __init__(self, sink: Sink, element_type: TypeInformation | None) -> None:
        self._sink = sink
        self._element_type = element_type
        self._writer: SinkWriter | None = None
        self._writer_states: list[Any] = []
        self._ended = False
        self.committables: tuple[Any, ...] = ()

    def open(self) -> None:
        self._normalize = None if self._element_type is None else compile_codec(self._element_type).normalize

    def begin_epoch(self) -> None:
        c = self.context
        self.committables = ()
        self._writer = self._sink.create_writer(
            WriterContext(
                subtask_index=c.subtask_index,
                parallelism=c.parallelism,
                epoch=c.clock.epoch,
                attempt=c.clock.attempt,
                processing_time_ms=c.clock.processing_time_ms,
                job_id=c.job_id,
                type_info=self._element_type,
                files=None if c.storage is None else EpochFiles(c.storage, c.uid, c.clock.epoch),
            ),
            self._writer_states,
        )

    @property
    def writer(self) -> SinkWriter:
        assert self._writer is not None, "begin_epoch comes first"
        return self._writer

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if self._normalize is not None:
            values = [self._normalize(value) for value in values]
        self.writer.write(values, timestamps)

    def advance(self, watermark: int) -> None:
        self.writer.on_watermark(watermark)

    def finish(self) -> None:
        self._ended = True

    def end_epoch(self) -> None:
        reach(Point.SINK_NEXT)
        self.committables = tuple(self.writer.prepare_commit(self._ended))
        reach(Point.SINK_PREPARED)
        state = self.writer.snapshot()
        self._writer_states = [] if state is None else [state]
        # From here on the driver may commit what was written: a failure of the next epoch, which may come before
        # that epoch has its writer, must not undo it. If this epoch fails elsewhere, the output is left over.
        self._writer = None

    def abort(self) -> None:
        """The epoch failed in this task, before `end_epoch` or after it."""
        if self._writer is not None:
            self._writer.abort()

    def snapshot(self) -> Any:
        return {**super().snapshot(), "writer": self._writer_states}

    def restore(self, states: Sequence[Any]) -> None:
        super().restore(states)
        self._writer_states = [w for state in states for w in state["writer"]]
