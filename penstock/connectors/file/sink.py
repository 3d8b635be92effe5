"""Writing files, exactly once: `FileSink`.

Records go to buckets (folders), in each bucket to part files. A part file grows over several epochs until
the rolling policy says that it is complete; it becomes visible with the epoch that completes it. `parts.py`
draws how. Bulk formats cannot be continued, so their part files are complete with every epoch.

An idle job runs no epochs: a part that is complete by age or inactivity becomes visible with the next epoch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.common.errors import ValidationError
from penstock.common.serialization import BulkWriterFactory, Encoder
from penstock.connectors.file.committer import FileCommitter
from penstock.connectors.file.options import (
    BucketAssigner,
    DateTimeBucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from penstock.connectors.file.writer import FileWriter
from penstock.connectors.sink import Sink, WriterContext

__all__ = ["FileSink"]


class FileSink(Sink):
    """Writes part files below a base path; built by `for_row_format` or `for_bulk_format`."""

    def __init__(
        self,
        base_path: str,
        encoder: Encoder | None,
        bulk_factory: BulkWriterFactory | None,
        bucket_assigner: BucketAssigner,
        rolling_policy: RollingPolicy,
        output_file_config: OutputFileConfig,
        compact_strategy: FileCompactStrategy | None = None,
        compactor: FileCompactor | None = None,
    ) -> None:
        self.base_path = base_path
        self.encoder = encoder
        self.bulk_factory = bulk_factory
        self.bucket_assigner = bucket_assigner
        self.rolling_policy = rolling_policy
        self.output_file_config = output_file_config
        self.compact_strategy = compact_strategy
        self.compactor = compactor

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> RowFormatBuilder:
        """Files to which records are added one by one, such as lines of text.

        Example:
            ```python
            sink = (
                FileSink.for_row_format("/data/out", Encoder.simple_string_encoder())
                .with_output_file_config(OutputFileConfig.builder().with_part_suffix(".txt").build())
                .build()
            )
            ```
        """
        return RowFormatBuilder(base_path, encoder)

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> BulkFormatBuilder:
        """Files that are written whole, such as Parquet."""
        return BulkFormatBuilder(base_path, writer_factory)

    def create_writer(self, context: WriterContext, restored: Sequence[Any] = ()) -> FileWriter:
        return FileWriter(self, context, restored)

    def create_committer(self) -> FileCommitter:
        return FileCommitter(self.base_path)

    def get_transformer(self) -> None:
        """Nothing has to be done to a stream before it is written."""
        return None


class BaseBuilder:
    """Settings that both kinds of format share."""

    def __init__(self, base_path: str) -> None:
        self._base_path = str(base_path)
        self._encoder: Encoder | None = None
        self._factory: BulkWriterFactory | None = None
        self._bucket_assigner: BucketAssigner = DateTimeBucketAssigner()
        self._output_file_config = OutputFileConfig()
        self._rolling_policy: RollingPolicy = OnCheckpointRollingPolicy()
        self._strategy: FileCompactStrategy | None = None
        self._compactor: FileCompactor | None = None

    def with_bucket_check_interval(self, interval: int) -> Any:
        """Accepted for compatibility: buckets are checked at the end of every epoch."""
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Any:
        self._bucket_assigner = bucket_assigner
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Any:
        self._output_file_config = output_file_config
        return self

    def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Any:
        """Merges complete part files before they become visible."""
        self._strategy, self._compactor = strategy, compactor
        return self

    def disable_compact(self) -> Any:
        self._strategy = self._compactor = None
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Any:
        self._rolling_policy = rolling_policy
        return self

    def build(self) -> FileSink:
        return FileSink(
            self._base_path,
            self._encoder,
            self._factory,
            self._bucket_assigner,
            self._rolling_policy,
            self._output_file_config,
            self._strategy,
            self._compactor,
        )


class RowFormatBuilder(BaseBuilder):
    """Settings of a row-format sink. By default a folder per hour and Flink's default rolling policy."""

    def __init__(self, base_path: str, encoder: Encoder) -> None:
        super().__init__(base_path)
        if not callable(getattr(encoder, "encode", None)):
            raise ValidationError(
                f"{encoder!r} is not an Encoder",
                do="use Encoder.simple_string_encoder(), or subclass Encoder",
            )
        self._encoder = encoder
        self._rolling_policy = DefaultRollingPolicy()


class BulkFormatBuilder(BaseBuilder):
    """Settings of a bulk-format sink."""

    def __init__(self, base_path: str, writer_factory: BulkWriterFactory) -> None:
        super().__init__(base_path)
        if not callable(getattr(writer_factory, "create", None)):
            raise ValidationError(f"{writer_factory!r} is not a BulkWriterFactory")
        self._factory = writer_factory

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> BulkFormatBuilder:
        if not isinstance(rolling_policy, OnCheckpointRollingPolicy):
            raise ValidationError(
                "a bulk format needs a rolling policy that rolls on every checkpoint",
                do="use RollingPolicy.on_checkpoint_rolling_policy()",
            )
        self._rolling_policy = rolling_policy
        return self


# PyFlink nests the builders in the sink.
FileSink.BaseBuilder = BaseBuilder  # type: ignore[attr-defined]
FileSink.RowFormatBuilder = RowFormatBuilder  # type: ignore[attr-defined]
FileSink.BulkFormatBuilder = BulkFormatBuilder  # type: ignore[attr-defined]
