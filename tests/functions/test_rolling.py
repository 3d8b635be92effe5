"""sum, min, max, min_by and max_by as reduce functions."""

from __future__ import annotations

from collections import namedtuple
from functools import reduce

import pytest

from penstock.common.errors import TypeMismatchError
from penstock.common.types import Row
from penstock.functions.rolling import RollingFunction

PAIRS = [("a", 3, "first"), ("a", 1, "second"), ("a", 1, "third"), ("a", 5, "fourth")]


def rolled(kind: str, position: int | str, values: list) -> object:
    return reduce(RollingFunction(kind, position).reduce, values)


def test_sum_min_and_max_change_only_the_field():
    assert rolled("sum", 1, PAIRS) == ("a", 10, "first")
    assert rolled("min", 1, PAIRS) == ("a", 1, "first")
    assert rolled("max", 1, PAIRS) == ("a", 5, "first")


def test_min_by_and_max_by_take_the_whole_element_and_the_first_on_ties():
    assert rolled("min_by", 1, PAIRS) == ("a", 1, "second")
    assert rolled("max_by", 1, PAIRS) == ("a", 5, "fourth")


def test_fields_of_rows_are_found_by_name_and_the_input_is_not_changed():
    rows = [Row(name="ann", age=30), Row(name="ann", age=10)]
    assert rolled("sum", "age", rows) == Row(name="ann", age=40)
    assert rows[0].age == 30


def test_named_tuples_stay_named():
    Point = namedtuple("Point", "x y")
    assert rolled("sum", "y", [Point(1, 2), Point(9, 3)]) == Point(1, 5)
    assert rolled("max", 1, [Point(1, 2), Point(9, 3)]).y == 3


def test_plain_numbers_are_taken_whole():
    assert rolled("sum", 0, [4, 8, 2]) == 14
    assert rolled("min_by", 0, [4, 8, 2]) == 2


def test_a_field_of_a_plain_number_is_refused():
    with pytest.raises(TypeMismatchError, match=r"sum\(1\) on a plain int"):
        rolled("sum", 1, [4, 8])


def test_a_position_must_be_an_int_or_a_name():
    with pytest.raises(TypeMismatchError):
        RollingFunction("sum", 1.5)  # type: ignore[arg-type]


def test_fields_of_objects_are_found_by_name():
    class Order:
        def __init__(self, amount: int) -> None:
            self.amount = amount

    first = Order(3)
    assert rolled("sum", "amount", [first, Order(4)]).amount == 7
    assert first.amount == 3


def test_the_last_one_on_ties_if_asked_for():
    def last(kind: str) -> object:
        return reduce(RollingFunction(kind, 1, first=False).reduce, PAIRS)

    assert last("min_by") == ("a", 1, "third")
    assert last("max_by") == ("a", 5, "fourth")
