"""When and how long after a failed asynchronous call the next try comes."""

from __future__ import annotations

import pytest

from penstock.common.errors import ValidationError
from penstock.functions import AsyncRetryStrategy
from penstock.functions.async_retry import (
    NO_RETRY_STRATEGY,
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)


def test_fixed_delay_allows_so_many_further_tries():
    strategy = AsyncRetryStrategy.fixed_delay(2, 100, empty_result_predicate, has_exception_predicate)
    assert [strategy.can_retry(attempt) for attempt in (1, 2, 3)] == [True, True, False]
    assert strategy.get_backoff_time_millis(2) == 100
    assert strategy.get_retry_predicate().result_predicate()([])
    assert strategy.get_retry_predicate().exception_predicate()(KeyError())


def test_exponential_backoff_grows_to_its_maximum_and_depends_on_the_attempt_alone():
    strategy = AsyncRetryStrategy.exponential_backoff(5, 100, 500, 2.0)
    assert [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3, 4, 1)] == [
        100,
        200,
        400,
        500,
        100,
    ]
    assert strategy.get_retry_predicate().result_predicate() is None


def test_no_restart_never_retries():
    assert not AsyncRetryStrategy.no_restart().can_retry(1)
    assert not NO_RETRY_STRATEGY.can_retry(1)


def test_exception_type_predicate_looks_at_the_type():
    assert exception_type_predicate(KeyError(), LookupError)
    assert not exception_type_predicate(None, LookupError)


def test_numbers_that_are_not_positive_are_refused():
    with pytest.raises(ValidationError, match="max_attempts"):
        AsyncRetryStrategy.fixed_delay(0, 100)
