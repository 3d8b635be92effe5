"""One commit of the table for each epoch, with the epoch in it.

A commit of Iceberg's replaces the table's metadata at once: new snapshots, and properties. So the property
`penstock.committed.<lineage>` says with the rows, or not at all, which epoch has come, and which try of it. The
*lineage* is an id that the sink gets when its job starts from nothing and that checkpoints carry on. An epoch that
was committed before a crash is known by that, whatever died at whatever line, also when old snapshots are expired.
Snapshots carry the epoch too, for people.

An epoch that is not later than what the property says, and is not that very try, belongs to a job that was set
back to an older checkpoint, or to a driver that was replaced: nobody can know what is wanted, and nothing is
committed.
"""

from __future__ import annotations

import logging
import time
import uuid
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.errors import ExternalSystemError
from penstock.connectors.iceberg.lake import iceberg_library
from penstock.connectors.iceberg.types import iceberg_schema
from penstock.connectors.iceberg.writer import IcebergPart
from penstock.connectors.lake_changes import GONE, last_changes
from penstock.connectors.sink import Committer, Moment, SinkCoordinator, StoredOutput, Taken

if TYPE_CHECKING:
    from penstock.connectors.iceberg.sink import IcebergSink

LOG = logging.getLogger(__name__)
_COMMITTED = "penstock.committed."
_COMMIT_RETRIES = 10
_RETRY_S = 0.2


@dataclass(frozen=True)
class IcebergEpoch:
    """What all subtasks leave in one try of an epoch."""

    lineage: str
    epoch: int
    attempt: str
    parts: tuple[IcebergPart, ...]

    @property
    def files(self) -> tuple[StoredOutput, ...]:
        """What lies with the checkpoint."""
        return tuple(f for part in self.parts if part.changes is not None for f in part.changes.kept.files)

    @property
    def mark(self) -> str:
        return f"{self.epoch}/{self.attempt}"


class OneCommit(SinkCoordinator):
    """Makes one committable of those of all subtasks. Its state is the lineage."""

    def at_epoch_end(self, committables: Sequence[Any], moment: Moment, state: Any) -> Taken:
        if not committables:
            return Taken((), state)
        lineage = state or uuid.uuid4().hex
        parts = tuple(committables)
        return Taken((IcebergEpoch(lineage, parts[0].epoch, uuid.uuid4().hex, parts),), lineage)


class IcebergCommitter(Committer):
    """Commits epochs."""

    def __init__(self, sink: IcebergSink) -> None:
        self._sink = sink
        self._lake = sink.lake
        self._checked = False

    def commit(self, committables: Sequence[Any]) -> None:
        for epoch in sorted(committables, key=lambda e: e.epoch):
            self._commit(epoch)
            for part in epoch.parts:
                if part.changes is not None:
                    part.changes.kept.release()

    def _commit(self, epoch: IcebergEpoch) -> None:
        """Others may commit at the same time: then it is tried again on what they have made of the table."""
        conflict = iceberg_library().exceptions.CommitFailedException
        for attempt in range(_COMMIT_RETRIES):
            table = self._table()
            if not self._wanted(table, epoch):
                return
            try:
                with self._lake.explained(f"epoch {epoch.epoch} cannot be committed"):
                    self._write(table, epoch)
                return
            except ExternalSystemError as error:
                if not isinstance(error.__cause__, conflict) or attempt == _COMMIT_RETRIES - 1:
                    raise
                time.sleep(_RETRY_S)

    def _table(self) -> Any:
        sink = self._sink
        table = self._lake.made(iceberg_schema(sink.row_type), sink.partition_by)
        if not self._checked:
            sink.check(table)
            self._checked = True
        return table

    def _wanted(self, table: Any, epoch: IcebergEpoch) -> bool:
        """Whether the epoch is still to be committed."""
        mark = table.properties.get(_COMMITTED + epoch.lineage)
        if mark is None:
            return True
        come_to = int(mark.partition("/")[0])
        if mark == epoch.mark:
            LOG.info("epoch %d was committed before", epoch.epoch)
            return False
        if come_to < epoch.epoch:
            return True
        if self._sink.unknown_outcome is not None:
            return self._sink.unknown_outcome == "publish"
        error = ExternalSystemError(
            f"nobody knows whether epoch {epoch.epoch} was committed: the table has epoch {come_to} of this job",
            where=self._lake.where,
            do="if another driver of this job is running, all is well: that one goes on. If the job was set back to\n"
            "an older checkpoint, look whether the rows of that checkpoint are there, and set "
            "'sink.unknown-outcome' to\n'skip' if they are, to 'publish' if they are not",
        )
        error.retryable = False
        raise error

    def _write(self, table: Any, epoch: IcebergEpoch) -> None:
        told = {"penstock.epoch": str(epoch.epoch), "penstock.lineage": epoch.lineage}
        transaction = table.transaction()
        transaction.set_properties({_COMMITTED + epoch.lineage: epoch.mark})
        if self._sink.key:
            self._merge(transaction, epoch, told)
        else:
            paths = [path for part in epoch.parts for path in part.paths]
            transaction.add_files(paths, snapshot_properties=told, check_duplicate_files=False)
        transaction.commit_transaction()

    def _merge(self, transaction: Any, epoch: IcebergEpoch, told: dict[str, str]) -> None:
        """Rows of these keys go, then those that are there now come: two snapshots of one commit."""
        from pyiceberg.table.upsert_util import create_match_filter

        tables = [t for part in epoch.parts if part.changes is not None for t in part.changes.tables()]
        key = list(self._sink.key)
        changes = last_changes(pa.concat_tables(tables), key)
        if transaction.table_metadata.current_snapshot() is not None:
            with (
                warnings.catch_warnings()
            ):  # keys may all be new: there is nothing to delete then, and it says so
                warnings.simplefilter("ignore", UserWarning)
                transaction.delete(create_match_filter(changes, key), snapshot_properties=told)
        come = changes.filter(pa.compute.invert(changes.column(GONE))).drop_columns([GONE])
        if come.num_rows:
            transaction.append(come, snapshot_properties=told)
