"""Files, under PyFlink's names: `FileSource`, `FileSink` and what they are built from."""

from __future__ import annotations

from typing import Any

from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.connectors.file.format import BulkFormat, StreamFormat
from penstock.connectors.file.options import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.connectors.file.sink import BaseBuilder, BulkFormatBuilder, FileSink, RowFormatBuilder
from penstock.connectors.file.source import (
    FileEnumeratorProvider,
    FileSource,
    FileSourceBuilder,
    FileSplitAssignerProvider,
)
from penstock.functions.legacy import SinkFunction

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "StreamFormat",
    "StreamingFileSink",
]


class StreamingFileSink(SinkFunction):
    """Flink 1.x's name for a file sink, for `add_sink`; it is a `FileSink` inside."""

    def __init__(self, j_obj: Any) -> None:
        self.sink_func = j_obj

    class BaseBuilder:
        """Settings that both kinds of format share."""

        def __init__(self, j_builder: Any) -> None:
            self._builder: BaseBuilder = j_builder

        def with_bucket_check_interval(self, interval: int) -> Any:
            """Accepted for compatibility: buckets are checked at the end of every epoch."""
            return self

        def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Any:
            """Which folder an element goes to; a folder per hour if it is not said."""
            self._builder.with_bucket_assigner(bucket_assigner)
            return self

        def with_rolling_policy(self, policy: RollingPolicy) -> Any:
            """When a part file is complete and the next one begins."""
            self._builder.with_rolling_policy(policy)
            return self

        def with_output_file_config(self, output_file_config: OutputFileConfig) -> Any:
            """How part files are named."""
            self._builder.with_output_file_config(output_file_config)
            return self

        def build(self) -> StreamingFileSink:
            """The sink, for `add_sink`."""
            return StreamingFileSink(self._builder.build())

    class DefaultRowFormatBuilder(BaseBuilder):
        """Settings of a row-format sink."""

        def __init__(self, j_default_row_format_builder: Any) -> None:
            super().__init__(j_default_row_format_builder)

        def with_rolling_policy(self, policy: RollingPolicy) -> Any:
            """When a part file is complete and the next one begins."""
            return super().with_rolling_policy(policy)

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Settings of a bulk-format sink."""

        def __init__(self, j_default_bulk_format_builder: Any) -> None:
            super().__init__(j_default_bulk_format_builder)

        def with_rolling_policy(self, policy: RollingPolicy) -> Any:
            """When a part file is complete; bulk formats end their files with every checkpoint."""
            return super().with_rolling_policy(policy)

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Begins a sink that encodes elements one by one.

        Args:
            base_path: The folder that everything is written below.
            encoder: Makes bytes of an element, such as `Encoder.simple_string_encoder()`.
        """
        return StreamingFileSink.DefaultRowFormatBuilder(RowFormatBuilder(base_path, encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Begins a sink that encodes many elements together, such as Parquet.

        Args:
            base_path: The folder that everything is written below.
            writer_factory: Makes the writer of a part file.
        """
        return StreamingFileSink.DefaultBulkFormatBuilder(BulkFormatBuilder(base_path, writer_factory))
