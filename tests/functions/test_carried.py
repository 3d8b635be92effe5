"""What a function object takes along when it moves to another worker process."""

from __future__ import annotations

import threading
from typing import Any

from penstock.functions import FlatMapFunction, MapFunction
from penstock.functions.carried import CarriedState
from penstock.functions.wrap import as_function


class Counting(MapFunction):
    def __init__(self) -> None:
        self.count = 0
        self.seen: list[Any] = []
        self.table = {"a": 1}
        self.client: Any = None

    def open(self, runtime_context: Any) -> None:
        self.client = threading.Lock()
        self.opened = set()
        self.model = {"weights": [1, 2, 3]}

    def map(self, value: Any) -> Any:
        self.count += 1
        self.seen.append(value)
        self.opened.add(value)
        return value


def opened(function: Any) -> tuple[Any, CarriedState]:
    carried = CarriedState(function)
    function.open(None)
    carried.after_open()
    return function, carried


def moved(carried: CarriedState, make: Any = Counting) -> Any:
    """The function in another process, with what `carried` sent there."""
    function, there = opened(make())
    there.restore(carried.snapshot())
    return function


def test_a_function_that_changed_nothing_carries_nothing():
    _, carried = opened(Counting())
    assert carried.snapshot() is None


def test_constructor_attributes_that_changed_are_carried():
    function, carried = opened(Counting())
    function.map("x")
    function.map("y")
    other = moved(carried)
    assert (other.count, other.seen) == (2, ["x", "y"])


def test_unchanged_attributes_are_not_sent():
    import pickle

    function, carried = opened(Counting())
    function.count = 5
    assert list(pickle.loads(carried.snapshot())) == ["count"]


def test_a_resource_that_open_made_stays_behind():
    function, carried = opened(Counting())
    function.map(1)
    other = moved(carried)
    assert other.client is not function.client
    assert other.client is not None


def test_plain_data_made_by_open_is_carried_once_it_changed():
    function, carried = opened(Counting())
    function.map("x")
    other = moved(carried)
    assert other.opened == {"x"}
    assert other.model == {"weights": [1, 2, 3]}


def test_an_attribute_that_open_rebound_and_the_function_rebound_again_is_carried():
    class Lazy(MapFunction):
        def __init__(self) -> None:
            self.last: Any = None

        def open(self, runtime_context: Any) -> None:
            self.last = "opened"

        def map(self, value: Any) -> Any:
            self.last = value

    function, carried = opened(Lazy())
    assert carried.snapshot() is None
    function.map("x")
    assert moved(carried, Lazy).last == "x"


def test_an_attribute_set_for_the_first_time_by_an_element_is_carried():
    function, carried = opened(Counting())
    function.first = "x"
    other, there = opened(Counting())
    there.restore(carried.snapshot())
    assert other.first == "x"
    there.restore(None)
    assert not hasattr(other, "first")


def test_restoring_nothing_undoes_what_an_abandoned_epoch_changed():
    function, carried = opened(Counting())
    function.map("x")
    function.table["b"] = 2
    carried.restore(None)
    assert (function.count, function.seen, function.opened) == (0, [], set())
    assert function.table == {"a": 1}


def test_restoring_an_older_snapshot_forgets_what_came_later():
    function, carried = opened(Counting())
    function.map("x")
    snapshot = carried.snapshot()
    function.map("y")
    carried.restore(snapshot)
    assert (function.count, function.seen) == (1, ["x"])
    assert carried.snapshot() == snapshot


def test_what_cannot_be_pickled_is_not_carried_and_not_lost():
    function, carried = opened(Counting())
    function.table = threading.Lock()
    lock = function.table
    assert carried.snapshot() is None
    assert function.table is lock


def test_variables_a_plain_function_closes_over_are_carried():
    def make() -> Any:
        total = 0
        history: list[int] = []

        def running_sum(value: int) -> list[int]:
            nonlocal total
            total += value
            history.append(total)
            return list(history)

        return as_function(running_sum, FlatMapFunction)

    function = make()
    carried = CarriedState(function)
    carried.after_open()
    function.flat_map(3)
    function.flat_map(4)

    other = make()
    there = CarriedState(other)
    there.after_open()
    there.restore(carried.snapshot())
    assert other.flat_map(1) == [3, 7, 8]


def test_a_bound_method_carries_its_object():
    class Counter:
        def __init__(self) -> None:
            self.n = 0

        def add(self, value: int) -> int:
            self.n += value
            return self.n

    function = as_function(Counter().add, MapFunction)
    carried = CarriedState(function)
    carried.after_open()
    function.map(5)
    other = as_function(Counter().add, MapFunction)
    there = CarriedState(other)
    there.after_open()
    there.restore(carried.snapshot())
    assert other.map(1) == 6
