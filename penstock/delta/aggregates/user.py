"""Python aggregates of users: objects with create_accumulator, accumulate, retract, merge and get_value."""

from __future__ import annotations

import traceback
from typing import Any

from penstock.common.errors import NotSupportedError, UserFunctionError
from penstock.delta.aggregates.base import AggregateLogic


class UserAggregate(AggregateLogic):
    """Calls the user's function; NULLs reach it, as in Flink.

    The user's methods change the accumulator in place. It is state, so it has to be picklable.
    """

    skips_nulls = False

    def __init__(self, function: Any, argument_count: int, retracts: bool) -> None:
        self._shown = getattr(function, "shown_name", type(function).__name__)
        if retracts and not _overrides(function, "retract"):
            raise NotSupportedError(
                f"{self._shown} over rows that may be taken back",
                "it has no retract(accumulator, *args)",
            )
        self._function = function
        self._many = argument_count > 1
        self._none = argument_count == 0

    def open(self, function_context: Any) -> None:
        if hasattr(self._function, "open"):
            self._call("open", function_context)

    def close(self) -> None:
        if hasattr(self._function, "close"):
            self._call("close")

    def create(self) -> Any:
        return self._call("create_accumulator")

    def accumulate(self, acc: Any, value: Any) -> Any:
        self._call("accumulate", acc, *self._arguments(value))
        return acc

    def retract(self, acc: Any, value: Any) -> Any:
        self._call("retract", acc, *self._arguments(value))
        return acc

    def merge(self, acc: Any, other: Any) -> Any:
        self._call("merge", acc, [other])
        return acc

    def result(self, acc: Any) -> Any:
        return self._call("get_value", acc)

    def _arguments(self, value: Any) -> tuple[Any, ...]:
        if self._none:
            return ()
        return value if self._many else (value,)

    def _call(self, method: str, *args: Any) -> Any:
        try:
            return getattr(self._function, method)(*args)
        except UserFunctionError:
            raise
        except Exception as error:
            name = f"{self._shown}.{method}"
            raise UserFunctionError(
                f"{name} failed: {error}",
                user_traceback="".join(traceback.format_exception(error)),
                where=f"aggregate function {name}",
            ) from error


def _overrides(function: Any, method: str) -> bool:
    """Whether the user wrote the method; in PyFlink's base class it is there but raises.

    What stands before a user's object knows it better and is asked.
    """
    asked = getattr(function, "defines", None)
    if asked is not None:
        return bool(asked(method))
    found = getattr(type(function), method, None)
    return found is not None and not found.__qualname__.startswith("ImperativeAggregateFunction.")
