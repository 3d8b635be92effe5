"""A connector for tests whose rows, splits and epochs the test writes down.

    play("orders", [[(1, "a"), PAUSE, (2, "b")], [(3, "c")]])        # two splits, the first in two epochs
    CREATE TABLE orders (id INT, name STRING) WITH ('connector' = 'scripted', 'script' = 'orders')

With `'changelog' = 'true'` rows end with the kind of the change. `in_this_process` runs streaming statements without
Spark's tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from penstock.connectors.registry import register_connector
from penstock.connectors.source import Source
from penstock.connectors.table import ChangelogMode, TableConnector
from penstock.formats.base import Option, boolean
from penstock.runtime.in_process import InProcessEpochs
from penstock.sql.streaming import jobs
from penstock.testing.source import TestSource

INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE = 0, 1, 2, 3

_SCRIPTS: dict[str, list[list[Any]]] = {}


def play(name: str, splits: Sequence[Sequence[Any]]) -> None:
    """Says what a script holds: for each split rows, and what else a `TestSource` takes.

    The connector is registered here: pytest may import this module under two names, and each has its scripts.
    """
    register_connector(ScriptedConnector)
    _SCRIPTS[name] = [list(items) for items in splits]


class ScriptedConnector(TableConnector):
    name = "scripted"
    options = (Option("script", required=True), Option("changelog", boolean, False))
    directions = ("source",)

    def changelog_mode(self, table: Any) -> ChangelogMode:
        return "changelog" if self.values["changelog"] else "insert-only"

    def source(self, table: Any, columns: Sequence[str] | None = None) -> Source:
        return TestSource.of_splits(_SCRIPTS[self.values["script"]])


@contextmanager
def in_this_process(interfere: Callable[..., None] | None = None) -> Iterator[None]:
    """Tasks of streaming statements run here; expressions must have an Arrow form."""
    with mock.patch.object(jobs, "make_runner", lambda job: InProcessEpochs(job, interfere)):
        yield
