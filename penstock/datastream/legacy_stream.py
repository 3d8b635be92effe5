"""Methods of Flink 1.x's DataStream: those with a clear meaning today are accepted, each naming the modern
spelling; the others are refused with the way out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.errors import NotSupportedError
from penstock.datastream.builder import call_site, deprecated

if TYPE_CHECKING:
    from penstock.datastream.data_stream_sink import DataStreamSink
    from penstock.datastream.stream_execution_environment import StreamExecutionEnvironment
    from penstock.datastream.windowed_stream import AllWindowedStream

__all__ = ["LegacyStream"]


class LegacyStream:
    """Part of `DataStream`."""

    _environment: StreamExecutionEnvironment

    def time_window_all(self, size: Any, slide: Any = None) -> AllWindowedStream:
        """Windows of the environment's time over the whole stream."""
        from penstock.datastream.windowed_stream import time_window_assigner

        deprecated("time_window_all(...)", "window_all(TumblingEventTimeWindows.of(size))")
        assigner = time_window_assigner(self._environment, size, slide)
        return self.window_all(assigner)  # type: ignore[attr-defined, no-any-return]

    def write_as_text(self, path: str) -> DataStreamSink:
        """Lines of text in part files under `path`."""
        from penstock.common.serialization import Encoder
        from penstock.datastream.connectors.file_system import FileSink

        deprecated("write_as_text(path)", "sink_to(FileSink.for_row_format(path, encoder).build())")
        sink = FileSink.for_row_format(path, Encoder.simple_string_encoder()).build()
        return self.sink_to(sink)  # type: ignore[attr-defined, no-any-return]

    def iterate(self, *args: Any) -> Any:
        """Refused: Flink removed iterations in 2.0."""
        raise NotSupportedError("iterate()", "Flink removed DataStream iterations in 2.0", where=call_site())

    def split(self, output_selector: Any) -> Any:
        """Refused: Flink removed it in 1.12."""
        raise NotSupportedError(
            "split()",
            "Flink replaced it by side outputs",
            where=call_site(),
            do="yield tag, value in a ProcessFunction and call get_side_output(tag)",
        )

    def fold(self, initial_value: Any, folder: Any) -> Any:
        """Refused: Flink removed it in 1.12."""
        raise NotSupportedError(
            "fold()",
            "Flink replaced it by aggregate",
            where=call_site(),
            do="use an AggregateFunction, or reduce()",
        )
