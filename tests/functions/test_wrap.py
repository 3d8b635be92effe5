"""Callables as function objects, and the names they have in messages."""

from __future__ import annotations

import functools
import pickle

import cloudpickle
import pytest

from penstock.common.errors import NotSupportedError, TypeMismatchError
from penstock.functions import CheckpointListener, KeySelector, MapFunction, Partitioner, ReduceFunction
from penstock.functions.wrap import as_function, as_key_selector, as_partitioner, function_name


class Doubling(MapFunction):
    def map(self, value: int) -> int:
        return value * 2


def plus_one(value: int) -> int:
    return value + 1


def test_a_function_object_stays_itself():
    function = Doubling()
    assert as_function(function, MapFunction) is function


def test_a_callable_takes_the_place_of_the_method():
    wrapped = as_function(plus_one, MapFunction)
    assert isinstance(wrapped, MapFunction)
    assert wrapped.map is plus_one


def test_a_wrapped_lambda_survives_pickling():
    wrapped = pickle.loads(cloudpickle.dumps(as_function(lambda v: v - 1, MapFunction)))
    assert wrapped.map(3) == 2


def test_a_class_instead_of_an_object_is_refused_with_advice():
    with pytest.raises(TypeMismatchError) as error:
        as_function(Doubling, MapFunction, where="job.py:3")
    assert "Doubling(...)" in str(error.value)
    assert "job.py:3" in str(error.value)


@pytest.mark.parametrize("wrong", [3, "map", None, Doubling()])
def test_what_is_no_reduce_function_is_refused(wrong: object):
    with pytest.raises(TypeMismatchError, match="ReduceFunction"):
        as_function(wrong, ReduceFunction)


def test_names_in_messages():
    assert function_name(Doubling()) == "Doubling"
    assert function_name(as_function(plus_one, MapFunction)) == "plus_one"
    assert function_name(functools.partial(plus_one, 1)) == "plus_one"
    assert function_name(as_function(lambda v: v, MapFunction)).startswith("lambda at test_wrap.py:")


def test_key_selectors_and_partitioners_become_callables():
    class First(KeySelector):
        def get_key(self, value: tuple[int, int]) -> int:
            return value[0]

    class Modulo(Partitioner):
        def partition(self, key: int, num_partitions: int) -> int:
            return key % num_partitions

    assert as_key_selector(First())((7, 1)) == 7
    assert as_key_selector(str)(7) == "7"
    assert as_partitioner(Modulo())(7, 4) == 3
    with pytest.raises(TypeMismatchError):
        as_key_selector(Modulo())
    with pytest.raises(TypeMismatchError):
        as_partitioner(3)


def test_a_function_that_wants_to_hear_of_commits_is_refused():
    class Hearing(MapFunction, CheckpointListener):
        def map(self, value: int) -> int:
            return value

        def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
            pass

    with pytest.raises(NotSupportedError, match="Committer"):
        as_function(Hearing(), MapFunction)
