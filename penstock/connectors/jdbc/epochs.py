"""Exactly once: the rows of an epoch and a mark that names the epoch are written in one transaction of the database.

Tasks keep their rows with the checkpoint (`connectors/kept_output.py`). When that is durable, the driver writes them,
those of all subtasks together, so readers see an epoch whole or not at all:

    lock the mark of this job          in the table `penstock_commits`, which is made if it is not there
    does it name this try of the epoch? then it was written before a crash, and that is all
    write the rows, set the mark, commit

The mark is there if and only if the rows are, whatever dies at whatever line, and an answer to COMMIT that is lost is
found out by looking. A mark belongs to a *lineage*: an id that a sink gets when its job starts from nothing and that
checkpoints carry on, so that a job that is started anew is never taken for the one before. A mark also says which
driver has set it last; a driver that another one has taken over from cannot write any more.
"""

from __future__ import annotations

import logging
import pickle
import time
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from penstock.common.errors import ExternalSystemError
from penstock.connectors.jdbc.marks import Mark, Marks
from penstock.connectors.jdbc.transaction import Portion, Portions, Statements, Transaction, close_quietly
from penstock.connectors.kept_output import BLOCK_BYTES, Kept, OutputBlocks
from penstock.connectors.sink import (
    Committer,
    Moment,
    Sink,
    SinkCoordinator,
    StoredOutput,
    Taken,
    WriterContext,
)

LOG = logging.getLogger(__name__)
_PAUSE_S = 1.0


@dataclass(frozen=True)
class JdbcWriting:
    """How portions are written; the same for tables and for statements of programs.

    Attributes:
        max_retries: How often a task sends its rows again.
        commit_retries: How often the driver does, if the sink is `exactly_once`.
        unknown_outcome: 'skip' or 'publish': what to do about an epoch of which nobody knows whether it was written.
    """

    statements: Statements
    max_retries: int
    exactly_once: bool = False
    commit_retries: int = 3
    unknown_outcome: str | None = None

    def target(self, context: WriterContext) -> Portions:
        """Where the rows of one writer go."""
        return _KeptPortions(context) if self.exactly_once else Transaction(self.statements, self.max_retries)

    def committer(self) -> Committer | None:
        return JdbcCommitter(self) if self.exactly_once else None

    def coordinator(self) -> SinkCoordinator | None:
        return _OneTransaction() if self.exactly_once else None


class JdbcWritingSink(Sink):
    """A sink that writes portions; who commits follows from how."""

    @property
    @abstractmethod
    def writing(self) -> JdbcWriting:
        """How they are written."""

    def create_committer(self) -> Committer | None:
        return self.writing.committer()

    def create_coordinator(self) -> SinkCoordinator | None:
        return self.writing.coordinator()


@dataclass(frozen=True)
class _Part:
    """What one subtask has to write in an epoch."""

    job_id: str
    epoch: int
    kept: Kept


@dataclass(frozen=True)
class JdbcEpoch:
    """What all subtasks write in one try of an epoch; `attempt` is unlike that of any other try."""

    lineage: str
    epoch: int
    attempt: str
    job_id: str
    parts: tuple[Kept, ...]

    @property
    def files(self) -> tuple[StoredOutput, ...]:
        return tuple(file for part in self.parts for file in part.files)

    def portions(self) -> Iterator[Portion]:
        """All rows, those of a subtask in order; a block of them in memory at a time."""
        for part in self.parts:
            for block in part.blocks():
                stream = BytesIO(block)
                while stream.tell() < len(block):
                    yield pickle.load(stream)


