"""A table of a lake: where it is, its log, errors that name it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from pyarrow import fs

from penstock.common.errors import ExternalSystemError, MissingDependencyError, PenstockError

__all__ = ["DeltaLake", "delta_library"]


def delta_library() -> Any:
    """The package deltalake, or an error that says what to install."""
    try:
        import deltalake
    except ImportError:
        raise MissingDependencyError(
            "Delta tables need the package deltalake", do="pip install 'penstock[delta]'"
        ) from None
    return deltalake


@dataclass(frozen=True)
class DeltaLake:
    """Pickled into tasks. `storage` are deltalake's own options: credentials, endpoints."""

    path: str
    storage: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def where(self) -> str:
        return f"Delta table {self.path}"

    def files(self) -> fs.FileSystem:
        """The files below the table's folder, which is made if it is a local one."""
        from deltalake.fs import DeltaStorageHandler

        if "://" not in self.path or self.path.startswith("file://"):
            os.makedirs(_local(self.path), exist_ok=True)
        return fs.PyFileSystem(DeltaStorageHandler(self.path, dict(self.storage)))

    def exists(self) -> bool:
        with self.explained("cannot look at the table"):
            return bool(delta_library().DeltaTable.is_deltatable(self.path, dict(self.storage)))

    def opened(self, version: Any = None) -> Any:
        """The table as it is now, or was at a version or time."""
        with self.explained("cannot open the table"):
            table = delta_library().DeltaTable(self.path, storage_options=dict(self.storage))
            if version is not None:
                table.load_as_version(version)
            return table

    @contextmanager
    def explained(self, what: str) -> Iterator[None]:
        """Errors of the library as ours."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except PenstockError:
            raise
        except (DeltaError, OSError, ValueError) as error:
            raise ExternalSystemError(
                f"{what}: {' '.join(str(error).split())[:400]}", where=self.where
            ) from error


def _local(path: str) -> str:
    return unquote(path.removeprefix("file://")) if path.startswith("file://") else path
