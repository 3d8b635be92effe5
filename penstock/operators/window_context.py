"""What triggers, assigners, evictors and window functions see of the window operator.

Each kind has one context object per operator whose `current` window the operator changes. State is kept apart
by where it belongs: a window function's per-window state, its global state and a trigger's state may all use
one name, so the first and the last get a prefix.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import ValidationError
from penstock.functions.base import KeyedStateStore, RuntimeContext
from penstock.state.backend import KeyedStateBackend
from penstock.state.descriptors import StateDescriptor
from penstock.windowing.assigner import WindowAssigner
from penstock.windowing.evictors import Evictor
from penstock.windowing.trigger import Trigger

if TYPE_CHECKING:
    from penstock.metrics import MetricGroup
    from penstock.operators.window import WindowOperator


class _Prefixed:
    """Descriptors under a name of their own, made once per name."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._known: dict[str, StateDescriptor] = {}

    def of(self, descriptor: StateDescriptor) -> StateDescriptor:
        renamed = self._known.get(descriptor.name)
        if renamed is None:
            renamed = copy.copy(descriptor)
            renamed.name = self._prefix + descriptor.name
            self._known[descriptor.name] = renamed
        return renamed


class TriggerContext(Trigger.OnMergeContext):
    """Acts on the current key and `window`; while windows merge, `merged` are the former ones."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._backend = operator.backend
        self._clock = operator.context.clock
        self._descriptors = _Prefixed("trigger:")
        self.window: Any = None
        self.merged: Sequence[Any] = ()

    def get_current_processing_time(self) -> int:
        return self._clock.processing_time_ms

    def get_metric_group(self) -> MetricGroup:
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        return self._operator.current_watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._backend.processing_timers.register(time, self.window)

    def register_event_time_timer(self, time: int) -> None:
        self._backend.event_timers.register(time, self.window)

    def delete_processing_time_timer(self, time: int) -> None:
        self._backend.processing_timers.delete(time, self.window)

    def delete_event_time_timer(self, time: int) -> None:
        self._backend.event_timers.delete(time, self.window)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        self._backend.set_current_namespace(self.window)
        return self._backend.get_partitioned_state(self._descriptors.of(state_descriptor), namespaced=True)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        descriptor = self._descriptors.of(state_descriptor)
        self._backend.get_partitioned_state(descriptor, namespaced=True)
        self._backend.merge_namespaces(descriptor, self.window, self.merged)


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """The clock, and the operator's runtime context (count windows keep their counter there)."""

    def __init__(self, operator: WindowOperator) -> None:
        self._clock = operator.context.clock
        self._runtime_context = operator.runtime_context

    def get_current_processing_time(self) -> int:
        return self._clock.processing_time_ms

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime_context


class EvictorContext(Evictor.EvictorContext):
    """The clock, the watermark and metrics."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock.processing_time_ms

    def get_metric_group(self) -> MetricGroup:
        return self._operator.context.metrics

    def get_current_watermark(self) -> int:
        return self._operator.current_watermark


class WindowContext:
    """Context of ProcessWindowFunction and ProcessAllWindowFunction."""

    def __init__(self, operator: WindowOperator) -> None:
        self._operator = operator
        self._window: Any = None
        self._window_state = _WindowStateStore(self, operator)
        self._global_state = _GlobalStateStore(operator.backend)

    def at(self, window: Any) -> WindowContext:
        self._window = window
        return self

    def window(self) -> Any:
        return self._window

    def current_processing_time(self) -> int:
        return self._operator.context.clock.processing_time_ms

    def current_watermark(self) -> int:
        return self._operator.current_watermark

    def window_state(self) -> KeyedStateStore:
        return self._window_state

    def global_state(self) -> KeyedStateStore:
        return self._global_state


class _GlobalStateStore(KeyedStateStore):
    """State of the key, whatever the window."""

    def __init__(self, backend: KeyedStateBackend) -> None:
        self._backend = backend

    def _get(self, descriptor: StateDescriptor) -> Any:
        return self._backend.get_partitioned_state(descriptor)

    def get_state(self, state_descriptor: Any) -> Any:
        return self._get(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._get(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._get(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._get(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._get(state_descriptor)


class _WindowStateStore(_GlobalStateStore):
    """State of the key and the window."""

    def __init__(self, context: WindowContext, operator: WindowOperator) -> None:
        super().__init__(operator.backend)
        self._context = context
        self._operator = operator
        self._descriptors = _Prefixed("window:")

    def _get(self, descriptor: StateDescriptor) -> Any:
        if self._operator.is_merging:
            raise ValidationError(
                f"per-window state {descriptor.name!r} with merging windows",
                where=f"window operator {self._operator.context.name!r}",
                do="use global_state(): a session's window changes as it grows",
            )
        self._backend.set_current_namespace(self._context.window())
        return self._backend.get_partitioned_state(self._descriptors.of(descriptor), namespaced=True)
