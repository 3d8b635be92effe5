"""Stacks of a thread, looked at from another one."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from penstock.runtime.profiling import Profiling, _Watch, profiled
from tests.rest.test_flame_graphs import burn, doze


def test_a_stage_is_watched_for_a_minute_and_then_forgotten() -> None:
    now = [0.0]
    profiling = Profiling(lambda: now[0])
    assert profiling.watched() == frozenset() and profiling.look(3).end_ms == 0
    now[0] = 59
    assert profiling.watched() == {3}
    now[0] = 61
    assert profiling.watched() == frozenset()


def test_a_busy_function_is_seen_beside_one_that_waits() -> None:
    usual = sys.getswitchinterval()

    def epoch() -> Iterator[Any]:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            yield doze(burn(1))

    inside: dict[str, Any] = {"__name__": "penstock.runtime.stage"}
    exec("def run(items):\n    yield from items", inside)
    watch = _Watch(threading.get_ident(), 0.001)
    watch.start()
    for _ in inside["run"](epoch()):
        seen = " ".join(frame for frames, _ in watch.taken() for frame in frames)
        if ".burn:" in seen and ".doze:" in seen:
            break
    watch.stop()
    assert ".burn:" in seen and ".doze:" in seen
    assert sys.getswitchinterval() == usual


def test_what_is_no_report_passes_as_it_is() -> None:
    assert list(profiled(iter([1, "a"]))) == [1, "a"]
