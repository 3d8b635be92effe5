"""What survives a task is not looked at again by PySpark's collection behind every task."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from penstock.runtime.garbage import LEAST_SECONDS, SurvivorsOfTasks
from penstock.runtime.memory_guard import memory_error


class Knot:
    """An object in a reference cycle, which only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0
        self.full_collection_takes = 0.0

    def __call__(self) -> float:
        if gc.get_freeze_count() == 0:  # asked in the middle of a collection of everything
            self.now += self.full_collection_takes
        return self.now


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    gc.unfreeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


def test_what_lives_when_a_task_begins_is_not_looked_at_behind_it() -> None:
    survivors, kept = SurvivorsOfTasks(Clock()), [Knot()]
    survivors.before_task()
    assert all(o is not kept[0] for o in gc.get_objects())
    assert gc.get_freeze_count() > 0


def test_a_cycle_of_the_task_itself_goes_with_the_collection_behind_it() -> None:
    SurvivorsOfTasks(Clock()).before_task()
    gone = weakref.ref(Knot())
    gc.collect()
    assert gone() is None


def test_a_cycle_that_outlives_its_task_goes_with_a_later_collection_of_everything() -> None:
    clock, kept = Clock(), [Knot()]
    survivors, gone = SurvivorsOfTasks(clock), weakref.ref(kept[0])
    survivors.before_task()
    kept.clear()
    clock.now += LEAST_SECONDS - 1
    survivors.before_task()
    gc.collect()
    assert gone() is not None
    clock.now += 2
    survivors.before_task()
    assert gone() is None


def test_collections_of_everything_take_a_hundredth_of_the_time() -> None:
    clock = Clock()
    clock.full_collection_takes = 5.0
    survivors = SurvivorsOfTasks(clock)
    survivors.before_task()
    kept = [Knot()]
    gone = weakref.ref(kept[0])
    survivors.before_task()
    kept.clear()
    clock.now += 400
    survivors.before_task()
    assert gone() is not None
    clock.now += 600
    survivors.before_task()
    assert gone() is None


def test_what_was_given_up_with_its_state_goes_before_the_next_task() -> None:
    kept = [Knot()]
    survivors, gone = SurvivorsOfTasks(Clock()), weakref.ref(kept[0])
    survivors.before_task()
    kept.clear()
    survivors.expect_garbage()
    survivors.before_task()
    assert gone() is None


def test_a_task_that_had_too_much_memory_leaves_no_cycles_of_earlier_ones() -> None:
    kept = [Knot()]
    gone = weakref.ref(kept[0])
    SurvivorsOfTasks(Clock()).before_task()
    kept.clear()
    memory_error(MemoryError(), 1, 2)
    assert gone() is None
