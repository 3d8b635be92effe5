"""Output that is kept with the checkpoint and published after it: exactly once, over systems that are not.

    task     the epoch's output becomes blocks of bytes: in files of the checkpoint, or, if it is little, in the
             committable itself
    driver   the checkpoint is durable; the committer reads the blocks in order and publishes them

Nothing is visible before the epoch has happened, and what has happened is never lost: whatever fails while it is
published, the blocks are still there to be published from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.common.errors import NotSupportedError
from penstock.connectors.sink import OutputFiles, StoredOutput

__all__ = ["BLOCK_BYTES", "Kept", "OutputBlocks"]

BLOCK_BYTES = 4 << 20
"""How large a block should be: one of them is in memory at a time when they are published."""
INLINE_BYTES = 64 << 10
_MOST_WITHOUT_FILES = 256 << 20


@dataclass(frozen=True)
class Kept:
    """The blocks of one writer and epoch: those in `files`, then those that are `inline`; picklable."""

    files: tuple[StoredOutput, ...] = ()
    inline: tuple[bytes, ...] = ()

    def blocks(self) -> Iterator[bytes]:
        """The blocks in the order in which they were written, one in memory at a time."""
        for file in self.files:
            yield file.read()
        yield from self.inline

    def release(self) -> None:
        """They are published: nobody reads them again."""
        for file in self.files:
            file.release()


class OutputBlocks:
    """Takes the blocks of one writer and epoch. Batch statements have no files: there all blocks are inline."""

    def __init__(self, files: OutputFiles | None, what: str = "output") -> None:
        self._store = files
        self._what = what
        self._files: list[StoredOutput] = []
        self._inline: list[bytes] = []

    def add(self, block: bytes, last: bool = False) -> None:
        """Only the last block may be inline where there are files: it is read after them."""
        if self._store is not None and (len(block) > INLINE_BYTES or not last):
            self._files.append(self._store.write(block))
            return
        self._inline.append(block)
        if self._store is None and sum(map(len, self._inline)) > _MOST_WITHOUT_FILES:
            raise NotSupportedError(
                f"EXACTLY_ONCE with more than {_MOST_WITHOUT_FILES >> 20} MiB of {self._what} from a task "
                "in batch mode",
                "a batch statement has no checkpoint to keep them in",
                do="run it in streaming mode, raise sink.parallelism, or write AT_LEAST_ONCE",
            )

    def kept(self) -> Kept:
        return Kept(tuple(self._files), tuple(self._inline))
