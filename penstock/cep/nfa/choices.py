"""States, ready to run: which transitions an event can make out of a state, found without detours.

A transition holds for an event or does not. Where it lets another state look at the same event (PROCEED), the
transitions of that state count too. What is left are takes and ignores: the *choices* of a partial match there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from penstock.cep.nfa.predicates import Look, Predicate, PredicateCompiler, Questions, is_simple
from penstock.cep.nfa.states import Action, Automaton, State, StateKind, Transition
from penstock.cep.pattern.conditions import IterativeCondition


class Edge:
    """A transition, ready to be tried. Its number is its place in the automaton."""

    __slots__ = ("holds", "number", "proceeds", "source", "takes", "target", "transition")

    def __init__(
        self, number: int, transition: Transition, source: RunState, target: RunState, holds: Predicate | None
    ) -> None:
        self.number = number
        self.transition = transition
        self.takes = transition.action is Action.TAKE
        self.proceeds = transition.action is Action.PROCEED
        self.source = source
        self.target = target
        self.holds = holds
        """None: for any event."""


class RunState:
    """A state, ready to run: what is asked of it per event."""

    __slots__ = (
        "edges",
        "gap_ms",
        "is_final",
        "is_pending",
        "is_simple",
        "is_start",
        "is_stop",
        "name",
        "proceeds",
        "questions",
        "step",
    )

    def __init__(self, state: State, gap_ms: int) -> None:
        self.name = state.name
        self.step = state.step
        self.gap_ms = gap_ms
        self.is_start = state.kind is StateKind.START
        self.is_final = state.kind is StateKind.FINAL
        self.is_stop = state.kind is StateKind.STOP
        self.is_pending = state.kind is StateKind.PENDING
        self.is_simple = False
        """Whether what an event does here does not depend on the partial match."""
        self.edges: list[Edge] = []
        self.proceeds: list[Edge] = []
        self.questions: Questions | None = None
        """If none of these conditions holds, the event is passed over; None: it never is, or that depends on more."""


class Choices(NamedTuple):
    """The transitions that one partial match can make with one event; `takes` and `ignores` count its branches."""

    edges: list[Edge]
    takes: int
    ignores: int
    changes_nothing: bool
    """The event is passed over, or cannot begin anything: the partial match stays what it is."""
    versions_used: int
    """By how much the version of the partial match itself must grow so that it differs from its branches."""
    is_move: bool = False
    """The only choice is to take the event."""


_PASSED_OVER = Choices([], 0, 0, True, 0)


def choices_of(state: RunState, look: Look) -> Choices:
    """What the event of `look` can do at a state, from the partial match that `look` is turned to."""
    edges: list[Edge] = []
    takes = ignores = 0
    pending = [state]
    while pending:
        for edge in pending.pop().edges:
            if edge.holds is not None and not edge.holds(look):
                continue
            if edge.proceeds:
                pending.append(edge.target)
                continue
            edges.append(edge)
            if edge.takes:
                takes += 1
            elif edge.target is not state:
                ignores += 1
    if takes or ignores:
        is_move = takes == len(edges) == 1 and not state.is_start
        return Choices(edges, takes, ignores, False, ignores + max(1, takes), is_move)
    passed_over = not edges if state.is_start else len(edges) == 1
    return _PASSED_OVER if passed_over else Choices(edges, 0, 0, False, 0)


def final_after(state: RunState, look: Look) -> RunState | None:
    """The final state that can be reached without a further event, if any."""
    if not state.proceeds:
        return None
    pending = [state]
    while pending:
        for edge in pending.pop().proceeds:
            if edge.holds is None or edge.holds(look):
                if edge.target.is_final:
                    return edge.target
                pending.append(edge.target)
    return None


class RunStates:
    """The states of an automaton, by name, and its edges, by number."""

    def __init__(self, automaton: Automaton, predicates: PredicateCompiler) -> None:
        gaps_ms = automaton.gaps_ms
        made = {state.name: RunState(state, gaps_ms.get(state.name, 0)) for state in automaton.states}
        self.by_name: Mapping[str, RunState] = made
        self.edges: list[Edge] = []
        for transition in automaton.transitions():
            source, target = made[transition.source.name], made[transition.target.name]
            edge = Edge(len(self.edges), transition, source, target, predicates.compile(transition.condition))
            self.edges.append(edge)
            source.edges.append(edge)
            if edge.proceeds:
                source.proceeds.append(edge)
        for state in automaton.states:
            own = made[state.name]
            own.is_simple = all(map(is_simple, _conditions_from(state)))
            if not _may_proceed_in_circles(state):
                own.questions = predicates.asked_in_vain(partial(_is_passed_over, own))
        self._questions: dict[frozenset[str], Questions | None] = {}

    def questions_at(self, names: frozenset[str]) -> Questions | None:
        """If none of these conditions holds, none of the states cares for the event; None: some do in any case."""
        if names not in self._questions:
            self._questions[names] = self._all_questions(names)
        return self._questions[names]

    def _all_questions(self, names: frozenset[str]) -> Questions | None:
        asked = {}
        for name in sorted(names):
            state = self.by_name.get(name)
            if state is None or state.questions is None:
                return None
            asked.update({question.number: question for question in state.questions})
        return tuple(asked.values())


def _is_passed_over(state: RunState, look: Look) -> bool:
    return choices_of(state, look).changes_nothing


def _may_proceed_in_circles(state: State, above: tuple[str, ...] = ()) -> bool:
    """Whether an event may come back to the state without being taken: in a loop of a group that can be left out."""
    if state.name in above:
        return True
    targets = [edge.target for edge in state.transitions if edge.action is Action.PROCEED]
    return any(_may_proceed_in_circles(target, (*above, state.name)) for target in targets)


def _conditions_from(state: State) -> Iterator[IterativeCondition]:
    """Conditions of the transitions out of a state, and of those it may proceed to."""
    pending, seen = [state], {state.name}
    while pending:
        for transition in pending.pop().transitions:
            yield transition.condition
            if transition.action is Action.PROCEED and transition.target.name not in seen:
                seen.add(transition.target.name)
                pending.append(transition.target)
