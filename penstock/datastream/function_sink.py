"""Sinks made of functions: `add_sink` of Flink 1.x.

A SinkFunction runs as an operator without output: it is called while the epoch runs, so its effects are seen
at least once (an epoch that is run again calls it again). For exactly-once output write a `Sink`.
"""

from __future__ import annotations

from typing import Any

from penstock.common.errors import TypeMismatchError
from penstock.connectors.sink import Sink
from penstock.datastream.builder import call_site
from penstock.functions.base import RuntimeContext
from penstock.functions.checkpointed import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from penstock.functions.legacy import SinkFunction
from penstock.functions.process import ProcessFunction
from penstock.functions.wrap import as_function

__all__ = ["SinkCaller", "SinkContext", "sink_caller", "sink_or_function"]


class SinkCaller(ProcessFunction):
    """Calls `invoke(value, context)` of a SinkFunction for every element, and emits nothing."""

    def __init__(self, function: SinkFunction) -> None:
        self.user_callable = function

    def open(self, runtime_context: RuntimeContext) -> None:
        """Opens the user's function."""
        self.user_callable.open(runtime_context)
        plain = getattr(self.user_callable, "user_callable", None)
        self._plain = plain is not None  # a plain callable takes the value only
        self._invoke = plain or self.user_callable.invoke

    def close(self) -> None:
        """Closes the user's function."""
        self.user_callable.close()

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        """Hands an element to the user's function."""
        if self._plain:
            self._invoke(value)
        else:
            self._invoke(value, SinkContext(ctx))


class CheckpointedSinkCaller(SinkCaller, CheckpointedFunction):
    """A SinkCaller of a SinkFunction that keeps operator state."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        """Hands the operator's state to the user's function."""
        self.user_callable.initialize_state(context)  # type: ignore[attr-defined]

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """Tells the user's function that a checkpoint is taken."""
        self.user_callable.snapshot_state(context)  # type: ignore[attr-defined]


class SinkContext:
    """What `invoke` may ask about the element at hand."""

    __slots__ = ("_ctx",)

    def __init__(self, ctx: ProcessFunction.Context) -> None:
        self._ctx = ctx

    def current_processing_time(self) -> int:
        """The epoch's processing time."""
        return self._ctx.timer_service().current_processing_time()

    def current_watermark(self) -> int:
        """The event time up to which the sink has seen everything."""
        return self._ctx.timer_service().current_watermark()

    def timestamp(self) -> int:
        """Event time of the element; -2**63 if the stream has no timestamps."""
        return self._ctx.timestamp()


def sink_caller(function: SinkFunction) -> SinkCaller:
    """The process function that calls a SinkFunction."""
    if isinstance(function, CheckpointedFunction):
        return CheckpointedSinkCaller(function)
    return SinkCaller(function)


def sink_or_function(sink_func: Any) -> Sink | SinkFunction:
    """What `add_sink` was given: a Sink, or a function that writes elements one by one."""
    if isinstance(sink_func, SinkFunction) and isinstance(sink_func.__dict__.get("sink_func"), Sink):
        return sink_func.sink_func  # type: ignore[no-any-return]
    if isinstance(sink_func, Sink):
        return sink_func
    if not callable(sink_func) and not isinstance(sink_func, SinkFunction):
        raise TypeMismatchError(
            f"add_sink takes a Sink, a SinkFunction or a callable, got {sink_func!r}",
            where=call_site(),
            do="stream.sink_to(FileSink...)",
        )
    return as_function(sink_func, SinkFunction, where=call_site())  # type: ignore[no-any-return]
