"""A job restarts after errors that may be over the next time, and fails at once on the others."""

from __future__ import annotations

import pathlib
import threading
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import (
    CheckpointError,
    DamagedStateError,
    ExternalSystemError,
    InvariantError,
    JobExecutionError,
    LocalStateError,
    MalformedRecordError,
    MissingDependencyError,
    NotSupportedError,
    PenstockError,
    SqlError,
    StateMigrationError,
    TypeMismatchError,
    UserFunctionError,
    ValidationError,
)
from penstock.datastream import MapFunction, StreamExecutionEnvironment
from penstock.runtime import coordinator, job_registry
from penstock.runtime.in_process import forget
from penstock.runtime.restoring import tell_no_directory
from tests.runtime.in_process import Count, collect, failing_times

NUMBERS = list(range(12))
SETTINGS = {
    "execution.epoch.max-records": "2",
    "execution.runtime-mode": "STREAMING",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "3",
    "restart-strategy.fixed-delay.delay": "1 ms",
}


def counts() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection(NUMBERS, Types.LONG())
    return stream.key_by(lambda v: v % 2, key_type=Types.LONG()).process(Count(), Types.LONG())


RETRIED = [
    ExternalSystemError("the database is away"),
    UserFunctionError("failed", user_traceback="Traceback"),
    MalformedRecordError("half a line"),
    InvariantError("2 of 3 subtasks reported"),
    LocalStateError("the disk is full"),
    OSError("the network is away"),
]
FINAL = [
    ValidationError("no"),
    TypeMismatchError("a str is no LONG"),
    SqlError("no such column"),
    NotSupportedError("this", "of that"),
    StateMigrationError("another type"),
    CheckpointError("gone"),
    DamagedStateError("gone"),
    MissingDependencyError("no such package"),
    PenstockError("a scalar subquery gave 2 rows"),
]


@pytest.mark.parametrize("error", RETRIED, ids=lambda e: type(e).__name__)
def test_an_error_that_may_be_over_is_left_to_the_restart_strategy(error: Exception) -> None:
    result = collect(counts(), SETTINGS, failing_times(2, 3, lambda: error))
    assert sorted(result) == sorted([1, 2, 3, 4, 5, 6] * 2)


@pytest.mark.parametrize("error", FINAL, ids=lambda e: type(e).__name__)
def test_an_error_that_must_come_again_fails_the_job_at_once(error: Exception) -> None:
    tries: list[int] = []

    def interfere(plan: Any, partition: int) -> None:
        if plan.epoch == 3:
            tries.append(partition)
            raise error

    with pytest.raises(JobExecutionError) as caught:
        collect(counts(), SETTINGS, interfere)
    assert caught.value.__cause__ is error
    assert tries == [0]
    assert not caught.value.retryable


ASKED = {k: v for k, v in SETTINGS.items() if not k.startswith("restart")} | {
    "restart-strategy.exponential-delay.initial-backoff": "1 ms",
}


