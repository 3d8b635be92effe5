"""Key groups: which subtask owns a key.

A key's bytes hash to one of `max_parallelism` key groups, and each subtask owns a contiguous range of them:

    key bytes --xxh3--> key group 0..127
    P = 3:  subtask 0 [0..42]   subtask 1 [43..85]   subtask 2 [86..127]

The number of key groups never changes in a job's life; rescaling only cuts the ranges anew, so state moves
by whole key groups. The hash is the same in every process and on every machine.
"""

from __future__ import annotations

from xxhash import xxh3_64_intdigest as _hash

from penstock.common.ids import DEFAULT_MAX_PARALLELISM, KeyGroup, SubtaskIndex

UPPER_BOUND_MAX_PARALLELISM = 1 << 15


def key_group_for(key_bytes: bytes, max_parallelism: int) -> KeyGroup:
    """The key group of an encoded key."""
    return KeyGroup(_hash(key_bytes) % max_parallelism)


def subtask_for_key_group(key_group: int, max_parallelism: int, parallelism: int) -> SubtaskIndex:
    """The subtask that owns a key group."""
    return SubtaskIndex(key_group * parallelism // max_parallelism)


def subtask_for_key(key_bytes: bytes, max_parallelism: int, parallelism: int) -> SubtaskIndex:
    """The subtask that owns a key."""
    return SubtaskIndex(_hash(key_bytes) % max_parallelism * parallelism // max_parallelism)


def key_group_range(subtask: int, max_parallelism: int, parallelism: int) -> range:
    """The key groups that a subtask owns."""
    start = (subtask * max_parallelism + parallelism - 1) // parallelism
    end = ((subtask + 1) * max_parallelism + parallelism - 1) // parallelism
    return range(start, end)


def default_max_parallelism(parallelism: int) -> int:
    """Flink's choice where the program makes none: 1.5 times the parallelism, as a power of two."""
    wanted = parallelism + parallelism // 2
    power = 1 << max(0, wanted - 1).bit_length()
    return min(max(power, DEFAULT_MAX_PARALLELISM), UPPER_BOUND_MAX_PARALLELISM)
