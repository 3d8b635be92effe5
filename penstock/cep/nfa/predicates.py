"""Conditions as closures over a `Look`: one event, seen from one partial match.

A simple condition has the same answer for all partial matches and for all transitions that use it (a step that
skips events has it twice, once negated), so the answer is kept for the event. The answer of an iterative one is
kept for the partial match. Both are looked up by a number that the condition gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.cep.nfa.buffer import SharedBuffer
from penstock.cep.nfa.heap import PartialMatch
from penstock.cep.pattern.conditions import (
    AndCondition,
    CompositeCondition,
    IterativeCondition,
    NotCondition,
    OrCondition,
    SimpleCondition,
    TrueCondition,
)
from penstock.common.errors import UserFunctionError
from penstock.operators.failures import shorten, user_traceback

Predicate = Callable[["Look"], bool]


class Look(IterativeCondition.Context):
    """The event at hand, the partial match that could take it, and the answers of conditions so far."""

    __slots__ = (
        "_events",
        "answers",
        "buffer",
        "choices",
        "event",
        "match",
        "match_answers",
        "processing_time_ms",
        "timestamp_ms",
    )

    def __init__(self, event: Any, timestamp_ms: int, processing_time_ms: int) -> None:
        self.event = event
        self.timestamp_ms = timestamp_ms
        self.processing_time_ms = processing_time_ms
        self.match: PartialMatch | None = None
        self.answers: dict[int, bool] = {}
        self.choices: dict[str, Any] = {}
        """What the event does at states where that does not depend on the partial match."""

    def turn_to(self, match: PartialMatch, buffer: SharedBuffer) -> None:
        """Looks from another partial match."""
        self.match = match
        self.buffer = buffer
        self.match_answers: dict[int, bool] = {}
        self._events: Mapping[str, list[Any]] | None = None

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        if self._events is None:
            match = self.match
            assert match is not None
            path = {} if match.node is None else self.buffer.path(match.node, match.version)
            self._events = self.buffer.materialize(path)
        return self._events.get(name, ())

    def timestamp(self) -> int:
        return self.timestamp_ms

    def current_processing_time(self) -> int:
        return self.processing_time_ms


class PredicateCompiler:
    """Makes predicates of conditions.

    Args:
        owners: The steps that conditions belong to, by their ids, for messages.
    """

    def __init__(self, owners: Mapping[int, str]) -> None:
        self._owners = owners
        self.leaves: dict[int, IterativeCondition] = {}
        """The user's conditions, each once."""

    def compile(self, condition: IterativeCondition) -> Predicate | None:
        """None stands for a condition that always holds."""
        if isinstance(condition, TrueCondition):
            return None
        if isinstance(condition, CompositeCondition):
            return self._composite(condition)
        self.leaves[id(condition)] = condition
        owner = self._owners.get(id(condition), "?")
        if isinstance(condition, SimpleCondition):
            return _simple(condition, owner)
        return _iterative(condition, owner)

    def _composite(self, condition: CompositeCondition) -> Predicate | None:
        parts = [self.compile(part) for part in condition.parts]
        if isinstance(condition, NotCondition):
            return _negated(parts[0])
        if isinstance(condition, AndCondition):
            return _all([part for part in parts if part is not None])
        assert isinstance(condition, OrCondition)
        return _any([part or _always for part in parts])


def is_simple(condition: IterativeCondition) -> bool:
    """Whether the answer depends on the event alone."""
    if isinstance(condition, CompositeCondition):
        return all(map(is_simple, condition.parts))
    return isinstance(condition, SimpleCondition)


def _simple(condition: SimpleCondition, owner: str) -> Predicate:
    number, ask = id(condition), getattr(condition, "user_callable", condition.filter)

    def predicate(look: Look) -> bool:
        answers = look.answers
        if number in answers:
            return answers[number]
        try:
            answer = answers[number] = bool(ask(look.event))
        except Exception as error:
            raise _failure(error, owner, look) from error
        return answer

    return predicate


def _iterative(condition: IterativeCondition, owner: str) -> Predicate:
    number, ask = id(condition), getattr(condition, "user_callable", condition.filter)

    def predicate(look: Look) -> bool:
        answers = look.match_answers
        if number in answers:
            return answers[number]
        try:
            answer = answers[number] = bool(ask(look.event, look))
        except Exception as error:
            raise _failure(error, owner, look) from error
        return answer

    return predicate


def _always(look: Look) -> bool:
    return True


def _never(look: Look) -> bool:
    return False


def _negated(part: Predicate | None) -> Predicate:
    return _never if part is None else lambda look: not part(look)


def _all(parts: list[Predicate]) -> Predicate | None:
    if not parts:
        return None
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        first, second = parts
        return lambda look: first(look) and second(look)
    return lambda look: all(part(look) for part in parts)


def _any(parts: list[Predicate]) -> Predicate:
    first, second = parts
    return lambda look: first(look) or second(look)


def _failure(error: Exception, owner: str, look: Look) -> UserFunctionError:
    return UserFunctionError(
        f"the condition of step '{owner}' failed on event {shorten(look.event)}: {type(error).__name__}: {error}",
        user_traceback=user_traceback(error),
        do="correct the condition, or let it answer False for such events",
    )
