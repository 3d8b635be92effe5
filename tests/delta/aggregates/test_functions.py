"""Every aggregate function: what it gives, and that taking rows back leaves no trace."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.datatypes import DataTypes
from penstock.common.errors import MalformedRecordError, NotSupportedError, PenstockError, UserFunctionError
from penstock.delta.aggregates import AggregateCall, AggSpec

INT, BIGINT, DOUBLE, STRING = DataTypes.INT(), DataTypes.BIGINT(), DataTypes.DOUBLE(), DataTypes.STRING()
MONEY = DataTypes.DECIMAL(10, 2)


def evaluate(spec, rows, retracts=False):
    call = AggregateCall(spec, retracts)
    return call.result(call.update(call.create(), rows, None))


def of(name, values, kind, retracts=False, **options):
    return evaluate(AggSpec(name, (0,), kind, **options), [(value,) for value in values], retracts)


@pytest.mark.parametrize("retracts", [True, False])
@pytest.mark.parametrize(
    ("name", "values", "kind", "expected"),
    [
        ("COUNT", [1, None, 2], BIGINT, 2),
        ("SUM", [1, None, 2], BIGINT, 3),
        ("SUM", [None], BIGINT, None),
        ("$SUM0", [None], BIGINT, 0),
        ("SUM", [100, 100], DataTypes.TINYINT(), -56),
        ("SUM", [2**63 - 1, 1], BIGINT, -(2**63)),
        ("SUM", [0.5, 0.25], DOUBLE, 0.75),
        ("SUM", [Decimal("1.10"), Decimal("2.05")], MONEY, Decimal("3.15")),
        ("AVG", [-3, -4], INT, -3),
        ("AVG", [3, 4], INT, 3),
        ("AVG", [1.0, 2.0], DOUBLE, 1.5),
        ("AVG", [Decimal("1.00"), Decimal("1.01")], DataTypes.DECIMAL(38, 6), Decimal("1.005000")),
        ("AVG", [Decimal("0.01")] * 2 + [Decimal("0.00")], DataTypes.DECIMAL(38, 6), Decimal("0.006667")),
        ("AVG", [None], INT, None),
        ("MIN", [3, None, 1], INT, 1),
        ("MAX", ["a", "ó", "z"], STRING, "ó"),
        ("MAX", [1.0, math.inf], DOUBLE, math.inf),
        ("FIRST_VALUE", [None, 2, 3], INT, 2),
        ("LAST_VALUE", [2, 3, None], INT, 3),
        ("LISTAGG", ["a", None, "b"], STRING, "a,b"),
        ("LISTAGG", [None], STRING, None),
        ("ARRAY_AGG", [1, None, 1], DataTypes.ARRAY(INT), [1, None, 1]),
        ("COLLECT", ["x", None, "y", "x"], DataTypes.MULTISET(STRING), {"x": 2, "y": 1}),
        ("STDDEV_POP", [-3, 4], INT, 3),
        ("VAR_POP", [-3, 4], INT, 12),
        ("VAR_SAMP", [-3, 4], INT, 24),
        ("STDDEV_SAMP", [-3, 4], INT, 4),
        ("VAR_SAMP", [5.5], DOUBLE, None),
        ("VAR_POP", [5.5], DOUBLE, 0.0),
        ("STDDEV", [-3.0, 3.0], DOUBLE, math.sqrt(18)),
        ("APPROX_COUNT_DISTINCT", [1, 1, None, 2], BIGINT, 2),
        ("SINGLE_VALUE", [7], INT, 7),
        ("BOOL_AND", [True, None, False], DataTypes.BOOLEAN(), False),
        ("BOOL_OR", [True, None, False], DataTypes.BOOLEAN(), True),
        ("JSON_ARRAYAGG", ["2", None, "-2"], STRING, "[2,-2]"),
    ],
)
def test_results(name, values, kind, expected, retracts):
    assert of(name, values, kind, retracts) == expected


def test_nan_is_the_largest_number():
    assert math.isnan(of("MAX", [1.0, math.nan, 2.0], DOUBLE))
    assert of("MIN", [math.nan, 2.0], DOUBLE) == 2.0


def test_a_decimal_sum_that_overflows_is_null_and_starts_anew():
    kind, most = DataTypes.DECIMAL(38, 0), Decimal("9" * 38)
    assert of("SUM", [most, Decimal(1)], kind) is None
    assert of("SUM", [most.copy_negate(), Decimal(-1), Decimal(5)], kind) == 5


def test_a_decimal_sum_over_rows_that_go_is_exact_again_when_it_fits():
    call = AggregateCall(AggSpec("SUM", (0,), DataTypes.DECIMAL(38, 0)), True)
    most = Decimal("9" * 38)
    acc = call.update(call.create(), [(most,), (most,)], None)
    assert call.result(acc) is None
    assert call.result(call.update(acc, [(most,)], [-1])) == most


def test_a_float_sum_is_rounded_to_four_bytes_at_every_step():
    assert of("SUM", [0.10000000149011612] * 3, DataTypes.FLOAT()) == 0.30000001192092896


def test_listagg_with_another_separator_or_one_from_a_column():
    assert of("LISTAGG", ["a", "b"], STRING, separator=" | ") == "a | b"
    assert evaluate(AggSpec("LISTAGG", (0, 1), STRING), [("a", "-"), ("b", "+")]) == "a+b"


def test_json_objects_keep_nulls_unless_told_otherwise():
    rows = [("6", "1.50"), ("1", '"tea"'), ("5", None)]
    spec = AggSpec("JSON_OBJECTAGG", (0, 1), STRING)
    assert evaluate(spec, rows) == '{"1":"tea","5":null,"6":1.50}'
    absent = AggSpec("JSON_OBJECTAGG", (0, 1), STRING, null_on_null=False)
    assert evaluate(absent, rows) == '{"1":"tea","6":1.50}'
    assert of("JSON_ARRAYAGG", ['"ó"', None], STRING, null_on_null=True) == '["ó",null]'


@pytest.mark.parametrize("key", ["1", None])
def test_a_json_object_takes_each_key_once_and_no_null(key):
    with pytest.raises(MalformedRecordError, match="NULL" if key is None else "'1' is already present"):
        evaluate(AggSpec("JSON_OBJECTAGG", (0, 1), STRING), [("1", "2"), (key, "3")])


def test_over_a_window_variances_of_whole_numbers_are_cut_at_every_step():
    for name, expected in (("VAR_POP", 15), ("VAR_SAMP", 21), ("STDDEV_SAMP", 4)):
        assert of(name, [5, 7, 1, 12], INT, in_integers=True) == expected
    assert of("VAR_SAMP", [5, 7, 1, 12], INT) == 20


def test_percentiles_are_interpolated():
    rows = [(value, 0.5) for value in (1, 2, 4, 10)]
    assert evaluate(AggSpec("PERCENTILE", (0, 1), DOUBLE), rows) == 3.0
    many = [(value, [0.0, 1.0], 2) for value in (1, 2)]
    assert evaluate(AggSpec("PERCENTILE", (0, 1, 2), DataTypes.ARRAY(DOUBLE)), many) == [1.0, 2.0]


def test_filter_takes_only_rows_where_the_column_is_true():
    spec = AggSpec("SUM", (0,), BIGINT, filter=1)
    assert evaluate(spec, [(1, True), (2, False), (4, None), (8, True)]) == 9


def test_a_scalar_subquery_with_two_rows_fails_with_advice():
    with pytest.raises(PenstockError, match="2 rows"):
        of("SINGLE_VALUE", [1, 2], INT)


def test_unknown_functions_are_refused():
    with pytest.raises(NotSupportedError, match="FROBNICATE"):
        AggregateCall(AggSpec("FROBNICATE", (0,), INT), False)


def test_partial_input_is_refused_where_there_is_no_such_form():
    with pytest.raises(NotSupportedError, match="LISTAGG"):
        AggregateCall(AggSpec("LISTAGG", (0,), STRING, partial=True), False)


# --- taking rows back -----------------------------------------------------------------------------------

NAMES = ["COUNT", "SUM", "AVG", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE", "ARRAY_AGG", "COLLECT"]
NAMES += ["STDDEV_POP", "VAR_SAMP", "APPROX_COUNT_DISTINCT"]
numbers = st.lists(st.one_of(st.none(), st.integers(-5, 5)), max_size=12)


@pytest.mark.parametrize("distinct", [False, True])
@pytest.mark.parametrize("name", NAMES)
@given(numbers, numbers)
def test_rows_that_came_and_went_leave_no_trace(name, distinct, stay, go):
    call = AggregateCall(AggSpec(name, (0,), INT, distinct=distinct), True)
    rows = [(value,) for value in go]
    acc = call.update(call.create(), rows, None)
    acc = pickle.loads(pickle.dumps(acc))
    acc = call.update(acc, [(value,) for value in stay], None)
    acc = call.update(acc, rows, [-1] * len(rows))
    expected = call.result(call.update(call.create(), [(value,) for value in stay], None))
    found = call.result(acc)
    if distinct and name in ("FIRST_VALUE", "LAST_VALUE", "ARRAY_AGG"):
        # A value keeps the place of its first appearance, also if that row is gone.
        found, expected = sorted(map(repr, _items(found))), sorted(map(repr, _items(expected)))
        if name.endswith("VALUE"):
            assert len(found) == len(expected)
            return
    assert found == expected


def _items(value):
    if value is None:
        return []
    return list(value) if isinstance(value, (list, str)) else [value]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("retracts", [True, False])
@given(numbers, numbers)
def test_merging_equals_taking_all_rows(name, retracts, first, second):
    call = AggregateCall(AggSpec(name, (0,), INT), retracts)
    parts = [call.update(call.create(), [(value,) for value in part], None) for part in (first, second)]
    whole = call.update(call.create(), [(value,) for value in first + second], None)
    assert call.result(call.merge(*parts)) == call.result(whole)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=8), st.lists(st.floats(-100, 100), max_size=8))
def test_a_variance_of_doubles_runs_backwards(stay, go):
    call = AggregateCall(AggSpec("VAR_POP", (0,), DOUBLE), True)
    acc = call.update(call.create(), [(value,) for value in go + stay], None)
    acc = call.update(acc, [(value,) for value in go], [-1] * len(go))
    mean = sum(stay) / len(stay)
    exact = sum((value - mean) ** 2 for value in stay) / len(stay)
    assert call.result(acc) == pytest.approx(exact, abs=1e-6)


# --- functions of users ---------------------------------------------------------------------------------


class WeightedAverage:
    def create_accumulator(self):
        return [0, 0]

    def accumulate(self, acc, value, weight):
        acc[0] += value * weight
        acc[1] += weight

    def retract(self, acc, value, weight):
        acc[0] -= value * weight
        acc[1] -= weight

    def merge(self, acc, others):
        for other in others:
            acc[0] += other[0]
            acc[1] += other[1]

    def get_value(self, acc):
        return acc[0] / acc[1] if acc[1] else None


class WithoutRetract:
    def open(self, function_context):
        self.opened_with = function_context

    def create_accumulator(self):
        return []

    def accumulate(self, acc, value):
        acc.append(1 // value)

    def get_value(self, acc):
        return len(acc)


def test_a_python_aggregate_takes_rows_back_and_merges():
    call = AggregateCall(AggSpec("USER", (0, 1), DOUBLE, user_function=WeightedAverage()), True)
    acc = call.update(call.create(), [(1, 1), (4, 2), (9, 9)], None)
    acc = call.update(acc, [(9, 9)], [-1])
    assert call.result(acc) == 3.0
    assert call.result(call.merge(acc, [3, 3])) == 2.0


def test_a_python_aggregate_is_opened_also_under_distinct():
    function = WithoutRetract()
    AggregateCall(AggSpec("USER", (0,), INT, distinct=True, user_function=function), False).open("context")
    assert function.opened_with == "context"


def test_a_python_aggregate_without_retract_is_refused_when_rows_may_go():
    spec = AggSpec("USER", (0,), INT, user_function=WithoutRetract())
    with pytest.raises(NotSupportedError, match="WithoutRetract"):
        AggregateCall(spec, True)
    assert evaluate(spec, [(1,), (2,)]) == 2


def test_an_error_of_a_python_aggregate_names_the_function():
    spec = AggSpec("USER", (0,), INT, user_function=WithoutRetract())
    with pytest.raises(UserFunctionError, match=r"WithoutRetract\.accumulate"):
        evaluate(spec, [(0,)])
