"""Reading files: once (a static set of files), or on and on as new files appear.

The enumerator lists the paths, in the driver; folders are walked recursively, hidden names left out. A file
is one split, a large file of a splittable format several. A continuously monitored folder is listed again
every interval; which paths were seen is kept in the checkpoint. As in Flink a path is read once: a file that
changes after it was found is not read again, so move finished files into the folder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.errors import ExternalSystemError, MalformedRecordError, ValidationError
from penstock.common.time import Duration, to_millis
from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file.filesystem import FileStatus, FileSystem
from penstock.connectors.file.format import (
    BulkFormat,
    FileFormat,
    FileSourceSplit,
    RecordReader,
    StreamFormat,
    is_compressed,
)
from penstock.connectors.seen_files import SeenFiles
from penstock.connectors.source import (
    Boundedness,
    EnumeratorContext,
    ReadLimit,
    Source,
    SourceBatch,
    SourceReader,
    SourceSplit,
    SplitEnumerator,
)

__all__ = ["FileEnumeratorProvider", "FileSource", "FileSourceBuilder", "FileSplitAssignerProvider"]

SPLIT_BYTES = 64 * 1024 * 1024
"""Size of the parts of a large file. Smaller files keep their records in order, in one subtask."""


@dataclass(frozen=True)
class FileEnumeratorProvider:
    """How files become splits."""

    split_files: bool

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Large files are cut into parts where format and compression allow it."""
        return FileEnumeratorProvider(True)

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Each file is one split."""
        return FileEnumeratorProvider(False)


@dataclass(frozen=True)
class FileSplitAssignerProvider:
    """Who reads which split. Spark places the work here, so there is nothing to choose."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Kept, without effect here: any subtask may read any file."""
        return FileSplitAssignerProvider()


class FileSource(Source):
    """Reads files of one format; built by `for_record_stream_format` or `for_bulk_file_format`."""

    def __init__(
        self,
        file_format: FileFormat,
        paths: Sequence[str],
        interval_ms: int | None = None,
        split_files: bool = True,
    ) -> None:
        self.file_format = file_format
        self.paths = tuple(paths)
        self.interval_ms = interval_ms
        self.split_files = split_files

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Reads files with a record-by-record format, such as `StreamFormat.text_line_format()`.

        Example:
            ```python
            source = (
                FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/logs")
                .monitor_continuously(Duration.of_seconds(5))
                .build()
            )
            lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "logs")
            ```
        """
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Reads files with a block-by-block format, such as Parquet."""
        return FileSourceBuilder(bulk_format, paths)

    @property
    def boundedness(self) -> Boundedness:
        """Bounded, unless new files are looked for."""
        return Boundedness.BOUNDED if self.interval_ms is None else Boundedness.CONTINUOUS_UNBOUNDED

    def create_enumerator(self, context: EnumeratorContext, restored: Any = None) -> FileSplitEnumerator:
        return FileSplitEnumerator(self, seen=restored)

    def create_reader(self) -> FileSourceReader:
        return FileSourceReader(self)

    def produced_type(self) -> TypeInformation | None:
        return self.file_format.get_produced_type()


class FileSourceBuilder:
    """Settings of a `FileSource`; a static set of files unless `monitor_continuously` is called."""

    def __init__(self, file_format: FileFormat, paths: Sequence[str]) -> None:
        if not isinstance(file_format, FileFormat):
            raise ValidationError(
                f"{file_format!r} is not a file format", do="use e.g. StreamFormat.text_line_format()"
            )
        if not paths:
            raise ValidationError("a FileSource needs at least one path")
        self._format = file_format
        self._paths = paths
        self._interval_ms: int | None = None
        self._enumerator = FileEnumeratorProvider.default_splittable_file_enumerator()

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """Looks for new files every `discovery_interval`; the source never ends."""
        interval_ms = to_millis(discovery_interval)
        if interval_ms <= 0:
            raise ValidationError(f"the discovery interval must be positive, got {discovery_interval}")
        self._interval_ms = interval_ms
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """Reads the files that are there when the job starts, then ends."""
        self._interval_ms = None
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Whether large files are cut into parts."""
        self._enumerator = file_enumerator
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Accepted for compatibility: there is one assigner."""
        return self

    def build(self) -> FileSource:
        """The source; the paths are looked at when the job starts."""
        return FileSource(self._format, self._paths, self._interval_ms, self._enumerator.split_files)


