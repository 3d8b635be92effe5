"""The books of a snapshot: which chunks there are, which are done, at which mark.

Chunks are found one after the other, when somebody has time to read them, so a table of any size can be begun at
once: the end of a chunk is the key that comes `chunk_size` rows after its start. Nothing depends on the cut: the
chunks of a table cover all keys, whatever is in the table.

Neighbouring chunks that were read at the same mark become one entry, so the books stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from penstock.connectors.cdc.model import CapturedTable, Chunk, Mark, Place, SharePosition, TableMarks

NextBound = Callable[[CapturedTable, Any], Any]


@dataclass
class ChunkBooks:
    """Belongs to the enumerator, and is a part of its snapshot.

    Attributes:
        open: Chunks that were found and are not done yet, by their number.
        marks: Per table the starts of chunks that are done and the marks that count from there on, in no order.
    """

    tables: tuple[CapturedTable, ...]
    open: dict[int, Chunk] = field(default_factory=dict)
    marks: dict[int, dict[int, tuple[Any, Mark]]] = field(default_factory=dict)
    _next_id: int = 0
    _table: int = 0
    _start: Any = None

    @property
    def all_found(self) -> bool:
        return self._table >= len(self.tables)

    @property
    def finished(self) -> bool:
        return self.all_found and not self.open

    def take(self, count: int, taken: set[int], next_bound: NextBound) -> list[Chunk]:
        """Up to `count` chunks that are not done and not `taken`, which they then are."""
        found = [chunk for chunk in self.open.values() if chunk.id not in taken][:count]
        while len(found) < count and not self.all_found:
            found.append(self._find(next_bound))
        taken.update(chunk.id for chunk in found)
        return found

    def _find(self, next_bound: NextBound) -> Chunk:
        table = self.tables[self._table]
        end = None if table.chunk_key is None else next_bound(table, self._start)
        chunk = Chunk(self._next_id, self._table, self._start, end)
        self.open[chunk.id] = chunk
        self._next_id += 1
        self._start = end
        if end is None:
            self._table += 1
        return chunk

    def book(self, position: SharePosition | None) -> None:
        """These chunks are done. Saying so twice changes nothing."""
        if position is None:
            return
        for chunk_id in position.done:
            chunk = self.open.pop(chunk_id, None)
            if chunk is not None:
                self.marks.setdefault(chunk.table, {})[chunk_id] = chunk.start, position.mark.kept()

    def table_marks(self) -> dict[int, TableMarks]:
        """The marks of all tables; chunks are numbered in the order of their keys."""
        return {table: _joined(found) for table, found in self.marks.items()}

    def until(self) -> Place | None:
        """The place from which on no mark shows anything; None: there are no marks."""
        return max((mark.until for _, mark in self._all_marks()), default=None)

    def _all_marks(self) -> Iterable[tuple[Any, Mark]]:
        return (entry for found in self.marks.values() for entry in found.values())

    def forget(self) -> None:
        """The log is behind all marks."""
        self.marks = {}


def _joined(found: dict[int, tuple[Any, Mark]]) -> TableMarks:
    bounds: list[Any] = []
    marks: list[Mark] = []
    for _, (start, mark) in sorted(found.items()):
        if marks and marks[-1] == mark:
            continue
        if marks:
            bounds.append(start)
        marks.append(mark)
    return TableMarks(tuple(bounds), tuple(marks))
