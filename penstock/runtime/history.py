"""What happened to a job and when: its states, its checkpoints, its failures. Bounded, however long the job runs.

Every epoch is a checkpoint here, so its trigger time is the epoch's start and its duration the whole epoch. Sizes
come from the handles that subtasks report; the state that an epoch added is the file that is new among them.
"""

from __future__ import annotations

import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import uuid4

from penstock.checkpoint.handles import FileRef, OperatorSubtaskState
from penstock.common.errors import ErrorDomain, PenstockError

__all__ = [
    "CheckpointHistory",
    "CheckpointRecord",
    "ExceptionHistory",
    "ExceptionRecord",
    "Lifecycle",
    "OperatorSize",
    "RescaleHistory",
    "RescaleRecord",
    "SizeBook",
    "SubtaskSize",
    "now_ms",
]


def now_ms() -> int:
    return int(time.time() * 1000)


class Lifecycle:
    """When a job entered each of its states, by Flink's names; 0 for those it has not been in."""

    STATES = (
        "INITIALIZING", "CREATED", "RUNNING", "FAILING", "FAILED", "CANCELLING", "CANCELED", "FINISHED",
        "RESTARTING", "SUSPENDED", "RECONCILING",
    )  # fmt: skip
    ENDS = ("FAILED", "CANCELED", "FINISHED")

    def __init__(self) -> None:
        self.timestamps: dict[str, int] = dict.fromkeys(self.STATES, 0)
        self.current = "INITIALIZING"
        self.enter("INITIALIZING")

    def enter(self, state: str) -> None:
        """A job that has ended stays as it is."""
        if self.current not in self.ENDS:
            self.timestamps[state] = now_ms()
            self.current = state

    @property
    def start_ms(self) -> int:
        return self.timestamps["INITIALIZING"]

    @property
    def end_ms(self) -> int:
        """-1 while the job runs, as Flink says it."""
        return self.timestamps[self.current] if self.current in self.ENDS else -1

    def duration_ms(self) -> int:
        return (now_ms() if self.end_ms < 0 else self.end_ms) - self.start_ms

    def uptime_ms(self) -> int:
        """For how long it has been running without a restart."""
        return now_ms() - self.timestamps["RUNNING"] if self.current == "RUNNING" else 0


@dataclass(frozen=True)
class OperatorSize:
    """State of one operator's subtask in a checkpoint: all of it, what was written, and how long that took."""

    uid: str
    state_bytes: int
    written_bytes: int
    write_ms: float = 0.0


@dataclass(frozen=True)
class SubtaskSize:
    """The same of a stage's subtask, which has one or more operators."""

    stage: int
    subtask: int
    operators: tuple[OperatorSize, ...] = ()
    ack_ms: int = 0

    @property
    def state_bytes(self) -> int:
        return sum(operator.state_bytes for operator in self.operators)

    @property
    def written_bytes(self) -> int:
        return sum(operator.written_bytes for operator in self.operators)

    @property
    def write_ms(self) -> float:
        return sum(operator.write_ms for operator in self.operators)

    def written_as_a_whole(self) -> SubtaskSize:
        """In a savepoint, which is written by others than the subtasks."""
        operators = (replace(o, written_bytes=o.state_bytes, write_ms=0.0) for o in self.operators)
        return replace(self, operators=tuple(operators))


class SizeBook:
    """Remembers how large the state of each operator subtask was, so that an epoch only looks at what is new."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[str | None, FileRef | None, int, int]] = {}

    def measure(self, uid: str, subtask: int, state: OperatorSubtaskState) -> tuple[int, int]:
        """Bytes of the state, and those of them that were not there the last time."""
        others = (state.operator_state, state.function_state, state.runtime_state, state.waiting)
        inline = sum(_size(part) for part in others)
        keyed = state.keyed
        if keyed is None:
            return inline, inline
        snapshot = keyed.snapshot.path if keyed.snapshot else None
        newest = keyed.deltas[-1] if keyed.deltas else None
        before, last, count, size = self._known.get((uid, subtask), (None, None, 0, 0))
        if before == snapshot and (count or size):
            written = newest.size_bytes if newest is not None and newest != last else 0
            if len(keyed.deltas) - count == (written > 0):
                size += written
            else:  # older deltas were packed into one file meanwhile
                size = sum(ref.size_bytes for ref in keyed.files)
        else:
            size = sum(ref.size_bytes for ref in keyed.files)
            written = size
        self._known[uid, subtask] = (snapshot, newest, len(keyed.deltas), size)
        return size + inline, written + inline


def _size(part: bytes | FileRef | None) -> int:
    if part is None:
        return 0
    return part.size_bytes if isinstance(part, FileRef) else len(part)


@dataclass(frozen=True)
class CheckpointRecord:
    """One checkpoint or savepoint, done or failed."""

    id: int
    status: str
    trigger_ms: int
    ack_ms: int
    sizes: tuple[SubtaskSize, ...] = ()
    path: str | None = None
    is_savepoint: bool = False
    stops_job: bool = False
    failure: str | None = None
    records: int = 0

    @property
    def duration_ms(self) -> int:
        return max(0, self.ack_ms - self.trigger_ms)

    @property
    def state_bytes(self) -> int:
        return sum(size.state_bytes for size in self.sizes)

    @property
    def written_bytes(self) -> int:
        return sum(size.written_bytes for size in self.sizes)


@dataclass
class CheckpointHistory:
    """The last checkpoints in full, counts and distributions of all."""

    size: int = 10
    completed: int = 0
    failed: int = 0
    restored: int = 0
    savepoints: int = 0
    recent: deque[CheckpointRecord] = field(init=False)
    latest: dict[str, CheckpointRecord] = field(default_factory=dict)
    """The last one of each kind: completed, failed, savepoint, restored."""
    summary: deque[tuple[int, int, int]] = field(default_factory=lambda: deque(maxlen=1000))
    """(state bytes, written bytes, duration) of the last completed ones, for percentiles."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def __post_init__(self) -> None:
        self.recent = deque(maxlen=max(1, self.size))

    def add(self, record: CheckpointRecord) -> None:
        with self._lock:
            self.recent.appendleft(record)
            if record.status == "FAILED":
                self.failed += 1
                self.latest["failed"] = record
                return
            self.completed += 1
            self.savepoints += record.is_savepoint
            self.latest["savepoint" if record.is_savepoint else "completed"] = record
            self.summary.append((record.state_bytes, record.written_bytes, record.duration_ms))

    def add_restored(self, record: CheckpointRecord) -> None:
        with self._lock:
            self.restored += 1
            self.latest["restored"] = record

    def listed(self) -> list[CheckpointRecord]:
        with self._lock:
            return list(self.recent)

    def summaries(self) -> list[tuple[int, int, int]]:
        with self._lock:
            return list(self.summary)

    def known(self) -> dict[int, CheckpointRecord]:
        """By number; the last one of each kind is among them, however long ago that was."""
        with self._lock:
            known = [*self.latest.values(), *reversed(self.recent)]
        return {record.id: record for record in known}

    def find(self, checkpoint_id: int) -> CheckpointRecord | None:
        return self.known().get(checkpoint_id)

    def savepoint_of(self, path: str, trigger_ms: int, epoch: int, stops_job: bool) -> None:
        """A savepoint of the state after `epoch` has been written."""
        sizes = self.latest["completed"].sizes if "completed" in self.latest else ()
        sizes = tuple(size.written_as_a_whole() for size in sizes)
        self.add(CheckpointRecord(epoch, "COMPLETED", trigger_ms, now_ms(), sizes, path, True, stops_job))


