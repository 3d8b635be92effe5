"""Operators forget what has not changed for the state's time to live, by the clock of the epochs."""

from __future__ import annotations

import pytest

from penstock.delta.base import INSERT
from penstock.delta.changelog_normalize import ChangelogNormalize
from penstock.delta.deduplicate import Deduplicate
from penstock.delta.rank import Rank
from penstock.delta.set_ops import SetOperation, SetOpType
from tests.delta.harness import Harness


@pytest.mark.parametrize(
    "make",
    [
        lambda: Deduplicate((0,), state_ttl_ms=1000),
        lambda: Deduplicate((0,), keep_last=True, state_ttl_ms=1000),
        lambda: Rank((0,), [(1, True)], end=1, input_retracts=False, state_ttl_ms=1000),
        lambda: Rank((0,), [(1, True)], end=1, input_retracts=True, state_ttl_ms=1000),
        lambda: ChangelogNormalize((0,), state_ttl_ms=1000),
    ],
    ids=["first", "last", "append top", "top", "normalize"],
)
def test_a_key_that_comes_again_after_its_time_is_new(make):
    harness = Harness(make)
    assert harness.epoch([(("a", 1), INSERT)], now=0) == [(("a", 1), INSERT)]
    assert harness.epoch([(("a", 2), INSERT)], now=2000) == [(("a", 2), INSERT)]


def test_a_set_operation_forgets_the_other_side():
    harness = Harness(lambda: SetOperation(SetOpType.INTERSECT, 1, state_ttl_ms=1000))
    assert harness.epoch([(("a",), INSERT)], [], now=0) == []
    assert harness.epoch([], [(("a",), INSERT)], now=2000) == []
    assert harness.epoch([(("a",), INSERT)], [], now=2500) == [(("a",), INSERT)]
