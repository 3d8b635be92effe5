"""`SavepointWriter`: new savepoints, from nothing or from one that is there.

    SavepointWriter.from_existing_savepoint(env, old) \\
        .remove_operator("sessions") \\
        .change_operator_identifier("counts", "totals") \\
        .with_operator("accounts", transformation) \\
        .with_max_parallelism(4096) \\
        .write("/savepoints/changed")

Everything happens in `write`: the old savepoint or checkpoint is only read, the new folder is complete in itself.
Keyed state is copied, filled and cut anew by Spark tasks; it does not pass through the driver.
"""

from __future__ import annotations

import dataclasses
import time
import uuid
from typing import TYPE_CHECKING, Any

from penstock.checkpoint.contents import OperatorContents, StateContents, open_contents
from penstock.checkpoint.filesystem import filesystem_for
from penstock.checkpoint.handles import FileRef, OperatorSubtaskState
from penstock.checkpoint.metadata import (
    CheckpointMetadata,
    OperatorCheckpoint,
    PendingCommit,
    SourceCheckpoint,
)
from penstock.checkpoint.savepoint import SAVEPOINT_FILE, KeyedParts, seal_savepoint
from penstock.checkpoint.storage import METADATA_FILE, open_verified
from penstock.common.errors import ValidationError
from penstock.common.ids import DEFAULT_MAX_PARALLELISM, EpochId, OperatorUid
from penstock.common.key_groups import UPPER_BOUND_MAX_PARALLELISM
from penstock.runtime.spark.workers import run_in_tasks
from penstock.state_processor.copying import check_can_move, copies_of, copy_keyed, move_keyed
from penstock.state_processor.identifiers import OperatorIdentifier, uid_of
from penstock.state_processor.spark_tasks import session_of
from penstock.state_processor.transformation import StateBootstrapTransformation

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SavepointWriter"]

_FIRST_EPOCH = EpochId(1)


