"""`Pattern`: a sequence of steps, built by naming one after the other.

    Pattern.begin("small").where(lambda e: e.amount < 1)
        .followed_by("large").where(lambda e: e.amount > 500)
        .within(Duration.of_minutes(1))

A pattern object is one step, and knows the one before it; the last step stands for the whole sequence. Methods that
describe a step change it and return it, methods that append one return the new step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from penstock.cep.pattern.conditions import (
    TRUE,
    AndCondition,
    IterativeCondition,
    OrCondition,
    SubtypeCondition,
    as_condition,
)
from penstock.cep.pattern.quantifier import ConsumingStrategy, Quantifier, Times
from penstock.cep.pattern.skip import AfterMatchSkipStrategy
from penstock.cep.pattern.within_type import WithinType
from penstock.common.errors import MalformedPatternError, TypeMismatchError
from penstock.common.time import to_millis

__all__ = ["GroupPattern", "Pattern"]

Condition = IterativeCondition | Callable[..., Any]

_NO_OPTIONAL_BEFORE_NOT = (
    "Specifying a pattern with an optional path to NOT condition is not supported yet. You can simulate such "
    "pattern with two independent patterns, one with and the other without the optional part."
)


class Pattern:
    """One step of a pattern; as the last step it stands for the whole. Begin with `Pattern.begin`."""

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        consuming_strategy: ConsumingStrategy,
        after_match_skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        self._name = name
        self._previous = previous
        self._quantifier = Quantifier.one(consuming_strategy)
        self._times: Times | None = None
        self._condition: IterativeCondition | None = None
        self._until_condition: IterativeCondition | None = None
        self._windows_ms: dict[WithinType, int] = {}
        self._after_match_skip_strategy = after_match_skip_strategy

    @staticmethod
    def begin(
        name_or_group: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern:
        """The first step, by name, or a whole pattern as the first part."""
        strategy = after_match_skip_strategy or AfterMatchSkipStrategy.no_skip()
        if not isinstance(strategy, AfterMatchSkipStrategy):
            raise TypeMismatchError(f"expected an AfterMatchSkipStrategy, got {strategy!r}")
        return _step(name_or_group, None, ConsumingStrategy.STRICT, strategy)

    # -- appending a step ----------------------------------------------------------------------------------

    def next(self, name_or_group: str | Pattern) -> Pattern:
        """A step, or a group, that must follow directly."""
        return self._append(name_or_group, ConsumingStrategy.STRICT)

    def followed_by(self, name_or_group: str | Pattern) -> Pattern:
        """A step, or a group; events that do not fit it may come before it."""
        return self._append(name_or_group, ConsumingStrategy.SKIP_TILL_NEXT)

    def followed_by_any(self, name_or_group: str | Pattern) -> Pattern:
        """A step, or a group; any events may come before it, so each that fits gives a match."""
        return self._append(name_or_group, ConsumingStrategy.SKIP_TILL_ANY)

    def not_next(self, name: str) -> Pattern:
        """The event that follows directly must not fit this step."""
        return self._append_not(name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """No event up to the next step (at the end: up to the end of `within`) may fit this step."""
        return self._append_not(name, ConsumingStrategy.NOT_FOLLOW)

    # -- what an event must fulfil --------------------------------------------------------------------------

    def where(self, condition: Condition) -> Pattern:
        """A condition, in addition to those before it."""
        added = as_condition(condition, where=self._place)
        self._condition = added if self._condition is None else AndCondition(self._condition, added)
        return self

    def or_(self, condition: Condition) -> Pattern:
        """A condition that is enough by itself."""
        added = as_condition(condition, where=self._place)
        self._condition = added if self._condition is None else OrCondition(self._condition, added)
        return self

    def subtype(self, subtype_class: type) -> Pattern:
        """The event must be an instance of the class."""
        if not isinstance(subtype_class, type):
            raise TypeMismatchError(f"subtype takes a class, got {subtype_class!r}", where=self._place)
        return self.where(SubtypeCondition(subtype_class))

    def until(self, until_condition: Condition) -> Pattern:
        """Ends a loop: an event that fulfils it, and what follows, is not taken by this step any more."""
        if self._until_condition is not None:
            self._refuse("Only one until condition can be applied.", "join the conditions with `or`")
        if not self._quantifier.is_looping:
            self._refuse(
                "The until condition is only applicable to looping states.",
                "call one_or_more() or times_or_more(n) before until(...)",
            )
        self._until_condition = as_condition(until_condition, where=self._place)
        return self

    def within(self, window_time: Any, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Pattern:
        """The longest time from the first to the last event, or from the step before to this one.

        Of several FIRST_AND_LAST limits in a pattern the smallest counts, for the whole. None changes nothing.
        """
        if window_time is not None:
            self._windows_ms[within_type] = to_millis(window_time)
        return self

    # -- how often ------------------------------------------------------------------------------------------

    def optional(self) -> Pattern:
        """The step may be left out."""
        if self._previous is not None and self._previous._quantifier.is_greedy:
            self._refuse(
                "Optional pattern cannot be preceded by greedy pattern",
                f"leave out greedy() of step '{self._previous._name}' or optional() of this one",
            )
        with self._here():
            self._quantifier.optional()
        return self

    def one_or_more(self, window_time: Any = None) -> Pattern:
        """One event or more; `window_time` limits the gap before the first of them."""
        return self._repeat(Quantifier.looping, lambda: Times(1, 1, _window(window_time)))

    def times_or_more(self, times: int, window_time: Any = None) -> Pattern:
        """So many events or more; `window_time` limits the gaps before them, except before the last needed one."""
        return self._repeat(Quantifier.looping, lambda: Times(times, times, _window(window_time)))

    def times(self, from_times: int, to_times: Any = None, window_time: Any = None) -> Pattern:
        """`times(n)`, `times(n, window_time)`, `times(from, to)` or `times(from, to, window_time)`.

        `times(0, n)` is `times(1, n).optional()`. `window_time` limits the gaps before the events, except before
        the last; a plain int as the second argument is a number of events.
        """
        if isinstance(to_times, int) and not isinstance(to_times, bool):
            return self._times_between(from_times, to_times, window_time)
        self._check_repeatable()
        if from_times <= 0:
            self._refuse("You should give a positive number greater than 0.", "times(1) is the least")
        window_time = to_times if window_time is None else window_time
        return self._repeat(Quantifier.times, lambda: Times(from_times, from_times, _window(window_time)))

    def greedy(self) -> Pattern:
        """Events that fit this loop are taken by it, and never by the step behind it."""
        self._check_no_not()
        if isinstance(self, GroupPattern):
            self._refuse("Option not applicable to group pattern", "make steps inside the group greedy")
        with self._here():
            self._quantifier.greedy()
        return self

    def consecutive(self) -> Pattern:
        """No event may lie between two events of this step."""
        with self._here():
            self._quantifier.consecutive()
        return self

    def allow_combinations(self) -> Pattern:
        """Any events may lie between two events of this step, also such that fit it."""
        with self._here():
            self._quantifier.combinations()
        return self

    # -- what the compiler asks -----------------------------------------------------------------------------

    def get_name(self) -> str:
        """The name under which a match has the events of this step."""
        return self._name

    def get_previous(self) -> Pattern | None:
        """The step before; None for the first one."""
        return self._previous

    def get_times(self) -> Times | None:
        """How often the step has to match; None if nobody has said."""
        return self._times

    def get_quantifier(self) -> Quantifier:
        """How often the step may match, and how its events follow each other."""
        return self._quantifier

    def get_condition(self) -> IterativeCondition:
        """The condition; without one every event fits."""
        return TRUE if self._condition is None else self._condition

    def get_until_condition(self) -> IterativeCondition | None:
        """What ends a looping step; None if nothing does."""
        return self._until_condition

    def get_window_ms(self, within_type: WithinType = WithinType.FIRST_AND_LAST) -> int | None:
        """Within how many milliseconds a match has to lie."""
        return self._windows_ms.get(within_type)

    def get_after_match_skip_strategy(self) -> AfterMatchSkipStrategy:
        """Where matching goes on behind a match."""
        return self._after_match_skip_strategy

    def steps(self) -> Iterator[Pattern]:
        """From this step back to the first."""
        step: Pattern | None = self
        while step is not None:
            yield step
            step = step._previous

    # -- drawing --------------------------------------------------------------------------------------------

    def to_dot(self, match: Any = None) -> str:
        """The automaton of the pattern as a Graphviz graph; with a match, also which event took which edge."""
        from penstock.cep.drawing import to_dot

        return to_dot(self, match)

    def _repr_svg_(self) -> str:
        from penstock.cep.drawing import to_svg

        return to_svg(self)

    def __repr__(self) -> str:
        names = [step._name for step in self.steps()]
        return f"{type(self).__name__}({' ← '.join(names)})"

    # -- inside ---------------------------------------------------------------------------------------------

    def _append(self, name_or_group: str | Pattern, strategy: ConsumingStrategy) -> Pattern:
        return _step(name_or_group, self, strategy, self._after_match_skip_strategy)

    def _append_not(self, name: str, strategy: ConsumingStrategy) -> Pattern:
        if self._quantifier.is_optional:
            self._refuse(_NO_OPTIONAL_BEFORE_NOT, "leave out optional(), or write two patterns")
        if isinstance(name, Pattern):
            raise TypeMismatchError("a group cannot be negated", where=self._place, do="give a step's name")
        return self._append(name, strategy)

    def _times_between(self, from_times: int, to_times: int, window_time: Any) -> Pattern:
        optional = from_times == 0
        self._repeat(Quantifier.times, lambda: Times(from_times or 1, to_times, _window(window_time)))
        if optional:
            self._quantifier.optional()
        return self

    def _repeat(
        self, make: Callable[[ConsumingStrategy], Quantifier], make_times: Callable[[], Times]
    ) -> Pattern:
        self._check_repeatable()
        with self._here():
            self._times = make_times()
        self._quantifier = make(self._quantifier.consuming_strategy)
        return self

    def _check_repeatable(self) -> None:
        self._check_no_not()
        if not self._quantifier.is_single:
            self._refuse(
                f"Already applied quantifier to this Pattern. Current quantifier is: {self._quantifier}",
                "keep one of one_or_more, times and times_or_more",
            )

    def _check_no_not(self) -> None:
        if self._quantifier.consuming_strategy.is_not:
            self._refuse("Option not applicable to NOT pattern", "a step that must not match takes no events")

    @property
    def _place(self) -> str:
        return f"step '{self._name}'"

    def _refuse(self, what: str, do: str) -> NoReturn:
        raise MalformedPatternError(what, where=self._place, do=do)

    @contextmanager
    def _here(self) -> Iterator[None]:
        """Errors of the block learn the step."""
        try:
            yield
        except MalformedPatternError as error:
            error.where = error.where or self._place
            raise


class GroupPattern(Pattern):
    """A whole pattern as one part of another, so that it can repeat, be optional, or end by `until`."""

    NAME = "GroupPattern"

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        consuming_strategy: ConsumingStrategy,
        after_match_skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        super().__init__(self.NAME, previous, consuming_strategy, after_match_skip_strategy)
        self._group = group

    def get_raw_pattern(self) -> Pattern:
        """The last step of the pattern inside."""
        return self._group

    def where(self, condition: Condition) -> NoReturn:
        """Refused: conditions belong to the steps inside."""
        self._refuse(
            "GroupPattern does not support where clause.", "give the condition to a step of the group"
        )

    def or_(self, condition: Condition) -> NoReturn:
        """Refused: conditions belong to the steps inside."""
        self._refuse("GroupPattern does not support or clause.", "give the condition to a step of the group")

    def subtype(self, subtype_class: type) -> NoReturn:
        """Refused: conditions belong to the steps inside."""
        self._refuse("GroupPattern does not support subtype clause.", "give it to a step of the group")


def _step(
    name_or_group: str | Pattern,
    previous: Pattern | None,
    consuming_strategy: ConsumingStrategy,
    after_match_skip_strategy: AfterMatchSkipStrategy,
) -> Pattern:
    if isinstance(name_or_group, Pattern):
        return GroupPattern(name_or_group, previous, consuming_strategy, after_match_skip_strategy)
    if not isinstance(name_or_group, str):
        raise TypeMismatchError(
            f"a step is given by its name, or a Pattern for a group; got {name_or_group!r}",
            do='Pattern.begin("first").where(...)',
        )
    return Pattern(name_or_group, previous, consuming_strategy, after_match_skip_strategy)


def _window(window_time: Any) -> int | None:
    return None if window_time is None else to_millis(window_time)
