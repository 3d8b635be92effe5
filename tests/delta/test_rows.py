"""Identity, grouping and order of rows; and that every operator can be sent to a task."""

from __future__ import annotations

import datetime as dt
import math
import pickle
from decimal import Decimal

import pytest

from penstock.common.datatypes import DataTypes
from penstock.delta.aggregates import AggSpec
from penstock.delta.base import DELETE, INSERT, Batch
from penstock.delta.changelog_normalize import ChangelogNormalize
from penstock.delta.deduplicate import Deduplicate, DeduplicateFirstByTime
from penstock.delta.distinct import Distinct
from penstock.delta.group_aggregate import GroupAggregate
from penstock.delta.join import JoinType, RegularJoin
from penstock.delta.limit import Limit
from penstock.delta.rank import Rank
from penstock.delta.rows import (
    canonical_bytes,
    columns_getter,
    consolidate,
    emit_weights,
    group_by_key,
    identities,
    same_row,
    sort_key,
)
from penstock.delta.set_ops import SetOperation, SetOpType
from penstock.delta.sort_limit import SortLimit
from penstock.delta.sort_time import SortTime
from penstock.delta.upsert_materialize import UpsertMaterialize


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ((math.nan,), (float("nan"),), True),
        ((0.0,), (-0.0,), False),
        ((None,), (None,), True),
        (([1, None],), ([1, None],), True),
        (({"a": 1, "b": 2},), ({"b": 2, "a": 1},), True),
        ((Decimal("1.10"),), (Decimal("1.10"),), True),
        ((dt.datetime(2024, 1, 1),), (dt.datetime(2024, 1, 2),), False),
        (((1, None),), ((1, None),), True),
    ],
)
def test_rows_are_the_same_when_sql_says_so(left, right, same):
    assert same_row(left, right) is same
    assert (canonical_bytes(left) == canonical_bytes(right)) is same
    one, other = identities([left, right])
    assert (one == other) is same


def test_rows_of_plain_values_are_their_own_identity():
    rows = [(1, "a", None), (2, "b", dt.date(2024, 1, 1))]
    assert identities(rows) is rows


def test_the_key_is_always_a_tuple():
    assert columns_getter((1,))(("a", "b")) == ("b",)
    assert columns_getter(())(("a", "b")) == ()


def test_groups_keep_the_order_of_arrival_and_weights_only_where_rows_go():
    batch = Batch([("b", 1), ("a", 2), ("b", 3)], [INSERT, INSERT, DELETE])
    assert group_by_key(batch, (0,)) == [
        (("b",), [("b", 1), ("b", 3)], [1, -1]),
        (("a",), [("a", 2)], None),
    ]


def test_weights_of_the_same_row_add_up_and_what_goes_comes_first():
    rows = [(1,), (2,), (1,), (3,)]
    merged = consolidate(rows, rows, [1, 1, -1, -2])
    assert merged == [((2,), (2,), 1), ((3,), (3,), -2)]
    output = Batch()
    emit_weights(output, [(row, weight) for _, row, weight in merged])
    assert list(zip(output.rows, output.kinds, strict=True)) == [
        ((3,), DELETE),
        ((3,), DELETE),
        ((2,), INSERT),
    ]


def test_null_sorts_first_and_nan_last_and_descending_turns_it_around():
    rows = [(1.0,), (math.nan,), (None,), (-2.0,)]
    ascending = sorted(rows, key=sort_key([(0, True)]))
    assert [repr(row[0]) for row in ascending] == ["None", "-2.0", "1.0", "nan"]
    assert sorted(rows, key=sort_key([(0, False)])) == ascending[::-1]


def equal(left, right):
    return left == right


OPERATORS = [
    ChangelogNormalize((0,)),
    Deduplicate((0,)),
    DeduplicateFirstByTime((0,), 1),
    Distinct(2),
    GroupAggregate((0,), (AggSpec("MAX", (1,), DataTypes.INT()),)),
    RegularJoin(JoinType.FULL, (0,), (0,), left_width=1, right_width=1, residual=equal),
    Limit(3),
    Rank((0,), ((1, True),), end=3),
    SetOperation(SetOpType.EXCEPT, 2),
    SortLimit(((0, True),), limit=3),
    SortTime(0),
    UpsertMaterialize((0,)),
]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: type(operator).__name__)
def test_operators_can_be_pickled_before_they_are_opened(operator):
    copy = pickle.loads(pickle.dumps(operator))
    indexes = range(operator.input_count)
    assert [copy.key_columns(i) for i in indexes] == [operator.key_columns(i) for i in indexes]
