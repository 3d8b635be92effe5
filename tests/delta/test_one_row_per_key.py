"""Operators that keep one row per key: deduplication, changelog normalization, materialized upserts."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.ids import MAX_WATERMARK, MIN_WATERMARK
from penstock.delta.base import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from penstock.delta.changelog_normalize import ChangelogNormalize
from penstock.delta.deduplicate import Deduplicate, DeduplicateFirstByTime
from penstock.delta.sort_time import SortTime
from penstock.delta.upsert_materialize import UpsertMaterialize
from tests.delta.harness import Harness, changelogs, counted, cut, inserts

START = dt.datetime(2024, 1, 1)


def at(second):
    return START + dt.timedelta(seconds=second)


def ms(second):
    return (at(second) - dt.datetime(1970, 1, 1)) // dt.timedelta(milliseconds=1)


keyed = st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 5).map(at), st.integers(0, 9))


# --- deduplication --------------------------------------------------------------------------------------


@given(st.data(), changelogs(keyed, retracts=False))
def test_the_first_row_by_arrival_never_changes(data, history):
    harness = Harness(lambda: Deduplicate((0,)))
    found = harness.run(data.draw(cut(history)))
    first = {}
    for row, _ in history:
        first.setdefault(row[0], row)
    assert found == counted(first.values())
    assert all(kind == INSERT for _, kind in harness.changes)


@given(st.data(), changelogs(keyed, retracts=False))
def test_the_last_row_by_arrival(data, history):
    found = Harness(lambda: Deduplicate((0,), keep_last=True)).run(data.draw(cut(history)))
    assert found == counted({row[0]: row for row, _ in history}.values())


@given(st.data(), changelogs(keyed, retracts=False))
def test_the_last_row_by_time_is_the_latest_to_arrive_among_equals(data, history):
    harness = Harness(lambda: Deduplicate((0,), keep_last=True, rowtime_column=1))
    found = harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    last = {}
    for row, _ in history:
        if row[0] not in last or row[1] >= last[row[0]][1]:
            last[row[0]] = row
    assert found == counted(last.values())


@given(st.data(), changelogs(keyed, retracts=False))
def test_the_first_row_by_time_comes_once_when_the_watermark_reaches_it(data, history):
    harness = Harness(lambda: DeduplicateFirstByTime((0,), 1))
    for inputs in data.draw(cut(history)):
        harness.epoch(*inputs)
    harness.epoch([], watermark=MAX_WATERMARK)
    first = {}
    for row, _ in history:
        if row[0] not in first or row[1] < first[row[0]][1]:
            first[row[0]] = row
    assert harness.table.counts() == counted(first.values())
    assert [row[1] for row, _ in harness.changes] == sorted(row[1] for row in first.values())


def test_rows_behind_the_watermark_are_late_and_older_rows_before_it_win():
    harness = Harness(lambda: DeduplicateFirstByTime((0,), 1))
    rows = inserts([("a", at(5)), ("a", at(3)), ("b", at(1))])
    harness.epoch(rows, row_watermarks=[MIN_WATERMARK, MIN_WATERMARK, ms(1)], watermark=ms(2))
    assert harness.changes == []
    assert harness.epoch([], watermark=ms(3)) == [(("a", at(3)), INSERT)]
    assert harness.epoch(inserts([("a", at(9))]), watermark=MAX_WATERMARK) == []
    assert harness.metrics == {"numLateRecordsDropped": 1}


# --- changelog normalization ----------------------------------------------------------------------------

upserts = st.lists(
    st.tuples(
        st.tuples(st.sampled_from([1, 2]), st.integers(0, 2)),
        st.sampled_from([INSERT, UPDATE_AFTER, DELETE, UPDATE_BEFORE]),
    ),
    max_size=30,
)


@given(st.data(), upserts)
def test_upserts_with_duplicates_become_a_proper_changelog(data, history):
    harness = Harness(lambda: ChangelogNormalize((0,)))
    found = harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    last = {}
    for row, kind in history:
        if kind == DELETE:
            last.pop(row[0], None)
        elif kind != UPDATE_BEFORE:
            last[row[0]] = row
    assert found == counted(last.values())


def test_each_change_is_compared_with_the_stored_row():
    harness = Harness(lambda: ChangelogNormalize((0,)))
    assert harness.epoch([((1, None), DELETE)]) == []
    assert harness.epoch([((1, "x"), UPDATE_AFTER)]) == [((1, "x"), INSERT)]
    assert harness.epoch([((1, "x"), INSERT)]) == []
    assert harness.epoch([((1, "x"), UPDATE_BEFORE), ((1, "y"), UPDATE_AFTER)]) == [
        ((1, "x"), UPDATE_BEFORE),
        ((1, "y"), UPDATE_AFTER),
    ]
    assert harness.epoch([((1, None), DELETE)]) == [((1, "y"), DELETE)]


# --- materialized upserts -------------------------------------------------------------------------------


@given(st.data(), changelogs(st.tuples(st.sampled_from([1, 2]), st.integers(0, 3))))
def test_the_latest_row_that_is_still_there_is_shown(data, history):
    harness = Harness(lambda: UpsertMaterialize((0,), emit_update_before=True))
    found = harness.run(data.draw(cut(history)), data.draw(st.sets(st.integers(1, 4))))
    left = []
    for row, kind in history:
        if kind == INSERT:
            left.append(row)
        else:
            del left[len(left) - 1 - left[::-1].index(row)]
    assert found == counted({row[0]: row for row in left}.values())


def test_a_new_row_that_arrives_before_the_old_one_is_taken_back_stays():
    harness = Harness(lambda: UpsertMaterialize((0,), emit_update_before=True))
    harness.epoch(inserts([(1, "old")]))
    harness.epoch([((1, "new"), UPDATE_AFTER)])
    assert harness.epoch([((1, "old"), UPDATE_BEFORE)]) == []
    assert harness.table.rows() == [(1, "new")]


def test_rows_are_found_by_the_upsert_key_of_the_input():
    harness = Harness(lambda: UpsertMaterialize((0,), input_upsert_key=(1,), emit_update_before=True))
    harness.epoch(inserts([(1, "u", 10)]))
    assert harness.epoch([((1, "u", 11), UPDATE_AFTER)]) == [
        ((1, "u", 10), UPDATE_BEFORE),
        ((1, "u", 11), UPDATE_AFTER),
    ]
    assert harness.epoch([((1, "u", None), DELETE)]) == [((1, "u", 11), DELETE)]


# --- sorting by time ------------------------------------------------------------------------------------


@given(st.data(), changelogs(keyed, retracts=False))
def test_rows_come_out_in_time_order(data, history):
    harness = Harness(lambda: SortTime(1, ((2, False),)))
    parts = data.draw(cut(history))
    for number, inputs in enumerate(parts):
        harness.epoch(*inputs)
        if number == 0:
            harness.restart()
    harness.epoch([], watermark=MAX_WATERMARK)
    expected = sorted((row for row, _ in history), key=lambda row: (row[1], -row[2]))
    assert [row[1:] for row, _ in harness.changes] == [row[1:] for row in expected]


def test_sorting_drops_late_rows_and_releases_up_to_the_watermark():
    harness = Harness(lambda: SortTime(0))
    marks = [MIN_WATERMARK, MIN_WATERMARK, ms(4)]
    rows = inserts([(at(5),), (at(3),), (at(4),)])
    assert harness.epoch(rows, row_watermarks=marks, watermark=ms(4)) == [((at(3),), INSERT)]
    assert harness.metrics == {"numLateRecordsDropped": 1}


@pytest.mark.parametrize("make", [lambda: Deduplicate((0,)), lambda: ChangelogNormalize((0,))])
def test_rows_keep_the_watermark_before_them(make):
    harness = Harness(make)
    harness.epoch(inserts([("a", 1), ("b", 2)]), row_watermarks=[5, 7])
    assert harness._operator.output.watermarks == [5, 7]
