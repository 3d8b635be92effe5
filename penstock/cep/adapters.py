"""`select` and `flat_select` as process functions, so that the operator knows one kind of function only."""

from __future__ import annotations

from abc import abstractmethod
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
        return self.results(self.user_functions[0], "select", match)

    def results(self, function: Any, method: str, *arguments: Any) -> Iterable[Any]:
        return (_method(function, method)(*arguments),)


class FlatSelectAdapter(_Adapter):
    """Any number of results for each match."""

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        return self.results(self.user_functions[0], "flat_select", match)

    def results(self, function: Any, method: str, *arguments: Any) -> Iterable[Any]:
        return _method(function, method)(*arguments) or ()


class _TimeoutAdapter(_Adapter, TimedOutPartialMatchHandler):
    """The same for timeouts, whose results go to a side output."""

    def __init__(self, select: Any, timeout: Any, output_tag: OutputTag) -> None:
        super().__init__(select, timeout)
        self.output_tag = output_tag

    def process_timed_out_match(
        self, match: Match, ctx: PatternProcessFunction.Context
    ) -> Iterable[Any] | None:
        for value in self.results(self.user_functions[1], "timeout", match, ctx.timestamp()):
            ctx.output(self.output_tag, value)
        return None

    @abstractmethod
    def results(self, function: Any, method: str, *arguments: Any) -> Iterable[Any]:
        """What a method of the user's function gives."""


class TimeoutSelectAdapter(SelectAdapter, _TimeoutAdapter):
    """One result for each match and for each timeout."""


class TimeoutFlatSelectAdapter(FlatSelectAdapter, _TimeoutAdapter):
    """Any number of results for each match and for each timeout."""


class CallableProcessAdapter(_Adapter):
    """A plain callable with the arguments of `process_match`."""

    def process_match(self, match: Match, ctx: PatternProcessFunction.Context) -> Iterable[Any] | None:
        results: Iterable[Any] | None = self.user_functions[0](match, ctx)
        return results


def _method(function: Any, name: str) -> Callable[..., Any]:
    method: Callable[..., Any] = getattr(function, name, function)
    return method
