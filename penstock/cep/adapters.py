"""`select` and `flat_select` as process functions, so that the operator knows one kind of function only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.cep.functions import Match, PatternProcessFunction, TimedOutPartialMatchHandler
from penstock.functions.base import Function, RuntimeContext
from penstock.functions.output_tag import OutputTag


class _Adapter(PatternProcessFunction):
    """Opens and closes the user's functions with its own."""

    def __init__(self, *functions: Any) -> None:
        self.user_functions = functions

    def open(self, runtime_context: RuntimeContext) -> None:
        for function in self.user_functions:
            if isinstance(function, Function):
                function.open(runtime_context)

    def close(self) -> None:
        for function in self.user_functions:
            if isinstance(function, Function):
                function.close()


class SelectAdapter(_Adapter):
    """One result for each match."""

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        return (_method(self.user_functions[0], "select")(match),)


class FlatSelectAdapter(_Adapter):
    """Any number of results for each match."""

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        results: Iterable[Any] | None = _method(self.user_functions[0], "flat_select")(match)
        return results


class TimeoutSelectAdapter(SelectAdapter, TimedOutPartialMatchHandler):
    """The same, and one result in a side output for each timeout."""

    def __init__(self, select: Any, timeout: Any, output_tag: OutputTag) -> None:
        super().__init__(select, timeout)
        self.output_tag = output_tag

    def process_timed_out_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        ctx.output(self.output_tag, _method(self.user_functions[1], "timeout")(match, ctx.timestamp()))
        return None


class TimeoutFlatSelectAdapter(FlatSelectAdapter, TimedOutPartialMatchHandler):
    """The same, and any number of results in a side output for each timeout."""

    def __init__(self, select: Any, timeout: Any, output_tag: OutputTag) -> None:
        super().__init__(select, timeout)
        self.output_tag = output_tag

    def process_timed_out_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        for value in _method(self.user_functions[1], "timeout")(match, ctx.timestamp()) or ():
            ctx.output(self.output_tag, value)
        return None


class CallableProcessAdapter(_Adapter):
    """A plain callable with the arguments of `process_match`."""

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.user_functions[0](match, ctx)
        return results


def _method(function: Any, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(function, name, function)
    return method
