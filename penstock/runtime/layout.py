"""Which Spark task runs which subtasks.

A task costs Spark several milliseconds, whatever it does, and only as many run at a time as there are cores. So a
level has as many tasks as the job has *slots*, and the subtasks of a slot run in its task one after the other:

    level 1, 6 subtasks, 2 slots        task 0: 0 2 4        task 1: 1 3 5

Partitions stay what they were, the subtasks of all stages of a level, numbered through; parcels are addressed to
them. Only the shuffle goes by tasks. The layout may change between two epochs: state belongs to
subtasks, not to tasks.

A stage with acts has a task for each of its subtasks, because Catalyst sees the rows of a task as one. So has
every stage in batch mode: everything is one epoch there, and a task holds what its subtasks have received.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.graph.stages import StagePlan


@dataclass(frozen=True)
class LevelTasks:
    """The tasks of one level.

    Attributes:
        members: For each task the partitions that it runs.
        in_slots: The first so many tasks stand for slots; each of the others is a subtask of a stage with acts.
    """

    members: tuple[tuple[int, ...], ...]
    in_slots: int
    task_of: dict[int, int] = field(init=False, compare=False)
    """The task of each partition."""

    def __post_init__(self) -> None:
        owners = {partition: task for task, mine in enumerate(self.members) for partition in mine}
        object.__setattr__(self, "task_of", owners)

    def __len__(self) -> int:
        return len(self.members)


def lay_out(stages: StagePlan, slots: int | None) -> tuple[LevelTasks, ...]:
    """The tasks of each level for a number of slots; None: a task for every subtask."""
    return tuple(_level(stages, level, slots) for level in range(len(stages.levels)))


def _level(stages: StagePlan, level: int, slots: int | None) -> LevelTasks:
    plain: list[int] = []
    alone: list[int] = []
    for stage_id in stages.levels[level]:
        stage = stages.stages[stage_id]
        (alone if stage.segments else plain).extend(range(stage.offset, stage.offset + stage.parallelism))
    count = len(plain) if slots is None else min(slots, len(plain))
    shared = tuple(tuple(plain[task::count]) for task in range(count))
    return LevelTasks(shared + tuple((partition,) for partition in alone), count)
