"""The Python workers, outside of an epoch: what they come with, and how to reach them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import cloudpickle

from penstock.runtime.spark.slots import Slot, in_lane, lanes_of, located, pruned

if TYPE_CHECKING:
    from pyspark import SparkContext


MORE_IMPORTS = "PENSTOCK_WORKER_IMPORTS"
"""Variable with the names of modules that the daemon imports before it forks workers."""


def want_imports(context: SparkContext, modules: Sequence[str] = ()) -> None:
    """Says which modules workers should come with; those of SQL, for one, take 0.4 s each time.

    The first one to say so decides. Spark starts a daemon for each set of variables, and one is enough.
    """
    context.environment.setdefault(MORE_IMPORTS, " ".join(modules))


def in_workers(context: SparkContext, function: Callable[[], Any], slots: Sequence[Slot]) -> None:
    """Calls a function in the Python workers of some slots, best effort: one task for each of them."""
    lanes = lanes_of(slots)
    tasks = context.parallelize(range(len(slots)), max(1, len(slots)))
    placed = located(context, tasks, slots)
    calls = []
    for lane, members in lanes.items():
        called: Any = pruned(context, placed, members).mapPartitions(_Call(function))
        with in_lane(context, lane):
            called._jrdd  # noqa: B018 (decides the processes)
        calls.append(called)
    if calls:
        context.union(calls).collect()


def run_in_tasks(context: SparkContext, function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """Calls a function for each item, each in a task of its own."""
    if not items:
        return []
    call = cloudpickle.dumps(function)
    packed = [cloudpickle.dumps(item) for item in items]
    rdd = context.parallelize(packed, len(packed))
    return rdd.map(lambda item: cloudpickle.loads(call)(cloudpickle.loads(item))).collect()


class _Call:
    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def __call__(self, rows: Iterator[Any]) -> Iterator[Any]:
        for _ in rows:  # a worker whose input was left unread is not used again by Spark
            pass
        self._function()
        return iter(())
