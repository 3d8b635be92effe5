"""From a pattern to an automaton.

States are made from the end to the beginning: the state of a step needs to know where to go when it is done (its
*sink*). One step can be several states:

    a            (a) ─take▶ sink                        and, unless strict, (a) ─ignore▶ (a)
    a?           (a) ─take▶ sink, ─proceed▶ sink        ignoring goes to a copy of (a) without the way past it
    a{3}         (a) ─take▶ (a:1) ─take▶ (a:0) ─take▶ sink
    a+           (a) ─take▶ (a:0) ─take▶ (a:0), ─proceed▶ sink
    not b        no state; whoever looks for the step behind it goes to a stop state on b

What a pattern means where its parts meet (a NOT before an optional step, a greedy loop before a group …) is what this
construction gives, as in Flink; tests/conformance/cep has what Flink made of such patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from penstock.cep.nfa.states import DELIMITER, END_STATE, Action, Automaton, State, StateKind, step_of
from penstock.cep.pattern.conditions import TRUE, AndCondition, IterativeCondition, NotCondition
from penstock.cep.pattern.pattern import GroupPattern, Pattern
from penstock.cep.pattern.quantifier import ConsumingStrategy, Times
from penstock.cep.pattern.within_type import WithinType
from penstock.common.errors import MalformedPatternError

_NOT_FOLLOW = ConsumingStrategy.NOT_FOLLOW


def compile_pattern(pattern: Pattern) -> Automaton:
    """The automaton of a pattern, given by its last step.

    Raises:
        MalformedPatternError: The steps do not go together.
    """
    return _Compiler(pattern).compile()


@dataclass(frozen=True)
class _Place:
    """The step that is being made into states, what comes behind it, and the group it is in."""

    pattern: Pattern
    following: Pattern | None = None
    group: GroupPattern | None = None

    @property
    def is_head_of_group(self) -> bool:
        return self.group is not None and self.pattern.get_previous() is None


class _Compiler:
    def __init__(self, pattern: Pattern) -> None:
        self._last = pattern
        self._states: list[State] = []
        self._names: set[str] = set()
        self._stops: dict[str, State] = {}
        self._gaps_ms: dict[str, int] = {}
        self._window_ms = pattern.get_window_ms()
        self._first_of_loop: dict[int, bool] = {}
        self._before_greedy: dict[str, State] = {}

    def compile(self) -> Automaton:
        _check_names(self._last)
        _check_skip_strategy(self._last)
        end = self._new_state(END_STATE, StateKind.FINAL)
        sink, first = self._behind_first(_Place(self._last), end)
        self._convert(first, sink).kind = StateKind.START
        self._check_windows()
        return Automaton(tuple(self._states), self._window_ms or 0, self._gaps_ms)

    # -- the sequence ---------------------------------------------------------------------------------------

    def _behind_first(self, place: _Place, sink: State) -> tuple[State, _Place]:
        """States of all steps but the first; the state that the first one leads to, and the place of the first."""
        while (previous := place.pattern.get_previous()) is not None:
            strategy = place.pattern.get_quantifier().consuming_strategy
            if strategy is _NOT_FOLLOW:
                sink = self._not_follow_at_end(place, sink)
            elif strategy is ConsumingStrategy.NOT_NEXT:
                sink = self._not_next(place, sink)
            else:
                sink = self._convert(place, sink)
            place = replace(place, pattern=previous, following=place.pattern)
            window_ms = previous.get_window_ms()
            if window_ms is not None and (self._window_ms is None or window_ms < self._window_ms):
                self._window_ms = window_ms
        return sink, place

    def _not_follow_at_end(self, place: _Place, sink: State) -> State:
        """At the end, a state that becomes a match when time is over; elsewhere the steps before see to it."""
        limited = place.pattern.get_window_ms(WithinType.PREVIOUS_AND_CURRENT) is not None
        if sink.kind is not StateKind.FINAL or not (limited or (self._window_ms or 0) > 0):
            return sink
        pending = self._state_of(place, StateKind.PENDING)
        unwanted = _take_condition(place, place.pattern)
        pending.add_proceed(self._stop_state(unwanted, place.pattern.get_name()), unwanted)
        pending.add_ignore(pending, NotCondition(unwanted))
        return pending

    def _not_next(self, place: _Place, sink: State) -> State:
        state = self._state_of(place)
        unwanted = _take_condition(place, place.pattern)
        stop = self._stop_state(unwanted, place.pattern.get_name())
        action = Action.IGNORE if sink.kind is StateKind.FINAL else Action.PROCEED
        state.add(action, sink, NotCondition(unwanted))
        state.add_proceed(stop, unwanted)
        return state

    def _convert(self, place: _Place, sink: State) -> State:
        """States of one step or group; gives the one to enter it by."""
        quantifier, times = place.pattern.get_quantifier(), place.pattern.get_times()
        if quantifier.is_looping:
            assert times is not None
            self._set_first_of_loop(place, False)
            loop = self._looping(place, self._without_nots(place, sink))
            self._set_first_of_loop(place, True)
            state = self._repeated(place, loop, sink, times)
        elif times is not None:
            state = self._repeated(place, sink, sink, times)
        else:
            state = self._single(
                place,
                sink,
                sink,
                _take_condition(place, place.pattern),
                self._ignore_condition(place),
                quantifier.is_optional,
            )
        self._add_stops(place, state)
        return state

    # -- repetitions ----------------------------------------------------------------------------------------

    def _repeated(self, place: _Place, sink: State, proceed: State, times: Times) -> State:
        """A chain of single states; those that are not needed can be left towards `proceed`."""
        pattern = place.pattern
        self._set_first_of_loop(place, False)
        until = pattern.get_until_condition()
        ignore = _unless(until, self._inner_ignore_condition(place))
        take = _unless(until, _take_condition(place, pattern)) or TRUE
        if pattern.get_quantifier().is_greedy and times.from_times != times.to_times:
            if until is not None:
                self._before_greedy[sink.name] = self._copy(sink)
            _give_way(sink, take)
        state = sink
        for _ in range(times.from_times, times.to_times):
            state = self._single(place, state, proceed, take, ignore, True)
            self._add_stop_of_following(place, state)
        for _ in range(times.from_times - 1):
            state = self._single(place, state, None, take, ignore, False)
            self._add_stop_of_following(place, state)
        self._set_first_of_loop(place, True)
        optional = pattern.get_quantifier().is_optional
        return self._single(place, state, proceed, take, self._ignore_condition(place), optional)

    def _single(
        self,
        place: _Place,
        sink: State,
        proceed: State | None,
        take: IterativeCondition,
        ignore: IterativeCondition | None,
        is_optional: bool,
    ) -> State:
        """A state that takes one event. If it is optional, the event may be left to `proceed` instead."""
        if isinstance(place.pattern, GroupPattern):
            return self._group(place, place.pattern, sink, proceed if is_optional else None)
        state = self._state_of(place)
        sink = self._without_nots(place, sink)
        state.add_take(sink, take)
        if is_optional:
            assert proceed is not None
            self._add_way_past(place, state, proceed)
        if ignore is not None:
            ignoring = state
            if is_optional or self._is_head_of_optional_group(place):
                # Once an event was passed over, the way past this state is closed: only one branch may use it.
                ignoring = self._state_of(place, gap=False)
                ignoring.add_take(sink, take)
                ignoring.add_ignore(ignoring, ignore)
                self._add_stops(place, ignoring)
            state.add_ignore(ignoring, ignore)
        return state

    def _add_way_past(self, place: _Place, state: State, proceed: State) -> None:
        always, until = _always(place), place.pattern.get_until_condition()
        if place.pattern.get_quantifier().is_greedy and until is not None:
            state.add_proceed(self._before_greedy[proceed.name], AndCondition(always, until))
            state.add_proceed(proceed, AndCondition(always, NotCondition(until)))
        else:
            state.add_proceed(proceed, always)

    def _looping(self, place: _Place, sink: State) -> State:
        """A state that takes events again and again, and lets the sink look at each of them too."""
        pattern = place.pattern
        if isinstance(pattern, GroupPattern):
            return self._looping_group(place, pattern, sink)
        until = pattern.get_until_condition()
        ignore = _unless(until, self._inner_ignore_condition(place))
        take = _unless(until, _take_condition(place, pattern)) or TRUE
        state = self._state_of(place)
        if pattern.get_quantifier().is_greedy:
            self._add_greedy_way_out(place, state, sink, until)
        else:
            state.add_proceed(sink, _always(place))
        state.add_take(state, take)
        self._add_stop_of_following(place, state)
        if ignore is not None:
            ignoring = self._state_of(place, gap=False)
            ignoring.add_take(state, take)
            ignoring.add_ignore(ignoring, ignore)
            state.add_ignore(ignoring, ignore)
            self._add_stop_of_following(place, ignoring)
        return state

    def _add_greedy_way_out(
        self, place: _Place, state: State, sink: State, until: IterativeCondition | None
    ) -> None:
        """The sink gives way to the loop, except for the event that ends the loop: a copy of it does not."""
        always = _always(place)
        if until is None:
            state.add_proceed(sink, always)
        else:
            untouched = self._before_greedy[sink.name] = self._copy(sink)
            state.add_proceed(untouched, AndCondition(always, until))
            state.add_proceed(sink, AndCondition(always, NotCondition(until)))
        _give_way(sink, _take_condition(place, place.pattern))

    # -- groups ---------------------------------------------------------------------------------------------

    def _group(self, place: _Place, group: GroupPattern, sink: State, proceed: State | None) -> State:
        """The states of a group, once; `proceed` is where an event goes if the group may be left out."""
        state = self._inside(place, group, sink)
        if proceed is not None:
            state.add_proceed(proceed, _always(place))
        return state

    def _looping_group(self, place: _Place, group: GroupPattern, sink: State) -> State:
        """The states of a group whose end leads to its beginning again."""
        again = self._state_of(place)
        state = self._inside(place, group, again)
        state.add_proceed(sink, _always(place))
        again.add_proceed(state, _always(place))
        return state

    def _inside(self, place: _Place, group: GroupPattern, sink: State) -> State:
        inner = _Place(group.get_raw_pattern(), place.following, group)
        inner_sink, first = self._behind_first(inner, sink)
        return self._convert(first, inner_sink)

    def _set_first_of_loop(self, place: _Place, first: bool) -> None:
        if isinstance(place.pattern, GroupPattern):
            self._first_of_loop[id(place.pattern)] = first

    def _is_first_of_loop(self, place: _Place) -> bool:
        return self._first_of_loop.get(id(place.group), True)

    def _is_head_of_optional_group(self, place: _Place) -> bool:
        if place.group is None or not place.is_head_of_group:
            return False
        return self._is_first_of_loop(place) and place.group.get_quantifier().is_optional

    # -- conditions -----------------------------------------------------------------------------------------

    def _inner_ignore_condition(self, place: _Place) -> IterativeCondition | None:
        """What may be passed over between repetitions; None: nothing."""
        owner: Pattern = place.pattern
        if place.is_head_of_group and place.group is not None:
            owner = place.group
        return _ignore(place, owner.get_quantifier().inner_consuming_strategy)

    def _ignore_condition(self, place: _Place) -> IterativeCondition | None:
        """What may be passed over before the first event of the step; None: nothing."""
        strategy = place.pattern.get_quantifier().consuming_strategy
        if place.is_head_of_group and place.group is not None:
            quantifier = place.group.get_quantifier()
            first = self._is_first_of_loop(place)
            strategy = quantifier.consuming_strategy if first else quantifier.inner_consuming_strategy
        return _ignore(place, strategy)

    # -- NOT steps ------------------------------------------------------------------------------------------

    def _nots_before(self, place: _Place) -> list[tuple[IterativeCondition, str]]:
        """NOT steps directly before this one, or with nothing but optional steps in between."""
        found = []
        step = place.pattern.get_previous()
        while step is not None:
            negated = step.get_quantifier().consuming_strategy is _NOT_FOLLOW
            if not (negated or step.get_quantifier().is_optional):
                break
            if negated:
                found.append((_take_condition(place, step), step.get_name()))
            step = step.get_previous()
        return found

    def _add_stops(self, place: _Place, state: State) -> None:
        for unwanted, name in self._nots_before(place):
            state.add_proceed(self._stop_state(unwanted, name), unwanted)

    def _add_stop_of_following(self, place: _Place, state: State) -> None:
        following = place.following
        if following is not None and following.get_quantifier().consuming_strategy is _NOT_FOLLOW:
            unwanted = _take_condition(place, following)
            state.add_proceed(self._stop_state(unwanted, following.get_name()), unwanted)

    def _without_nots(self, place: _Place, sink: State) -> State:
        """Behind an optional step that was taken, NOT steps before it count no more: a sink without their stops."""
        nots = self._nots_before(place)
        if not nots or not place.pattern.get_quantifier().is_optional:
            return sink
        names = {name for _, name in nots}
        copied = self._new_state(sink.name, sink.kind)
        for edge in sink.transitions:
            target = copied if edge.target is sink else edge.target
            if edge.action is Action.PROCEED:
                if edge.target.kind is StateKind.STOP:
                    if edge.target.name in names:
                        continue
                else:
                    target = self._without_nots(place, edge.target)
            copied.add(edge.action, target, edge.condition)
        return copied

    # -- states ---------------------------------------------------------------------------------------------

    def _state_of(self, place: _Place, kind: StateKind = StateKind.NORMAL, gap: bool = True) -> State:
        """A state of the step; with `gap`, the time limit between events counts for it."""
        state = self._new_state(place.pattern.get_name(), kind)
        times = place.pattern.get_times()
        gap_ms = None
        if times is None:
            gap_ms = place.pattern.get_window_ms(WithinType.PREVIOUS_AND_CURRENT)
        elif DELIMITER in state.name:
            gap_ms = times.window_ms
        if gap and gap_ms is not None:
            self._gaps_ms[state.name] = gap_ms
        return state

    def _new_state(self, name: str, kind: StateKind) -> State:
        unique, number = name, 0
        while unique in self._names:
            unique = f"{name}{DELIMITER}{number}"
            number += 1
        self._names.add(unique)
        state = State(unique, kind)
        self._states.append(state)
        return state

    def _stop_state(self, unwanted: IterativeCondition, name: str) -> State:
        if name not in self._stops:
            stop = self._stops[name] = self._new_state(name, StateKind.STOP)
            stop.add_take(stop, unwanted)
        return self._stops[name]

    def _copy(self, state: State) -> State:
        copied = self._new_state(step_of(state.name), state.kind)
        for edge in state.transitions:
            copied.add(edge.action, copied if edge.target is state else edge.target, edge.condition)
        return copied

    def _check_windows(self) -> None:
        window_ms = self._window_ms
        if window_ms is not None and any(gap > window_ms for gap in self._gaps_ms.values()):
            raise MalformedPatternError(
                "The window length between the previous and current event cannot be larger than the window length "
                "between the first and last event for a Pattern.",
                do=f"no gap may be longer than {window_ms} ms, the limit for the whole pattern",
            )
        name = self._last.get_name()
        ends_with_not = self._last.get_quantifier().consuming_strategy is _NOT_FOLLOW
        if ends_with_not and self._gaps_ms.get(name, 0) <= 0 and not window_ms:
            raise MalformedPatternError(
                "NotFollowedBy is not supported without windowTime as a last part of a Pattern!",
                where=f"step '{name}'",
                do="say with within(...) how long the event must not come",
            )


# -- conditions that need no compiler ---------------------------------------------------------------------------


def _take_condition(place: _Place, pattern: Pattern) -> IterativeCondition:
    return _unless(_group_until(place), pattern.get_condition()) or TRUE


def _always(place: _Place) -> IterativeCondition:
    return _unless(_group_until(place), TRUE) or TRUE


def _ignore(place: _Place, strategy: ConsumingStrategy) -> IterativeCondition | None:
    if strategy is ConsumingStrategy.SKIP_TILL_NEXT:
        condition: IterativeCondition = NotCondition(place.pattern.get_condition())
    elif strategy is ConsumingStrategy.SKIP_TILL_ANY:
        condition = TRUE
    else:
        return None
    return _unless(_group_until(place), condition)


def _group_until(place: _Place) -> IterativeCondition | None:
    return None if place.group is None else place.group.get_until_condition()


def _unless(
    until: IterativeCondition | None, condition: IterativeCondition | None
) -> IterativeCondition | None:
    """The condition, as long as the loop has not ended."""
    if until is None or condition is None:
        return condition
    return AndCondition(NotCondition(until), condition)


def _give_way(state: State, taken: IterativeCondition) -> None:
    """The state gets no event that the greedy loop before it takes."""
    for edge in state.transitions:
        edge.condition = AndCondition(edge.condition, NotCondition(taken))


# -- checks -----------------------------------------------------------------------------------------------------


def _check_names(pattern: Pattern) -> None:
    seen = {END_STATE}
    for step in _all_steps(pattern):
        name = step.get_name()
        if name in seen:
            raise MalformedPatternError(
                f"Duplicate pattern name: {name}. Names must be unique.",
                where=f"step '{name}'",
                do="give each step a name of its own, also in groups",
            )
        seen.add(name)


def _all_steps(pattern: Pattern) -> Iterator[Pattern]:
    """All steps that take events, those of groups too, from the last to the first."""
    for step in pattern.steps():
        if isinstance(step, GroupPattern):
            yield from _all_steps(step.get_raw_pattern())
        else:
            yield step


def _check_skip_strategy(pattern: Pattern) -> None:
    target = pattern.get_after_match_skip_strategy().pattern_name
    names = [step.get_name() for step in pattern.steps()]
    if target is not None and target not in names:
        raise MalformedPatternError(
            "The pattern name specified in AfterMatchSkipStrategy can not be found in the given Pattern",
            where=f"skip to '{target}'",
            do=f"skip to one of {', '.join(reversed(names))}; steps inside groups cannot be skipped to",
        )
