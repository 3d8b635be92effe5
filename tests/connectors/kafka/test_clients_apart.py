"""Objects in processes beside the driver's: what they answer, and what their ends mean."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.common.errors import ExternalSystemError
from penstock.connectors.kafka import apart
from penstock.connectors.kafka.apart import Apart, ClientLost

_TIME_S = 30.0


class Thing:
    """What is put there."""

    def __init__(self, name: str) -> None:
        self.name = name

    def pid(self) -> int:
        return os.getpid()

    def add(self, value: int) -> str:
        self.name += str(value)
        return self.name

    def fail(self) -> None:
        raise ExternalSystemError("it is away", where="there", do="wait")

    def fail_oddly(self) -> None:
        raise _Odd(lambda: 1)

    def print(self, text: str) -> None:
        print(text)
        print(text, file=sys.stderr)

    def warn(self, text: str) -> None:
        logging.getLogger("thing").warning(text)

    def hang(self) -> None:
        threading.Event().wait()

    def die(self) -> None:
        print("last words", file=sys.stderr, flush=True)
        os.abort()


class _Odd(Exception):
    """Cannot travel."""


@pytest.fixture
def thing() -> Iterator[Apart]:
    made = Apart(Thing, "a")
    yield made
    made.close()


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _TIME_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def call(thing: Apart, method: str, *arguments: Any) -> Any:
    return thing.call(method, *arguments, timeout_s=_TIME_S)


def test_an_object_lives_in_another_process_and_keeps_what_it_has(thing: Apart) -> None:
    assert call(thing, "pid") != os.getpid()
    assert [call(thing, "add", n) for n in (1, 2)] == ["a1", "a12"]


def test_calls_are_made_in_the_order_they_are_asked_for(thing: Apart) -> None:
    answers = [thing.ask("add", n, timeout_s=_TIME_S) for n in range(5)]
    assert answers[-1]() == "a01234" and answers[0]() == "a0"


def test_errors_come_back_as_they_are_or_as_what_they_say(thing: Apart) -> None:
    with pytest.raises(ExternalSystemError, match="it is away") as caught:
        call(thing, "fail")
    assert (caught.value.where, caught.value.do) == ("there", "wait")
    with pytest.raises(RuntimeError, match="_Odd"):
        call(thing, "fail_oddly")


def test_what_is_printed_disturbs_no_answer_and_the_log_is_the_drivers(
    thing: Apart, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    call(thing, "print", "hello")
    call(thing, "warn", "careful")
    assert call(thing, "add", 1) == "a1"
    wait_until(lambda: "a Kafka client's process says: hello" in caplog.text)
    assert ("careful", logging.WARNING) in [(r.getMessage(), r.levelno) for r in caplog.records]


def test_an_object_that_ends_its_process_is_lost_with_its_last_words(thing: Apart) -> None:
    with pytest.raises(ClientLost, match=r"ended with signal 6; its last words: .*last words"):
        call(thing, "die")
    with pytest.raises(ClientLost):
        call(thing, "pid")


def test_an_object_that_does_not_answer_in_time_is_killed(thing: Apart) -> None:
    pid = call(thing, "pid")
    with pytest.raises(ClientLost, match="no answer to hang for"):
        thing.call("hang", timeout_s=0.1)
    wait_until(lambda: not _runs(pid))


def test_one_that_waits_keeps_nobody_else_waiting(thing: Apart) -> None:
    others = [Apart(Thing, str(n)) for n in range(8)]
    for other in others:
        other.ask("hang", timeout_s=_TIME_S)
    assert call(thing, "add", 1) == "a1"
    for other in others:
        other.close()


def test_many_objects_share_few_processes_of_which_one_is_kept() -> None:
    things = [Apart(Thing, str(n)) for n in range(10)]
    pids = {call(thing, "pid") for thing in things}
    assert 2 <= len(pids) <= max(2, os.cpu_count() or 1)
    for thing in things:
        thing.close()
    wait_until(lambda: sum(_runs(pid) for pid in pids) == 1)
    again = Apart(Thing, "again")
    assert call(again, "pid") in pids
    again.close()


def test_an_object_that_nobody_holds_is_let_go() -> None:
    made = Apart(Thing, "a")
    call(made, "pid")
    place = made._place
    assert place is not None
    process, objects = place.process, place.process.objects
    del made, place
    assert process.objects == objects - 1


def test_processes_end_with_the_driver_whatever_they_are_doing() -> None:
    program = (
        "import sys, time; from tests.connectors.kafka.test_clients_apart import *\n"
        "thing = Apart(Thing, 'a'); print(call(thing, 'pid'), flush=True)\n"
        "thing.ask('hang', timeout_s=99); sys.stdin.read()"
    )
    driver = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with driver:
        assert driver.stdout is not None
        pid = int(driver.stdout.readline())
        driver.send_signal(signal.SIGKILL)
    wait_until(lambda: not _runs(pid))


def test_an_object_that_cannot_be_made_says_why() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        call(Apart(Thing), "pid")


def test_a_fork_has_processes_of_its_own(thing: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    pid = call(thing, "pid")
    monkeypatch.setattr(apart._pool, "_owner", -1)
    other = Apart(Thing, "b")
    assert call(other, "pid") != pid
    other.close()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
