"""GROUP BY: the table after any history, cut anywhere, is the aggregate of the rows that are left."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import DELETE, INSERT, UNMATCHED_RETRACTIONS, UPDATE_AFTER, UPDATE_BEFORE
from penstock.delta.group_aggregate import GroupAggregate
from tests.delta.harness import Harness, changelogs, counted, cut, inserts, table_of

BIGINT, STRING = DataTypes.BIGINT(), DataTypes.STRING()

COUNT = AggSpec("COUNT", (), BIGINT)
SUM = AggSpec("SUM", (1,), BIGINT)
MANY = (
    COUNT,
    AggSpec("COUNT", (1,), BIGINT),
    SUM,
    AggSpec("MIN", (1,), BIGINT),
    AggSpec("MAX", (1,), BIGINT),
    AggSpec("COUNT", (1,), BIGINT, distinct=True),
    AggSpec("SUM", (1,), BIGINT, distinct=True),
    AggSpec("SUM", (1,), BIGINT, filter=2),
)

rows = st.tuples(
    st.sampled_from(["a", "b", None, 0.0, -0.0, float("nan")]),
    st.one_of(st.none(), st.integers(-3, 3)),
    st.sampled_from([True, False, None]),
)


def model(table):
    """Recomputes everything from the rows of a table."""
    groups = {}
    for row in table:
        groups.setdefault(repr(row[0]), []).append(row)
    result = []
    for group in groups.values():
        values = [v for _, v, _ in group if v is not None]
        kept = [v for _, v, flag in group if flag is True and v is not None]
        distinct = set(values)
        result.append(
            (
                group[0][0],
                len(group),
                len(values),
                sum(values) if values else None,
                min(values, default=None),
                max(values, default=None),
                len(distinct),
                sum(distinct) if distinct else None,
                sum(kept) if kept else None,
            )
        )
    return counted(result)


@given(st.data(), changelogs(rows))
def test_any_cut_of_a_history_gives_the_aggregate_of_the_rows_left(data, history):
    epochs = data.draw(cut(history))
    restarts = data.draw(st.sets(st.integers(1, 4)))
    assert Harness(lambda: GroupAggregate((0,), MANY)).run(epochs, restarts) == model(table_of(history))


@given(st.data(), changelogs(rows, retracts=False))
def test_rows_that_only_come_need_no_retractable_functions(data, history):
    epochs = data.draw(cut(history))
    result = Harness(lambda: GroupAggregate((0,), MANY, input_retracts=False)).run(epochs)
    assert result == model(table_of(history))


@given(st.data(), changelogs(rows))
def test_a_key_changes_at_most_once_per_epoch(data, history):
    harness = Harness(lambda: GroupAggregate((0,), (COUNT, SUM)))
    for inputs in data.draw(cut(history)):
        changes = harness.epoch(*inputs)
        for key in {repr(row[0]) for row, _ in changes}:
            kinds = [kind for row, kind in changes if repr(row[0]) == key]
            assert kinds in ([INSERT], [DELETE], [UPDATE_BEFORE, UPDATE_AFTER])


def test_changes_of_a_group_from_its_first_row_to_its_last():
    harness = Harness(lambda: GroupAggregate((0,), (COUNT, SUM)))
    assert harness.epoch([(("a", 1), INSERT)]) == [(("a", 1, 1), INSERT)]
    assert harness.epoch([(("a", 2), INSERT)]) == [(("a", 1, 1), UPDATE_BEFORE), (("a", 2, 3), UPDATE_AFTER)]
    assert harness.epoch([(("a", 1), DELETE), (("a", 2), DELETE)]) == [(("a", 2, 3), DELETE)]


def test_an_unchanged_result_is_not_sent_again():
    harness = Harness(lambda: GroupAggregate((0,), (AggSpec("MAX", (1,), BIGINT),)))
    harness.epoch(inserts([("a", 5)]))
    assert harness.epoch(inserts([("a", 3)])) == []


def test_an_unchanged_result_is_sent_again_when_state_expires():
    harness = Harness(lambda: GroupAggregate((0,), (AggSpec("MAX", (1,), BIGINT),), state_ttl_ms=1000))
    harness.epoch(inserts([("a", 5)]))
    assert [kind for _, kind in harness.epoch(inserts([("a", 3)]), now=500)] == [UPDATE_BEFORE, UPDATE_AFTER]


def test_an_expired_group_starts_anew():
    harness = Harness(lambda: GroupAggregate((0,), (COUNT,), state_ttl_ms=1000))
    harness.epoch(inserts([("a", 5)]))
    assert harness.epoch(inserts([("a", 5)]), now=1000) == [(("a", 1), INSERT)]


def test_update_before_is_left_out_when_nobody_needs_it():
    harness = Harness(lambda: GroupAggregate((0,), (COUNT,), emit_update_before=False))
    harness.epoch(inserts([("a", 1)]))
    assert harness.epoch(inserts([("a", 1)])) == [(("a", 2), UPDATE_AFTER)]


def test_a_global_aggregate_has_no_row_before_the_first_input():
    harness = Harness(lambda: GroupAggregate((), (COUNT,)))
    assert harness.epoch([]) == []
    assert harness.epoch(inserts([("a", 1), ("b", 2)])) == [((2,), INSERT)]


def test_taking_away_from_an_empty_group_is_counted_and_ignored():
    harness = Harness(lambda: GroupAggregate((0,), (COUNT, SUM)))
    changes = [(("a", 7), DELETE), (("a", 1), INSERT)]
    assert harness.epoch(changes) == [(("a", 1, 1), INSERT)]
    assert harness.metrics == {UNMATCHED_RETRACTIONS: 1}


def test_partial_rows_add_up():
    partial = [
        AggSpec("COUNT", (1,), BIGINT, partial=True),
        AggSpec("SUM", (2,), BIGINT, partial=True),
        AggSpec("MIN", (3,), BIGINT, partial=True),
        AggSpec("AVG", (2, 1), BIGINT, partial=True),
    ]
    operator = lambda: GroupAggregate((0,), partial, input_retracts=False, row_count_column=1)  # noqa: E731
    harness = Harness(operator)
    harness.epoch(inserts([("a", 2, 7, 3), ("b", 1, None, None)]))
    harness.epoch(inserts([("a", 1, -2, -2)]))
    assert sorted(harness.table.rows()) == [("a", 3, 5, -2, 1), ("b", 1, None, None, None)]
