from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.common.key_groups import (
    default_max_parallelism,
    key_group_for,
    key_group_range,
    subtask_for_key,
    subtask_for_key_group,
)


@given(st.integers(1, 300), st.integers(1, 300))
def test_every_key_group_belongs_to_the_one_subtask_whose_range_has_it(parallelism, extra):
    max_parallelism = parallelism + extra - 1
    owners = [subtask_for_key_group(kg, max_parallelism, parallelism) for kg in range(max_parallelism)]
    for subtask in range(parallelism):
        owned = key_group_range(subtask, max_parallelism, parallelism)
        assert [kg for kg, owner in enumerate(owners) if owner == subtask] == list(owned)


def test_the_hash_never_changes():
    # State on disk depends on these numbers.
    assert [key_group_for(key, 128) for key in (b"", b"a", b"b", b"key-1")] == PINNED
    assert subtask_for_key(b"a", 128, 3) == subtask_for_key_group(PINNED[1], 128, 3)


PINNED = [66, 31, 63, 121]


def test_keys_spread_over_the_groups():
    groups = {key_group_for(str(i).encode(), 128) for i in range(2_000)}
    assert len(groups) == 128


@pytest.mark.parametrize(
    "parallelism, expected",
    [(1, 128), (85, 128), (86, 256), (170, 256), (171, 256), (172, 512), (30_000, 32768)],
)
def test_the_default_number_of_key_groups_follows_flinks_rule(parallelism, expected):
    assert default_max_parallelism(parallelism) == expected
