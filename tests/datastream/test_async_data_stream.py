"""Asynchronous operations on streams."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.common import Duration, Time, Types
from penstock.common.errors import TypeMismatchError, ValidationError
from penstock.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy
from tests.datastream.programs import new_env

RETRY = AsyncRetryStrategy.fixed_delay(3, 1, lambda results: not results)


class Doubling(AsyncFunction):
    async def async_invoke(self, value: int) -> list[int]:
        return [value * 2]


class Hesitating(AsyncFunction):
    def __init__(self) -> None:
        self.calls = 0

    async def async_invoke(self, value: int) -> list[int]:
        self.calls += 1
        return [value] if self.calls % 3 == 0 else []


def numbers() -> Any:
    return new_env(1).from_collection([1, 2, 3], Types.INT())


def test_the_four_ways_add_an_operator_of_the_declared_type():
    second = Time.seconds(1)
    for stream in (
        AsyncDataStream.ordered_wait(numbers(), Doubling(), second, 5, Types.INT()),
        AsyncDataStream.unordered_wait(numbers(), Doubling(), second, output_type=Types.INT()),
        AsyncDataStream.ordered_wait_with_retry(
            numbers(), Doubling(), second, RETRY, output_type=Types.INT()
        ),
        AsyncDataStream.unordered_wait_with_retry(numbers(), Doubling(), second, RETRY, 7, Types.INT()),
    ):
        assert stream.get_name() == "async wait operator"
        assert stream.get_type() == Types.INT()


@pytest.mark.parametrize(
    "call, problem",
    [
        (lambda: AsyncDataStream.ordered_wait([1], Doubling(), 5), "DataStream"),
        (lambda: AsyncDataStream.ordered_wait(numbers(), 3, 5), "AsyncFunction"),
        (lambda: AsyncDataStream.ordered_wait(numbers(), Doubling(), -5), "timeout"),
        (lambda: AsyncDataStream.ordered_wait(numbers(), Doubling(), 5, 0), "capacity"),
        (lambda: AsyncDataStream.ordered_wait_with_retry(numbers(), Doubling(), 5, "often"), "RetryStrategy"),
        (lambda: AsyncDataStream.ordered_wait_with_retry(numbers(), Doubling(), 0, RETRY), "timeout"),
    ],
)
def test_wrong_arguments_are_refused(call: Any, problem: str):
    with pytest.raises((ValidationError, TypeMismatchError), match=problem):
        call()


@pytest.mark.usefixtures("in_process")
class TestRunning:
    def test_ordered_results_come_in_the_order_of_the_elements(self):
        stream = AsyncDataStream.ordered_wait(numbers(), Doubling(), Duration.of_seconds(5), 2, Types.INT())
        assert list(stream.execute_and_collect()) == [2, 4, 6]

    def test_empty_results_are_asked_for_again(self):
        stream = AsyncDataStream.ordered_wait_with_retry(
            numbers(), Hesitating(), Duration.of_seconds(5), RETRY, 1, Types.INT()
        )
        assert list(stream.execute_and_collect()) == [1, 2, 3]
