"""The automaton at work: an event, or the passing of time, moves all partial matches of a key.

For each partial match, the transitions out of its state (and out of states that it may *proceed* to) whose
conditions hold say what becomes of it: nothing, one partial match or several. One of them has always taken
nothing yet; it stays what it is and others branch off it. Those that reach the end are matches, those that
reach a stop state are gone, with everything that came of the same partial match.

A match leaves at once if nothing is skipped. With a skip strategy it waits until no partial match lives that began
earlier, because a match that would come of it could skip this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from penstock.cep.nfa.buffer import Path, SharedBuffer, ids_by_step
from penstock.cep.nfa.choices import Choices, Edge, RunState, RunStates, choices_of, final_after
from penstock.cep.nfa.compiler import compile_pattern
from penstock.cep.nfa.dewey import Version, add_stage, increase
from penstock.cep.nfa.found import FoundMatch, TimedOut
from penstock.cep.nfa.heap import NOT_STARTED, EventId, MatchHeap, PartialMatch
from penstock.cep.nfa.match_state import Calm, MatchState, waiting_at
from penstock.cep.nfa.predicates import Look, PredicateCompiler
from penstock.cep.nfa.taken import NOTHING, Taking, with_event
from penstock.cep.pattern.conditions import CompositeCondition, IterativeCondition
from penstock.cep.pattern.pattern import GroupPattern, Pattern
from penstock.cep.pattern.skip import AfterMatchSkipStrategy
from penstock.common.errors import StateError
from penstock.common.ids import MIN_TIMESTAMP

NEVER_MS = 2**63
"""Behind all times."""


class _Event:
    """The event at hand; it enters the buffer when it is first taken."""

    __slots__ = ("_id", "buffer", "look")

    def __init__(self, look: Look, buffer: SharedBuffer) -> None:
        self.look = look
        self.buffer = buffer
        self._id: EventId | None = None

    def id(self) -> EventId:
        if self._id is None:
            self._id = self.buffer.register_event(self.look.event, self.look.timestamp_ms)
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
        self._waiting = waiting_at(automaton.start.name)._replace(taking=NOTHING)
        self._predicates = PredicateCompiler(_owners(pattern))
        self._run_states = RunStates(automaton, self._predicates)
        self._states = self._run_states.by_name
        self._all_simple = self._predicates.all_simple
        self.calm_at_start = Calm(self._states[self._waiting.state].questions, NEVER_MS)
        """Which events change nothing for a key where nothing has begun."""

    @property
    def conditions(self) -> Sequence[IterativeCondition]:
        """The user's conditions, each once, to be opened and closed."""
        return tuple(self._predicates.leaves.values())

    def initial_state(self) -> MatchState:
        return MatchState(MatchHeap([self._waiting]))

    # -- what can be told without looking at partial matches ------------------------------------------------

    def can_start(self, look: Look) -> bool:
        """Whether the event would begin a match. If not, a key without partial matches need not see it."""
        return self._choices(self._states[self._waiting.state], self._waiting, look).takes > 0

    def calm_of(self, state: MatchState) -> Calm:
        """Which events change nothing; most events of most patterns are such."""
        calm = state.calm
        if calm is None:
            names = frozenset([match.state for match in state.partial.items])
            calm = state.calm = Calm(self._run_states.questions_at(names), self._calm_until(state))
        return calm

    def _calm_until(self, state: MatchState) -> int:
        if self._gaps:
            return MIN_TIMESTAMP
        oldest = state.partial.peek()
        if self.window_ms <= 0 or oldest is None or oldest.start == NOT_STARTED:
            return NEVER_MS
        return oldest.start_ms + self.window_ms

    def wakes_for_each(self, state: MatchState) -> bool:
        """Whether the key is to be woken at the end of every time limit, not only where something must end.

        In Flink each match that begins sets a timer, except at times up to 0. When it fires, gaps that were too long
        and matches that have no timer are seen too.
        """
        if self.window_ms <= 0:
            return False
        oldest = state.partial.peek()
        return self._gaps or (oldest is not None and oldest.start_ms <= 0 and oldest.start != NOT_STARTED)

    # -- events ---------------------------------------------------------------------------------------------

    def process(self, state: MatchState, look: Look) -> list[FoundMatch]:
        """Moves all partial matches by the event of `look`; the matches that leave now, in order."""
        state.calm = None
        event = _Event(look, state.buffer)
        alive, finished = MatchHeap(), MatchHeap()
        if not self._all_simple:
            self._know_taken(state)
        for match in state.partial.items:
            own = self._states.get(match.state) or _no_such_state(match)
            choices = self._choices(own, match, look)
            if choices.changes_nothing:
                alive.add(match)
            else:
                self._advance_match(state, match, own, choices, event, alive, finished)
        found = self._release_matches(state, finished, alive)
        state.partial = alive
        event.done()
        return found

    def _advance_match(
        self,
        state: MatchState,
        match: PartialMatch,
        own: RunState,
        choices: Choices,
        event: _Event,
        alive: MatchHeap,
        finished: MatchHeap,
    ) -> None:
        if choices.is_move and match.node is not None:
            following = self._moved(match, choices.edges[0], event)
            state.changed = True
        else:
            following = self._following(match, own, choices, event)
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
                _release(state.buffer, after)
            else:
                retained.append(after)
        if stopped:
            for after in retained:
                _release(state.buffer, after)
        else:
            alive.add_all(retained)

    def _following(
        self, match: PartialMatch, state: RunState, choices: Choices, event: _Event
    ) -> list[PartialMatch]:
        """What becomes of one partial match; its own path is released, those of its successors are locked."""
        look, buffer = event.look, event.buffer
        if not self._all_simple and look.match is not match:
            look.turn_to(match)
        following: list[PartialMatch] = []
        _, node, version, start_ms, previous_ms, start, taking = match
        takes_left = takes_before = max(0, choices.takes - 1)
        ignores_left = choices.ignores
        for edge in choices.edges:
            if edge.takes:
                self._take(match, state, edge, increase(version, takes_left), event, following)
                takes_left -= 1
            elif not state.is_start:
                if edge.target is state:
                    branch = increase(version, choices.versions_used)
                else:
                    branch = add_stage(increase(version, takes_before + ignores_left))
                    ignores_left -= 1
                following.append(
                    PartialMatch(edge.target.name, node, branch, start_ms, previous_ms, start, taking)
                )
                if node is not None:
                    buffer.lock_node(node, branch)
        if state.is_start:
            version = increase(version, choices.versions_used)
            following.append(PartialMatch(state.name, node, version, start_ms, previous_ms, start, taking))
        elif node is not None:
            buffer.release_node(node, version)
        return following

    def _take(
        self,
        match: PartialMatch,
        state: RunState,
        edge: Edge,
        version: Version,
        event: _Event,
        following: list[PartialMatch],
    ) -> None:
        buffer, look, event_id = event.buffer, event.look, event.id()
        time_ms = look.timestamp_ms
        node = buffer.put(edge.source.step, event_id, match.node, version, edge.number)
        start_ms, start = (time_ms, event_id) if state.is_start else (match.start_ms, match.start)
        behind, taking = add_stage(version), self._taking_after(match, edge, event)
        following.append(PartialMatch(edge.target.name, node, behind, start_ms, time_ms, start, taking))
        buffer.lock_node(node, behind)
        final = final_after(edge.target, look)
        if final is not None:
            following.append(PartialMatch(final.name, node, behind, start_ms, time_ms, start, taking))
            buffer.lock_node(node, behind)

    def _moved(self, match: PartialMatch, edge: Edge, event: _Event) -> list[PartialMatch]:
        """What `_following` gives where the only choice is to take the event: the usual case, without detours."""
        assert match.node is not None
        buffer, look, time_ms = event.buffer, event.look, event.look.timestamp_ms
        node, version = buffer.move(edge.source.step, event.id(), match.node, match.version, edge.number)
        taking = self._taking_after(match, edge, event)
        after = PartialMatch(edge.target.name, node, version, match.start_ms, time_ms, match.start, taking)
        if not edge.target.proceeds:
            return [after]
        if not self._all_simple and look.match is not match:
            look.turn_to(match)
        final = final_after(edge.target, look)
        if final is None:
            return [after]
        buffer.lock_node(node, version)
        return [after, after._replace(state=final.name)]

    def _taking_after(self, match: PartialMatch, edge: Edge, event: _Event) -> Taking | None:
        if self._all_simple or match.taking is None:
            return None
        return with_event(match.taking, edge.source.step, event.look.event)

    def _know_taken(self, state: MatchState) -> None:
        """After a restore: finds out what partial matches have taken."""
        if all(match.taking is not None for match in state.partial.items):
            return
        known = []
        for match in state.partial.items:
            taking = NOTHING
            path = [] if match.node is None else state.buffer.path(match.node, match.version)
            for ((_, step), _), value in zip(path, state.buffer.values(path), strict=True):
                taking = with_event(taking, step, value)
            known.append(match._replace(taking=taking))
        state.partial = MatchHeap(known)

    def _choices(self, state: RunState, match: PartialMatch, look: Look) -> Choices:
        known: Choices | None = look.choices.get(state.name)
        if known is not None:
            return known
        if not self._all_simple:
            look.turn_to(match)
        choices = choices_of(state, look)
        if state.is_simple:
            look.choices[state.name] = choices
        return choices

    # -- time -----------------------------------------------------------------------------------------------

    def advance_time(self, state: MatchState, time_ms: int) -> tuple[list[FoundMatch], list[TimedOut]]:
        """No earlier event will come: what is out of time goes, or is a match if only a NOT step was left."""
        if time_ms < self._calm_until(state):
            return [], []
        limits = [self._time_limit(match, time_ms) for match in state.partial.items]
        if all(limit is None for limit in limits):
            return [], []
        state.changed, state.calm = True, None
        alive, finished = MatchHeap(), MatchHeap()
        timed_out: list[TimedOut] = []
        for match, limit in zip(state.partial.items, limits, strict=True):
            if limit is None:
                alive.add(match)
            elif self._states[match.state].is_pending:
                finished.add(match)
            else:
                state.timed_out += 1
                if self._handles_timeouts:
                    timed_out.append(TimedOut(self._events_of(match, state.buffer), limit))
                _release(state.buffer, match)
        found = self._release_matches(state, finished, alive)
        state.partial = alive
        return found, timed_out

    def _time_limit(self, match: PartialMatch, time_ms: int) -> int | None:
        """When the time of the partial match was over; None: it is not."""
        state = self._states.get(match.state) or _no_such_state(match)
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
        if finished.items:
            state.changed = True
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
                pruning_id = skip.pruning_id([ids_by_step(path) for path in paths])
                if pruning_id is not None:
                    state.pruned += self._prune(alive, pruning_id, buffer)
                    state.pruned += self._prune(completed, pruning_id, buffer)
            found.append(self._found(paths[0], buffer))
            _release(buffer, match)
        return found

    def _prune(self, matches: MatchHeap, pruning_id: EventId, buffer: SharedBuffer) -> int:
        def goes(match: PartialMatch) -> bool:
            return match.start != NOT_STARTED and self._skip.should_prune(match.start, pruning_id)

        gone = matches.remove_if(goes)
        for match in gone:
            _release(buffer, match)
        return len(gone)

    def _events_of(self, match: PartialMatch, buffer: SharedBuffer) -> FoundMatch:
        path = [] if match.node is None else buffer.path(match.node, match.version)
        return self._found(path, buffer)

    def _found(self, path: Path, buffer: SharedBuffer) -> FoundMatch:
        return FoundMatch(path, buffer.values(path), self._run_states.edges)


def _release(buffer: SharedBuffer, match: PartialMatch) -> None:
    if match.node is not None:
        buffer.release_node(match.node, match.version)


def _no_such_state(match: PartialMatch) -> NoReturn:
    raise StateError(
        f"a partial match stands at '{match.state}', which the pattern does not have",
        do="the pattern was changed: give the operator another uid, or finish the old job without savepoint",
    )


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