class _KeptPortions(Portions):
    """Keeps portions with the checkpoint."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._blocks = OutputBlocks(context.files, "rows")
        self._pending = bytearray()
        self._some = False

    def send(self, portion: Portion) -> None:
        self._some = True
        self._pending += pickle.dumps(portion, pickle.HIGHEST_PROTOCOL)
        if len(self._pending) >= BLOCK_BYTES:
            self._store()

    def _store(self, last: bool = False) -> None:
        self._blocks.add(bytes(self._pending), last)
        self._pending.clear()

    def finish(self) -> Sequence[Any]:
        if not self._some:
            return ()
        if self._pending:
            self._store(last=True)
        return (_Part(self._context.job_id, self._context.epoch, self._blocks.kept()),)


class _OneTransaction(SinkCoordinator):
    """Makes one committable of those of all subtasks. Its state is the lineage."""

    def at_epoch_end(self, committables: Sequence[Any], moment: Moment, state: Any) -> Taken:
        if not committables:
            return Taken((), state)
        lineage = state or uuid.uuid4().hex
        first: _Part = committables[0]
        kept = tuple(part.kept for part in committables)
        return Taken((JdbcEpoch(lineage, first.epoch, uuid.uuid4().hex, first.job_id, kept),), lineage)


class JdbcCommitter(Committer):
    """Writes epochs. It keeps its connection from one to the next."""

    def __init__(self, writing: JdbcWriting) -> None:
        self._writing = writing
        self._statements = writing.statements
        self._database = writing.statements.database
        self._marks = Marks(self._database)
        self._owner = uuid.uuid4().hex
        self._owned: set[str] = set()
        self._connection: Any = None

    def commit(self, committables: Sequence[Any]) -> None:
        for epoch in sorted(committables, key=lambda e: e.epoch):
            with self._database.explained(f"epoch {epoch.epoch} cannot be written"):
                self._persist(epoch)
            for part in epoch.parts:
                part.release()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            close_quietly(self._database, connection)

    def _persist(self, epoch: JdbcEpoch) -> None:
        """Writes the epoch, over a new connection if need be; a look at the mark makes that safe."""
        retries = self._writing.commit_retries
        for attempt in range(retries + 1):
            try:
                if self._connection is None:
                    self._connection = self._database.connect()
                    self._marks.prepare(self._connection)
                    self._statements.prepare(self._connection)
                self._write(epoch)
                return
            except self._database.dialect.passing_errors() as error:
                self.close()
                if attempt == retries:
                    raise
                LOG.warning("epoch %d is written again: %s", epoch.epoch, error)
            except BaseException:
                self.close()
                raise
            time.sleep(_PAUSE_S * (attempt + 1))

    def _write(self, epoch: JdbcEpoch) -> None:
        """One transaction: rows and mark."""
        there = self._marks.locked(self._connection, epoch.lineage)
        mark = Mark(epoch.lineage, epoch.epoch, epoch.attempt, self._owner, epoch.job_id)
        if there is not None and epoch.lineage in self._owned and there.owner != self._owner:
            raise self._taken_over(epoch)
        if there is not None and there.attempt == epoch.attempt:
            LOG.info("epoch %d was written before", epoch.epoch)
        elif there is None or there.epoch < epoch.epoch or self._decision(epoch, there) == "publish":
            for portion in epoch.portions():
                self._statements.execute(self._connection, portion)
        self._marks.put(self._connection, mark, is_there=there is not None)
        self._connection.commit()
        self._owned.add(epoch.lineage)

    def _decision(self, epoch: JdbcEpoch, there: Mark) -> str:
        """What the user has decided about an epoch of which nobody can know whether it was written."""
        if self._writing.unknown_outcome is not None:
            return self._writing.unknown_outcome
        raise self._final(
            f"nobody knows whether epoch {epoch.epoch} was written: epoch {there.epoch} of this job was written "
            "before it",
            "if another driver of this job is running, all is well: that one goes on. If the job was set back to\n"
            "an older checkpoint, look whether the rows of that checkpoint are there, and set the sink's "
            "unknown outcome\nto 'skip' if they are, to 'publish' if they are not",
        )

    def _taken_over(self, epoch: JdbcEpoch) -> ExternalSystemError:
        return self._final(
            f"another driver has gone on with this job; epoch {epoch.epoch} is not written by this one",
            "if this job was started again elsewhere, all is well: that one goes on. If not, two jobs go on from\n"
            "the same checkpoint: let one of them start from nothing",
        )

    def _final(self, what: str, do: str) -> ExternalSystemError:
        error = ExternalSystemError(what, where=self._database.where, do=do)
        error.retryable = False
        return error
