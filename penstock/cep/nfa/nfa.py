"""The automaton at work: an event, or the passing of time, moves all partial matches of a key.

For each partial match, the transitions out of its state (and out of states that it may *proceed* to) whose
conditions hold say what becomes of it: nothing, one partial match or several. One of them has always taken
nothing yet; it stays what it is and others branch off it. Those that reach the end are matches, those that
reach a stop state are gone, with everything that came of the same partial match.

A match leaves at once if nothing is skipped. With a skip strategy it waits until no partial match lives that began
earlier, because a match that would come of it could skip this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from penstock.cep.nfa.buffer import SharedBuffer
from penstock.cep.nfa.compiler import compile_pattern
from penstock.cep.nfa.dewey import Version, add_stage, increase
from penstock.cep.nfa.heap import NOT_STARTED, EventId, MatchHeap, NodeId, PartialMatch
from penstock.cep.nfa.match_state import MatchState, waiting_at
from penstock.cep.nfa.predicates import Look, Predicate, PredicateCompiler, is_simple
from penstock.cep.nfa.states import Action, Automaton, State, StateKind, Transition
from penstock.cep.pattern.conditions import CompositeCondition, IterativeCondition
from penstock.cep.pattern.pattern import GroupPattern, Pattern
from penstock.cep.pattern.skip import AfterMatchSkipStrategy
from penstock.common.errors import StateError

FoundMatch = dict[str, list[Any]]
"""The events of a match by step, steps in the order of their first events."""


_EMPTY = SharedBuffer()


class TimedOut(NamedTuple):
    """A partial match that did not end in time, and when its time was over."""

    match: FoundMatch
    time_ms: int


class _Edge(NamedTuple):
    """A transition, ready to be tried."""

    action: Action
    source: _State
    target: _State
    holds: Predicate | None


class _State:
    """A state, ready to run: what is asked of it per event, without detours."""

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
        self.edges: list[_Edge] = []
        self.proceeds: list[_Edge] = []


class _Choices(NamedTuple):
    """The transitions that one partial match can make with one event; `takes` and `ignores` count its branches."""

    edges: list[_Edge]
    takes: int
    ignores: int
    changes_nothing: bool
    """The event is passed over, or cannot begin anything: the partial match stays what it is."""

    @property
    def versions_used(self) -> int:
        """By how much the version of the partial match itself must grow so that it differs from its branches."""
        return self.ignores + max(1, self.takes) if self.takes or self.ignores else 0


_PASSED_OVER = _Choices([], 0, 0, True)


class _Event:
    """The event at hand; it enters the buffer when it is first taken."""

    __slots__ = ("_id", "buffer", "time_ms", "value")

    def __init__(self, value: Any, time_ms: int, buffer: SharedBuffer) -> None:
        self.value = value
        self.time_ms = time_ms
        self.buffer = buffer
        self._id: EventId | None = None

    @property
    def id(self) -> EventId:
        if self._id is None:
            self._id = self.buffer.register_event(self.value, self.time_ms)
        return self._id

    def done(self) -> None:
        if self._id is not None:
            self.buffer.release_event(self._id)


class NFA:
    """A compiled pattern with its skip strategy. It has no state of its own: that comes with each call.

    Args:
        pattern: The pattern, by its last step.
        handles_timeouts: Whether partial matches that run out of time are wanted.
    """

    def __init__(self, pattern: Pattern, handles_timeouts: bool = False) -> None:
        automaton = compile_pattern(pattern)
        self.window_ms = automaton.window_ms
        self._gaps = any(gap > 0 for gap in automaton.gaps_ms.values())
        self._handles_timeouts = handles_timeouts
        self._skip: AfterMatchSkipStrategy = pattern.get_after_match_skip_strategy()
        self._waiting = waiting_at(automaton.start.name)
        self._predicates = PredicateCompiler(_owners(pattern))
        self._states = self._make_states(automaton)

    @property
    def conditions(self) -> Sequence[IterativeCondition]:
        """The user's conditions, each once, to be opened and closed."""
        return tuple(self._predicates.leaves.values())

    def initial_state(self) -> MatchState:
        return MatchState(MatchHeap([self._waiting]))

    # -- events ---------------------------------------------------------------------------------------------

    def can_start(self, look: Look) -> bool:
        """Whether the event would begin a match. If not, a key without partial matches need not see it."""
        return self._choices(self._states[self._waiting.state], self._waiting, look, _EMPTY).takes > 0

    def process(self, state: MatchState, look: Look) -> list[FoundMatch]:
        """Moves all partial matches by the event of `look`; the matches that leave now, in order."""
        if self._changes_nothing(state, look):
            return []
        event = _Event(look.event, look.timestamp_ms, state.buffer)
        alive, finished = MatchHeap(), MatchHeap()
        for match in state.partial.items:
            self._advance_match(state, match, event, look, alive, finished)
        if finished.items:
            state.changed = True
        found = self._release_matches(state, finished, alive)
        state.partial = alive
        event.done()
        return found

    def _changes_nothing(self, state: MatchState, look: Look) -> bool:
        """Whether no partial match cares for the event: so it is with most events of most patterns."""
        for match in state.partial.items:
            own = self._state(match)
            if not own.is_simple or not self._choices(own, match, look, state.buffer).changes_nothing:
                return False
        return True

    def _advance_match(
        self,
        state: MatchState,
        match: PartialMatch,
        event: _Event,
        look: Look,
        alive: MatchHeap,
        finished: MatchHeap,
    ) -> None:
        own = self._state(match)
        choices = self._choices(own, match, look, state.buffer)
        if choices.changes_nothing:
            alive.add(match)
            return
        following = self._following(match, own, choices, event, look)
        if len(following) != 1 or following[0] != match:
            state.changed = True
        retained, stopped = [], False
        for after in following:
            if own.is_start and after.start_ms > 0:
                state.started = True
            target = self._states[after.state]
            if target.is_final:
                finished.add(after)
            elif target.is_stop:
                stopped = True
                self._release(state.buffer, after)
            else:
                retained.append(after)
        if stopped:
            for after in retained:
                self._release(state.buffer, after)
        else:
            alive.add_all(retained)

    def _following(
        self, match: PartialMatch, state: _State, choices: _Choices, event: _Event, look: Look
    ) -> list[PartialMatch]:
        """What becomes of one partial match; its own path is released, those of its successors are locked."""
        if look.match is not match:
            look.turn_to(match, event.buffer)
        following: list[PartialMatch] = []
        _, node, version, start_ms, previous_ms, start = match
        takes_left = takes_before = max(0, choices.takes - 1)
        ignores_left = choices.ignores
        for edge in choices.edges:
            if edge.action is Action.TAKE:
                self._take(match, state, edge, increase(version, takes_left), event, look, following)
                takes_left -= 1
            elif not state.is_start:
                if edge.target is state:
                    branch = increase(version, choices.versions_used)
                else:
                    branch = add_stage(increase(version, takes_before + ignores_left))
                    ignores_left -= 1
                after = PartialMatch(edge.target.name, node, branch, start_ms, previous_ms, start)
                self._branch(after, event, following)
        if state.is_start:
            following.append(match._replace(version=increase(version, choices.versions_used)))
        if node is not None:
            event.buffer.release_node(node, version)
        return following

    def _take(
        self,
        match: PartialMatch,
        state: _State,
        edge: _Edge,
        version: Version,
        event: _Event,
        look: Look,
        following: list[PartialMatch],
    ) -> None:
        node = event.buffer.put(edge.source.step, event.id, match.node, version)
        start_ms, start = (event.time_ms, event.id) if state.is_start else (match.start_ms, match.start)
        after = PartialMatch(edge.target.name, node, add_stage(version), start_ms, event.time_ms, start)
        self._branch(after, event, following)
        final = self._final_after(edge.target, look)
        if final is not None:
            self._branch(after._replace(state=final.name), event, following)

    def _branch(self, match: PartialMatch, event: _Event, following: list[PartialMatch]) -> None:
        following.append(match)
        node: NodeId | None = match.node
        if node is not None:
            event.buffer.lock_node(node, match.version)

    def _choices(self, state: _State, match: PartialMatch, look: Look, buffer: SharedBuffer) -> _Choices:
        known = look.choices.get(state.name)
        if known is not None:
            return known  # type: ignore[no-any-return]
        look.turn_to(match, buffer)
        choices = _choices_of(state, look)
        if state.is_simple:
            look.choices[state.name] = choices
        return choices

    def _final_after(self, state: _State, look: Look) -> _State | None:
        """The final state that can be reached without a further event, if any."""
        pending = [state]
        while pending:
            for edge in pending.pop().proceeds:
                if edge.holds is None or edge.holds(look):
                    if edge.target.is_final:
                        return edge.target
                    pending.append(edge.target)
        return None

    # -- time -----------------------------------------------------------------------------------------------

    def advance_time(self, state: MatchState, time_ms: int) -> tuple[list[FoundMatch], list[TimedOut]]:
        """No earlier event will come: what is out of time goes, or is a match if only a NOT step was left."""
        if not self._gaps and not self._oldest_is_over(state, time_ms):
            return [], []
        limits = [self._time_limit(match, time_ms) for match in state.partial.items]
        if all(limit is None for limit in limits):
            return [], []
        state.changed = True
        alive, finished = MatchHeap(), MatchHeap()
        timed_out: list[TimedOut] = []
        for match, limit in zip(state.partial.items, limits, strict=True):
            if limit is None:
                alive.add(match)
            elif self._state(match).is_pending:
                finished.add(match)
            else:
                if self._handles_timeouts:
                    timed_out.append(TimedOut(_events_of(match, state.buffer), limit))
                self._release(state.buffer, match)
        found = self._release_matches(state, finished, alive)
        state.partial = alive
        return found, timed_out

    def _oldest_is_over(self, state: MatchState, time_ms: int) -> bool:
        """Whether the window of the partial match that began first is over; it is first in the heap."""
        oldest = state.partial.items[0] if state.partial.items else None
        if oldest is None or self.window_ms <= 0 or oldest.start == NOT_STARTED:
            return False
        return time_ms - oldest.start_ms >= self.window_ms

    def _time_limit(self, match: PartialMatch, time_ms: int) -> int | None:
        """When the time of the partial match was over; None: it is not."""
        state = self._state(match)
        if state.is_start:
            return None
        if state.gap_ms > 0 and time_ms - match.previous_ms >= state.gap_ms:
            return match.previous_ms + state.gap_ms
        if self.window_ms > 0 and time_ms - match.start_ms >= self.window_ms:
            return match.start_ms + self.window_ms
        return None

    # -- matches --------------------------------------------------------------------------------------------

    def _release_matches(self, state: MatchState, finished: MatchHeap, alive: MatchHeap) -> list[FoundMatch]:
        """Lets matches leave, oldest start first, and skips others as the strategy says."""
        completed, buffer, skip = state.completed, state.buffer, self._skip
        completed.add_all(finished.items)
        found: list[FoundMatch] = []
        while (match := completed.peek()) is not None:
            oldest = alive.peek()
            if skip.is_skip_strategy and oldest is not None and match.start > oldest.start:
                break
            state.changed = True
            completed.poll()
            assert match.node is not None
            paths = buffer.paths(match.node, match.version)
            if skip.is_skip_strategy:
                pruning_id = skip.pruning_id(paths)
                if pruning_id is not None:
                    self._prune(alive, pruning_id, buffer)
                    self._prune(completed, pruning_id, buffer)
            found.append(buffer.materialize(paths[0]))
            self._release(buffer, match)
        return found

    def _prune(self, matches: MatchHeap, pruning_id: EventId, buffer: SharedBuffer) -> None:
        def goes(match: PartialMatch) -> bool:
            return match.start != NOT_STARTED and self._skip.should_prune(match.start, pruning_id)

        for match in matches.remove_if(goes):
            self._release(buffer, match)

    def _release(self, buffer: SharedBuffer, match: PartialMatch) -> None:
        if match.node is not None:
            buffer.release_node(match.node, match.version)

    # -- states ---------------------------------------------------------------------------------------------

    def _state(self, match: PartialMatch) -> _State:
        state = self._states.get(match.state)
        if state is None:
            raise StateError(
                f"a partial match stands at '{match.state}', which the pattern does not have",
                do="the pattern was changed: give the operator another uid, or finish the old job without savepoint",
            )
        return state

    def _make_states(self, automaton: Automaton) -> dict[str, _State]:
        made = {state.name: _State(state, automaton.gaps_ms.get(state.name, 0)) for state in automaton.states}
        for state in automaton.states:
            edges = [self._edge(transition, made) for transition in state.transitions]
            made[state.name].edges = edges
            made[state.name].proceeds = [edge for edge in edges if edge.action is Action.PROCEED]
        for state in automaton.states:
            made[state.name].is_simple = all(map(is_simple, _conditions_from(state)))
        return made

    def _edge(self, transition: Transition, states: dict[str, _State]) -> _Edge:
        source, target = states[transition.source.name], states[transition.target.name]
        holds = self._predicates.compile(transition.condition)
        return _Edge(transition.action, source, target, holds)


