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
from penstock.functions.legacy import SinkFunction
from penstock.functions.process import ProcessFunction
from penstock.functions.wrap import as_function

__all__ = ["SinkCaller", "sink_or_function"]


class SinkCaller(ProcessFunction):
    """Calls `invoke(value, context)` of a SinkFunction for every element, and emits nothing."""

    def __init__(self, function: SinkFunction) -> None:
        self.user_callable = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self.user_callable.open(runtime_context)
        plain = getattr(self.user_callable, "user_callable", None)
        self._plain = plain is not None  # a plain callable takes the value only
        self._invoke = plain or self.user_callable.invoke

    def close(self) -> None:
        self.user_callable.close()

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
        if self._plain:
            self._invoke(value)
        else:
            self._invoke(value, ctx)


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
