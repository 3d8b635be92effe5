"""Windows as data: what `Tumble`, `Slide`, `Session` and `Over` have been told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.table.expression_parts.nodes import Node, Rows


@dataclass(frozen=True)
class GroupWindowSpec:
    """`lengths` are as SQL has them: a size, HOP's slide and size, or SESSION's gap."""

    kind: Literal["TUMBLE", "HOP", "SESSION"]
    lengths: tuple[Node, ...]
    time: Node
    alias: str

    @property
    def counts_rows(self) -> bool:
        """Whether the window is as long as a number of rows, not as a time."""
        return any(isinstance(length, Rows) for length in self.lengths)

    def row_counts(self) -> tuple[int, int]:
        """Size and slide, if it counts rows."""
        counts = [length.count for length in self.lengths if isinstance(length, Rows)]
        return counts[-1], counts[0]


@dataclass(frozen=True)
class OverWindowSpec:
    """Without `preceding` it begins with the partition; without `following` it ends at the row."""

    alias: str
    partition: tuple[Node, ...]
    order: Node
    preceding: Node | None = None
    following: Node | None = None
