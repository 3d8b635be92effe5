"""Runs one operator without Spark: push elements and watermarks, look at what comes out.

>>> from penstock.operators.process import KeyedProcessOperator
>>> from penstock.functions import KeyedProcessFunction
>>> from penstock.state.descriptors import ValueStateDescriptor
>>> from penstock.common.typeinfo import Types
>>> class Count(KeyedProcessFunction):
...     def open(self, runtime_context):
...         self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
...     def process_element(self, value, ctx):
...         self.count.update((self.count.value() or 0) + 1)
...         yield value, self.count.value()
>>> harness = KeyedOneInputOperatorTestHarness(KeyedProcessOperator(Count(), lambda v: v))
>>> harness.process_elements(["a", "b", "a"])
>>> saved = harness.snapshot()                  # ends the epoch, as a checkpoint does
>>> harness.extract_output_values()
[('a', 1), ('b', 1), ('a', 2)]
>>> again = KeyedOneInputOperatorTestHarness(KeyedProcessOperator(Count(), lambda v: v), restore=saved)
>>> again.process_element("a")
>>> again.extract_output_values()
[('a', 3)]

A harness runs one subtask. To change the parallelism, take the snapshots of all old subtasks and give the list
to each new one: `restore=[saved_0, saved_1], subtask=0, parallelism=3`.
"""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from penstock.checkpoint.handles import KeyedStateHandle
from penstock.checkpoint.storage import MemoryFiles
from penstock.common.codecs import compile_codec
from penstock.common.ids import MAX_WATERMARK, EpochId, OperatorUid
from penstock.common.key_groups import key_group_range
from penstock.common.typeinfo import TypeInformation
from penstock.metrics import MetricGroup
from penstock.operators.base import EpochClock, Operator, OperatorContext
from penstock.state.backend import KeyedStateRestore, next_handle
from penstock.state.factory import open_keyed_backend
from penstock.state.operator import MemoryOperatorStateBackend
from penstock.testing.output import CollectingOutput, Idleness, StreamRecord, WatermarkMark

__all__ = [
    "HarnessSnapshot",
    "KeyedOneInputOperatorTestHarness",
    "KeyedTwoInputOperatorTestHarness",
    "OneInputOperatorTestHarness",
    "TwoInputOperatorTestHarness",
]


@dataclass(frozen=True)
class HarnessSnapshot:
    """State of one subtask at the end of an epoch."""

    epoch: int
    keyed: KeyedStateHandle | None
    operator_state: bytes | None
    function_state: bytes | None
    runtime_state: bytes
    files: MemoryFiles


