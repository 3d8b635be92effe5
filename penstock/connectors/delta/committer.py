"""One commit of the log for each epoch, with the epoch in it.

Delta's log can say, in the same commit as the files, that an application has come to a version (`txn`). The
application is the *lineage* of the sink, an id that it gets when its job starts from nothing and that checkpoints
carry on; the version is the epoch. The commit's information also names the very try of the epoch. So an epoch that
was committed before a crash is known, whatever died at whatever line, and is not committed again.

An epoch that is not later than what the log says, and is not that very try, belongs to a job that was set back to an
older checkpoint, or to a driver that was replaced: nobody can know what is wanted, and nothing is committed.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from penstock.common.errors import ExternalSystemError, ValidationError
from penstock.connectors.delta.lake import delta_library
from penstock.connectors.delta.types import delta_schema
from penstock.connectors.delta.writer import DeltaPart
from penstock.connectors.lake_changes import GONE, last_changes
from penstock.connectors.sink import Committer, Moment, SinkCoordinator, StoredOutput, Taken

if TYPE_CHECKING:
    from penstock.connectors.delta.sink import DeltaSink

LOG = logging.getLogger(__name__)
_ATTEMPT = "penstock.attempt"
_COMMIT_RETRIES = 30
_REMEMBERED_COMMITS = 200


@dataclass(frozen=True)
class DeltaEpoch:
    """What all subtasks leave in one try of an epoch."""

    lineage: str
    epoch: int
    attempt: str
    parts: tuple[DeltaPart, ...]

    @property
    def files(self) -> tuple[StoredOutput, ...]:
        """What lies with the checkpoint."""
        return tuple(f for part in self.parts if part.changes is not None for f in part.changes.kept.files)


class OneCommit(SinkCoordinator):
    """Makes one committable of those of all subtasks. Its state is the lineage."""

    def at_epoch_end(self, committables: Sequence[Any], moment: Moment, state: Any) -> Taken:
        if not committables:
            return Taken((), state)
        lineage = state or uuid.uuid4().hex
        parts = tuple(committables)
        return Taken((DeltaEpoch(lineage, parts[0].epoch, uuid.uuid4().hex, parts),), lineage)


class DeltaCommitter(Committer):
    """Commits epochs; the table is made with the first one, if it is not there."""

    def __init__(self, sink: DeltaSink) -> None:
        self._sink = sink
        self._lake = sink.lake
        self._checked = False

    def commit(self, committables: Sequence[Any]) -> None:
        for epoch in sorted(committables, key=lambda e: e.epoch):
            table = self._table()
            if self._wanted(table, epoch):
                with self._lake.explained(f"epoch {epoch.epoch} cannot be committed"):
                    self._commit(table, epoch)
            for part in epoch.parts:
                if part.changes is not None:
                    part.changes.kept.release()

    def _table(self) -> Any:
        sink = self._sink
        if not self._lake.exists():
            with self._lake.explained("the table cannot be made"):
                library = delta_library()
                library.DeltaTable.create(
                    self._lake.path,
                    library.Schema.from_arrow(delta_schema(sink.row_type)),
                    mode="ignore",
                    partition_by=list(sink.partition_by) or None,
                    storage_options=dict(self._lake.storage),
                )
        table = self._lake.opened()
        if not self._checked:
            sink.check(table)
            self._checked = True
        return table

    def _wanted(self, table: Any, epoch: DeltaEpoch) -> bool:
        """Whether the epoch is still to be committed."""
        with self._lake.explained("cannot read the table's log"):
            come_to = table.transaction_version(epoch.lineage)
            if come_to is None or come_to < epoch.epoch:
                return True
            commits = table.history(_REMEMBERED_COMMITS)
        if any(commit.get(_ATTEMPT) == epoch.attempt for commit in commits):
            LOG.info("epoch %d was committed before", epoch.epoch)
            return False
        if self._sink.unknown_outcome is not None:
            return self._sink.unknown_outcome == "publish"
        error = ExternalSystemError(
            f"nobody knows whether epoch {epoch.epoch} was committed: the log has epoch {come_to} of this job",
            where=self._lake.where,
            do="if another driver of this job is running, all is well: that one goes on. If the job was set back to\n"
            "an older checkpoint, look whether the rows of that checkpoint are there, and set "
            "'sink.unknown-outcome' to\n'skip' if they are, to 'publish' if they are not",
        )
        error.retryable = False
        raise error

    def _commit(self, table: Any, epoch: DeltaEpoch) -> None:
        library = delta_library()
        properties = library.CommitProperties(
            custom_metadata={"penstock.epoch": str(epoch.epoch), _ATTEMPT: epoch.attempt},
            max_commit_retries=_COMMIT_RETRIES,
            app_transactions=[library.Transaction(epoch.lineage, epoch.epoch)],
        )
        if self._sink.key:
            self._merge(table, epoch, properties)
        else:
            self._append(table, epoch, properties)

    def _append(self, table: Any, epoch: DeltaEpoch, properties: Any) -> None:
        from deltalake.transaction import AddAction

        actions = [
            AddAction(f.path, f.size_bytes, dict(f.partition), f.written_ms, True, f.stats)
            for part in epoch.parts
            for f in part.files
        ]
        partitions = list(self._sink.partition_by) or None
        table.create_write_transaction(
            actions, "append", table.schema(), partitions, commit_properties=properties
        )

    def _merge(self, table: Any, epoch: DeltaEpoch, properties: Any) -> None:
        tables = [t for part in epoch.parts if part.changes is not None for t in part.changes.tables()]
        changes = last_changes(pa.concat_tables(tables), self._sink.key)
        condition = " AND ".join(f"t.{_quoted(name)} = s.{_quoted(name)}" for name in self._sink.key)
        columns = {name: f"s.{_quoted(name)}" for name in self._sink.row_type.names}
        (
            table.merge(changes, condition, source_alias="s", target_alias="t", commit_properties=properties)
            .when_matched_delete(f"s.{GONE}")
            .when_matched_update(columns)
            .when_not_matched_insert(columns, predicate=f"NOT s.{GONE}")
            .execute()
        )


def _quoted(name: str) -> str:
    if '"' in name:
        raise ValidationError(f"the column {name!r} has a quote in its name", do="rename it")
    return f'"{name}"'
