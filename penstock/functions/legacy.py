"""`SourceFunction` and `SinkFunction` of Flink 1.x: shells around what reads and writes today.

A SourceFunction wraps a `Source`; one that produces elements in a loop of its own cannot be replayed and is
refused by `add_source`. A SinkFunction wraps a `Sink`, a callable, or is subclassed with `invoke`.
"""

from __future__ import annotations

from typing import Any

from penstock.functions.base import Function

__all__ = ["SinkFunction", "SourceFunction"]


class SourceFunction(Function):
    """What `env.add_source` took in Flink 1.x."""

    def __init__(self, source_func: Any = None) -> None:
        self.source_func = source_func


class SinkFunction(Function):
    """What `stream.add_sink` took in Flink 1.x: `invoke` is called for every element, at least once."""

    def __init__(self, sink_func: Any = None) -> None:
        self.sink_func = sink_func

    def invoke(self, value: Any, context: Any = None) -> None:
        """Writes one element. After a failure elements of an unfinished epoch are written again."""
        if self.sink_func is None:
            raise TypeError(f"{type(self).__name__} must override invoke(value, context)")
        self.sink_func(value)
