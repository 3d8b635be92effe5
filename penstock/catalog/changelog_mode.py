"""Which row kinds a changelog may contain."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.common.types import RowKind

__all__ = ["ChangelogMode"]


@dataclass(frozen=True)
class ChangelogMode:
    """A set of row kinds."""

    kinds: frozenset[RowKind]

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are only added: no updates, no deletions."""
        return ChangelogMode(frozenset({RowKind.INSERT}))

    @staticmethod
    def upsert() -> ChangelogMode:
        """Inserts, new values of rows and deletions; what a row was before an update is not told."""
        return ChangelogMode(frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE}))

    @staticmethod
    def all() -> ChangelogMode:
        """All four row kinds, the value before an update among them."""
        return ChangelogMode(frozenset(RowKind))

    def contains(self, kind: RowKind) -> bool:
        """Whether rows of this kind may come."""
        return kind in self.kinds