class SavepointWriter:
    """Collects what a new savepoint shall hold; `write` makes it."""

    def __init__(self, spark: SparkSession, max_parallelism: int, old: StateContents | None) -> None:
        self._spark = spark
        self._max_parallelism = max_parallelism
        self._old = old
        self._kept: dict[str, str] = {uid: uid for uid in old.operators} if old is not None else {}
        self._sources: dict[str, str] = {uid: uid for uid in old.metadata.sources} if old is not None else {}
        self._new: dict[str, StateBootstrapTransformation] = {}
        self._moved = False

    @staticmethod
    def new_savepoint(
        env: Any, max_parallelism: int = DEFAULT_MAX_PARALLELISM, state_backend: Any = None
    ) -> SavepointWriter:
        """A savepoint for a job that has never run.

        Args:
            env: A StreamExecutionEnvironment, a SparkSession, or None for the session of this process.
            max_parallelism: Of all its operators; the job must have the same.
        """
        return SavepointWriter(session_of(env), _checked(max_parallelism), None)

    @staticmethod
    def from_existing_savepoint(env: Any, path: str, state_backend: Any = None) -> SavepointWriter:
        """A savepoint that begins with what is in another one, or in a checkpoint.

        Raises:
            CheckpointError: There is none, or it is damaged.
        """
        old = open_contents(path)
        found = [operator.checkpoint.max_parallelism for operator in old.operators.values()]
        return SavepointWriter(session_of(env), max(found, default=DEFAULT_MAX_PARALLELISM), old)

    def with_operator(
        self, identifier: str | OperatorIdentifier, transformation: StateBootstrapTransformation
    ) -> SavepointWriter:
        """Adds an operator; one of that uid must not be there (remove it first to replace it)."""
        uid = uid_of(identifier)
        if uid in self._kept.values() or uid in self._new:
            raise ValidationError(
                f"the savepoint already has an operator {uid!r}", do="call remove_operator first"
            )
        self._new[uid] = transformation
        return self

    def remove_operator(self, identifier: str | OperatorIdentifier) -> SavepointWriter:
        """Leaves out the state of an operator, and where it has read up to if it is a source."""
        uid = uid_of(identifier)
        if self._new.pop(uid, None) is None:
            self._known(uid)
            self._kept = {old: new for old, new in self._kept.items() if new != uid}
            self._sources = {old: new for old, new in self._sources.items() if new != uid}
        return self

    def change_operator_identifier(
        self, from_identifier: str | OperatorIdentifier, to_identifier: str | OperatorIdentifier
    ) -> SavepointWriter:
        """Gives an operator another uid."""
        before, after = uid_of(from_identifier), uid_of(to_identifier)
        self._known(before)
        if after in self._kept.values() or after in self._new:
            raise ValidationError(f"the savepoint already has an operator {after!r}")
        self._kept = {old: after if new == before else new for old, new in self._kept.items()}
        self._sources = {old: after if new == before else new for old, new in self._sources.items()}
        return self

    def with_max_parallelism(self, max_parallelism: int) -> SavepointWriter:
        """Cuts the keyed state of all operators into another number of key groups."""
        self._max_parallelism = _checked(max_parallelism)
        self._moved = True
        return self

    def with_configuration(self, option: Any, value: Any) -> SavepointWriter:
        """As in Flink; nothing can be configured here."""
        return self

    def write(self, path: str) -> str:
        """Writes the savepoint into a folder that must not have one; returns its path."""
        files, root = filesystem_for(path)
        if {METADATA_FILE, SAVEPOINT_FILE} & set(files.names(root)):
            raise ValidationError("there is a savepoint in this folder already", where=root)
        if not self._kept and not self._new:
            raise ValidationError("a savepoint without operators", do="call with_operator(...)")
        operators: dict[OperatorUid, OperatorCheckpoint] = {}
        keyed: dict[str, KeyedParts] = {}
        self._add_old(root, operators, keyed)
        for uid, transformation in self._new.items():
            filled = transformation.fill(self._spark, uid, root, self._max_parallelism)
            operators[OperatorUid(uid)] = OperatorCheckpoint(
                OperatorUid(uid), uid, len(filled.subtasks), self._max_parallelism, filled.subtasks
            )
            keyed[uid] = filled.keyed
        seal_savepoint(root, self._metadata(operators), keyed)
        return root

    def _add_old(
        self, root: str, operators: dict[OperatorUid, OperatorCheckpoint], keyed: dict[str, KeyedParts]
    ) -> None:
        if self._old is None:
            return
        moving = [old for old in self._kept if self._moves(self._old.operators[old])]
        for old in moving:
            check_can_move(self._old.operators[old])
        for old, new in self._kept.items():
            operator = self._old.operators[old]
            operators[OperatorUid(new)] = self._checkpoint(operator, new)
            if old in moving:
                keyed[new] = move_keyed(self._spark, operator, new, root, self._max_parallelism)
        copies = [
            copy
            for old, new in self._kept.items()
            if old not in moving
            for copy in copies_of(self._old.operators[old], new, root)
        ]
        for copy, part in zip(
            copies, run_in_tasks(self._spark.sparkContext, copy_keyed, copies), strict=True
        ):
            keyed[copy.uid] = keyed.get(copy.uid, KeyedParts()).plus(part)

    def _moves(self, operator: OperatorContents) -> bool:
        return self._moved and operator.checkpoint.max_parallelism != self._max_parallelism

    def _checkpoint(self, operator: OperatorContents, uid: str) -> OperatorCheckpoint:
        former = operator.checkpoint
        subtasks = tuple(_alone(subtask) for subtask in former.subtasks)
        maximum = self._max_parallelism if self._moved else former.max_parallelism
        return dataclasses.replace(former, uid=OperatorUid(uid), subtasks=subtasks, max_parallelism=maximum)

    def _metadata(self, operators: dict[OperatorUid, OperatorCheckpoint]) -> CheckpointMetadata:
        now_ms = int(time.time() * 1000)
        if self._old is None:
            return CheckpointMetadata(_FIRST_EPOCH, uuid.uuid4().hex, "state processor", now_ms, operators)
        former = self._old.metadata
        sources = {
            OperatorUid(new): _renamed(former.sources[OperatorUid(old)], new)
            for old, new in self._sources.items()
        }
        # A checkpoint may have output that nobody has published yet; committing it twice does no harm.
        commits = tuple(
            PendingCommit(OperatorUid(self._kept[c.uid]), c.committables)
            for c in former.commits
            if c.uid in self._kept
        )
        return dataclasses.replace(
            former, timestamp_ms=now_ms, operators=operators, sources=sources, commits=commits, finished=False
        )

    def _known(self, uid: str) -> None:
        if uid not in self._kept.values() and uid not in self._sources.values():
            have = ", ".join(map(repr, self._kept.values()))
            raise ValidationError(f"the savepoint has no operator {uid!r}", do=f"it has {have or 'none'}")


def _alone(subtask: OperatorSubtaskState) -> OperatorSubtaskState:
    """The state of a subtask with nothing in files, and without keyed state."""

    def load(value: bytes | FileRef | None) -> bytes | None:
        return open_verified(value)[:] if isinstance(value, FileRef) else value

    return dataclasses.replace(
        subtask,
        keyed=None,
        operator_state=load(subtask.operator_state),
        function_state=load(subtask.function_state),
        runtime_state=load(subtask.runtime_state),
        waiting=load(subtask.waiting),
    )


def _renamed(source: SourceCheckpoint, uid: str) -> SourceCheckpoint:
    return dataclasses.replace(source, uid=OperatorUid(uid))


def _checked(max_parallelism: int) -> int:
    if not 1 <= max_parallelism <= UPPER_BOUND_MAX_PARALLELISM:
        raise ValidationError(
            f"a max parallelism of {max_parallelism}", do=f"use 1 to {UPPER_BOUND_MAX_PARALLELISM}"
        )
    return max_parallelism
