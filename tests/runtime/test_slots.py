"""Where tasks run: slots follow the executors that there are, and stay where they are if they can."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.runtime.spark.slots import MOST_LANES, Executor, Slot, Slots, assign, lanes_of

A, B, C = Executor("0", "host-a"), Executor("1", "host-b"), Executor("2", "host-a")


def owners(slots: tuple[Slot, ...]) -> list[str]:
    return [slot.executor.id for slot in slots if slot.executor]


def test_every_core_is_a_slot_with_a_lane_of_its_own() -> None:
    slots = assign((), [A, B], 2)
    assert sorted((s.executor.id, s.lane) for s in slots if s.executor) == [
        ("0", 0),
        ("0", 1),
        ("1", 0),
        ("1", 1),
    ]


def test_only_the_slots_of_a_lost_executor_move() -> None:
    before = assign((), [A, B, C], 1)
    after = assign(before, [A, C], 1)
    assert owners(after) == ["0", "0", "2"]
    assert after[1].lane == 1


def test_a_replacement_takes_over_what_others_had_to_take() -> None:
    crowded = assign(assign((), [A, B, C], 1), [A, C], 1)
    replacement = Executor("3", "host-b")
    assert owners(assign(crowded, [A, C, replacement], 1)) == ["0", "3", "2"]


def test_more_executors_are_more_slots() -> None:
    before = assign((), [A], 1)
    assert owners(assign(before, [A, B], 1)) == ["0", "1"]


def test_a_location_names_host_and_executor() -> None:
    assert A.location == "executor_host-a_0"


def test_lanes_list_their_slots() -> None:
    assert lanes_of(assign((), [A, B], 2)) == {0: [0, 1], 1: [2, 3]}


def test_slots_of_a_large_executor_share_lanes() -> None:
    slots = assign((), [A], 3 * MOST_LANES)
    assert len(slots) == 3 * MOST_LANES
    assert {len(members) for members in lanes_of(slots).values()} == {3}
    assert len(lanes_of(slots)) == MOST_LANES


def test_slots_of_a_lost_executor_stay_but_fewer_tasks_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    alive, now = [A, B, C], [0.0]

    class Context:
        """What `Slots` asks of Spark."""

        master = "spark://here"
        defaultParallelism = 2

        def getConf(self) -> dict[str, str]:
            return {}

        @property
        def _jsc(self) -> Any:
            return self

        sc = getExecutorIds = lambda self: self

        def toString(self) -> str:
            return str(alive)

    monkeypatch.setattr(Slots, "_executors", lambda self, spark: (list(alive), 2))
    slots = Slots(Context(), lambda: now[0])  # type: ignore[arg-type]
    assert (slots.tasks_at_once(), len(slots.current())) == (6, 6)
    alive.remove(B)
    now[0] = 2.0
    assert (slots.tasks_at_once(), len(slots.current())) == (4, 6)
    alive.clear()
    now[0] = 4.0
    assert slots.tasks_at_once() == 4  # nobody is there for a moment: that is no parallelism