class _Harness:
    """What all harnesses share. The operator is pickled first, as it would be on its way to a worker."""

    keyed = False

    def __init__(
        self,
        operator: Operator,
        *,
        key_type: TypeInformation | None = None,
        subtask: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        batch_mode: bool = False,
        restore: HarnessSnapshot | Sequence[HarnessSnapshot] = (),
        configuration: Mapping[str, str] | None = None,
        processing_time_ms: int = 0,
        backend: str = "memory",
        local_dir: str = "",
    ) -> None:
        snapshots = [restore] if isinstance(restore, HarnessSnapshot) else list(restore)
        self.operator: Operator = pickle.loads(cloudpickle.dumps(operator))
        self.output = CollectingOutput()
        self.clock = EpochClock(EpochId(0), processing_time_ms)
        self._subtask, self._parallelism = subtask, parallelism
        self._files = snapshots[0].files if snapshots else MemoryFiles()
        groups = key_group_range(subtask, max_parallelism, parallelism)
        self._groups = (groups[0], groups[-1])
        self._backend = None
        if self.keyed:
            self._backend = open_keyed_backend(
                backend,
                local_dir=local_dir,
                job_id="harness",
                uid="operator",
                subtask=subtask,
                first_key_group=groups[0],
                last_key_group=groups[-1],
                max_parallelism=max_parallelism,
                key_codec=compile_codec(key_type),
                storage=self._files,
                file_prefix=f"operator/{subtask}-{parallelism}",
            )
        self.context = OperatorContext(
            uid=OperatorUid("operator"),
            name=type(operator).__name__,
            subtask_index=subtask,
            parallelism=parallelism,
            max_parallelism=max_parallelism,
            clock=self.clock,
            metrics=MetricGroup(),
            operator_state=MemoryOperatorStateBackend(),
            keyed_state=self._backend,
            batch_mode=batch_mode,
            configuration=configuration or {},
        )
        self.operator.setup(self.context, self.output)
        self._start(snapshots)

    # -- driving --------------------------------------------------------------------------------------------

    def set_processing_time(self, now_ms: int) -> None:
        """Moves processing time; due timers fire. Every step of time is an epoch of its own."""
        self.end_epoch()
        self.clock.processing_time_ms = now_ms
        self._begin_epoch()

    def end_epoch(self) -> HarnessSnapshot:
        """Ends the epoch and returns its snapshot; the next call begins a new one."""
        if self._in_epoch:
            self._close_epoch()
        return self._last

    def cut(self) -> None:
        """Ends this epoch and begins the next: results must not depend on where this is done."""
        self.end_epoch()
        self._begin_epoch()

    def snapshot(self) -> HarnessSnapshot:
        """The state after an epoch that ends here; the harness goes on in the next epoch."""
        saved = self.end_epoch()
        self._begin_epoch()
        return saved

    def abort_epoch(self) -> None:
        """Forgets all since the last snapshot and goes on from there, as after a failure."""
        if self._backend is not None:
            self._backend.abort_epoch()
        self._in_epoch = False
        self._restore([self._last] if self._last is not None else [])
        self._begin_epoch(warm=False)

    def close(self) -> None:
        """Ends the epoch and closes the operator."""
        self.end_epoch()
        self.operator.close()
        if self._backend is not None:
            self._backend.close()

    # -- output ---------------------------------------------------------------------------------------------

    def get_output(self) -> list[StreamRecord | WatermarkMark | Idleness]:
        """Elements and watermarks so far, in order."""
        return list(self.output.events)

    def extract_output_values(self) -> list[Any]:
        """The values of the elements so far."""
        return [event.value for event in self.output.events if isinstance(event, StreamRecord)]

    def get_side_output(self, tag: Any) -> list[StreamRecord]:
        """What went to a side output, by OutputTag or its id."""
        return list(self.output.side.get(getattr(tag, "tag_id", tag), ()))

    def clear_output(self) -> None:
        """Forgets what was emitted so far."""
        self.output.clear()

    def counter(self, name: str) -> int:
        """The value of a counter of the operator, such as numLateRecordsDropped."""
        return self.context.metrics.counter(name).get_count()

    # -- inside ---------------------------------------------------------------------------------------------

    def _start(self, snapshots: list[HarnessSnapshot]) -> None:
        self._in_epoch = False
        self._snapshots = snapshots
        self._last: HarnessSnapshot = None  # type: ignore[assignment]
        self.clock.epoch = EpochId(max((s.epoch for s in snapshots), default=0))
        self._opened = False
        self._begin_epoch(warm=False)

    def _begin_epoch(self, warm: bool = True) -> None:
        committed = self.clock.epoch
        self.clock.epoch = EpochId(committed + 1)
        if self._backend is not None:
            handles = tuple(s.keyed for s in self._snapshots if s.keyed is not None)
            self._keyed_restore = KeyedStateRestore(EpochId(committed), *self._groups, handles)
            self._keyed_snapshot = self._backend.begin_epoch(
                self._keyed_restore, self.clock.processing_time_ms
            )
        if not warm:
            self._restore(self._snapshots)
        self.operator.begin_epoch()
        self._in_epoch = True
        self.operator.on_processing_time()

    def _restore(self, snapshots: list[HarnessSnapshot]) -> None:
        states = [s.operator_state for s in snapshots if s.operator_state is not None]
        self.context.operator_state.restore(states, self._subtask, self._parallelism)
        if not self._opened:
            self.operator.open()
            self._opened = True
        if snapshots:
            self.clock.epoch = EpochId(max(self.clock.epoch, *(s.epoch for s in snapshots)))
            self.operator.restore([pickle.loads(s.runtime_state) for s in snapshots])
            if len(snapshots) == 1 and snapshots[0].function_state is not None:
                self.operator.restore_function_state(pickle.loads(snapshots[0].function_state))
        self._input_watermarks = [self.operator.current_watermark] * self.operator.input_count

    def _close_epoch(self) -> None:
        self.operator.end_epoch()
        runtime = pickle.dumps(self.operator.snapshot(), 5)
        function = self.operator.function_state()
        epoch = self.clock.epoch
        keyed = None
        if self._backend is not None:
            delta = self._backend.end_epoch(epoch)
            keyed = next_handle(self._keyed_restore, self._keyed_snapshot, epoch, delta)
        self._last = HarnessSnapshot(
            epoch,
            keyed,
            self.context.operator_state.snapshot(),
            None if function is None else pickle.dumps(function, 5),
            runtime,
            self._files,
        )
        self._snapshots = [self._last]
        self._in_epoch = False

    def _elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        self._ensure_epoch()
        self.operator.process_batch(input_index, copy.copy(values), copy.copy(timestamps))

    def _ensure_epoch(self) -> None:
        if not self._in_epoch:
            self._begin_epoch()

    def _watermark(self, input_index: int, watermark: int) -> None:
        self._ensure_epoch()
        if watermark <= self._input_watermarks[input_index]:
            return
        self._input_watermarks[input_index] = watermark
        combined = min(self._input_watermarks)
        if combined > self.operator.current_watermark:
            self.operator.on_watermark(combined)


