"""Why a Spark query failed, as far as our own texts decide it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_RAISED = "USER_RAISED_EXCEPTION"
_MOST_CAUSES = 20


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
