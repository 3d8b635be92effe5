"""What users subclass to read state by key, and to fill state for a new job.

Readers yield rows; bootstrap functions only fill state and return nothing. All of them are opened with a runtime
context that gives the states, exactly as in the job.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from penstock.functions.base import Function
from penstock.functions.checkpointed import CheckpointedFunction, FunctionSnapshotContext
from penstock.functions.timers import TimerService
from penstock.state.descriptors import BroadcastState, MapStateDescriptor

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "StateBootstrapFunction",
    "WindowReaderFunction",
]


class KeyedStateReaderFunction(Function):
    """Reads the states of an operator key by key; ask for them in `open()`, as the job's function does."""

    class Context:
        """The timers of the key at hand."""

        @abstractmethod
        def registered_event_time_timers(self) -> set[int]:
            """Times of its event-time timers."""

        @abstractmethod
        def registered_processing_time_timers(self) -> set[int]:
            """Times of its processing-time timers."""

    @abstractmethod
    def read_key(self, key: Any, ctx: KeyedStateReaderFunction.Context) -> Iterable[Any] | None:
        """Called once for every key that has a value in one of the states; yields what shall be in the result."""


class WindowReaderFunction(Function):
    """Reads the contents of windows."""

    class Context:
        """The window at hand."""

        @abstractmethod
        def window(self) -> Any:
            """The window."""

    @abstractmethod
    def read_window(
        self, key: Any, context: WindowReaderFunction.Context, elements: list[Any]
    ) -> Iterable[Any] | None:
        """Called once per key and window. `elements` are those of the window, or the one that they came to."""


class KeyedStateBootstrapFunction(Function):
    """Fills keyed state and timers from the elements of a dataset."""

    class Context:
        """Valid during one call."""

        @abstractmethod
        def timer_service(self) -> TimerService:
            """Registers timers for the key of the element."""

        @abstractmethod
        def get_current_key(self) -> Any:
            """The key of the element."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        """Called for every element, with the states set to its key."""


class StateBootstrapFunction(CheckpointedFunction, Function):
    """Fills operator state (list and union list state): get it in `initialize_state`."""

    @abstractmethod
    def process_element(self, value: Any, ctx: Any) -> None:
        """Called for every element."""

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Called after the last element."""


class BroadcastStateBootstrapFunction(Function):
    """Fills broadcast state."""

    class Context:
        """Gives the broadcast states."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
            """The state of a descriptor."""

    @abstractmethod
    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        """Called for every element."""
