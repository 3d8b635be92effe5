"""How often a step may match, and what may lie between its events.

A step has two consuming strategies: the outer one is about events between the step before and this one, the inner
one about events between repetitions of this step.

    strategy         events in between                 outer: call        inner: call
    STRICT           none                              next               consecutive
    SKIP_TILL_NEXT   those that do not fit             followed_by        (default)
    SKIP_TILL_ANY    any, also those that would fit    followed_by_any    allow_combinations
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from penstock.common.errors import MalformedPatternError

__all__ = ["ConsumingStrategy", "Quantifier", "QuantifierProperty", "Times"]


class QuantifierProperty(enum.Enum):
    """SINGLE, LOOPING and TIMES exclude each other; the others are added to them."""

    SINGLE = "SINGLE"
    LOOPING = "LOOPING"
    TIMES = "TIMES"
    OPTIONAL = "OPTIONAL"
    GREEDY = "GREEDY"


class ConsumingStrategy(enum.Enum):
    """Which events may lie between two that were taken; the NOT ones belong to steps that must not match."""

    STRICT = "STRICT"
    SKIP_TILL_NEXT = "SKIP_TILL_NEXT"
    SKIP_TILL_ANY = "SKIP_TILL_ANY"
    NOT_FOLLOW = "NOT_FOLLOW"
    NOT_NEXT = "NOT_NEXT"

    @property
    def is_not(self) -> bool:
        """Whether it says what must not come: NOT_NEXT and NOT_FOLLOW."""
        return self in (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)


@dataclass(frozen=True)
class Times:
    """From how many to how many events; of a loop `from_times` are needed and more may follow.

    `window_ms` limits the gap before the events that this repetition takes, see `Pattern.times`.
    """

    from_times: int
    to_times: int
    window_ms: int | None = None

    def __post_init__(self) -> None:
        if self.from_times <= 0:
            raise MalformedPatternError("The from should be a positive number greater than 0.")
        if self.to_times < self.from_times:
            raise MalformedPatternError(
                f"The to should be a number greater than or equal to from: {self.from_times}."
            )


class Quantifier:
    """The repetition of one step. Its methods refuse combinations that mean nothing.

    >>> loop = Quantifier.looping(ConsumingStrategy.SKIP_TILL_NEXT)
    >>> loop.consecutive()
    >>> loop
    Quantifier{properties=[LOOPING], consumingStrategy=SKIP_TILL_NEXT, innerConsumingStrategy=STRICT}
    """

    def __init__(self, consuming_strategy: ConsumingStrategy, kind: QuantifierProperty) -> None:
        self.consuming_strategy = consuming_strategy
        self.inner_consuming_strategy = ConsumingStrategy.SKIP_TILL_NEXT
        self._properties = {kind}

    @classmethod
    def one(cls, consuming_strategy: ConsumingStrategy) -> Quantifier:
        """Exactly one event."""
        return cls(consuming_strategy, QuantifierProperty.SINGLE)

    @classmethod
    def looping(cls, consuming_strategy: ConsumingStrategy) -> Quantifier:
        """So many events or more."""
        return cls(consuming_strategy, QuantifierProperty.LOOPING)

    @classmethod
    def times(cls, consuming_strategy: ConsumingStrategy) -> Quantifier:
        """A number of events with an upper bound."""
        return cls(consuming_strategy, QuantifierProperty.TIMES)

    def has_property(self, prop: QuantifierProperty) -> bool:
        """Whether the step has this property."""
        return prop in self._properties

    @property
    def is_single(self) -> bool:
        """Whether the step matches exactly one event."""
        return QuantifierProperty.SINGLE in self._properties

    @property
    def is_looping(self) -> bool:
        """Whether the step may match any number of events."""
        return QuantifierProperty.LOOPING in self._properties

    @property
    def is_optional(self) -> bool:
        """Whether the step may be left out."""
        return QuantifierProperty.OPTIONAL in self._properties

    @property
    def is_greedy(self) -> bool:
        """Whether the step takes as many events as it can."""
        return QuantifierProperty.GREEDY in self._properties

    def combinations(self) -> None:
        """Any events may lie between repetitions."""
        _check(not self.is_single, f"Combinations not applicable to {self}!", _REPEAT_FIRST)
        _check(self.inner_consuming_strategy is not ConsumingStrategy.STRICT, _EITHER_OR, _KEEP_ONE)
        applied = self.inner_consuming_strategy is ConsumingStrategy.SKIP_TILL_ANY
        _check(not applied, "Combinations already applied!", "call allow_combinations() once")
        self.inner_consuming_strategy = ConsumingStrategy.SKIP_TILL_ANY

    def consecutive(self) -> None:
        """No event may lie between repetitions."""
        _check(not self.is_single, f"Consecutive not applicable to {self}!", _REPEAT_FIRST)
        _check(self.inner_consuming_strategy is not ConsumingStrategy.SKIP_TILL_ANY, _EITHER_OR, _KEEP_ONE)
        applied = self.inner_consuming_strategy is ConsumingStrategy.STRICT
        _check(not applied, "Consecutive already applied!", "call consecutive() once")
        self.inner_consuming_strategy = ConsumingStrategy.STRICT

    def optional(self) -> None:
        """The step may be left out."""
        _check(not self.is_optional, "Optional already applied!", "call optional() once")
        _check(not self.consuming_strategy.is_not, "NOT pattern cannot be optional", "leave the step out")
        self._properties.add(QuantifierProperty.OPTIONAL)

    def greedy(self) -> None:
        """The step takes what it can before the next step gets anything."""
        _check(
            self.inner_consuming_strategy is not ConsumingStrategy.SKIP_TILL_ANY,
            "Option not applicable to FollowedByAny pattern",
            "leave out greedy() or allow_combinations()",
        )
        _check(not self.is_single, "Option not applicable to singleton quantifier", _REPEAT_FIRST)
        self._properties.add(QuantifierProperty.GREEDY)

    def __repr__(self) -> str:
        properties = ", ".join(prop.name for prop in QuantifierProperty if prop in self._properties)
        return (
            f"Quantifier{{properties=[{properties}], consumingStrategy={self.consuming_strategy.name}, "
            f"innerConsumingStrategy={self.inner_consuming_strategy.name}}}"
        )


_EITHER_OR = "You can apply either combinations or consecutive, not both!"
_KEEP_ONE = "keep the one that says what may lie between two events of the step"
_REPEAT_FIRST = "call one_or_more(), times(...) or times_or_more(...) before it"


def _check(holds: bool, what: str, do: str) -> None:
    if not holds:
        raise MalformedPatternError(what, do=do)
