"""Ctrl-C while the main thread waits for an answer of the JVM."""

from __future__ import annotations

import logging
import os
import pathlib
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.runtime.spark.interrupts import context_of
from penstock.runtime.spark.quiet import quiet_loggers

PROGRAM = """
from penstock.runtime.spark.session import get_spark

jvm = get_spark()._jvm
print("up", flush=True)
jvm.java.lang.Thread.sleep(600_000)
"""


def test_a_program_that_is_interrupted_in_a_call_ends_without_tracebacks(tmp_path: pathlib.Path) -> None:
    (tmp_path / "job.py").write_text(PROGRAM)
    words = [sys.executable, "-m", "penstock.cli.main", "run", "job.py"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "up\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors.strip()) == (130, "")


class Context:
    """As a SparkContext that takes Ctrl-C over when it is made."""

    def __init__(self) -> None:
        self.cancelled_in: list[threading.Thread] = []
        self.done = threading.Event()
        signal.signal(signal.SIGINT, lambda *_: None)

    def cancelAllJobs(self) -> None:
        self.cancelled_in.append(threading.current_thread())
        self.done.set()
        raise ConnectionError("the JVM has gone")


@pytest.fixture(autouse=True)
def handler_kept() -> Any:
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


def test_jobs_are_cancelled_by_another_thread_than_the_one_that_is_interrupted() -> None:
    context = context_of(Context)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(60)
    assert context.done.wait(60)
    assert context.cancelled_in != [threading.main_thread()]


def test_a_context_that_was_there_before_keeps_its_handler() -> None:
    made = Context()
    handler = signal.getsignal(signal.SIGINT)
    assert context_of(lambda: made) is made
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_context_is_made_in_any_thread() -> None:
    made: list[Any] = []
    thread = threading.Thread(target=lambda: made.append(context_of(SimpleNamespace)))
    thread.start()
    thread.join(60)
    assert len(made) == 1


def test_py4j_does_not_tell_that_a_call_was_interrupted(caplog: pytest.LogCaptureFixture) -> None:
    quiet_loggers()
    logging.exception("KeyboardInterrupt while sending command.")
    logging.getLogger("py4j.clientserver").error("Exception occurred while shutting down connection")
    logging.error("of the program")
    assert caplog.messages == ["of the program"]
