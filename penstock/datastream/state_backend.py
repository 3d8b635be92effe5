"""State backends as objects. They stand for the option `state.backend.type`.

`hashmap` keeps working state in memory, `rocksdb` keeps it on the executor's disk (in LMDB). Checkpoints are
the same with either.
"""

from __future__ import annotations

import enum
from urllib.parse import urlsplit

from penstock.common.errors import NotSupportedError
from penstock.datastream.builder import deprecated

__all__ = [
    "CustomStateBackend",
    "EmbeddedRocksDBStateBackend",
    "FsStateBackend",
    "HashMapStateBackend",
    "MemoryStateBackend",
    "PredefinedOptions",
    "RocksDBStateBackend",
    "StateBackend",
]


class StateBackend:
    """Base of the backends."""

    backend_type = ""

    def entries(self) -> dict[str, str]:
        """The backend as configuration entries."""
        return {"state.backend.type": self.backend_type}

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class HashMapStateBackend(StateBackend):
    """Working state in memory."""

    backend_type = "hashmap"


class PredefinedOptions(enum.Enum):
    """RocksDB's tunings, as Flink names them. They change nothing here."""

    DEFAULT = 0
    SPINNING_DISK_OPTIMIZED = 1
    SPINNING_DISK_OPTIMIZED_HIGH_MEM = 2
    FLASH_SSD_OPTIMIZED = 3


class EmbeddedRocksDBStateBackend(StateBackend):
    """Working state on local disk. The store is LMDB: RocksDB's own settings are kept and readable."""

    backend_type = "rocksdb"

    def __init__(self, enable_incremental_checkpointing: bool | None = None) -> None:
        self._incremental = enable_incremental_checkpointing
        self._paths: list[str] | None = None
        self._options = PredefinedOptions.DEFAULT
        self._transfer_threads = 4

    def entries(self) -> dict[str, str]:
        """The configuration keys it stands for."""
        entries = super().entries()
        if self._incremental is not None:
            entries["execution.checkpointing.incremental"] = str(self._incremental).lower()
        return entries

    def is_incremental_checkpoints_enabled(self) -> bool:
        """What was asked for. Checkpoints here are always incremental."""
        return bool(self._incremental)

    def set_db_storage_paths(self, *paths: str) -> None:
        """Kept, without effect here: LMDB is below the system's temporary folder."""
        if not paths:
            self._paths = None
            return
        self._paths = [urlsplit(path).path.rstrip("/") or "/" for path in paths]

    def get_db_storage_paths(self) -> list[str] | None:
        """What was set."""
        return self._paths

    def set_predefined_options(self, options: PredefinedOptions) -> None:
        """Kept, without effect here: state is in LMDB."""
        self._options = options

    def get_predefined_options(self) -> PredefinedOptions:
        """What was set."""
        return self._options

    def set_options(self, options_factory_class_name: str) -> None:
        """Refused: the factory is a Java class that configures RocksDB."""
        raise NotSupportedError("RocksDB option factories", "state is kept in LMDB, and the factory is Java")

    def get_options(self) -> str | None:
        """What was set."""
        return None

    def get_number_of_transfer_threads(self) -> int:
        """What was set."""
        return self._transfer_threads

    def set_number_of_transfer_threads(self, number_of_transfering_threads: int) -> None:
        """Kept, without effect here: tasks read their own state files."""
        self._transfer_threads = number_of_transfering_threads


class MemoryStateBackend(HashMapStateBackend):
    """Flink 1.x's spelling of `HashMapStateBackend`."""

    def __init__(self, checkpoint_path: str | None = None, *args: object) -> None:
        deprecated("MemoryStateBackend", "HashMapStateBackend, or the option state.backend.type")
        self._checkpoint_path = checkpoint_path

    def entries(self) -> dict[str, str]:
        """The configuration keys it stands for, with the checkpoint folder if one was given."""
        return _with_directory(super().entries(), self._checkpoint_path)


class FsStateBackend(MemoryStateBackend):
    """Flink 1.x's spelling of `HashMapStateBackend` with a checkpoint directory."""


class RocksDBStateBackend(EmbeddedRocksDBStateBackend):
    """Flink 1.x's spelling of `EmbeddedRocksDBStateBackend` with a checkpoint directory."""

    def __init__(
        self, checkpoint_data_uri: str | None = None, enable_incremental_checkpointing: bool | None = None
    ) -> None:
        deprecated("RocksDBStateBackend", "EmbeddedRocksDBStateBackend and execution.checkpointing.dir")
        super().__init__(enable_incremental_checkpointing)
        self._checkpoint_path = checkpoint_data_uri

    def entries(self) -> dict[str, str]:
        """The configuration keys it stands for, with the checkpoint folder."""
        return _with_directory(super().entries(), self._checkpoint_path)


def _with_directory(entries: dict[str, str], path: str | None) -> dict[str, str]:
    return entries if path is None else {**entries, "execution.checkpointing.dir": path}


class CustomStateBackend(StateBackend):
    """A backend written in Java, which there is no JVM of Flink's to run."""

    def __init__(self, *args: object) -> None:
        raise NotSupportedError(
            "CustomStateBackend",
            "it wraps a Java class of Flink's runtime",
            do="use HashMapStateBackend or EmbeddedRocksDBStateBackend",
        )
