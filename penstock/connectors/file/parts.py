"""The life of a part file, from the first record to the name that readers see.

    epoch 7    .part-u-0.e7.a1.inprogress      a chunk: what one attempt of one epoch wrote
    epoch 8    .part-u-0.e8.b2.inprogress      the next chunk of the same part
    epoch 9    the rolling policy says: complete
               .part-u-0.e9.c3.pending         the task puts the chunks together ...
               part-u-0.txt                    ... and the committer renames, once epoch 9 is durable

A chunk's name is never used twice, so attempts that die or come back cannot harm each other. A chunk counts
only if a checkpoint names it. A part of a single chunk is renamed without copying.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from penstock.connectors.file.options import PartFileInfo

__all__ = ["Chunk", "FileCommittable", "FileWriterState", "Part", "PartNames", "WaitingParts"]


@dataclass(frozen=True)
class Chunk:
    """Bytes of a part that one epoch wrote: a closed, hidden file."""

    path: str
    size: int


@dataclass(frozen=True)
class Part:
    """An unfinished part file, or a finished one that waits for compaction."""

    bucket_id: str
    number: int
    uid: str
    chunks: tuple[Chunk, ...]
    created_ms: int
    updated_ms: int

    @property
    def size(self) -> int:
        return sum(chunk.size for chunk in self.chunks)

    def with_chunk(self, chunk: Chunk, now_ms: int) -> Part:
        return replace(self, chunks=(*self.chunks, chunk), updated_ms=now_ms)

    def info(self, extra_bytes: int = 0) -> PartFileInfo:
        return PartFileInfo(self.bucket_id, self.size + extra_bytes, self.created_ms, self.updated_ms)


@dataclass(frozen=True)
class WaitingParts:
    """Finished parts of a bucket that will be merged, and for how many epochs the first has waited."""

    parts: tuple[Part, ...]
    epochs: int

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)


@dataclass(frozen=True)
class FileWriterState:
    """What a writer leaves to the writer of the next epoch."""

    job_id: str
    uid: str
    next_number: int
    unfinished: tuple[Part, ...]
    waiting: dict[str, WaitingParts]


@dataclass(frozen=True)
class FileCommittable:
    """`pending` becomes `final`; then the files in `remove` are no longer needed."""

    pending: str
    final: str
    remove: tuple[str, ...] = ()


class PartNames:
    """Makes names; `folder` is the base path or a bucket in it."""

    def __init__(self, base: str, prefix: str, suffix: str, epoch: int, attempt: str) -> None:
        self._base = base.rstrip("/")
        self._prefix = prefix
        self._suffix = suffix
        self._epoch = epoch
        self._attempt = re.sub(r"[^0-9A-Za-z_-]", "-", attempt)

    def folder(self, bucket_id: str) -> str:
        return f"{self._base}/{bucket_id.strip('/')}" if bucket_id else self._base

    def hidden(self, part: Part, state: str) -> str:
        name = f".{self._prefix}-{part.uid}-{part.number}.e{self._epoch}.{self._attempt}.{state}"
        return f"{self.folder(part.bucket_id)}/{name}"

    def final(self, part: Part, compacted: bool = False) -> str:
        name = f"{self._prefix}-{part.uid}-{part.number}{self._suffix}"
        return f"{self.folder(part.bucket_id)}/{'compacted-' if compacted else ''}{name}"

    def is_left_over(self, name: str, uid: str) -> bool:
        """Whether a file name belongs to an earlier epoch of the writer `uid`."""
        start = f".{self._prefix}-{uid}-"
        match: Any = re.match(r"\d+\.e(\d+)\.[^.]*\.(?:inprogress|pending|merged)$", name[len(start) :])
        return name.startswith(start) and match is not None and int(match.group(1)) < self._epoch
