"""Errors that reach the end of a task untold: whose they are, and in which operator they happened.

Operators tell what users' functions raise (`operators/failures.py`). What is left comes from where no operator looks:
a key selector that an exchange calls, `sys.exit`, a fault of ours. The traceback knows more than the error: which
operator was at work, and whether code outside of penstock was.
"""

from __future__ import annotations

import os
import traceback
from types import FrameType
from typing import Any

import penstock
from penstock.common.errors import InvariantError, PenstockError, UserFunctionError
from penstock.operators.base import Operator
from penstock.operators.failures import describe_place, shorten, user_traceback

__all__ = ["placed", "told"]

_OWN = os.path.dirname(os.path.abspath(penstock.__file__)) + os.sep
_LIBRARIES = (os.sep + "site-packages" + os.sep, os.path.dirname(os.__file__) + os.sep)


def placed(error: PenstockError) -> PenstockError:
    """The error with the operator in which it happened, if it does not say where."""
    error.where = error.where or _operator(_frames(error))
    return error


def told(error: BaseException) -> PenstockError:
    """What to tell of an error that is none of ours."""
    frames = _frames(error)
    if isinstance(error, SystemExit):
        return UserFunctionError(
            f"a function called sys.exit({'' if error.code is None else repr(error.code)})",
            user_traceback=user_traceback(error),
            where=_operator(frames),
            do="raise an error to fail the job, or return; a job ends with its input, or by cancel()",
        )
    ours = max((i for i, f in enumerate(frames) if f.f_code.co_filename.startswith(_OWN)), default=-1)
    if 0 <= ours < len(frames) - 1 and _is_users(frames[ours + 1]):
        return _of_user(error, frames, frames[ours])
    wrapped = InvariantError(f"{type(error).__name__}: {error}")
    wrapped.__cause__ = error
    wrapped.where = "".join(traceback.format_exception(error)[-6:])
    return wrapped


def _of_user(error: BaseException, frames: list[FrameType], caller: FrameType) -> UserFunctionError:
    """A function of the user's that an exchange or a source called."""
    by_exchange = os.path.basename(caller.f_code.co_filename) == "routing.py"
    who = "the key selector or partitioner" if by_exchange else "a function"
    where = _operator(frames)
    if "value" in caller.f_locals:
        value = f"value {shorten(caller.f_locals['value'])}"
        where = f"{where}, {value}" if where else value
    return UserFunctionError(
        f"{who} failed: {type(error).__name__}: {error}",
        user_traceback=user_traceback(error),
        where=where,
        do="correct the function",
    )


def _frames(error: BaseException) -> list[FrameType]:
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def _operator(frames: list[FrameType]) -> str | None:
    """The innermost operator that was at work."""
    for frame in reversed(frames):
        candidate: Any = frame.f_locals.get("self")
        if isinstance(candidate, Operator) and getattr(candidate, "context", None) is not None:
            return describe_place(candidate.context)
    return None


def _is_users(frame: FrameType) -> bool:
    return not any(part in frame.f_code.co_filename for part in _LIBRARIES)
