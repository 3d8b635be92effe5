"""What conditions see of a partial match: links that partial matches share, accumulators that are kept."""

from __future__ import annotations

import pickle
from typing import Any

from penstock.cep import Pattern
from penstock.cep.match_rows import RowsSoFar
from penstock.cep.nfa.nfa import NFA
from penstock.cep.nfa.predicates import Look
from penstock.cep.nfa.taken import NOTHING, Taken, with_event
from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates.call import AggregateCall
from penstock.delta.aggregates.spec import AggSpec


def taking(**steps: list[Any]) -> Any:
    found = NOTHING
    for step, events in steps.items():
        for event in events:
            found = with_event(found, step, event)
    return found


def test_branches_share_what_they_have_in_common() -> None:
    common = taking(a=[1, 2])
    left, right = with_event(common, "a", 3), with_event(common, "a", 4)
    assert (left["a"].events(), right["a"].events(), common["a"].events()) == ([1, 2, 3], [1, 2, 4], [1, 2])
    assert left["a"].before is right["a"].before is common["a"]
    assert (left["a"].count, left["a"].first) == (3, 1)


def test_an_accumulator_takes_each_event_once() -> None:
    added = []

    def add(total: list[int], value: int) -> list[int]:
        added.append(value)
        total.append(value)
        return total

    link = Taken(2, Taken(1))
    assert link.folded("sum", list, add) == [1, 2]
    assert Taken(3, link).folded("sum", list, add) == [1, 2, 3]
    assert Taken(4, link).folded("sum", list, add) == [1, 2, 4], "the other branch got a copy"
    assert added == [1, 2, 3, 4]


def test_rows_so_far_count_the_row_at_hand_for_its_variable() -> None:
    rows = RowsSoFar(taking(A=[(1,)], B=[(2,), (3,)]), ["A", "B", "C"], "B", (9,))

    def values(variable: str | None, first: bool) -> list[Any]:
        found = [rows.row(variable, first, offset) for offset in range(5)]
        return [None if row is None else row[0] for row in found]

    assert values("B", first=False) == [9, 3, 2, None, None]
    assert values("B", first=True) == [2, 3, 9, None, None]
    assert values("A", first=False) == [1, None, None, None, None]
    assert values("C", first=True) == [None] * 5
    assert values(None, first=False) == [9, 3, 2, 1, None]
    assert values(None, first=True) == [1, 2, 3, 9, None]
    total = AggregateCall(AggSpec("COUNT", (0,), DataTypes.BIGINT()), retracts=False)
    assert [rows.aggregate(variable, total) for variable in ("A", "B", "C", None)] == [1, 3, 0, 4]


def test_conditions_see_the_events_of_their_own_partial_match_after_a_restore() -> None:
    seen = []

    def grows(event: int, ctx: Any) -> bool:
        seen.append((list(ctx.get_events_for_pattern("up")), event))
        return all(event > before for before in ctx.get_events_for_pattern("up"))

    nfa = NFA(Pattern.begin("up").where(grows).one_or_more().consecutive())
    state = nfa.initial_state()
    for at, event in enumerate((3, 5), start=1):
        nfa.process(state, Look(event, at, 0))
    state = pickle.loads(pickle.dumps(state))
    seen.clear()
    found = nfa.process(state, Look(7, 3, 0))
    assert ([3, 5], 7) in seen and ([5], 7) in seen and ([], 7) in seen
    assert {"up": [3, 5, 7]} in found
