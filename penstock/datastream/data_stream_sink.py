"""`DataStreamSink`: the end of a stream, with the settings of its sink operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.datastream.settings import OperatorSettings

if TYPE_CHECKING:
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.graph.transformations import Transformation

__all__ = ["DataStreamSink"]


class DataStreamSink(OperatorSettings):
    """What `sink_to`, `add_sink` and `print` return."""

    def __init__(self, environment: StreamExecutionEnvironment, transformation: Transformation) -> None:
        self._environment = environment
        self._transformation = transformation
