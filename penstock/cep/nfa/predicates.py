"""Conditions as closures over a `Look`: one event, seen from one partial match.

A simple condition has the same answer for all partial matches and for all transitions that use it (a step that
skips events has it twice, once negated), so the answer is kept for the event. The answer of an iterative one is
kept for the partial match. Both are looked up by a number that the condition gets here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from penstock.cep.nfa.heap import PartialMatch
from penstock.cep.nfa.taken import Taking
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
        "answers",
        "choices",
        "event",
        "match",
        "match_answers",
        "processing_time_ms",
        "timestamp_ms",
    )

    def __init__(
        self,
        event: Any,
        timestamp_ms: int,
        processing_time_ms: int,
        answers: dict[int, bool] | None = None,
    ) -> None:
        self.event = event
        self.timestamp_ms = timestamp_ms
        self.processing_time_ms = processing_time_ms
        self.match: PartialMatch | None = None
        self.answers: dict[int, bool] = {} if answers is None else answers
        self.choices: dict[str, Any] = {}
        """What the event does at states where that does not depend on the partial match."""

    def turn_to(self, match: PartialMatch) -> None:
        """Looks from another partial match."""
        self.match = match
        self.match_answers: dict[int, bool] = {}

    @property
    def taking(self) -> Taking:
        """What the partial match has taken."""
        assert self.match is not None and self.match.taking is not None
        return self.match.taking

    def get_events_for_pattern(self, name: str) -> Iterable[Any]:
        taken = self.taking.get(name)
        return () if taken is None else taken.events()

    def timestamp(self) -> int:
        return self.timestamp_ms

    def current_processing_time(self) -> int:
        return self.processing_time_ms


class Question(NamedTuple):
    """A simple condition: its number, how to ask it, and the step it belongs to."""

    number: int
    ask: Callable[[Any], Any]
    owner: str


Questions = tuple[Question, ...]


def answers_of(questions: Questions, event: Any) -> dict[int, bool] | None:
    """Asks one after the other until one holds; the answers so far, or None if none holds."""
    for place, (number, ask, owner) in enumerate(questions):
        try:
            if ask(event):
                answers = {question.number: False for question in questions[:place]}
                answers[number] = True
                return answers
        except Exception as error:
            raise _failure(error, owner, event) from error
    return None


class PredicateCompiler:
    """Makes predicates of conditions.

    Args:
        owners: The steps that conditions belong to, by their ids, for messages.
    """

    def __init__(self, owners: Mapping[int, str]) -> None:
        self._owners = owners
        self.leaves: dict[int, IterativeCondition] = {}
        """The user's conditions, each once."""
        self.all_simple = True
        self._questions: dict[int, Question] = {}

    def compile(self, condition: IterativeCondition) -> Predicate | None:
        """None stands for a condition that always holds."""
        if isinstance(condition, TrueCondition):
            return None
        if isinstance(condition, CompositeCondition):
            return self._composite(condition)
        self.leaves[id(condition)] = condition
        owner = self._owners.get(id(condition), "?")
        if isinstance(condition, SimpleCondition):
            question = Question(id(condition), _asking(condition), owner)
            self._questions[question.number] = question
            return _simple(question)
        self.all_simple = False
        return _iterative(condition, owner)

    def asked_in_vain(self, what: Callable[[Look], bool]) -> Questions | None:
        """The simple conditions that `what` asks, in order, if none of them holds and it is then true.

        As long as none holds, what is asked next is always the same. So an event for which these conditions, asked in
        this order, do not hold makes `what` true, and no other condition would have been asked. None: it would be
        false, or ask conditions that are not simple.
        """
        asked = _InVain()
        look = Look(None, 0, 0, asked)
        look.match_answers = _Unknown()
        try:
            holds = what(look)
        except _NotSimple:
            return None
        return tuple(self._questions[number] for number in asked.asked) if holds else None

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


def _asking(condition: IterativeCondition) -> Callable[..., Any]:
    ask: Callable[..., Any] = getattr(condition, "user_callable", condition.filter)
    return ask


class _InVain(dict[int, bool]):
    """Answers that are all no, and remember what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: dict[int, None] = {}

    def __contains__(self, number: object) -> bool:
        return True

    def __getitem__(self, number: int) -> bool:
        self.asked[number] = None
        return False


class _NotSimple(Exception):
    """A condition looks at the partial match."""


class _Unknown(dict[int, bool]):
    """Answers that nobody can give without a partial match."""

    def __contains__(self, number: object) -> bool:
        raise _NotSimple


def _simple(question: Question) -> Predicate:
    number, ask, owner = question

    def predicate(look: Look) -> bool:
        answers = look.answers
        if number in answers:
            return answers[number]
        try:
            answer = answers[number] = bool(ask(look.event))
        except Exception as error:
            raise _failure(error, owner, look.event) from error
        return answer

    return predicate


def _iterative(condition: IterativeCondition, owner: str) -> Predicate:
    number, ask = id(condition), _asking(condition)

    def predicate(look: Look) -> bool:
        answers = look.match_answers
        if number in answers:
            return answers[number]
        try:
            answer = answers[number] = bool(ask(look.event, look))
        except Exception as error:
            raise _failure(error, owner, look.event) from error
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


def _failure(error: Exception, owner: str, event: Any) -> UserFunctionError:
    return UserFunctionError(
        f"the condition of step '{owner}' failed on event {shorten(event)}: {type(error).__name__}: {error}",
        user_traceback=user_traceback(error),
        do="correct the condition, or let it answer False for such events",
    )
