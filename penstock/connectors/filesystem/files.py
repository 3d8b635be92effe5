"""Files behind a path: the local disk, or whatever `pyarrow.fs` reaches (s3, gs, hdfs, abfs).

A `FileStore` is a value: it can be pickled into a task and opens its file system where it is used.
Names that begin with `_` or `.` are hidden, at every level below the table's path, as everywhere in Hadoop's world.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, cast

import pyarrow as pa
from pyarrow import fs

from penstock.common.errors import ExternalSystemError
from penstock.common.hadoop import hdfs_failure

_COMPRESSED = (".gz", ".gzip", ".bz2", ".xz", ".deflate", ".zst")


@dataclass(frozen=True)
class FileEntry:
    """A file as it was when it was listed."""

    path: str
    size: int
    modified_micros: int

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def is_compressed(self) -> bool:
        return self.path.endswith(_COMPRESSED)


@dataclass(frozen=True)
class FileStore:
    """The table's path and the file system it is on."""

    location: str

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        scheme, separator, rest = self.location.partition(":")
        if not separator or "/" in scheme:
            return fs.LocalFileSystem(), self.location.rstrip("/") or "/"
        if scheme == "file":
            return fs.LocalFileSystem(), "/" + rest.lstrip("/").rstrip("/")
        try:
            system, path = fs.FileSystem.from_uri(self.location)
        except (pa.ArrowException, OSError, ValueError) as error:
            told = hdfs_failure(self.location, error)
            raise told or ExternalSystemError(f"cannot reach {self.location}: {error}") from error
        return system, path.rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        return FileStore, (self.location,)

    @property
    def system(self) -> fs.FileSystem:
        return self._opened[0]

    @property
    def root(self) -> str:
        """The path without its scheme, which is also what `file.path` shows."""
        return self._opened[1]

    def exists(self) -> bool:
        return self.system.get_file_info(self.root).type != fs.FileType.NotFound

    def files(self, known: Container[str] = ()) -> list[FileEntry]:
        """The visible files at or below the root, sorted by path; those with a path in `known` are left out.

        Raises:
            ExternalSystemError: There is nothing at the root.
        """
        info = self.system.get_file_info(self.root)
        if info.type == fs.FileType.NotFound:
            raise ExternalSystemError(
                f"{self.location} does not exist",
                where="connector 'filesystem'",
                do="check the table's 'path', and that this user may read it",
            )
        if info.type == fs.FileType.File:
            return [] if info.path in known else [_entry(info)]
        selector = fs.FileSelector(self.root, recursive=True)
        listed = self.system.get_file_info(selector)
        found = [i for i in listed if i.path not in known and i.type == fs.FileType.File]
        return sorted((_entry(i) for i in found if self._visible(i.path)), key=lambda entry: entry.path)

    def written(self, folder: str) -> list[str]:
        """The files that Spark has left in a folder, without those it hides."""
        found = self.system.get_file_info(fs.FileSelector(folder, recursive=True))
        names = sorted(info.path for info in found if info.type == fs.FileType.File)
        return [path for path in names if not path.rsplit("/", 1)[-1].startswith(("_", "."))]

    def address(self, path: str) -> str:
        """A path with scheme and host again, as Spark needs it."""
        return self.location.rstrip("/") + path[len(self.root) :]

    def relative(self, path: str) -> str:
        return path[len(self.root) :].lstrip("/")

    def _visible(self, path: str) -> bool:
        return not any(part.startswith(("_", ".")) for part in self.relative(path).split("/"))

    def open_input(self, path: str) -> BinaryIO:
        """The file's bytes, decompressed by the ending of its name."""
        raw = self.system.open_input_stream(path, compression="zstd" if path.endswith(".zst") else None)
        stream = cast(BinaryIO, raw)
        if path.endswith((".gz", ".gzip")):
            return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
        if path.endswith(".bz2"):
            return cast(BinaryIO, bz2.BZ2File(stream))
        if path.endswith(".xz"):
            return cast(BinaryIO, lzma.LZMAFile(stream))
        if path.endswith(".deflate"):
            return io.BytesIO(zlib.decompress(stream.read()))
        return stream

    def open_at(self, path: str, offset: int) -> BinaryIO:
        """The file's bytes from an offset on."""
        stream = self.system.open_input_file(path)
        stream.seek(offset)
        return cast(BinaryIO, stream)

    def open_from(self, path: str, byte: int) -> BinaryIO:
        """The same as `open_input` without the first bytes."""
        if not byte:
            return self.open_input(path)
        if not path.endswith(_COMPRESSED):
            return self.open_at(path, byte)
        stream = self.open_input(path)
        while byte and (skipped := stream.read(min(byte, 1 << 20))):
            byte -= len(skipped)
        return stream

    def open_output(self, path: str) -> BinaryIO:
        self.system.create_dir(path.rsplit("/", 1)[0], recursive=True)
        return cast(BinaryIO, self.system.open_output_stream(path, compression=None))

    def move(self, source: str, target: str) -> None:
        self.system.create_dir(target.rsplit("/", 1)[0], recursive=True)
        self.system.move(source, target)

    def delete(self, path: str) -> None:
        self.system.delete_file(path)

    def discard(self, path: str) -> None:
        """Deletes a file if it can be done; it is harmless if it cannot."""
        try:
            self.system.delete_file(path)
        except OSError:
            return

    def has_files(self, folder: str) -> bool:
        """Whether there is a file anywhere in a folder; False if there is no folder."""
        selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
        return any(info.type == fs.FileType.File for info in self.system.get_file_info(selector))

    def delete_folder(self, path: str) -> None:
        if self.system.get_file_info(path).type == fs.FileType.Directory:
            self.system.delete_dir(path)

    def create_folder(self, path: str) -> None:
        self.system.create_dir(path, recursive=True)

    def write_empty(self, path: str) -> None:
        self.open_output(path).close()


def _entry(info: fs.FileInfo) -> FileEntry:
    return FileEntry(info.path, info.size, (info.mtime_ns or 0) // 1000)


def lines(stream: BinaryIO, limit: int | None = None, chunk_bytes: int = 1 << 20) -> Iterator[bytes]:
    """The lines of a stream without their ends; the ends are `\\n` or `\\r\\n`.

    Args:
        limit: Only lines that begin within the first `limit` bytes.
    """
    rest, begun = b"", 0
    while True:
        chunk = stream.read(chunk_bytes)
        pieces = (rest + chunk).split(b"\n")
        rest = pieces.pop()
        for piece in pieces:
            if limit is not None and begun >= limit:
                return
            begun += len(piece) + 1
            yield piece[:-1] if piece.endswith(b"\r") else piece
        if not chunk:
            break
    if rest and (limit is None or begun < limit):
        yield rest[:-1] if rest.endswith(b"\r") else rest
