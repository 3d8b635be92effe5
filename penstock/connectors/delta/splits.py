"""Files of a Delta table as splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from penstock.common.errors import NotSupportedError
from penstock.connectors.delta.lake import DeltaLake
from penstock.connectors.source import SourceSplit


@dataclass(frozen=True)
class DeltaFileSplit(SourceSplit):
    """A file, and what the log says of its rows: the values of the partition columns."""

    path: str = ""
    partition: tuple[tuple[str, Any], ...] = ()


def files_of(lake: DeltaLake, table: Any) -> list[DeltaFileSplit]:
    """The files of the version that is open."""
    with lake.explained("cannot read the table's log"):
        if pa.table(table.deletion_vectors()).num_rows:
            raise refuse_deletion_vectors(lake)
        found = pa.table(table.get_add_actions(flatten=False)).to_pylist()
    return [
        DeltaFileSplit(path, path, tuple((file.get("partition") or {}).items()))
        for path, file in ((unquote(file["path"]), file) for file in found)
    ]


def refuse_deletion_vectors(lake: DeltaLake) -> NotSupportedError:
    return NotSupportedError(
        "a Delta table with deletion vectors",
        "rows of its files may be gone",
        where=lake.where,
        do="REORG TABLE … APPLY (PURGE) writes them out",
    )
