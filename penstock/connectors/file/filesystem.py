"""Files wherever they are: local paths, and every URI that pyarrow or fsspec can open.

    /data/in, file:///data/in          the local disk (pyarrow)
    s3://, gs://, hdfs://, abfs://     pyarrow's own clients
    anything else                      fsspec, if it is installed and knows the scheme

A `FileSystem` here is a thin, picklable handle: it remembers the path the user gave, and opens the real thing
in whichever process it is used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow.fs as pafs

from penstock.common.errors import ExternalSystemError, MissingDependencyError, ValidationError
from penstock.common.hadoop import hdfs_failure

__all__ = ["FileStatus", "FileSystem", "is_hidden"]

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*):/")


@dataclass(frozen=True)
class FileStatus:
    """A file as a listing shows it; `path` is what `FileSystem` methods take."""

    path: str
    size: int
    modified_ns: int


class FileSystem:
    """The file system that `uri` lives on, and the operations that sources and sinks need."""

    def __init__(self, uri: str | os.PathLike[str]) -> None:
        self.uri = os.fspath(uri)
        match = _SCHEME.match(self.uri)
        self.scheme = match.group(1).lower() if match else "file"
        self._opened: Any = None
        self._path = ""

    def __getstate__(self) -> dict[str, Any]:
        return {"uri": self.uri, "scheme": self.scheme, "_opened": None, "_path": ""}

    @property
    def is_local(self) -> bool:
        return self.scheme == "file"

    @property
    def root(self) -> str:
        """The path of `uri` on its file system."""
        self._connect()
        return self._path

    def _connect(self) -> Any:
        if self._opened is None:
            self._opened, self._path = _open(self.uri, self.scheme)
        return self._opened

    def list_files(self, path: str) -> Iterator[FileStatus]:
        """The files at or below `path`, sorted; names that start with '.' or '_' are hidden, folders too."""
        fs = self._connect()
        info = fs.get_file_info(path)
        if info.type == pafs.FileType.NotFound:
            raise ValidationError(
                f"the path '{path}' does not exist",
                where=f"file source, {self.uri}",
                do="check the path; on a cluster it must be visible from the driver and from every worker",
            )
        if is_hidden(path):
            return
        if info.type == pafs.FileType.File:
            yield _status(info)
            return
        for child in sorted(fs.get_file_info(pafs.FileSelector(path)), key=lambda item: str(item.path)):
            if is_hidden(child.path):
                continue
            if child.type == pafs.FileType.Directory:
                yield from self.list_files(child.path)
            else:
                yield _status(child)

    def names_in(self, folder: str) -> list[str]:
        """Base names of the files in a folder, hidden ones too; empty if there is no such folder."""
        selector = pafs.FileSelector(folder, allow_not_found=True)
        return [info.base_name for info in self._connect().get_file_info(selector)]

    def exists(self, path: str) -> bool:
        return bool(self._connect().get_file_info(path).type != pafs.FileType.NotFound)

    def size(self, path: str) -> int:
        return int(self._connect().get_file_info(path).size)

    def open_input(self, path: str) -> Any:
        """A seekable binary stream."""
        if self.is_local:
            return open(path, "rb")
        return self._connect().open_input_file(path)

    def open_output(self, path: str) -> BinaryIO:
        """A new file; close it with `close_durably`."""
        if self.is_local:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return open(path, "wb")
        return cast(BinaryIO, self._connect().open_output_stream(path))

    def close_durably(self, stream: BinaryIO) -> None:
        """Closes a file of `open_output` so that its bytes survive a power failure, where that can be had."""
        if self.is_local:
            stream.flush()
            os.fsync(stream.fileno())
        stream.close()

    def rename(self, source: str, target: str) -> None:
        """Atomic on the local disk and on HDFS; a copy and a deletion on object stores."""
        if self.is_local:
            os.replace(source, target)
        else:
            self._connect().move(source, target)

    def delete(self, path: str) -> None:
        """Deletes a file; it is fine if it is gone already."""
        try:
            self._connect().delete_file(path)
        except FileNotFoundError:
            return
        except OSError as error:
            if self.exists(path):
                raise ExternalSystemError(f"cannot delete '{path}': {error}") from error


def is_hidden(path: str) -> bool:
    """Whether Flink's default filter leaves a file or folder out."""
    return path.rstrip("/").rpartition("/")[2].startswith((".", "_"))


def _status(info: Any) -> FileStatus:
    return FileStatus(info.path, int(info.size or 0), int(info.mtime_ns or 0))


def _open(uri: str, scheme: str) -> tuple[Any, str]:
    if scheme == "file":
        path = uri[len("file:") :] if _SCHEME.match(uri) else uri
        return pafs.LocalFileSystem(), os.path.abspath(re.sub("^/+", "/", path))
    try:
        return cast("tuple[Any, str]", pafs.FileSystem.from_uri(uri))
    except (ValueError, OSError, NotImplementedError) as pyarrow_error:
        told = hdfs_failure(uri, pyarrow_error)
        if told is not None:
            raise told from None
        return _open_with_fsspec(uri, scheme, pyarrow_error)


def _open_with_fsspec(uri: str, scheme: str, pyarrow_error: Exception) -> tuple[Any, str]:
    try:
        import fsspec

        filesystem, path = fsspec.core.url_to_fs(uri)
    except (ImportError, ValueError) as error:
        raise MissingDependencyError(
            f"no file system for '{uri}': {pyarrow_error}; {error}",
            do=f"install fsspec and the package that knows '{scheme}://'",
        ) from error
    return pafs.PyFileSystem(pafs.FSSpecHandler(filesystem)), path
