"""Functions that take part in checkpoints (Java API, PyFlink's spelling).

A function of any stream may keep operator state by implementing `CheckpointedFunction` beside its own
interface:

    class Buffering(MapFunction, CheckpointedFunction):
        def initialize_state(self, context):
            self.saved = context.get_operator_state_store().get_list_state(DESCRIPTOR)
            self.buffer = list(self.saved)

        def snapshot_state(self, context):
            self.saved.update(self.buffer)
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from penstock.functions.base import KeyedStateStore, OperatorStateStore

__all__ = [
    "CheckpointListener",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
]


class FunctionInitializationContext(ABC):
    """What a function may ask when its state is set up."""

    @abstractmethod
    def is_restored(self) -> bool:
        """Whether there is state from an earlier checkpoint or savepoint."""

    @abstractmethod
    def get_restored_checkpoint_id(self) -> int | None:
        """Number of that checkpoint, or None."""

    @abstractmethod
    def get_operator_state_store(self) -> OperatorStateStore:
        """State of the subtask: list, union list and broadcast state."""

    @abstractmethod
    def get_keyed_state_store(self) -> KeyedStateStore:
        """State per key, for functions of keyed streams."""


class FunctionSnapshotContext(ABC):
    """Which checkpoint is being taken."""

    @abstractmethod
    def get_checkpoint_id(self) -> int:
        """Its number, which is the number of the epoch it ends."""

    @abstractmethod
    def get_checkpoint_timestamp(self) -> int:
        """The epoch's processing time."""


class CheckpointedFunction(ABC):
    """Implemented beside a function interface by functions that keep operator state."""

    @abstractmethod
    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Called before `open`, with the state of the last checkpoint in place."""

    @abstractmethod
    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called at the end of every epoch: put into state what must survive."""


class CheckpointListener(ABC):
    """Implemented by functions that want to know when a checkpoint is durable."""

    @abstractmethod
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """The checkpoint has been committed. May be left out for single checkpoints; never comes early."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """The checkpoint was given up."""
