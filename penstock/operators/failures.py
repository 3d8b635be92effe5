"""How a failing user function is told: the user's own traceback, and which element it failed on.

The loops in the operators are not slowed down by this: one `try` around a whole batch knows the current
element from a local variable and calls `raise_user_error` only when something was raised.
"""

from __future__ import annotations

import os
import traceback
from typing import Any, NoReturn

import penstock
from penstock.common.errors import PenstockError, UserFunctionError
from penstock.functions.wrap import function_name as users_name
from penstock.operators.base import OperatorContext

_OWN_FRAMES = os.path.dirname(os.path.abspath(penstock.__file__)) + os.sep
_VALUE_WIDTH = 200
_NOTHING = object()


def user_error(
    error: Exception, context: OperatorContext, function: Any, value: Any = _NOTHING, *, during: str = ""
) -> PenstockError:
    """What to tell of an error.

    An error of penstock itself (a timer on a stream without keys, say) already tells what to do, so it stays
    what it is and only learns where it happened.

    Args:
        error: What the user's function raised.
        context: Names operator, subtask and epoch.
        function: The user's function object or callable.
        value: The element that was being processed, if any.
        during: What the function was doing if it was not processing an element, e.g. `"open"`.
    """
    where = describe_place(context)
    if value is not _NOTHING:
        where += f", value {shorten(value)}"
    if isinstance(error, PenstockError):
        if error.where is None or "operator '" not in error.where:
            error.where = f"{error.where}, {where}" if error.where else where
        return error
    happened = during or ("an element" if value is not _NOTHING else "an element or timer")
    who = _selector_name(error) or function_name(function)
    what = (
        f"{who} failed {'in' if during.endswith('()') else 'on'} {happened}: {type(error).__name__}: {error}"
    )
    do = (
        "correct the function, or let it skip the element"
        if value is not _NOTHING
        else "correct the function"
    )
    return UserFunctionError(what, user_traceback=user_traceback(error), where=where, do=do)


def raise_user_error(
    error: Exception, context: OperatorContext, function: Any, value: Any = _NOTHING, *, during: str = ""
) -> NoReturn:
    """Raises what `user_error` makes, with the original one as its cause unless it is that one."""
    told = user_error(error, context, function, value, during=during)
    if told is error:
        raise error
    raise told from error


def _selector_name(error: Exception) -> str | None:
    """The key selector that raised, if it was one: operators call it beside the function."""
    selectors: tuple[Any, ...] = ()
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(_OWN_FRAMES):
            selectors = getattr(frame.f_locals.get("self"), "key_selectors", selectors)
            continue
        for selector in selectors:
            if getattr(selector, "__code__", None) is frame.f_code:
                return f"key selector '{users_name(selector)}'"
        return None
    return None


def function_name(function: Any) -> str:
    """`KeyedProcessFunction 'CountClicks'`: the kind that Flink knows, and the user's own name."""
    cls = type(function)
    own = users_name(function)
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("penstock.") and base is not object:
            return f"{base.__name__} '{own}'"
    return f"function '{own}'"


def describe_place(context: OperatorContext) -> str:
    """Operator uid, subtask and epoch, for people who look for the place in the logs."""
    return (
        f"operator '{context.name}' (uid {context.uid}), "
        f"subtask {context.subtask_index + 1}/{context.parallelism}, epoch {context.clock.epoch}"
    )


def shorten(value: Any) -> str:
    """The value's repr, cut so that an error message stays readable."""
    try:
        text = repr(value)
    except Exception as error:  # a broken __repr__ must not hide the real failure
        text = f"<{type(value).__name__} whose repr failed: {error}>"
    return text if len(text) <= _VALUE_WIDTH else text[: _VALUE_WIDTH - 1] + "…"


def user_traceback(error: BaseException) -> str:
    """The traceback of `error` without the frames of this package."""
    trace = traceback.TracebackException.from_exception(error)
    link: traceback.TracebackException | None = trace
    while link is not None:
        link.stack = traceback.StackSummary.from_list(
            [frame for frame in link.stack if not os.path.abspath(frame.filename).startswith(_OWN_FRAMES)]
        )
        link = link.__cause__ or link.__context__
    return "".join(trace.format())
