"""Methods of Flink 1.x's environment that have a clear meaning today; each names the modern spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.common.configuration import Configuration
from penstock.common.errors import NotSupportedError, TypeMismatchError
from penstock.common.typeinfo import TypeInformation
from penstock.common.watermark_strategy import WatermarkStrategy
from penstock.connectors.source import Source
from penstock.datastream.builder import call_site, deprecated
from penstock.datastream.state_backend import StateBackend
from penstock.datastream.time_characteristic import TimeCharacteristic
from penstock.functions.legacy import SourceFunction

if TYPE_CHECKING:
    from penstock.common.restart_strategy import RestartStrategyConfiguration
    from penstock.datastream.stream import DataStream

__all__ = ["LegacyEnvironment"]


class LegacyEnvironment:
    """Part of `StreamExecutionEnvironment`."""

    _configuration: Configuration
    _time_characteristic = TimeCharacteristic.EventTime

    def add_source(
        self, source_func: Any, source_name: str = "Custom Source", type_info: TypeInformation | None = None
    ) -> DataStream:
        """Reads a Source, or a SourceFunction that wraps one."""
        wrapped = source_func.source_func if isinstance(source_func, SourceFunction) else source_func
        if isinstance(wrapped, Source):
            return self._add_source(  # type: ignore[attr-defined, no-any-return]
                source_name, wrapped, WatermarkStrategy.no_watermarks(), type_info
            )
        if isinstance(source_func, SourceFunction):
            raise NotSupportedError(
                f"the SourceFunction {type(source_func).__name__}",
                "a loop that emits elements cannot be replayed after a failure",
                where=call_site(),
                do="write a Source (splits, positions) and use from_source(...)",
            )
        raise TypeMismatchError(f"add_source takes a Source, got {source_func!r}", where=call_site())

    def read_text_file(self, file_path: str, charset_name: str = "UTF-8") -> DataStream:
        """Lines of the files under a path."""
        from penstock.common.typeinfo import Types
        from penstock.datastream.connectors.file_system import FileSource, StreamFormat

        deprecated(
            "read_text_file(path)", "from_source(FileSource.for_record_stream_format(...).build(), ...)"
        )
        line_format = StreamFormat.text_line_format(charset_name)
        source = FileSource.for_record_stream_format(line_format, file_path).build()
        return self._add_source(  # type: ignore[attr-defined, no-any-return]
            "Read Text File Source", source, WatermarkStrategy.no_watermarks(), Types.STRING()
        )

    def socket_text_stream(
        self, hostname: str, port: int, delimiter: str = "\n", max_retry: int = 0
    ) -> DataStream:
        """Lines from a TCP server (Java API); read by one subtask."""
        from penstock.common.typeinfo import Types
        from penstock.connectors.socket.source import SocketSource

        return self._add_source(  # type: ignore[attr-defined, no-any-return]
            "Socket Stream",
            SocketSource(hostname, port, delimiter, max_retry),
            WatermarkStrategy.no_watermarks(),
            Types.STRING(),
            parallel=False,
        )

    def generate_sequence(self, start: int, end: int) -> DataStream:
        """The numbers from `start` to `end`, both included."""
        deprecated("generate_sequence(start, end)", "from_source(NumberSequenceSource(start, end), ...)")
        return self.from_sequence(start, end)  # type: ignore[attr-defined, no-any-return]

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> None:
        """How the job restarts after a failure."""
        deprecated(
            "set_restart_strategy(...)", "the options restart-strategy.type and restart-strategy.<type>.*"
        )
        restart_strategy_configuration.apply_to(self._configuration)

    def set_state_backend(self, state_backend: StateBackend) -> Any:
        """Where working state lives."""
        deprecated("set_state_backend(...)", "the option state.backend.type")
        for key, value in state_backend.entries().items():
            self._configuration.set_string(key, value)
        return self

    def set_stream_time_characteristic(self, characteristic: TimeCharacteristic) -> None:
        """Which time `time_window` means. Assigners and timers say themselves which time they use."""
        deprecated(
            "set_stream_time_characteristic(...)",
            "event-time or processing-time window assigners and a WatermarkStrategy",
        )
        if characteristic is TimeCharacteristic.IngestionTime:
            raise NotSupportedError(
                "ingestion time",
                "Flink removed it in 2.0",
                where=call_site(),
                do="use a WatermarkStrategy whose assigner takes the current time",
            )
        self._time_characteristic = characteristic

    def get_stream_time_characteristic(self) -> TimeCharacteristic:
        """Which time `time_window` means."""
        return self._time_characteristic
