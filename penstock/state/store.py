"""What a backend needs of the place where committed state is kept: sorted tables of bytes.

A store only ever holds committed epochs. `advance` brings it to the state a chain of files describes, all or
nothing; reading afterwards sees exactly that state until the next `advance`, whatever other processes do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.common.ids import EpochId
from penstock.state.chain import Step
from penstock.state.files import Changes, StateFiles, opened, read_blocks


@dataclass(frozen=True)
class Target:
    """The committed state a store has to hold.

    `own` are changes that this process wrote as the file of the step with that id, so that it need not be read.
    """

    epoch: EpochId
    steps: tuple[Step, ...]
    files: StateFiles
    own: tuple[str, Changes] | None = None

    def blocks(self, step: Step) -> Iterator[tuple[str, list[bytes], list[bytes | None]]]:
        """What a step changes: table, keys, values (None: removed)."""
        if self.own is not None and self.own[0] == step.id:
            for table, records in self.own[1].items():
                keys = sorted(records)
                yield table, keys, [records[key] for key in keys]
        else:
            data = opened(self.files, step.file)
            yield from read_blocks(data, step.first_group, step.last_group, step.file.path)


class Store(ABC):
    """Committed tables of one operator subtask."""

    @abstractmethod
    def advance(self, target: Target, aliases: Mapping[str, str]) -> None:
        """Makes the committed state `target` the one that is read; cheap if it is there already."""

    @abstractmethod
    def add_alias(self, snapshot_id: str) -> None:
        """Remembers that a snapshot file holds exactly what the store holds now."""

    @abstractmethod
    def release(self) -> None:
        """The epoch is over: nothing is read until the next `advance`."""

    @abstractmethod
    def get(self, table: str, key: bytes) -> bytes | None:
        """One value."""

    @abstractmethod
    def scan(self, table: str, prefix: bytes, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Records whose key begins with `prefix`, sorted, from `start` on (the prefix itself if None)."""

    @abstractmethod
    def last_key(self, table: str, prefix: bytes) -> bytes | None:
        """The greatest key with a prefix."""

    @abstractmethod
    def tables(self) -> list[str]:
        """Names of the tables that may hold something, sorted."""

    @abstractmethod
    def close(self) -> None:
        """Releases local resources."""
