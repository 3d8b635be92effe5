"""Slots that jobs hold, as Flink counts them: whether a task runs in one at this instant or not.

A job's subtasks share slots, so it holds as many as its widest vertex has subtasks, from its start to its end. Spark
has no slots: it gives cores to tasks as they come, spread evenly, so held ones are told as spread over the executors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from penstock.runtime.spark.executors import Executor

__all__ = ["HOLDING", "free_slots"]

HOLDING = ("RUNNING", "RESTARTING", "CREATED", "INITIALIZING", "FAILING", "CANCELLING")
"""States of jobs that hold slots."""


def free_slots(executors: Sequence[Executor], overviews: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """How many slots of each executor no job holds; none where jobs hold more than there are."""
    free = {each.id: each.cores for each in executors}
    held = sum(each["slots"] for each in overviews if each["state"] in HOLDING)
    for _ in range(min(held, sum(free.values()))):
        free[max(free, key=free.__getitem__)] -= 1
    return free
