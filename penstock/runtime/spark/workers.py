"""Reaching the Python workers outside of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext


def in_workers(context: SparkContext, function: Callable[[], Any]) -> None:
    """Calls a function in the Python workers, best effort: twice as many tasks as run at once."""
    tasks = context.defaultParallelism * 2
    context.parallelize(range(tasks), tasks).mapPartitions(_Call(function)).collect()


class _Call:
    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def __call__(self, rows: Iterator[Any]) -> Iterator[Any]:
        for _ in rows:  # a worker whose input was left unread is not used again by Spark
            pass
        self._function()
        return iter(())