class OneInputOperatorTestHarness(_Harness):
    """For operators with one input and no keyed state."""

    def process_element(self, value: Any, timestamp: int | None = None) -> None:
        """One element; without a timestamp the stream has none."""
        self._elements(0, [value], None if timestamp is None else [timestamp])

    def process_elements(self, values: list[Any], timestamps: list[int] | None = None) -> None:
        """Several elements in one batch."""
        self._elements(0, values, timestamps)

    def process_watermark(self, watermark: int) -> None:
        """Event time moves on; timers up to it fire."""
        self._watermark(0, watermark)

    def end_input(self) -> None:
        """The input ends: MAX watermark, end_input, finish."""
        self._watermark(0, MAX_WATERMARK)
        self.operator.end_input(0)
        self.operator.finish()


class KeyedOneInputOperatorTestHarness(OneInputOperatorTestHarness):
    """For operators with one keyed input."""

    keyed = True


class TwoInputOperatorTestHarness(_Harness):
    """For operators with two inputs and no keyed state."""

    def process_element1(self, value: Any, timestamp: int | None = None) -> None:
        """An element arrives at the first input."""
        self._elements(0, [value], None if timestamp is None else [timestamp])

    def process_element2(self, value: Any, timestamp: int | None = None) -> None:
        """An element arrives at the second input."""
        self._elements(1, [value], None if timestamp is None else [timestamp])

    def process_watermark1(self, watermark: int) -> None:
        """A watermark arrives at the first input."""
        self._watermark(0, watermark)

    def process_watermark2(self, watermark: int) -> None:
        """A watermark arrives at the second input."""
        self._watermark(1, watermark)

    def process_both_watermarks(self, watermark: int) -> None:
        """The same watermark arrives at both inputs."""
        self._watermark(0, watermark)
        self._watermark(1, watermark)

    def end_input(self) -> None:
        """Both inputs end."""
        self.process_both_watermarks(MAX_WATERMARK)
        self.operator.end_input(0)
        self.operator.end_input(1)
        self.operator.finish()


class KeyedTwoInputOperatorTestHarness(TwoInputOperatorTestHarness):
    """For operators with two keyed inputs (or a keyed and a broadcast one)."""

    keyed = True