@dataclass(frozen=True)
class ExceptionRecord:
    """A failure of the job, as a person wants to read it."""

    timestamp_ms: int
    name: str
    text: str
    task: str | None
    labels: Mapping[str, str]
    fatal: bool = False


class ExceptionHistory:
    """The last failures, newest first."""

    def __init__(self, size: int = 16) -> None:
        self.recent: deque[ExceptionRecord] = deque(maxlen=max(1, size))
        self.total = 0

    def add(self, error: BaseException, fatal: bool, task: str | None = None) -> None:
        self.remember(describe_failure(error, fatal, task))

    def remember(self, record: ExceptionRecord) -> None:
        self.total += 1
        self.recent.appendleft(record)

    def listed(self) -> list[ExceptionRecord]:
        return list(self.recent)


@dataclass(frozen=True)
class RescaleRecord:
    """One time that a running job was to get another parallelism; numbers are by operator uid."""

    id: int
    cause: str
    start_ms: int
    end_ms: int
    before: Mapping[str, int]
    after: Mapping[str, int]
    failure: str | None = None
    uuid: str = field(default_factory=lambda: uuid4().hex)

    @property
    def state(self) -> str:
        """Flink's: FAILED, or IGNORED if nothing had to change, or COMPLETED."""
        if self.failure is not None:
            return "FAILED"
        return "IGNORED" if self.before == self.after else "COMPLETED"


class RescaleHistory:
    """The last of them, newest first, and counts of all."""

    def __init__(self, size: int = 0) -> None:
        self.size = size
        self.counts: Counter[str] = Counter()
        self.latest: dict[str, RescaleRecord] = {}
        self._recent: deque[RescaleRecord] = deque(maxlen=max(1, size))

    def add(
        self,
        cause: str,
        start_ms: int,
        before: Mapping[str, int],
        after: Mapping[str, int],
        failure: str | None,
    ) -> None:
        number = self.counts.total() + 1
        record = RescaleRecord(number, cause, start_ms, now_ms(), before, after, failure)
        self._recent.appendleft(record)
        self.latest[record.state] = record
        self.counts[record.state] += 1

    def listed(self) -> list[RescaleRecord]:
        return list(self._recent)


def describe_failure(error: BaseException, fatal: bool, task: str | None = None) -> ExceptionRecord:
    """The failure as plain data: our errors tell their own text, others get their traceback."""
    domain = error.domain if isinstance(error, PenstockError) else ErrorDomain.EXTERNAL
    if isinstance(error, PenstockError):
        text = f"{type(error).__name__}: {error}"
    else:
        text = "".join(traceback.format_exception(error)).rstrip()
    where = getattr(error, "where", None)
    named = task or (where.splitlines()[0] if isinstance(where, str) and where else None)
    labels = {"type": domain.value, "code": getattr(error, "code", type(error).__name__)}
    return ExceptionRecord(now_ms(), type(error).__name__, text, named, labels, fatal)


def sizes_of(items: Iterable[tuple[int, int, OperatorSize]], ack_ms: int) -> tuple[SubtaskSize, ...]:
    """Sizes of operators, with stage and subtask, as those of stage subtasks."""
    found: dict[tuple[int, int], list[OperatorSize]] = {}
    for stage, subtask, size in items:
        found.setdefault((stage, subtask), []).append(size)
    return tuple(SubtaskSize(s, i, tuple(sizes), ack_ms) for (s, i), sizes in sorted(found.items()))
