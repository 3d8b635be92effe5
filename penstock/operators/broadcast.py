"""Broadcast state: input 0 carries the data, input 1 the elements that every subtask gets.

Only `process_broadcast_element` may change broadcast state, because only it sees the same elements in every
subtask; the data side and timers get a read-only view. The keyed variant may go over all keys of a state with
`ctx.apply_to_keyed_state(descriptor, function)` while handling a broadcast element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.functions.timers import TimeDomain, TimerService
from penstock.operators.element_context import ElementContext
from penstock.operators.failures import raise_user_error
from penstock.operators.function_operator import FunctionOperator
from penstock.operators.keyed import KeyedOperator
from penstock.operators.process import KeyedTimerOperator, UnkeyedProcessOperator
from penstock.state.backend import KeyedStateBackend

if TYPE_CHECKING:
    from penstock.state.descriptors import MapStateDescriptor, StateDescriptor


class ReadOnlyBroadcastView:
    """A broadcast state without the methods that change it."""

    __slots__ = ("_state",)

    def __init__(self, state: Any) -> None:
        self._state = state

    def get(self, key: Any) -> Any:
        return self._state.get(key)

    def contains(self, key: Any) -> bool:
        return self._state.contains(key)

    def keys(self) -> Any:
        return self._state.keys()

    def values(self) -> Any:
        return self._state.values()

    def items(self) -> Any:
        return self._state.items()

    def is_empty(self) -> bool:
        return self._state.is_empty()

    def __getitem__(self, key: Any) -> Any:
        return self._state.get(key)

    def __contains__(self, key: Any) -> bool:
        return self._state.contains(key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._state.keys())

    def __getattr__(self, name: str) -> Any:
        if name in ("put", "put_all", "remove", "clear"):
            raise ValidationError(
                f"broadcast state is read-only here: {name}() was called outside process_broadcast_element",
                do="change it in process_broadcast_element: only there all subtasks see the same elements",
            )
        raise AttributeError(name)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__getattr__("put")

    def __delitem__(self, key: Any) -> None:
        self.__getattr__("remove")


class BroadcastContext(ElementContext):
    """`ctx` of both methods; `states` maps a descriptor's name to the state, or to its read-only view."""

    __slots__ = ("_operator", "_states")

    def __init__(
        self, operator: FunctionOperator, states: dict[str, Any], backend: KeyedStateBackend | None
    ) -> None:
        super().__init__(operator.timer_service, backend)
        self._operator = operator
        self._states = states

    def current_processing_time(self) -> int:
        return self._operator.context.clock.processing_time_ms

    def current_watermark(self) -> int:
        return self._operator.current_watermark

    def timer_service(self) -> TimerService:
        return self._timer_service

    def get_broadcast_state(self, state_descriptor: StateDescriptor) -> Any:
        try:
            return self._states[state_descriptor.name]
        except KeyError:
            raise ValidationError(
                f"broadcast state {state_descriptor.name!r} was not declared",
                do="pass its descriptor to broadcast(...) of the broadcast stream; "
                f"declared: {sorted(self._states)}",
            ) from None

    def apply_to_keyed_state(self, state_descriptor: StateDescriptor, function: Any) -> None:
        """Calls `function(key, state)` (or its `process` method) for every key that has this state."""
        backend = self._backend
        if backend is None:
            raise ValidationError(
                "apply_to_keyed_state on a stream without keys", do="key the data stream first"
            )
        call = getattr(function, "process", None) or function
        state = backend.get_partitioned_state(state_descriptor)
        for key in list(backend.keys(state_descriptor)):
            backend.set_current_key(key)
            call(key, state)


class _BroadcastStates:
    """Mixed into both operators: opens the states and makes the two contexts."""

    descriptors: Sequence[MapStateDescriptor]

    def open_contexts(
        self, operator: FunctionOperator, backend: KeyedStateBackend | None
    ) -> tuple[BroadcastContext, BroadcastContext]:
        store = operator.context.operator_state
        states = {d.name: store.get_broadcast_state(d) for d in self.descriptors}
        views = {name: ReadOnlyBroadcastView(state) for name, state in states.items()}
        return BroadcastContext(operator, views, backend), BroadcastContext(operator, states, backend)


class BroadcastProcessOperator(_BroadcastStates, UnkeyedProcessOperator):
    """Runs a BroadcastProcessFunction."""

    input_count = 2

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor]) -> None:
        super().__init__(function)
        self.descriptors = tuple(descriptors)

    def open(self) -> None:
        super().open()
        self._contexts = self.open_contexts(self, None)

    def process_batch(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        self.element_context = self._contexts[input_index]
        function = self.function
        call = function.process_broadcast_element if input_index else function.process_element
        self.run_process(call, values, timestamps)


class KeyedBroadcastProcessOperator(_BroadcastStates, KeyedTimerOperator):
    """Runs a KeyedBroadcastProcessFunction."""

    input_count = 2

    def __init__(self, function: Any, descriptors: Sequence[MapStateDescriptor], key_selector: Any) -> None:
        KeyedOperator.__init__(self, function, key_selector, None)
        self.descriptors = tuple(descriptors)

    def open(self) -> None:
        super().open()
        self.element_context, self._broadcast_context = self.open_contexts(self, self.backend)

    def process_elements(self, input_index: int, values: list[Any], timestamps: list[int] | None) -> None:
        if input_index == 0:
            self.run_process(self.function.process_element, self.key_selectors[0], values, timestamps)
        else:
            self._process_broadcast(values, timestamps)

    def _process_broadcast(self, values: list[Any], timestamps: list[int] | None) -> None:
        ctx, call, results = self._broadcast_context, self.function.process_broadcast_element, self.results
        ctx.domain = TimeDomain.EVENT_TIME
        value = None
        try:
            for index, value in enumerate(values):
                if timestamps is not None:
                    ctx.timestamp_ms = timestamps[index]
                results.add_all(call(value, ctx), ctx.timestamp_ms)
        except Exception as error:
            raise_user_error(error, self.context, self.function, value)
        results.flush(timestamped=timestamps is not None)
