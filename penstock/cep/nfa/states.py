"""States and transitions: the automaton as the compiler makes it.

A transition does one of three things with the event at hand:

    TAKE      the event joins the partial match, which goes on to the target
    IGNORE    the event is passed over; the partial match goes on to the target (mostly where it is)
    PROCEED   the target is asked about the same event, at once
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.cep.pattern.conditions import IterativeCondition

DELIMITER = ":"
"""Between a step's name and the number that makes the names of its states unique."""

END_STATE = "$endState$"


class StateKind(enum.Enum):
    """START: nothing was taken yet. PENDING: a match once its time is over. STOP: a NOT step has matched."""

    START = "Start"
    FINAL = "Final"
    NORMAL = "Normal"
    PENDING = "Pending"
    STOP = "Stop"


class Action(enum.Enum):
    """What a state of the automaton does with an event."""

    TAKE = "TAKE"
    IGNORE = "IGNORE"
    PROCEED = "PROCEED"


@dataclass(eq=False)
class Transition:
    """From one state to another, for events that fulfil the condition."""

    source: State
    action: Action
    target: State
    condition: IterativeCondition


@dataclass(eq=False)
class State:
    """A state by its unique name. The order of transitions decides about the order of matches."""

    name: str
    kind: StateKind
    transitions: list[Transition] = field(default_factory=list)

    @property
    def step(self) -> str:
        """The step that events taken here belong to."""
        return step_of(self.name)

    def add(self, action: Action, target: State, condition: IterativeCondition) -> None:
        self.transitions.append(Transition(self, action, target, condition))

    def add_take(self, target: State, condition: IterativeCondition) -> None:
        self.add(Action.TAKE, target, condition)

    def add_ignore(self, target: State, condition: IterativeCondition) -> None:
        self.add(Action.IGNORE, target, condition)

    def add_proceed(self, target: State, condition: IterativeCondition) -> None:
        self.add(Action.PROCEED, target, condition)

    def __repr__(self) -> str:
        return f"{self.kind.value} State {self.name}"


@dataclass(frozen=True)
class Automaton:
    """A compiled pattern.

    Attributes:
        states: In the order in which they were made; one of them is the start.
        window_ms: A match must end sooner than this after it began; 0: any time.
        gaps_ms: By state: how soon after the last event the next one must come.
    """

    states: tuple[State, ...]
    window_ms: int
    gaps_ms: dict[str, int]

    @property
    def start(self) -> State:
        return next(state for state in self.states if state.kind is StateKind.START)

    def transitions(self) -> Iterator[Transition]:
        """Those of all states, in the order of states."""
        for state in self.states:
            yield from state.transitions

    def can_match_nothing(self) -> bool:
        """Whether the end can be reached from the start without taking an event."""
        pending, seen = [self.start], set()
        while pending:
            state = pending.pop()
            if state.name in seen:
                continue
            seen.add(state.name)
            for transition in state.transitions:
                if transition.action is Action.PROCEED:
                    if transition.target.kind is StateKind.FINAL:
                        return True
                    pending.append(transition.target)
        return False


def step_of(state_name: str) -> str:
    """The part of a state's name before the first delimiter.

    >>> step_of("middle:1")
    'middle'
    """
    return state_name.split(DELIMITER, 1)[0]
