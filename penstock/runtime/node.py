"""One operator inside a running stage: its valve on the input side, its fan-out on the output side."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from penstock.common.ids import MAX_WATERMARK
from penstock.operators.base import Operator, Output
from penstock.runtime.batch_sort import KeySortedBuffer
from penstock.runtime.exchange import END, IDLE, LATENCY, WATERMARK, ChannelStatus, Mark
from penstock.runtime.valve import Valve

if TYPE_CHECKING:
    import pyarrow as pa

    from penstock.runtime.compaction import Compactor
    from penstock.runtime.latency import LatencyOf
    from penstock.runtime.sampling import Tap


class NodeOutput(Output):
    """Fans an operator's results out to operators of the same stage and to exchanges, per side output."""

    def __init__(self, batch_mode: bool) -> None:
        self._batch_mode = batch_mode
        self._consumers: dict[str | None, list[tuple[NodeRuntime, int]]] = {}
        self._writers: dict[str | None, list[Any]] = {}
        self._channels: list[tuple[NodeRuntime, Hashable]] = []
        self.status = ChannelStatus()
        self.records = 0
        self.tap: Tap | None = None

    def connect(self, tag_id: str | None, node: NodeRuntime, input_index: int, channel: Hashable) -> None:
        self._consumers.setdefault(tag_id, []).append((node, input_index))
        self._channels.append((node, channel))

    def begin_epoch(self, writers: dict[str | None, list[Any]], run: int = 0) -> None:
        self._writers = writers
        self.records = 0
        status = ChannelStatus(self.status.watermark, self.status.idle, self.status.ended, run)
        for group in writers.values():
            for writer in group:
                writer.begin(status)
        for node, channel in self._channels:
            node.announce(channel, self.status)

    def emit(self, values: list[Any], timestamps: list[int] | None) -> None:
        if values:
            self.records += len(values)
            if self.tap is not None:
                self.tap.values(values)
            self._deliver(None, values, timestamps)

    def emit_table(self, table: pa.Table) -> None:
        if table.num_rows:
            self.records += table.num_rows
            if self.tap is not None:
                self.tap.table(table)
            for node, input_index in self._consumers.get(None, ()):
                node.receive_table(input_index, table)
            for writer in self._writers.get(None, ()):
                writer.route_table(table)

    def emit_side(self, tag_id: str, values: list[Any], timestamps: list[int] | None) -> None:
        if values:
            self._deliver(tag_id, values, timestamps)

    def _deliver(self, tag_id: str | None, values: list[Any], timestamps: list[int] | None) -> None:
        for node, input_index in self._consumers.get(tag_id, ()):
            node.receive(input_index, values, timestamps)
        for writer in self._writers.get(tag_id, ()):
            writer.route(values, timestamps)

    def emit_watermark(self, watermark: int) -> None:
        if watermark <= self.status.watermark or (self._batch_mode and watermark != MAX_WATERMARK):
            return
        self.status = ChannelStatus(watermark, self.status.idle, self.status.ended)
        self._announce_mark(WATERMARK, watermark)

    def emit_idle(self, idle: bool) -> None:
        if idle != self.status.idle:
            self.status = ChannelStatus(self.status.watermark, idle, self.status.ended)
            self._announce_mark(IDLE, int(idle))

    def emit_end(self) -> None:
        if not self.status.ended:
            self.status = ChannelStatus(self.status.watermark, self.status.idle, True)
            self._announce_mark(END, 0)

    def emit_latency(self, marker: int) -> None:
        """Sends a marker on its way."""
        for node, channel in self._channels:
            node.receive_mark(channel, LATENCY, marker)
        for group in self._writers.values():
            for writer in group:
                writer.mark_one(LATENCY, marker)

    def _announce_mark(self, kind: int, value: int) -> None:
        for node, channel in self._channels:
            node.receive_mark(channel, kind, value)
        for group in self._writers.values():
            for writer in group:
                writer.mark(kind, value)


class NodeRuntime:
    """Feeds one operator: elements, the combined watermark of its channels, and the end of its inputs."""

    def __init__(self, operator: Operator, output: NodeOutput, sorter: KeySortedBuffer | None = None) -> None:
        self.operator = operator
        self.output = output
        self.valve = Valve()
        self.records = 0
        self.tap: Tap | None = None
        self.snapshot_ms = 0.0
        self.compactor: Compactor | None = None
        self.opened = False
        self.latency: LatencyOf | None = None
        self._sorter = sorter
        self._edge_inputs: dict[Hashable, int] = {}
        self._process = operator.process_batch if sorter is None else sorter.add
        self._unsorted_inputs: frozenset[int] = frozenset()

    def leave_unsorted(self, inputs: frozenset[int]) -> None:
        """Inputs without a key (a broadcast side) go straight to the operator even in BATCH mode."""
        self._unsorted_inputs = inputs

    def register(self, channel: Hashable, input_index: int) -> None:
        self._edge_inputs[channel] = input_index

    def announce(self, channel: Hashable, status: ChannelStatus) -> None:
        self.valve.announce(channel, self._edge_inputs[channel], status)

    @property
    def ended(self) -> bool:
        return self.output.status.ended

    def receive(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        self.records += len(values)
        if self.tap is not None:
            self.tap.values(values)
        if input_index in self._unsorted_inputs:
            self.operator.process_batch(input_index, values, timestamps)
        else:
            self._process(input_index, values, timestamps)

    def receive_table(self, input_index: int, table: pa.Table) -> None:
        self.records += table.num_rows
        if self.tap is not None:
            self.tap.table(table)
        self.operator.process_table(input_index, table)

    def receive_mark(self, channel: Hashable, kind: int, value: int) -> None:
        if kind == WATERMARK:
            self._move(self.valve.advance(channel, value))
        elif kind == IDLE:
            self._move(self.valve.set_idle(channel, bool(value)))
            self.operator.on_idle(self.valve.all_idle)
        elif kind == LATENCY:
            self._note_latency(value)
        elif self.valve.end(channel):
            if self._sorter is None:
                self.operator.end_input(self._edge_inputs[channel])
            if self.valve.all_ended:
                self._finish()

    def _note_latency(self, marker: int) -> None:
        context = self.operator.context
        if self.latency is not None:
            self.latency.note(marker, context.metrics, str(context.uid), context.subtask_index)
        self.output.emit_latency(marker)

    def receive_from(self, channel: Hashable, mark: Mark) -> None:
        self.receive_mark(channel, mark.kind, mark.value)

    def _move(self, watermark: int | None) -> None:
        if watermark is not None and self._sorter is None:
            self.operator.on_watermark(watermark)

    def _finish(self) -> None:
        if self._sorter is not None:
            for input_index, values, timestamps in self._sorter.batches():
                self.operator.process_batch(input_index, values, timestamps)
            self.operator.on_watermark(MAX_WATERMARK)
            for input_index in sorted(set(self._edge_inputs.values())):
                self.operator.end_input(input_index)
        self.end()

    def end(self) -> None:
        """The operator has seen everything: it finishes, and so does its output."""
        self.operator.finish()
        self.operator.end_epoch()
        self.output.emit_watermark(MAX_WATERMARK)
        self.output.emit_end()
