"""What shuffles have produced is forgotten before they run again, whoever was to do it."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.kept_shuffles import ShuffleCleaner, keyed_bytes, shuffled
from penstock.runtime.spark.session import get_spark


class SparksCleaner:
    """Spark's, as far as it is used: notes what it was told to forget, and by which thread."""

    def __init__(self) -> None:
        self.forgotten: list[int] = []
        self.threads: set[str] = set()
        self.go_on = threading.Event()
        self.go_on.set()
        self.failures = 0

    def doCleanupShuffle(self, number: int, blocking: bool) -> None:
        assert blocking and self.go_on.wait(10)
        self.threads.add(threading.current_thread().name)
        if self.failures:
            self.failures -= 1
            raise ConnectionError("the executor is gone")
        self.forgotten.append(number)


def cleaner_of(sparks: SparksCleaner | None) -> ShuffleCleaner:
    option = SimpleNamespace(isDefined=lambda: sparks is not None, get=lambda: sparks)
    context: Any = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(cleaner=lambda: option)))
    return ShuffleCleaner(context)


def test_what_was_begun_is_waited_for_and_not_done_twice() -> None:
    sparks = SparksCleaner()
    cleaner = cleaner_of(sparks)
    sparks.go_on.clear()
    cleaner.begin([3, 4])
    assert sparks.forgotten == []
    threading.Timer(0.05, sparks.go_on.set).start()
    cleaner.forget([3, 4])
    assert sparks.forgotten == [3, 4] and threading.current_thread().name not in sparks.threads


def test_what_was_not_begun_is_done_at_once() -> None:
    sparks = SparksCleaner()
    cleaner = cleaner_of(sparks)
    cleaner.forget([5])
    cleaner.forget([5])
    assert sparks.forgotten == [5, 5] and sparks.threads == {threading.current_thread().name}


def test_what_was_begun_and_failed_is_done_again_and_then_raises() -> None:
    sparks = SparksCleaner()
    cleaner = cleaner_of(sparks)
    sparks.failures = 1
    cleaner.begin([6, 7])
    cleaner.forget([6, 7])
    assert sparks.forgotten == [6, 7]
    sparks.failures = 2
    cleaner.begin([8])
    with pytest.raises(ConnectionError):
        cleaner.forget([8])


def test_a_session_without_a_cleaner_begins_nothing() -> None:
    cleaner = cleaner_of(None)
    cleaner.begin([9])
    assert not cleaner.available


@pytest.mark.spark
def test_a_shuffle_that_was_forgotten_beside_other_work_runs_again() -> None:
    context = get_spark().sparkContext
    runs = context.accumulator(0)

    def rows(numbers: Any) -> Any:
        runs.add(1)
        return numbers

    made: Any = context.parallelize([(0, "a"), (1, "b")], 2).mapPartitions(
        lambda part: keyed_bytes(rows(part))
    )
    made._bypass_serializer = True
    moved, number = shuffled(context, made, 2)
    cleaner = ShuffleCleaner(context)
    for run in (1, 2, 3):
        assert sorted(moved.collect()) == [(0, "a"), (1, "b")]
        assert runs.value == 2 * run
        cleaner.begin([number])
        cleaner.forget([number])