class FileSplitEnumerator(SplitEnumerator):
    """Finds files. `seen` is None before the first listing, later the snapshot of what was reported."""

    def __init__(self, source: FileSource, seen: Any = None, clock: Callable[[], float] = time.time) -> None:
        self._source = source
        self._filesystems = [FileSystem(path) for path in source.paths]
        self._seen = None if seen is None else SeenFiles(seen)
        self._clock = clock
        self._next_listing_ms: float = 0

    @property
    def no_more_splits(self) -> bool:
        return self._source.interval_ms is None and self._seen is not None

    def discover(self) -> Sequence[SourceSplit]:
        interval_ms = self._source.interval_ms
        now_ms = self._clock() * 1000
        if self._seen is not None and (interval_ms is None or now_ms < self._next_listing_ms):
            return ()
        seen = self._seen or SeenFiles()
        new: dict[str, tuple[int, FileStatus]] = {}  # remembered only when all listings have succeeded
        for index, filesystem in enumerate(self._filesystems):
            for status in filesystem.list_files(filesystem.root):
                if status.path not in seen:
                    new.setdefault(status.path, (index, status))
        splits = [split for index, status in new.values() for split in self._split(index, status)]
        for path in new:
            seen.add(path)
        self._seen = seen
        self._next_listing_ms = now_ms + (interval_ms or 0)
        return splits

    def _split(self, index: int, status: FileStatus) -> Iterator[FileSourceSplit]:
        whole = FileSourceSplit(f"{index}:{status.path}", status.path)
        source = self._source
        cuts = source.split_files and source.file_format.splittable and not is_compressed(status.path)
        if not cuts or status.size <= SPLIT_BYTES:
            yield whole
            return
        for start in range(0, status.size, SPLIT_BYTES):
            end = start + SPLIT_BYTES if start + SPLIT_BYTES < status.size else None
            yield replace(whole, split_id=f"{whole.split_id}@{start}", start=start, end=end)

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit:
        return ReadLimit(split_ends=True)

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        if self._source.interval_ms is None:
            return None
        return max(now_ms, int(self._next_listing_ms))

    @property
    def remembers_splits(self) -> bool:
        return True

    def snapshot(self) -> Any:
        return None if self._seen is None else self._seen.snapshot()


class FileSourceReader(SourceReader):
    """Keeps the readers of splits that the last epoch left unfinished, so as not to open files again."""

    def __init__(self, source: FileSource) -> None:
        self._format = source.file_format
        self._filesystems = [FileSystem(path) for path in source.paths]
        self._open: dict[str, RecordReader] = {}

    def read(self, split: SourceSplit, position: Any, limit: ReadLimit) -> Iterator[SourceBatch]:
        assert isinstance(split, FileSourceSplit)
        reader = self._reader(split, position)
        while True:
            # Not kept while it works: after an error or a kill in the middle its state is unknown.
            values = self._next_batch(reader, split)
            if values is None:
                reader.close()
                return
            self._open[split.split_id] = reader
            yield SourceBatch(values, None, reader.position)
            self._open.pop(split.split_id, None)

    def _reader(self, split: FileSourceSplit, position: Any) -> RecordReader:
        kept = self._open.pop(split.split_id, None)
        if kept is not None:
            if position is not None and kept.position == position:
                return kept
            kept.close()
        filesystem = self._filesystems[int(split.split_id.partition(":")[0])]
        try:
            return self._format.open(filesystem, split, position)
        except OSError as error:
            raise _unreadable(split, error) from error

    def _next_batch(self, reader: RecordReader, split: FileSourceSplit) -> list[Any] | None:
        try:
            return reader.next_batch()
        except MalformedRecordError:
            raise
        except (OSError, EOFError) as error:
            raise _unreadable(split, error) from error

    def close(self) -> None:
        for reader in self._open.values():
            reader.close()
        self._open.clear()


def _unreadable(split: FileSourceSplit, error: BaseException) -> ExternalSystemError:
    return ExternalSystemError(
        f"cannot read '{split.path}': {error}",
        where=f"file source, split {split.split_id}",
        do="the file must stay where and as it is until the job has read it",
    )
