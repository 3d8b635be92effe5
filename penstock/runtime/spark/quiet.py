"""Keeps the noise of a starting JVM off the user's terminal, and nothing else.

log4j is silenced by configuration, but the JVM itself and Spark's launcher write a few lines to stderr before
any configuration is read. A JVM inherits its stderr when it is started, and Python workers write through it
too: a user's `print` inside a function has to come out. So the JVM gets a pipe, and a thread passes on every
line but the known ones.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib
import sys
import tempfile
import threading
from collections.abc import Iterator

from penstock.common.status_line import wipe

_NOISE = (
    b"WARNING: Using incubator modules",
    b"Using Spark's default log4j profile",
    b"Setting default log level to",
    b"To adjust logging level use",
    b"Setting Spark log level to",
    b"NOTE: Picked up JDK_JAVA_OPTIONS",
    b"WARNING: package sun.security.action not in java.base",
)
_TRACEBACK = b"Traceback (most recent call last):"

_LOG4J = """\
status = off
appender.none.type = Null
appender.none.name = none
rootLogger.level = off
rootLogger.appenderRef.none.ref = none
"""


_TALKATIVE = ("py4j", "pyspark", "uvicorn")


# What py4j logs, as errors with tracebacks, when Ctrl-C is pressed during a call and it gives its connection up.
_OF_INTERRUPTS = {
    "": "KeyboardInterrupt while sending command.",
    "py4j.clientserver": "Exception occurred while shutting down connection",
}


def quiet_loggers() -> None:
    """A program that logs at INFO means its own lines: what is inside only warns, unless its level was set.

    Nor is it an error that the user has pressed Ctrl-C: who raises KeyboardInterrupt need not log it.
    """
    for name in _OF_INTERRUPTS:
        logging.getLogger(name).addFilter(_is_no_interrupt)
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    return record.msg not in _OF_INTERRUPTS.values()


def log4j_configuration() -> str:
    """Path of a log4j2 file that logs nothing. An appender has to be there, or Spark loads its defaults."""
    path = pathlib.Path(tempfile.gettempdir()) / f"penstock-log4j2-{os.getuid()}.properties"
    if not path.exists() or path.read_text() != _LOG4J:
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(_LOG4J)
        partial.rename(path)
    return str(path)


def noise_filter(target: int) -> int:
    """A pipe, to be closed by the caller, whose lines reach the target if they are not noise."""
    read_end, write_end = os.pipe()
    threading.Thread(target=_pass_on, args=(read_end, os.dup(target)), daemon=True).start()
    return write_end


@contextlib.contextmanager
def filtered_stderr(target: int = 2) -> Iterator[None]:
    """Processes started inside write to a filter in front of our stderr, or of another file."""
    sys.stderr.flush()
    original = os.dup(2)
    write_end = noise_filter(target)
    os.dup2(write_end, 2)
    os.close(write_end)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(original, 2)
        os.close(original)


def _pass_on(read_end: int, target: int) -> None:
    with os.fdopen(read_end, "rb") as lines:
        for line in lines:
            if line.startswith(_TRACEBACK):
                _pass_traceback_on(line, lines, target)
            elif not line.startswith(_NOISE):
                wipe()
                os.write(target, line)


def _pass_traceback_on(first: bytes, lines: Iterator[bytes], target: int) -> None:
    """Passes a whole traceback on, unless it is PySpark's daemon noticing that Spark has stopped."""
    block = [first]
    for line in lines:
        block.append(line)
        if not line.startswith(b" "):
            break
    frames = [line for line in block if line.lstrip().startswith(b"File ")]
    of_daemon = bool(frames) and all(b"pyspark/daemon.py" in frame for frame in frames)
    if not (of_daemon and block[-1].startswith(b"BrokenPipeError")):
        wipe()
        os.write(target, b"".join(block))
