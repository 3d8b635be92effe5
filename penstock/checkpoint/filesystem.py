"""The few file operations that checkpoints need, on a local disk or any remote file system.

A file is written aside and renamed, so that nobody ever sees half of it; on a local disk it is synced before.
Remote paths (hdfs://, s3://, gs://, memory:// …) go through pyarrow's file systems, or fsspec's where pyarrow
has none of that name. Object stores have no rename, but show a file only when it is written completely, so
there the file is written in place.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import IO, Any, Protocol, TypeAlias
from urllib.parse import urlsplit

from penstock.common.errors import MissingDependencyError
from penstock.common.hadoop import hdfs_failure
from penstock.common.points import Point, reach


class Slices(Protocol):
    """Bytes of which parts are read when they are asked for: a file, or `bytes` themselves."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice) -> bytes: ...


Content: TypeAlias = "bytes | Iterable[bytes]"
"""What is written: bytes, or pieces of them that are made while they are written, so that they need little memory."""


def pieces_of(content: Content) -> Iterable[bytes]:
    """The pieces, one behind the other."""
    return (content,) if isinstance(content, bytes) else content


class FileSystem(ABC):
    """Files by absolute path or URI. Missing files raise FileNotFoundError."""

    @abstractmethod
    def write(self, path: str, data: Content) -> None:
        """Writes a file durably and all at once, making folders as needed; replaces an older one."""

    @abstractmethod
    def read(self, path: str) -> bytes:
        """All bytes of a file."""

    @abstractmethod
    def slices(self, path: str) -> Slices:
        """A file that is not read as a whole."""

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """Names in a folder, sorted; none if there is no such folder."""

    @abstractmethod
    def sizes(self, path: str) -> dict[str, int]:
        """Names and bytes of the files in a folder; none if there is no such folder."""

    @abstractmethod
    def walk(self, path: str) -> list[str]:
        """Paths of all files below a folder, relative to it, sorted."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Removes a file; no error if it is gone."""

    @abstractmethod
    def delete_tree(self, path: str) -> None:
        """Removes a folder and everything in it; no error if it is gone."""


