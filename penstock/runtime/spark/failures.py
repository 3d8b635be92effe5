"""Why a Spark query or a job failed, as far as its texts say it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_RAISED = "USER_RAISED_EXCEPTION"
_MOST_CAUSES = 20
_PYTHON_ERROR = re.compile(r"^[A-Z]\w*(Error|Exception|Exit)\b")


def raised_message(error: BaseException) -> str | None:
    """What `raise_error` was called with in the query, if that is why it failed.

    PySpark unpacks most failures of tasks; some, such as those of `toLocalIterator`, keep the reason inside.
    """
    for each in _chain(error):
        condition, parameters = _described(each)
        if condition == _RAISED:
            message: str | None = parameters.get("errorMessage")
            return message
    return None


_LOST = ("exited unexpectedly", "EOFException", "Connection reset", "Broken pipe")
_LOST_WORKER = "a Python worker ended without a word (it crashed or was killed)"
_LOST_DO = (
    "look for a crash of a native library that a function uses, or for the system's out-of-memory killer (dmesg);\n"
    "execution.worker.memory-limit lets a worker say so before it is killed, and a job with checkpoints\n"
    "(env.enable_checkpointing) starts again by itself"
)
_LOG_DO = "look at Spark's log (set spark.log.level=WARN) for the task that was lost"


def reason_of(text: str) -> tuple[str, str]:
    """What a failed Spark job says about its reason, in one line, and what to do.

    >>> reason_of("An exception was thrown from the Python worker:\\nTraceback ...\\nImportError: no lmdb")[0]
    'a Python worker raised ImportError: no lmdb'
    >>> reason_of("SparkException: Job aborted\\n... Python worker exited unexpectedly (crashed)")[0]
    'a Python worker ended without a word (it crashed or was killed), and so did those that took over its task'
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if any(sign in text for sign in _LOST):
        return f"{_LOST_WORKER}, and so did those that took over its task", _LOST_DO
    raised = [line for line in lines if _PYTHON_ERROR.match(line)]
    if "Python worker" in text and raised:
        return f"a Python worker raised {raised[-1][:500]}", _LOG_DO
    cause = next((line for line in lines if "SparkException" in line or "Exception:" in line), None)
    return (cause or (lines[0] if lines else "no reason given"))[:500], _LOG_DO


def _chain(error: BaseException) -> Iterator[Any]:
    """The error, then its causes in the JVM."""
    yield error
    cause: Any = getattr(error, "java_exception", None)
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.getCause()


def _described(error: Any) -> tuple[str | None, Any]:
    """Condition and parameters of an error that has them."""
    from py4j.protocol import Py4JError

    if isinstance(error, BaseException) and not hasattr(error, "getCondition"):
        return None, {}
    try:
        return error.getCondition(), error.getMessageParameters()
    except Py4JError:  # an exception of Java that is none of Spark's
        return None, {}