def _choices_of(state: _State, look: Look) -> _Choices:
    edges: list[_Edge] = []
    takes = ignores = 0
    pending = [state]
    while pending:
        for edge in pending.pop().edges:
            if edge.holds is not None and not edge.holds(look):
                continue
            if edge.action is Action.PROCEED:
                pending.append(edge.target)
                continue
            edges.append(edge)
            if edge.action is Action.TAKE:
                takes += 1
            elif edge.target is not state:
                ignores += 1
    if takes or ignores:
        return _Choices(edges, takes, ignores, False)
    passed_over = not edges if state.is_start else len(edges) == 1
    return _PASSED_OVER if passed_over else _Choices(edges, 0, 0, False)


def _conditions_from(state: State) -> Iterator[IterativeCondition]:
    """Conditions of the transitions out of a state, and of those it may proceed to."""
    pending, seen = [state], {state.name}
    while pending:
        for transition in pending.pop().transitions:
            yield transition.condition
            if transition.action is Action.PROCEED and transition.target.name not in seen:
                seen.add(transition.target.name)
                pending.append(transition.target)


def _events_of(match: PartialMatch, buffer: SharedBuffer) -> FoundMatch:
    return {} if match.node is None else buffer.materialize(buffer.path(match.node, match.version))


def _owners(pattern: Pattern) -> dict[int, str]:
    """The step that each of the user's conditions belongs to, by the condition's id."""
    owners: dict[int, str] = {}
    for step in pattern.steps():
        if isinstance(step, GroupPattern):
            owners.update(_owners(step.get_raw_pattern()))
        for condition in (step.get_condition(), step.get_until_condition()):
            if condition is not None:
                _note_owner(condition, step.get_name(), owners)
    return owners


def _note_owner(condition: IterativeCondition, step: str, owners: dict[int, str]) -> None:
    owners.setdefault(id(condition), step)
    if isinstance(condition, CompositeCondition):
        for part in condition.parts:
            _note_owner(part, step, owners)
