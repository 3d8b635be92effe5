"""Which tasks run which subtasks."""

from __future__ import annotations

import pytest

from penstock.graph.stages import Stage, StagePlan
from penstock.runtime.layout import lay_out


def plan(*levels: list[tuple[int, bool]]) -> StagePlan:
    """Stages by level, each given as (parallelism, has acts)."""
    stages: list[Stage] = []
    ids = []
    for level, described in enumerate(levels):
        offset, mine = 0, []
        for parallelism, has_acts in described:
            segments = (0,) if has_acts else ()
            stages.append(Stage(len(stages), level, offset, parallelism, (), (), (), (), segments=segments))
            mine.append(stages[-1].id)
            offset += parallelism
        ids.append(tuple(mine))
    return StagePlan(tuple(stages), tuple(ids), {})


def test_subtasks_share_the_tasks_of_few_slots() -> None:
    (level,) = lay_out(plan([(6, False)]), 2)
    assert level.members == ((0, 2, 4), (1, 3, 5))


def test_there_are_no_more_tasks_than_subtasks() -> None:
    (level,) = lay_out(plan([(2, False)]), 8)
    assert level.members == ((0,), (1,))


def test_stages_of_one_subtask_are_spread_over_the_slots() -> None:
    (level,) = lay_out(plan([(1, False), (1, False), (1, False)]), 2)
    assert level.members == ((0, 2), (1,))


def test_a_stage_with_acts_has_a_task_for_each_subtask() -> None:
    (level,) = lay_out(plan([(3, False), (2, True), (1, False)]), 2)
    assert level.members == ((0, 2), (1, 5), (3,), (4,))
    assert level.in_slots == 2


def test_without_slots_every_subtask_has_its_task() -> None:
    first, second = lay_out(plan([(3, False)], [(2, False)]), None)
    assert (len(first), len(second)) == (3, 2)


@pytest.mark.parametrize("slots", [1, 2, 3, 7, None])
def test_every_partition_is_run_by_exactly_one_task(slots: int | None) -> None:
    (level,) = lay_out(plan([(5, False), (3, True), (4, False)]), slots)
    assert sorted(p for mine in level.members for p in mine) == list(range(12))
    assert all(p in level.members[task] for p, task in level.task_of.items())
