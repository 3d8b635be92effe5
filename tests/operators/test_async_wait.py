"""AsyncWaitOperator: order, capacity, timeout, retries."""

from __future__ import annotations

import asyncio

import pytest

from penstock.common.errors import TypeMismatchError, UserFunctionError
from penstock.functions import AsyncFunction, AsyncRetryStrategy
from penstock.functions.async_retry import empty_result_predicate, has_exception_predicate
from penstock.operators.async_wait import AsyncWaitOperator
from penstock.testing import OneInputOperatorTestHarness, StreamRecord


def run(function, values, *, ordered=True, timeout_ms=0, capacity=10, retry=None, timestamps=None):
    operator = AsyncWaitOperator(function, timeout_ms, capacity, ordered, retry)
    harness = OneInputOperatorTestHarness(operator)
    try:
        harness.process_elements(values, timestamps)
        return harness
    finally:
        harness.close()


class WaitForLater(AsyncFunction):
    """Element n is answered when all with a greater number have been."""

    def open(self, runtime_context):
        self.answered = {}
        self.running = self.most = 0

    async def async_invoke(self, value):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        for later in range(value + 1, 4):
            while later not in self.answered:
                await asyncio.sleep(0)
        self.answered[value] = True
        self.running -= 1
        return [value] * (value % 3)


def test_ordered_results_keep_the_order_and_timestamps_of_the_elements():
    harness = run(WaitForLater(), [1, 2, 3], timestamps=[10, 20, 30])
    assert harness.get_output() == [StreamRecord(1, 10), StreamRecord(2, 20), StreamRecord(2, 20)]


def test_unordered_results_come_when_they_are_ready():
    harness = run(WaitForLater(), [1, 2, 3], ordered=False, timestamps=[10, 20, 30])
    assert harness.get_output() == [StreamRecord(2, 20), StreamRecord(2, 20), StreamRecord(1, 10)]


def test_never_more_calls_than_the_capacity_are_under_way():
    harness = run(WaitForLater(), [3, 3, 3, 3, 3, 3], capacity=2)
    assert harness.operator.function.most == 2


class Stuck(AsyncFunction):
    async def async_invoke(self, value):
        await asyncio.sleep(3600)
        return [value]

    def timeout(self, value):
        return [f"{value} took too long"]


class StuckForGood(Stuck):
    def timeout(self, value):
        raise TimeoutError("gave up")


def test_timeout_answers_in_place_of_the_call():
    assert run(Stuck(), ["a"], timeout_ms=10).extract_output_values() == ["a took too long"]


def test_a_timeout_that_raises_fails_the_job_naming_the_element():
    with pytest.raises(UserFunctionError, match="TimeoutError: gave up") as caught:
        run(StuckForGood(), ["a"], timeout_ms=10)
    assert "value 'a'" in str(caught.value)


class ThirdTime(AsyncFunction):
    def open(self, runtime_context):
        self.calls = 0

    async def async_invoke(self, value):
        self.calls += 1
        if self.calls == 1:
            raise OSError("not yet")
        return [] if self.calls == 2 else [value]


def test_failures_and_results_are_retried_by_the_strategys_predicates():
    retry = AsyncRetryStrategy.fixed_delay(3, 1, empty_result_predicate, has_exception_predicate)
    assert run(ThirdTime(), ["a"], retry=retry).extract_output_values() == ["a"]


def test_without_a_predicate_for_it_a_failure_is_final():
    retry = AsyncRetryStrategy.fixed_delay(3, 1, empty_result_predicate, None)
    with pytest.raises(UserFunctionError, match="OSError: not yet"):
        run(ThirdTime(), ["a"], retry=retry)


@pytest.mark.parametrize(
    ("answer", "complaint"), [(None, "cannot be none"), (7, "should be of list type"), ("ab", "list type")]
)
@pytest.mark.parametrize("ordered", [True, False])
def test_an_answer_that_is_no_list_fails(answer, complaint, ordered):
    class Answers(AsyncFunction):
        async def async_invoke(self, value):
            return answer

    with pytest.raises(TypeMismatchError, match=complaint):
        run(Answers(), [1], ordered=ordered)
