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
        return ChangelogMode(frozenset({RowKind.INSERT}))

    @staticmethod
    def upsert() -> ChangelogMode:
        return ChangelogMode(frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE}))

    @staticmethod
    def all() -> ChangelogMode:
        return ChangelogMode(frozenset(RowKind))

    def contains(self, kind: RowKind) -> bool:
        return kind in self.kinds
