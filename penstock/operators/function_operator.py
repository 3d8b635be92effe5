"""Base of operators that run a user's function: its lifecycle, and what it carries from epoch to epoch.

`open()` of a function runs once per process and subtask. What its constructor set and it changes later
(`self.count += 1`) is carried with the operator's state; what `open()` made is a resource of the process and
is not. `functions/carried.py` tells the two apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.functions.base import RuntimeContext
from penstock.functions.carried import CarriedState
from penstock.functions.checkpointed import CheckpointedFunction
from penstock.operators.base import Operator
from penstock.operators.checkpoint_context import InitializationContext, SnapshotContext
from penstock.operators.failures import raise_user_error
from penstock.operators.runtime_context import StreamingRuntimeContext
from penstock.operators.timer_service import KeyedTimerService, UnkeyedTimerService


class FunctionOperator(Operator):
    """Opens, closes and remembers the user's functions; a subclass calls them."""

    def __init__(self, function: Any) -> None:
        self.function = function

    def functions(self) -> dict[str, Any]:
        """The user's objects that have a lifecycle, by a stable name."""
        return {"function": self.function}

    def context_for(self, name: str) -> RuntimeContext:
        """What the function of that name is opened with."""
        return self.runtime_context

    def open(self) -> None:
        self.runtime_context = StreamingRuntimeContext(self.context)
        self.timer_service = self._make_timer_service()
        functions = self.functions()
        self._carried = {name: CarriedState(function) for name, function in functions.items()}
        for name, function in functions.items():
            self._initialize_state(function)
            self._lifecycle(function, "open", self.context_for(name))
            self._carried[name].after_open()

    def close(self) -> None:
        for function in self.functions().values():
            self._lifecycle(function, "close")

    def function_state(self) -> Any:
        states = {name: carried.snapshot() for name, carried in self._carried.items()}
        states = {name: state for name, state in states.items() if state is not None}
        return states or None

    def restore_function_state(self, state: Any) -> None:
        for name, carried in self._carried.items():
            # None too: a process that ran an epoch which never committed must forget what it changed.
            carried.restore(state.get(name) if state else None)

    def end_epoch(self) -> None:
        """The end of an epoch is a checkpoint: functions that keep operator state put it in place."""
        for function in self.functions().values():
            if isinstance(function, CheckpointedFunction):
                self._lifecycle(function, "snapshot_state", SnapshotContext(self.context))

    def initialize_again(self) -> None:
        for function in self.functions().values():
            self._initialize_state(function)

    def accumulators(self) -> dict[str, Any]:
        """The accumulators that the user's functions added, by name."""
        context = getattr(self, "runtime_context", None)  # an operator that had ended is never opened
        return {} if context is None else context.accumulators

    def _initialize_state(self, function: Any) -> None:
        if isinstance(function, CheckpointedFunction):
            context = InitializationContext(self.context, self.runtime_context)
            self._lifecycle(function, "initialize_state", context)

    def _make_timer_service(self) -> UnkeyedTimerService:
        backend = self.context.keyed_state
        return UnkeyedTimerService(self) if backend is None else KeyedTimerService(self, backend)

    def _lifecycle(self, function: Any, method: str, *arguments: Any) -> None:
        call = getattr(function, method, None)
        if call is None:
            return
        try:
            call(*arguments)
        except Exception as error:
            raise_user_error(error, self.context, function, during=f"{method}()")


def bound(function: Any, method: str) -> Callable[..., Any]:
    """The callable to run: the object's method, or the object itself if it is a plain callable."""
    return getattr(function, method, None) or function
