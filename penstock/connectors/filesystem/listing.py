"""Which files make a table, and how they are cut into what tasks read."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from penstock.connectors.filesystem.files import FileEntry, FileStore
from penstock.connectors.filesystem.partitions import Partitioning
from penstock.connectors.filesystem.reader import FileSplit, cut


@dataclass(frozen=True)
class FileListing:
    """The files at or below a path; picklable.

    Attributes:
        partitioning: Files that lie in no partition folder do not belong to a partitioned table.
        pattern: Only files whose whole path matches.
        splittable: Whether a file may be cut into ranges.
    """

    store: FileStore
    partitioning: Partitioning
    pattern: re.Pattern[str] | None = None
    splittable: bool = False

    def files(self, known: Container[str] = ()) -> list[tuple[FileEntry, tuple[Any, ...]]]:
        """The files as they are now, in order, with the values of their partition columns.

        Those with a path in `known` are left out.
        """
        files = [f for f in self.store.files(known) if self.pattern is None or self.pattern.fullmatch(f.path)]
        if not self.partitioning.keys:
            return [(file, ()) for file in files]
        placed = [(file, self.partitioning.values(self.store.relative(file.path))) for file in files]
        return [(file, values) for file, values in placed if values is not None]

    def splits(self, known: Container[str] = ()) -> list[FileSplit]:
        return cut(self.files(known), self.splittable)
