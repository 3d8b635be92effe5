"""What a `CheckpointedFunction` is told when its state is set up and when a checkpoint is taken."""

from __future__ import annotations

from typing import Any

from penstock.functions.base import KeyedStateStore
from penstock.functions.checkpointed import FunctionInitializationContext, FunctionSnapshotContext
from penstock.operators.base import OperatorContext
from penstock.operators.runtime_context import StreamingRuntimeContext


class InitializationContext(FunctionInitializationContext):
    """Operator state is in place when a function gets this."""

    def __init__(self, context: OperatorContext, runtime: StreamingRuntimeContext) -> None:
        self._context = context
        self._runtime = runtime
        self._restored = context.restored or context.clock.epoch > 1

    def is_restored(self) -> bool:
        return self._restored

    def get_restored_checkpoint_id(self) -> int | None:
        return self._context.clock.epoch - 1 if self._restored else None

    def get_operator_state_store(self) -> Any:
        return self._context.operator_state

    def get_keyed_state_store(self) -> KeyedStateStore:
        return self._runtime


class SnapshotContext(FunctionSnapshotContext):
    """The checkpoint that ends the current epoch."""

    def __init__(self, context: OperatorContext) -> None:
        self._clock = context.clock

    def get_checkpoint_id(self) -> int:
        return self._clock.epoch

    def get_checkpoint_timestamp(self) -> int:
        return self._clock.processing_time_ms
