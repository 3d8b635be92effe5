"""Brings an error that was raised inside a Spark task back as the error it was.

Spark reports a failed Python task as text: the traceback of the worker. An error of ours ends that text with its
qualified name, its sentence and the indented `where:` and `do:` lines, from which it is rebuilt here.
"""

from __future__ import annotations

import re

from penstock.common import errors as all_errors
from penstock.common.errors import PenstockError, UserFunctionError

_RAISED = re.compile(
    r"^penstock\.common\.errors\.(?P<name>\w+): (?P<what>.*?)"
    r"(?:\n  where: (?P<where>.*?))?(?:\n  do:    (?P<do>.*?(?:\n         .*?)*))?$",
    re.M,
)


def penstock_error(error: BaseException) -> PenstockError | None:
    """The penstock error that a Spark exception carries, or None.

    Callers that run Spark jobs say `raise penstock_error(e) or e from e`-like things, so that users see a
    `MalformedRecordError` with file and line instead of a JVM stack trace.
    """
    if isinstance(error, PenstockError):
        return error
    found = _RAISED.search(str(error))
    if not found:
        return None
    kind = getattr(all_errors, found["name"], PenstockError)
    rebuilt: PenstockError = kind.__new__(kind)
    if isinstance(rebuilt, UserFunctionError):
        return _user_error(str(error))
    do = found["do"]
    PenstockError.__init__(
        rebuilt, found["what"], where=found["where"], do=do.replace("\n         ", "\n") if do else None
    )
    return rebuilt


def _user_error(text: str) -> UserFunctionError:
    """The user's traceback and, after it, our sentence and where it happened."""
    _, _, rest = text.partition("UserFunctionError: ")
    shown, _, tail = rest.partition("\n\n")
    what, _, where = tail.partition("\n  where: ")
    return UserFunctionError(
        what.splitlines()[0] if what.strip() else "a function failed",
        user_traceback=shown,
        where=where.splitlines()[0] if where else None,
    )