class LocalFileSystem(FileSystem):
    """Files of this machine (or of a mounted network disk).

    Args:
        synced: Files shall be there after the machine itself has failed, not only after a process has.
    """

    def __init__(self, synced: bool = True) -> None:
        self._synced = synced

    def write(self, path: str, data: Content) -> None:
        reach(Point.FILE_NEXT)
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        aside = os.path.join(folder, f".{os.path.basename(path)}.{uuid.uuid4().hex[:8]}.tmp")
        try:
            with open(aside, "wb") as file:
                file.writelines(pieces_of(data))
                file.flush()
                if self._synced:
                    os.fsync(file.fileno())
            reach(Point.FILE_ASIDE)
            os.replace(aside, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(aside)
            raise
        if self._synced:
            _sync_folder(folder)
        reach(Point.FILE_WRITTEN)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def slices(self, path: str) -> Slices:
        return LocalSlices(open(path, "rb"))  # closed when nobody needs it any more

    def names(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def sizes(self, path: str) -> dict[str, int]:
        found = {}
        with contextlib.suppress(FileNotFoundError), os.scandir(path) as entries:
            for entry in entries:
                with contextlib.suppress(FileNotFoundError):  # deleted meanwhile
                    if entry.is_file():
                        found[entry.name] = entry.stat().st_size
        return found

    def walk(self, path: str) -> list[str]:
        found = []
        for folder, _, names in os.walk(path):
            found += [os.path.relpath(os.path.join(folder, name), path) for name in names]
        return sorted(found)

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)

    def delete_tree(self, path: str) -> None:
        shutil.rmtree(path, ignore_errors=True)


def _sync_folder(folder: str) -> None:
    """Makes a rename durable: without it a file may be gone after a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ArrowFileSystem(FileSystem):
    """Any file system that pyarrow or fsspec knows. Paths are URIs below `root`."""

    def __init__(self, root: str) -> None:
        self._root = root.rstrip("/")
        self._fs, self._base = _arrow_filesystem(self._root)

    def write(self, path: str, data: Content) -> None:
        reach(Point.FILE_NEXT)
        target = self._path(path)
        self._fs.create_dir(target.rpartition("/")[0], recursive=True)
        renames = self._fs.type_name in ("hdfs", "local")
        aside = f"{target}.{uuid.uuid4().hex[:8]}.tmp" if renames else target
        with self._fs.open_output_stream(aside) as stream:
            for piece in pieces_of(data):
                stream.write(piece)
        reach(Point.FILE_ASIDE)
        if renames:
            self._fs.move(aside, target)
        reach(Point.FILE_WRITTEN)

    def read(self, path: str) -> bytes:
        with self._fs.open_input_stream(self._path(path)) as stream:
            data: bytes = stream.read()
            return data

    def slices(self, path: str) -> Slices:
        return _RemoteSlices(self._fs.open_input_file(self._path(path)))

    def names(self, path: str) -> list[str]:
        return sorted(info.base_name for info in self._infos(path, recursive=False))

    def sizes(self, path: str) -> dict[str, int]:
        from pyarrow import fs

        infos = self._infos(path, recursive=False)
        return {info.base_name: info.size for info in infos if info.type == fs.FileType.File}

    def walk(self, path: str) -> list[str]:
        from pyarrow import fs

        start = len(self._path(path).rstrip("/")) + 1
        files = (info for info in self._infos(path, recursive=True) if info.type == fs.FileType.File)
        return sorted(info.path.lstrip("/")[start - self._slash(path) :] for info in files)

    def delete(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_file(self._path(path))

    def delete_tree(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._fs.delete_dir(self._path(path))

    def _slash(self, path: str) -> int:
        return 1 if self._path(path).startswith("/") else 0

    def _infos(self, path: str, *, recursive: bool) -> list[Any]:
        from pyarrow import fs

        selector = fs.FileSelector(self._path(path), allow_not_found=True, recursive=recursive)
        infos: list[Any] = self._fs.get_file_info(selector)
        return infos

    def _path(self, uri: str) -> str:
        assert uri.startswith(self._root), f"{uri} is not below {self._root}"
        return self._base + uri[len(self._root) :]


class LocalSlices:
    """An open local file. It is not mapped: a page of a file that somebody cuts off would end the process."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._size = os.fstat(file.fileno()).st_size

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        return os.pread(self._file.fileno(), max(0, stop - start), start)

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):
            self._file.close()


class _RemoteSlices:
    """A remote file, read piece by piece."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._size: int = file.size()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        start, stop, _ = part.indices(self._size)
        self._file.seek(start)
        data: bytes = self._file.read(max(0, stop - start))
        return data


def _arrow_filesystem(uri: str) -> tuple[Any, str]:
    from pyarrow import ArrowInvalid, fs

    try:
        filesystem, path = fs.FileSystem.from_uri(uri)
        return filesystem, path.rstrip("/")
    except (ArrowInvalid, OSError) as refused:
        told = hdfs_failure(uri, refused)
        if told is not None:
            raise told from None
        try:
            import fsspec
        except ImportError as missing:
            raise MissingDependencyError(
                f"no file system for {uri}: {refused}", do="pip install penstock[remote]"
            ) from missing
        found, path = fsspec.core.url_to_fs(uri)
        return fs.PyFileSystem(fs.FSSpecHandler(found)), path.rstrip("/")


def filesystem_for(root: str, synced: bool = True) -> tuple[FileSystem, str]:
    """The file system of a path or URI, and the path in the form that it wants."""
    scheme = urlsplit(root).scheme
    if scheme in ("", "file"):
        return LocalFileSystem(synced), os.path.abspath(urlsplit(root).path if scheme else root)
    return ArrowFileSystem(root), root.rstrip("/")
