"""Writes keyed state anew from its files: one snapshot instead of a snapshot and the deltas since.

    snapshot  d1 d2 d3 … d40        ─▶        snapshot'

The files of a chain never change and each is sorted, so this is a merge that needs nothing of the running job:
neither its local copy nor a place in its epochs. The new file says which chain it stands for, as packed deltas do
(`FileRef.since`, `until`), so copies that have applied d1 … d40 go on without reading it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from penstock.checkpoint.handles import FileRef
from penstock.common.ids import EpochId
from penstock.state.arranged.store import ArrangementStore
from penstock.state.chain import EMPTY, Step, digests_of
from penstock.state.cleanup import expired_before
from penstock.state.files import StateFiles, encode_tables, merged_blocks, opened


@dataclass(frozen=True)
class Compaction:
    """What is to be written.

    Attributes:
        chain: A snapshot, if there is one, and deltas; oldest first, without any that another job owns.
        groups: First and last key group of the files.
        epoch: Of which the newest of them is.
        name: The new file's, within the job's folder.
        expiries: Tables whose records are left out if they were last used at that time or before.
    """

    chain: tuple[FileRef, ...]
    groups: tuple[int, int]
    epoch: EpochId
    name: str
    expiries: Mapping[str, int]


def compact(wanted: Compaction, files: StateFiles, folder: str) -> FileRef:
    """Writes the snapshot; a part of each file is in memory, and large arrangements lie in `folder`.

    Raises:
        DamagedStateError: A file is missing or damaged.
    """
    steps = tuple(Step(ref, *wanted.groups) for ref in wanted.chain)
    arrangements = ArrangementStore(files, folder)
    arrangements.begin_epoch(steps, {})
    tables = _tables(wanted, files)
    content = encode_tables("snapshot", wanted.epoch, tables, arrangements.snapshot())
    written = files.write_file(wanted.name, content)
    return replace(written, groups=wanted.groups, since=EMPTY, until=digests_of(steps)[-1])


def _tables(
    wanted: Compaction, files: StateFiles
) -> Iterator[tuple[str, Iterable[tuple[bytes, bytes | None]]]]:
    chain = [(ref.path, opened(files, ref)) for ref in wanted.chain]
    blocks = merged_blocks(chain, *wanted.groups)
    for table, mine in itertools.groupby(blocks, lambda block: block[0]):
        records = (record for _, keys, values in mine for record in zip(keys, values, strict=True))
        limit_ms = wanted.expiries.get(table)
        yield (
            table,
            records if limit_ms is None else (r for r in records if not expired_before(r[1], limit_ms)),
        )
