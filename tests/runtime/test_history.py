"""What a job remembers of its checkpoints, failures and states, and how fast its counters move."""

from __future__ import annotations

import threading
from typing import Any

from penstock.checkpoint.handles import FileRef, KeyedStateHandle, OperatorSubtaskState
from penstock.common.errors import UserFunctionError
from penstock.common.ids import EpochId
from penstock.runtime import job_registry
from penstock.runtime.history import (
    CheckpointHistory,
    CheckpointRecord,
    ExceptionHistory,
    Lifecycle,
    OperatorSize,
    SizeBook,
    sizes_of,
)
from penstock.runtime.rates import Rates


def state(*deltas: int, snapshot: int | None = None, inline: bytes | None = None) -> OperatorSubtaskState:
    files = tuple(FileRef(f"delta-{i}", size, "") for i, size in enumerate(deltas))
    taken = None if snapshot is None else FileRef(f"snapshot-{snapshot}", snapshot, "")
    return OperatorSubtaskState(KeyedStateHandle(EpochId(1), 0, 127, taken, files), operator_state=inline)


def test_a_checkpoint_wrote_what_is_new_since_the_last_one() -> None:
    book = SizeBook()
    assert book.measure("a", 0, state(10)) == (10, 10)
    assert book.measure("a", 0, state(10, 5)) == (15, 5)
    assert book.measure("a", 0, state(10, 5)) == (15, 0)
    assert book.measure("a", 0, state(10, 5, inline=b"xyz")) == (18, 3)
    assert book.measure("a", 0, state(snapshot=40)) == (40, 40)
    assert book.measure("a", 0, state(2, snapshot=40)) == (42, 2)
    assert book.measure("a", 1, state(7)) == (7, 7)


def test_deltas_that_are_packed_beside_the_job_are_not_written_by_a_checkpoint() -> None:
    book = SizeBook()
    for count in range(1, 5):
        book.measure("a", 0, state(*[10] * count, snapshot=500))
    kept = FileRef("delta-3", 10, ""), FileRef("delta-4", 6, "")
    handle = KeyedStateHandle(
        EpochId(5), 0, 127, FileRef("snapshot-500", 500, ""), (FileRef("p", 20, ""), *kept)
    )
    assert book.measure("a", 0, OperatorSubtaskState(handle)) == (536, 6)


def test_sizes_and_times_are_told_by_operator_and_added_up_by_subtask() -> None:
    items = [
        (0, 1, OperatorSize("a", 5, 4, 2.0)),
        (0, 1, OperatorSize("b", 1, 1, 0.5)),
        (0, 0, OperatorSize("a", 7, 7)),
    ]
    first, second = sizes_of(items, ack_ms=9)
    assert (first.subtask, first.state_bytes, first.write_ms) == (0, 7, 0)
    assert (second.subtask, second.state_bytes, second.written_bytes, second.write_ms) == (1, 6, 5, 2.5)
    assert [operator.uid for operator in second.operators] == ["a", "b"]


def test_the_last_checkpoints_are_kept_and_all_are_counted() -> None:
    history = CheckpointHistory(size=2)
    for number in range(1, 6):
        history.add(CheckpointRecord(number, "COMPLETED" if number != 4 else "FAILED", 0, number))
    assert [record.id for record in history.listed()] == [5, 4]
    assert (history.completed, history.failed) == (4, 1)
    assert history.latest["failed"].id == 4 and history.find(3) is None


def test_a_savepoint_stands_beside_the_checkpoint_it_was_made_of() -> None:
    history = CheckpointHistory(size=5)
    sizes = sizes_of([(0, 0, OperatorSize("a", 9, 2, 1.0))], 1)
    history.add(CheckpointRecord(1, "COMPLETED", 0, 1, sizes))
    history.savepoint_of("/sp", 0, 1, stops_job=True)
    assert history.latest["savepoint"].written_bytes == 9 and history.latest["completed"].written_bytes == 2
    assert history.latest["savepoint"].path == "/sp" and history.latest["completed"].path is None


def test_failures_tell_the_users_traceback_and_whose_they_are() -> None:
    history = ExceptionHistory(size=1)
    history.add(ValueError("first"), fatal=False)
    error = UserFunctionError(
        "f failed", user_traceback='  File "job.py", line 3', where="operator 'f', subtask 1"
    )
    history.add(error, fatal=True)
    (record,) = history.listed()
    assert history.total == 2 and "job.py" in record.text
    assert record.labels["type"] == "user" and record.task == "operator 'f', subtask 1"


def test_a_job_that_has_ended_stays_as_it_is() -> None:
    life = Lifecycle()
    for each in ("CREATED", "RUNNING", "CANCELLING", "CANCELED", "RUNNING"):
        life.enter(each)
    assert life.current == "CANCELED" and life.end_ms == life.timestamps["CANCELED"] > 0
    assert life.uptime_ms() == 0


def test_a_rate_is_the_growth_since_an_older_look() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    for second in range(0, 100, 2):
        now[0] = float(second)
        rates.observe(lambda s=second: {"a": (s * 10.0,)})
    now[0] = 100.0
    assert rates.per_second("a", 0, 1000.0) == 10.0
    assert rates.per_second("a", 0, 1480.0, seconds=10.0) == 58.0
    assert len(rates._copies) < 35


def test_what_was_not_there_at_an_older_look_has_grown_from_nothing_since_the_last_one_without_it() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    for second in range(0, 30, 10):
        now[0] = float(second)
        rates.observe(lambda s=second: {"a": ((s - 10) * 7.0,)} if s > 10 else {})
    assert rates.per_second("a", 0, 70.0) == 7.0  # seen now for the first time
    now[0] = 30.0
    assert rates.per_second("a", 0, 140.0) == 7.0


class _Job:
    job_id = "x"


def test_a_watcher_that_fails_disturbs_neither_the_job_nor_others() -> None:
    told: list[str] = []

    class Bad:
        def job_started(self, job: Any) -> None:
            raise RuntimeError("no")

        def job_ended(self, job: Any) -> None:
            raise RuntimeError("no")

    class Good:
        def job_started(self, job: Any) -> None:
            told.append("started on " + threading.current_thread().name)

        def job_ended(self, job: Any) -> None:
            told.append("ended")

    watchers: list[Any] = [Bad(), Good()]
    for watcher in watchers:
        job_registry.watch_jobs(watcher)
    try:
        job_registry.job_started(_Job())  # type: ignore[arg-type]
        job_registry.job_ended(_Job())  # type: ignore[arg-type]
    finally:
        for watcher in watchers:
            job_registry.unwatch_jobs(watcher)
    assert told == ["started on MainThread", "ended"]
