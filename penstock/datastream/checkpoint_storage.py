"""Where checkpoints go, as objects. They stand for configuration entries: a directory decides everything."""

from __future__ import annotations

from penstock.common.errors import NotSupportedError, ValidationError

__all__ = [
    "CheckpointStorage",
    "CustomCheckpointStorage",
    "FileSystemCheckpointStorage",
    "JobManagerCheckpointStorage",
]


class CheckpointStorage:
    """Base of the storages."""

    def entries(self) -> dict[str, str]:
        """The storage as configuration entries."""
        return {}


class JobManagerCheckpointStorage(CheckpointStorage):
    """Checkpoints that live as long as the program, unless there is a path."""

    DEFAULT_MAX_STATE_SIZE = 5 * 1024 * 1024

    def __init__(self, checkpoint_path: str | None = None, max_state_size: int | None = None) -> None:
        self._checkpoint_path = checkpoint_path
        self._max_state_size = self.DEFAULT_MAX_STATE_SIZE if max_state_size is None else max_state_size

    def get_checkpoint_path(self) -> str | None:
        """The directory of the checkpoints' metadata, if one was given."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """The directory of savepoints, if one was given."""
        return None

    def get_max_state_size(self) -> int:
        """What was set, or Flink's default; it has no effect: there is no such limit here."""
        return self._max_state_size

    def entries(self) -> dict[str, str]:
        """The configuration keys it stands for: the driver's memory, and a folder if one was given."""
        entries = {"execution.checkpointing.storage": "jobmanager"}
        if self._checkpoint_path is not None:
            entries["execution.checkpointing.dir"] = self._checkpoint_path
        return entries

    def __str__(self) -> str:
        return f"JobManagerCheckpointStorage(path={self._checkpoint_path})"


class FileSystemCheckpointStorage(CheckpointStorage):
    """Checkpoints in a directory of any file system."""

    MAX_FILE_STATE_THRESHOLD = 1024 * 1024
    _DEFAULT_THRESHOLD = 20 * 1024
    _DEFAULT_BUFFER = 4096

    def __init__(
        self,
        checkpoint_path: str | None = None,
        file_state_size_threshold: int | None = None,
        write_buffer_size: int | None = None,
    ) -> None:
        if not checkpoint_path:
            raise ValidationError(
                "a FileSystemCheckpointStorage needs a directory",
                do="FileSystemCheckpointStorage('file:///checkpoints')",
            )
        self._checkpoint_path = str(checkpoint_path).rstrip("/") or "/"
        self._threshold = file_state_size_threshold
        self._buffer = write_buffer_size

    def get_checkpoint_path(self) -> str:
        """The directory of the checkpoints."""
        return self._checkpoint_path

    def get_savepoint_path(self) -> str | None:
        """The directory of savepoints, if one was given."""
        return None

    def get_min_file_size_threshold(self) -> int:
        """What was set, or Flink's default; it has no effect here."""
        return self._DEFAULT_THRESHOLD if self._threshold is None else self._threshold

    def get_write_buffer_size(self) -> int:
        """What was set, or Flink's default; it has no effect here."""
        return self._DEFAULT_BUFFER if self._buffer is None else self._buffer

    def entries(self) -> dict[str, str]:
        """The configuration keys it stands for: a folder."""
        return {
            "execution.checkpointing.storage": "filesystem",
            "execution.checkpointing.dir": self._checkpoint_path,
        }

    def __str__(self) -> str:
        return f"FileSystemCheckpointStorage(path={self._checkpoint_path})"


class CustomCheckpointStorage(CheckpointStorage):
    """A storage written in Java, which there is no JVM of Flink's to run."""

    def __init__(self, *args: object) -> None:
        raise NotSupportedError(
            "CustomCheckpointStorage",
            "it wraps a Java class of Flink's runtime",
            do="set execution.checkpointing.dir to any path Spark can write",
        )
