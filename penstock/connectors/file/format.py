"""What a file format has to say: how a part of a file becomes records, from any position.

A format opens a `RecordReader` on a split, at a position that an earlier reader reported (None: the split's
beginning). The position after a batch must be enough to go on exactly behind it, in any process. The reader
object itself is kept between epochs where possible, so that going on in the same process costs nothing.

`StreamFormat` and `BulkFormat` are Flink's two names: formats that are read record by record from a byte
stream, and formats whose files come in blocks of records. The difference does not matter here.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.common.typeinfo import TypeInformation
from penstock.connectors.file.filesystem import FileSystem
from penstock.connectors.source import SourceSplit

if TYPE_CHECKING:
    from penstock.connectors.file.text import TextLineFormat

__all__ = ["BulkFormat", "FileFormat", "FileSourceSplit", "RecordReader", "StreamFormat", "is_compressed"]


@dataclass(frozen=True)
class FileSourceSplit(SourceSplit):
    """The bytes `start` to `end` (excluded) of a file; `end` None: to the end of the file.

    Which records begin in that range is for the format to say. `start` is 0 and `end` None where the format
    or the compression does not allow to begin in the middle.
    """

    path: str
    start: int = 0
    end: int | None = None


class RecordReader(ABC):
    """Reads one split. `position` is always the place behind the last batch that was handed out."""

    position: Any = None

    @abstractmethod
    def next_batch(self) -> list[Any] | None:
        """The next records (a few thousand at most, possibly none), or None at the end of the split."""

    def close(self) -> None:
        """Releases the file; may never come."""
        return None


class FileFormat(ABC):
    """Base of all formats; picklable."""

    splittable = False

    @abstractmethod
    def open(self, filesystem: FileSystem, split: FileSourceSplit, position: Any) -> RecordReader:
        """A reader that stands at `position`."""

    def get_produced_type(self) -> TypeInformation | None:
        """Type of the records, if known."""
        return None


class StreamFormat(FileFormat):
    """A format that is read as a stream of bytes. `StreamFormat.text_line_format()` gives lines."""

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> TextLineFormat:
        """Lines ended by LF, CR or CR LF; the last one need not be ended."""
        from penstock.connectors.file.text import TextLineFormat

        return TextLineFormat(charset_name)


class BulkFormat(FileFormat):
    """A format whose files are blocks of records, such as Parquet."""


def _open_zstd(stream: Any) -> Any:
    import zstandard

    return zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)


_DECOMPRESSORS: dict[str, Callable[[Any], Any]] = {
    ".gz": lambda stream: gzip.GzipFile(fileobj=stream),
    ".gzip": lambda stream: gzip.GzipFile(fileobj=stream),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": _open_zstd,
}


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2].lower()
    return name[name.rfind(".") :] if "." in name else ""


def is_compressed(path: str) -> bool:
    """Whether the name says that the file is compressed: then it is read whole, by one subtask."""
    return _suffix(path) in _DECOMPRESSORS


def open_bytes(filesystem: FileSystem, path: str, offset: int) -> Any:
    """The file's (decompressed) bytes from `offset` on."""
    stream = filesystem.open_input(path)
    decompress = _DECOMPRESSORS.get(_suffix(path))
    if decompress is None:
        if offset:
            stream.seek(offset)
        return stream
    decompressed = decompress(stream)
    remaining = offset
    while remaining > 0:
        skipped = len(decompressed.read(min(remaining, 1 << 20)))
        if not skipped:
            break
        remaining -= skipped
    return decompressed