def test_checkpoints_without_a_directory_restart_with_their_state_and_say_once_where_it_is(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def lose_everything(plan: Any, partition: int) -> None:
        if plan.epoch in (3, 5) and plan.attempt_number < plan.epoch // 2:
            forget()
            raise OSError("the worker is gone")

    tell_no_directory.cache_clear()
    settings = {**ASKED, "execution.checkpointing.interval": "1 s"}
    for _ in range(2):
        assert sorted(collect(counts(), settings, lose_everything)) == sorted([1, 2, 3, 4, 5, 6] * 2)
    told = [m for m in caplog.messages if "temporary folder" in m]
    assert told == [
        "checkpoints are kept in a temporary folder, because no directory is configured: jobs restart after "
        "failures, but begin anew if this process ends. Set execution.checkpointing.dir to go on after that, too"
    ]


@pytest.mark.parametrize("settings", [{}, {"execution.checkpointing.interval": "0 s"}], ids=["none", "zero"])
def test_without_checkpoints_the_first_failure_ends_the_job(
    settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(JobExecutionError, match="the worker is gone"):
        collect(counts(), {**ASKED, **settings}, failing_times(1, 3, lambda: OSError("the worker is gone")))
    assert caplog.messages == []


def test_an_error_that_cannot_be_pickled_keeps_its_say_about_restarts() -> None:
    class Failing(Count):
        def open(self, runtime_context: Any) -> None:
            super().open(runtime_context)
            self.fails = runtime_context.get_attempt_number() == 0

        def process_element(self, value: int, ctx: Any) -> Any:
            if value == 5 and self.fails:
                error = ExternalSystemError("the database is away")
                error.connection = threading.Lock()  # type: ignore[attr-defined]
                raise error
            yield from super().process_element(value, ctx)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection(NUMBERS, Types.LONG()).key_by(lambda v: v % 2, key_type=Types.LONG())
    assert len(collect(stream.process(Failing(), Types.LONG()), SETTINGS)) == len(NUMBERS)


def test_a_damaged_state_file_names_the_checkpoints_that_are_usable(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coordinator, "RETAIN_EVERY_EPOCHS", 100)
    damaged: list[int] = []

    def damage(plan: Any, partition: int) -> None:
        """Before epoch 5, for the first time: the file of epoch 4 is cut, and memory is lost."""
        if plan.epoch == 5 and plan.level == 0:
            damaged.append(plan.epoch)
            (newest,) = tmp_path.glob("*/shared/**/00000004-*")
            newest.write_bytes(newest.read_bytes()[:-1])
            forget()

    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": str(tmp_path),
        "state.backend.type": "memory",
    }
    with pytest.raises(JobExecutionError) as caught:
        collect(counts(), settings, damage)
    error = caught.value.__cause__
    assert isinstance(error, DamagedStateError) and damaged == [5]
    (job,) = {path.parent for path in tmp_path.glob("*/chk-*")}
    assert error.do is not None
    named = [line for line in error.do.splitlines() if "chk-" in line]
    assert named == [f"{job}/chk-3", f"{job}/chk-2", f"{job}/chk-1"]

    goes_on = {**SETTINGS, "execution.state-recovery.path": named[0]}
    # The output of epoch 3 is published once more: this sink is a new one and does not know it.
    assert sorted(collect(counts(), goes_on)) == sorted([3, 4, 5, 6] * 2)


def test_committing_is_not_tried_again_where_that_cannot_help() -> None:
    tries: list[int] = []

    class Refusing:
        def commit(self, committables: Any) -> None:
            tries.append(1)
            raise CheckpointError("the file is gone")

    metadata = type("Metadata", (), {"commits": [type("P", (), {"uid": "sink", "committables": ()})]})
    with pytest.raises(CheckpointError):
        coordinator.publish_commits(metadata, {"sink": Refusing()}, attempts=5)  # type: ignore[arg-type,dict-item]
    assert len(tries) == 1


def test_a_damaged_state_file_names_the_savepoints_that_are_usable(tmp_path: pathlib.Path) -> None:
    settings = {
        **SETTINGS,
        "execution.checkpointing.dir": str(tmp_path / "chk"),
        "execution.checkpointing.savepoint-dir": str(tmp_path / "savepoints"),
        "state.backend.type": "memory",
    }
    saved: list[str] = []

    def damage(plan: Any, partition: int) -> None:
        """In epoch 3 two savepoints are taken, one is damaged, and so is every file of the checkpoints."""
        if plan.epoch == 4 and plan.level == 0:
            (job,) = [j for j in job_registry.jobs() if j.job_name == "test job"]
            saved.extend(job._write_savepoint("") for _ in range(2))
            (part,) = pathlib.Path(saved[0]).rglob("*.parquet")
            part.write_bytes(part.read_bytes()[:-9])
            for file in (tmp_path / "chk").glob("*/shared/**/*.delta"):
                file.write_bytes(b"")
            forget()

    with pytest.raises(JobExecutionError) as caught:
        collect(counts(), settings, damage)
    error = caught.value.__cause__
    assert isinstance(error, DamagedStateError) and error.do is not None
    assert error.do.splitlines()[1:] == [saved[1]]


class Strict(MapFunction):
    """As users write them: what `close()` frees, `open()` has made."""

    def open(self, runtime_context: Any) -> None:
        self.closed: list[str] = []

    def map(self, value: int) -> int:
        return value

    def close(self) -> None:
        self.closed.append("yes")


def test_an_operator_that_had_ended_when_its_worker_was_lost_is_not_closed_unopened() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    short = env.from_collection([1, 2], Types.LONG()).map(Strict(), Types.LONG())
    both = short.union(env.from_collection(NUMBERS, Types.LONG()).map(Strict(), Types.LONG()))
    lost: list[int] = []

    def lose(plan: Any, partition: int) -> None:
        if plan.epoch == 4 and not lost:
            lost.append(plan.epoch)
            forget()

    assert sorted(collect(both, SETTINGS, lose)) == sorted([1, 2, *NUMBERS]) and lost
