"""Choices of a file sink: which bucket, when a part file is complete, how it is called, how parts are merged."""

from __future__ import annotations

import datetime
import shutil
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO
from zoneinfo import ZoneInfo

from penstock.common.errors import ValidationError
from penstock.connectors.java_dates import to_strftime

__all__ = [
    "BucketAssigner",
    "BucketContext",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "PartFileInfo",
    "RollingPolicy",
]


@dataclass(frozen=True)
class BucketContext:
    """What a bucket assigner may know besides the element. Processing time is the epoch's."""

    timestamp: int | None
    current_processing_time: int
    current_watermark: int


class BucketAssigner(ABC):
    """Chooses the folder, below the base path, that an element goes to."""

    @abstractmethod
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        """The folder's name; "" is the base path itself, '/' makes folders in folders."""

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """All files lie in the base path."""
        return BasePathBucketAssigner()

    @staticmethod
    def date_time_bucket_assigner(
        format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None
    ) -> BucketAssigner:
        """A folder per hour (or as the pattern says) of processing time."""
        return DateTimeBucketAssigner(format_str, timezone_id)


class BasePathBucketAssigner(BucketAssigner):
    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return ""


class DateTimeBucketAssigner(BucketAssigner):
    """Buckets by the epoch's processing time; an epoch's elements therefore share a bucket."""

    def __init__(self, format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> None:
        self._strftime = to_strftime(format_str)
        self._zone = ZoneInfo(timezone_id) if timezone_id else None

    def get_bucket_id(self, element: Any, context: BucketContext) -> str:
        return self.bucket_at(context.current_processing_time)

    def bucket_at(self, time_ms: int) -> str:
        moment = datetime.datetime.fromtimestamp(time_ms / 1000, tz=datetime.timezone.utc)
        return moment.astimezone(self._zone).strftime(self._strftime)


@dataclass(frozen=True)
class PartFileInfo:
    """What is known of an unfinished part file; times are processing times."""

    bucket_id: str
    size: int
    creation_time_ms: int
    last_update_time_ms: int


class RollingPolicy(ABC):
    """Says when a part file is complete. Asked after each batch, and at the end of each epoch."""

    @abstractmethod
    def should_roll_on_event(self, part: PartFileInfo) -> bool:
        """Asked after records were added."""

    @abstractmethod
    def should_roll_on_checkpoint(self, part: PartFileInfo, now_ms: int) -> bool:
        """Asked at the end of an epoch, whether or not the epoch had records for this part."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128,
        rollover_interval: int = 60 * 1000,
        inactivity_interval: int = 60 * 1000,
    ) -> DefaultRollingPolicy:
        """By size in bytes, age, and time without records (milliseconds)."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Part files are complete at the end of each epoch."""
        return OnCheckpointRollingPolicy()


@dataclass(frozen=True)
class DefaultRollingPolicy(RollingPolicy):
    """Complete when large, old, or without new records for a while."""

    part_size: int = 1024 * 1024 * 128
    rollover_interval: int = 60 * 1000
    inactivity_interval: int = 60 * 1000

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            if getattr(self, name) <= 0:
                raise ValidationError(f"{name} must be positive, got {getattr(self, name)}")

    def should_roll_on_event(self, part: PartFileInfo) -> bool:
        return part.size > self.part_size

    def should_roll_on_checkpoint(self, part: PartFileInfo, now_ms: int) -> bool:
        return (
            part.size > self.part_size
            or now_ms - part.creation_time_ms >= self.rollover_interval
            or now_ms - part.last_update_time_ms >= self.inactivity_interval
        )


@dataclass(frozen=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """Complete at the end of each epoch."""

    def should_roll_on_event(self, part: PartFileInfo) -> bool:
        return False

    def should_roll_on_checkpoint(self, part: PartFileInfo, now_ms: int) -> bool:
        return True


@dataclass(frozen=True)
class OutputFileConfig:
    """Part files are called `<prefix>-<writer id>-<number><suffix>`."""

    part_prefix: str = "part"
    part_suffix: str = ""

    @staticmethod
    def builder() -> OutputFileConfigBuilder:
        """Begins the names of part files.

        >>> config = OutputFileConfig.builder().with_part_prefix("orders").with_part_suffix(".csv").build()
        >>> config.get_part_prefix(), config.get_part_suffix()
        ('orders', '.csv')
        """
        return OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """What names of part files begin with."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """What names of part files end with."""
        return self.part_suffix


class OutputFileConfigBuilder:
    """Settings of an `OutputFileConfig`."""

    def __init__(self) -> None:
        self._prefix = "part"
        self._suffix = ""

    def with_part_prefix(self, prefix: str) -> OutputFileConfigBuilder:
        """What names of part files begin with; "part" if it is not said."""
        self._prefix = prefix
        return self

    def with_part_suffix(self, suffix: str) -> OutputFileConfigBuilder:
        """What names of part files end with, the dot included."""
        self._suffix = suffix
        return self

    def build(self) -> OutputFileConfig:
        """The names as set so far."""
        return OutputFileConfig(self._prefix, self._suffix)


OutputFileConfig.OutputFileConfigBuilder = OutputFileConfigBuilder  # type: ignore[attr-defined]


@dataclass(frozen=True)
class FileCompactStrategy:
    """When complete part files are merged: after so many epochs, or when together they are large enough."""

    num_checkpoints_before_compaction: int = -1
    size_threshold: int = -1

    @staticmethod
    def builder() -> FileCompactStrategyBuilder:
        """Begins a strategy; it needs one condition at least."""
        return FileCompactStrategyBuilder()


class FileCompactStrategyBuilder:
    """Settings of a `FileCompactStrategy`; at least one of the two conditions is needed."""

    def __init__(self) -> None:
        self._num_checkpoints = -1
        self._size_threshold = -1

    def enable_compaction_on_checkpoint(
        self, num_checkpoints_before_compaction: int
    ) -> FileCompactStrategyBuilder:
        """Merges a bucket's files when they have waited for so many checkpoints."""
        if num_checkpoints_before_compaction <= 0:
            raise ValidationError(
                f"the number of checkpoints must be positive, got {num_checkpoints_before_compaction}"
            )
        self._num_checkpoints = num_checkpoints_before_compaction
        return self

    def set_size_threshold(self, size_threshold: int) -> FileCompactStrategyBuilder:
        """Merges a bucket's files as soon as they have so many bytes together."""
        self._size_threshold = size_threshold
        return self

    def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategyBuilder:
        """Accepted for compatibility: the writer's task does the work."""
        if num_compact_threads <= 0:
            raise ValidationError(f"the number of threads must be positive, got {num_compact_threads}")
        return self

    def build(self) -> FileCompactStrategy:
        """The strategy; files are merged when any of its conditions is true.

        Raises:
            ValidationError: No condition was set.
        """
        if self._num_checkpoints < 0 and self._size_threshold < 0:
            raise ValidationError(
                "a FileCompactStrategy needs a condition",
                do="call enable_compaction_on_checkpoint(...) or set_size_threshold(...)",
            )
        return FileCompactStrategy(self._num_checkpoints, self._size_threshold)


FileCompactStrategy.Builder = FileCompactStrategyBuilder  # type: ignore[attr-defined]


class FileCompactor(ABC):
    """Merges complete part files into one."""

    merges = True

    @abstractmethod
    def compact(self, inputs: Sequence[BinaryIO], output: BinaryIO) -> None:
        """Writes what is in `inputs`, in order, to `output`."""

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One file's bytes after the other's, with `file_delimiter` between them. For row formats."""
        return ConcatFileCompactor(file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Leaves each file as it is."""
        return IdenticalFileCompactor()


class ConcatFileCompactor(FileCompactor):
    def __init__(self, file_delimiter: bytes | None = None) -> None:
        self.file_delimiter = file_delimiter or b""

    def compact(self, inputs: Sequence[BinaryIO], output: BinaryIO) -> None:
        for index, stream in enumerate(inputs):
            if index:
                output.write(self.file_delimiter)
            shutil.copyfileobj(stream, output, 1 << 20)


class IdenticalFileCompactor(FileCompactor):
    merges = False

    def compact(self, inputs: Sequence[BinaryIO], output: BinaryIO) -> None:
        for stream in inputs:
            shutil.copyfileobj(stream, output, 1 << 20)
