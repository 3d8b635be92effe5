"""The driver's side of a capture.

    shares   one per task; an epoch gives each of them some chunks, all to be read at the same mark
    log     discovered when all chunks are done and committed, so no change of a row comes before the row

An epoch of the log reads up to where the log ended when it was planned. What was committed is booked when the
position comes back: right after the commit, or, if the driver died in between, when the restored enumerator plans
its first epoch.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.connectors.cdc.chunks import ChunkBooks
from penstock.connectors.cdc.database import Control, Database
from penstock.connectors.cdc.model import (
    TRUNCATE,
    CapturedTable,
    LogPlan,
    LogPosition,
    LogSplit,
    Mark,
    Place,
    SharePlan,
    SharePosition,
    ShareSplit,
)
from penstock.connectors.source import ReadLimit, SourceSplit, SplitEnumerator

LOG = "log"
SNAPSHOT_MODES = ("initial", "snapshot")
_POLL_MS = 100
_LONGEST_QUIET_MS = 1000
_CHUNKS_OF_A_SHARE = 32
"""More than an epoch has time for; what is left over is planned again."""


@dataclass(frozen=True)
class Capture:
    """What is captured and how; the same for programs and tables.

    Attributes:
        mode: Where reading begins, one of Flink CDC's startup modes.
        confirm_delay: How many epochs behind the last committed one the log is kept in the database.
        skipped: Kinds of changes that are passed over, in Debezium's letters.
    """

    database: Database
    mode: str = "initial"
    confirm_delay: int = 0
    skipped: frozenset[str] = frozenset({TRUNCATE})

    @property
    def bounded(self) -> bool:
        return self.mode == "snapshot"


@dataclass
class _State:
    """What a checkpoint keeps."""

    source_id: str
    tables: tuple[CapturedTable, ...]
    log_start: Place
    books: ChunkBooks
    shares: int
    log_given: bool = False


class CdcEnumerator(SplitEnumerator):
    """Plans chunks, then the log."""

    def __init__(self, capture: Capture, parallelism: int, restored: Any = None) -> None:
        self._capture = capture
        self._parallelism = parallelism
        self._state: _State | None = restored
        self._restored = restored is not None
        self._control: Control | None = None
        self._shares_given = restored is not None
        self._taken: set[int] = set()
        self._mark: Mark | None = None
        self._committed: deque[Place] = deque(maxlen=capture.confirm_delay + 1)
        self._asked_ms: int | None = None

    @property
    def control(self) -> Control:
        assert self._control is not None, "discover comes first"
        return self._control

    @property
    def state(self) -> _State:
        assert self._state is not None, "discover comes first"
        return self._state

    # --- splits

    def discover(self) -> Sequence[SourceSplit]:
        """Also begins a round of planning: the epoch before is over, whether it was committed or not."""
        self._begin()
        self._taken = set()
        if self._mark is not None:
            self._mark = None
            self.control.release()
        state = self.state
        if not self._shares_given:
            self._shares_given = True
            return [ShareSplit(f"share-{i}", state.source_id, state.tables) for i in range(state.shares)] or [
                self._log()
            ]
        if state.books.finished and not state.log_given:
            return [self._log()]
        return []

    def _begin(self) -> None:
        if self._control is not None:
            return
        control = self._capture.database.control(
            self._state.source_id if self._state else f"penstock-{uuid.uuid4().hex[:12]}"
        )
        try:
            if self._state is None:
                self._state = self._first_state(control)
            else:
                control.resume(None if self._state.log_given else self._state.log_start)
        except BaseException:
            control.close()
            raise
        self._control = control

    def _first_state(self, control: Control) -> _State:
        tables = control.tables()
        start = control.begin(tables, self._capture.mode)
        snapshot = self._capture.mode in SNAPSHOT_MODES
        shares = self._parallelism if self._capture.database.selection.parallel is not False else 1
        books = ChunkBooks(tables if snapshot else ())
        return _State(control.source_id, tables, start, books, shares if snapshot else 0)

    def _log(self) -> LogSplit:
        state = self.state
        state.log_given = True
        stop = state.books.until() if self._capture.bounded else None
        return LogSplit(LOG, state.source_id, state.tables, state.log_start, stop)

    @property
    def no_more_splits(self) -> bool:
        return self._state is not None and self._state.log_given

    # --- epochs

    def plan_read(self, split: SourceSplit, position: Any, now_ms: int) -> ReadLimit | None:
        if isinstance(split, ShareSplit):
            return self._plan_share(position)
        assert isinstance(split, LogSplit)
        return self._plan_log(split, position or LogPosition(split.start), now_ms)

    def _plan_share(self, position: SharePosition | None) -> ReadLimit | None:
        books = self.state.books
        books.book(position)
        if books.finished:
            return ReadLimit(payload=SharePlan((), None), split_ends=True)
        chunks = books.take(_CHUNKS_OF_A_SHARE, self._taken, self.control.next_bound)
        if not chunks:
            return None
        if self._mark is None:
            self._mark = self.control.mark()
        return ReadLimit(payload=SharePlan(tuple(chunks), self._mark), split_ends=False)

    def _plan_log(self, split: LogSplit, position: LogPosition, now_ms: int) -> ReadLimit | None:
        if self._restored:
            self._restored = False
            self.control.resume(position.place)
        if split.stop is not None and position.place >= split.stop:
            return ReadLimit(payload=LogPlan(), end_position=position.place, split_ends=True)
        if split.stop is None and self._rests(position, now_ms):
            return None
        end = self.control.log_end()
        if split.stop is not None:
            end = min(end, split.stop)
        if end <= position.place:
            return None
        self._asked_ms = now_ms
        plan = LogPlan(self._marks_at(position.place), self._confirmed())
        return ReadLimit(
            end_position=end, payload=plan, split_ends=split.stop is not None and end >= split.stop
        )

    def _rests(self, position: LogPosition, now_ms: int) -> bool:
        """Nothing of ours was in the log for some epochs: a busy server need not keep Spark busy, too."""
        if self._asked_ms is None or not position.quiet:
            return False
        rest_ms = min(_LONGEST_QUIET_MS, _POLL_MS * 2 ** min(position.quiet, 10) // 2)
        return now_ms < self._asked_ms + rest_ms

    def _marks_at(self, place: Place) -> dict[int, Any]:
        books = self.state.books
        until = books.until()
        if until is not None and place < until:
            return books.table_marks()
        books.forget()
        return {}

    def _confirmed(self) -> Place | None:
        return self._committed[0] if len(self._committed) == self._committed.maxlen else None

    def next_wakeup_ms(self, now_ms: int) -> int | None:
        return now_ms + _POLL_MS

    def on_committed(self, positions: Mapping[str, Any]) -> None:
        for position in positions.values():
            if isinstance(position, SharePosition):
                self.state.books.book(position)
            elif isinstance(position, LogPosition):
                self._committed.append(position.place)

    def snapshot(self) -> Any:
        return self._state

    def close(self) -> None:
        if self._control is None:
            return
        if self._capture.bounded and self.state.log_given:
            self._control.ended()
        self._control.close()
