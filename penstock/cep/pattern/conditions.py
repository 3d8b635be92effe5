"""Conditions: what an event must fulfil to be taken by a step.

A *simple* condition looks at the event only, so the matcher tries it once per event, whatever the number of partial
matches. An *iterative* one also sees what the partial match at hand has taken so far, and is tried for each of them.
Plain callables will do: `lambda event: …` is simple, `lambda event, ctx: …` iterative.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from penstock.common.errors import TypeMismatchError
from penstock.functions.base import Function, RuntimeContext
from penstock.functions.wrap import function_name

__all__ = ["IterativeCondition", "RichIterativeCondition", "SimpleCondition", "as_condition"]


class IterativeCondition(Function):
    """A condition that may look at the events which the partial match has taken.

    `filter` is called for every partial match that could take the event, and must not depend on anything else that
    changes: whether it is called once or more often for the same pair is not promised.
    """

    class Context:
        """What a condition may ask; valid during the call."""

        @abstractmethod
        def get_events_for_pattern(self, name: str) -> Iterable[Any]:
            """The events that the partial match has taken for a step, in order; none if there are none."""

        @abstractmethod
        def timestamp(self) -> int:
            """Event time of the event, or the processing time at which it came."""

        @abstractmethod
        def current_processing_time(self) -> int:
            """The clock of the epoch, in ms."""

    @abstractmethod
    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        """Whether the event may be taken."""


class RichIterativeCondition(IterativeCondition):
    """An iterative condition with a lifecycle: `open` gets a runtime context, which has no state to offer."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._runtime_context = runtime_context

    def get_runtime_context(self) -> RuntimeContext:
        """The context that `open` was called with."""
        return self._runtime_context


class SimpleCondition(IterativeCondition):
    """A condition on the event alone.

    >>> SimpleCondition.of(lambda event: event > 3).filter(4)
    True
    """

    @abstractmethod
    def filter(self, value: Any) -> bool:  # type: ignore[override]
        """Whether the event may be taken."""

    @staticmethod
    def of(predicate: Callable[[Any], Any]) -> SimpleCondition:
        """A condition made of a function of the event."""
        return _SimplePredicate(predicate)


class _SimplePredicate(SimpleCondition):
    """`lambda event: …`."""

    def __init__(self, predicate: Callable[[Any], Any]) -> None:
        self.user_callable = predicate

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return bool(self.user_callable(value))


class _IterativePredicate(IterativeCondition):
    """`lambda event, ctx: …`."""

    def __init__(self, predicate: Callable[[Any, Any], Any]) -> None:
        self.user_callable = predicate

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return bool(self.user_callable(value, ctx))


class SubtypeCondition(SimpleCondition):
    """The event is an instance of a class."""

    def __init__(self, subtype: type) -> None:
        self.subtype = subtype

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return isinstance(value, self.subtype)


class TrueCondition(SimpleCondition):
    """Any event."""

    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return True


TRUE = TrueCondition()


class CompositeCondition(IterativeCondition):
    """Made of other conditions. The matcher takes it apart (`nfa/predicates.py`)."""

    def __init__(self, *parts: IterativeCondition) -> None:
        self.parts = parts


class AndCondition(CompositeCondition):
    """All parts hold; what follows one that does not is not asked."""

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return all(_holds(part, value, ctx) for part in self.parts)


class OrCondition(CompositeCondition):
    """One part holds; what follows it is not asked."""

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return any(_holds(part, value, ctx) for part in self.parts)


class NotCondition(CompositeCondition):
    """Its only part does not hold."""

    def filter(self, value: Any, ctx: IterativeCondition.Context) -> bool:
        return not _holds(self.parts[0], value, ctx)


def _holds(part: IterativeCondition, value: Any, ctx: IterativeCondition.Context) -> bool:
    return part.filter(value) if isinstance(part, SimpleCondition) else part.filter(value, ctx)


def as_condition(condition: Any, where: str | None = None) -> IterativeCondition:
    """A condition object, or one made of a callable with one argument (simple) or two (iterative).

    >>> type(as_condition(lambda event, ctx: True)).__name__
    '_IterativePredicate'
    """
    if isinstance(condition, IterativeCondition):
        return condition
    if isinstance(condition, type) or not callable(condition):
        raise TypeMismatchError(
            f"a condition must be a SimpleCondition, an IterativeCondition or a callable, got {condition!r}",
            where=where,
            do="where(lambda event: ...) or where(lambda event, ctx: ...)",
        )
    return _IterativePredicate(condition) if _takes_context(condition) else _SimplePredicate(condition)


def _takes_context(predicate: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(predicate).parameters.values()
    except (TypeError, ValueError):  # some builtins do not tell
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters) >= 2


def condition_text(condition: IterativeCondition) -> str:
    """A condition for people.

    >>> condition_text(NotCondition(SubtypeCondition(int)))
    'not is int'
    """
    if isinstance(condition, TrueCondition):
        return "any"
    if isinstance(condition, SubtypeCondition):
        return f"is {condition.subtype.__name__}"
    if isinstance(condition, NotCondition):
        return f"not {condition_text(condition.parts[0])}"
    if isinstance(condition, (AndCondition, OrCondition)):
        word = " and " if isinstance(condition, AndCondition) else " or "
        parts = [condition_text(part) for part in condition.parts if not isinstance(part, TrueCondition)]
        return f"({word.join(parts)})" if len(parts) > 1 else "".join(parts) or "any"
    return function_name(condition)
