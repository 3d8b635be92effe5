"""A program that was changed goes on from the savepoint of the former one: state is found by uid."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from penstock.common import Types
from penstock.common.errors import StateMigrationError
from penstock.connectors.collect import CollectSink
from penstock.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from penstock.datastream.state import ValueStateDescriptor
from penstock.graph.transformations import SinkTransformation
from tests.runtime.in_process import StopAt, start

NUMBERS = 200
PAIR = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Count(KeyedProcessFunction):
    def __init__(self, name: str) -> None:
        self.name = name

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: int, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield self.name, value, self.count.value()


def counted(stream: Any, name: str, uid: str) -> Any:
    keyed = stream.key_by(lambda v: v % 5, key_type=Types.LONG())
    return keyed.process(Count(name), PAIR).uid(uid).set_parallelism(2)


def run(ends: list[Any], settings: dict[str, str], interfere: Any = None) -> tuple[Any, Any]:
    sink = CollectSink(PAIR)
    both = ends[0].union(*ends[1:]) if len(ends) > 1 else ends[0]
    end = SinkTransformation("collect", (both._transformation,), parallelism=1, sink=sink, uid="collect")
    fixed = {"execution.runtime-mode": "STREAMING", "execution.epoch.max-records": "20"}
    job = start([end], {**fixed, **settings}, interfere)
    return job, sink.iterator(job)


def source() -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_sequence(0, NUMBERS - 1).set_parallelism(1).uid("source")


@pytest.fixture(scope="module")
def savepoint(tmp_path_factory: Any) -> tuple[str, int]:
    """Of a program with two counters; and how many numbers it has counted."""
    stream, stop = source(), StopAt(4)
    job, rows = run([counted(stream, "a", "first"), counted(stream, "b", "second")], {}, stop)
    path = stop.stop(job, tmp_path_factory.mktemp("savepoints"))
    return path, len([row for row in rows if row[0] == "a"])


def test_operators_change_places_and_names_and_others_come(savepoint: tuple[str, int]) -> None:
    path, before = savepoint
    stream = source()
    kept = stream.filter(lambda v: True).name("all of them").uid("new filter").set_parallelism(1)
    ends = [
        counted(kept, "b", "second").name("renamed"),
        counted(stream, "c", "third"),
        counted(kept, "a", "first"),
    ]
    _, rows = run(ends, {"execution.state-recovery.path": path})
    last: dict[tuple[str, int], int] = {}
    for name, number, count in rows:
        assert number >= before
        last[name, number % 5] = max(count, last.get((name, number % 5), 0))
    assert {last[name, key] for name in "ab" for key in range(5)} == {NUMBERS // 5}
    assert {last["c", key] for key in range(5)} == {(NUMBERS - before) // 5}


def test_an_operator_that_is_gone_is_dropped_only_if_that_is_allowed(
    savepoint: tuple[str, int], tmp_path: pathlib.Path
) -> None:
    path, before = savepoint
    given = {"execution.state-recovery.path": path}
    with pytest.raises(
        StateMigrationError, match="state of operators that the program does not have: 'second'"
    ):
        run([counted(source(), "a", "first")], given)
    allowed = {**given, "execution.state-recovery.ignore-unclaimed-state": "true"}
    _, rows = run([counted(source(), "a", "first")], allowed)
    assert max(count for _, _, count in rows) == NUMBERS // 5 and before > 0
