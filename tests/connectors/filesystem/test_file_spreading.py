"""Which tasks write which rows, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.connectors.filesystem.spreading import AS_THEY_COME, batch_spread, epoch_spread
from penstock.connectors.registry import find_connector
from penstock.connectors.table import SinkRequirements

COMPACTED = {"auto-compaction": "true"}
SHUFFLED = {"sink.shuffle-by-partition.enable": "true"}
TWO = {"sink.parallelism": "2"}
DAY, EVEN = [2], (0,)


def values(options: dict[str, str]) -> dict[str, Any]:
    return find_connector({"connector": "filesystem", "path": "/t", "format": "csv", **options}, "t").values


@pytest.mark.parametrize(
    ("options", "keys", "expected"),
    [
        ({}, DAY, AS_THEY_COME),
        (TWO, DAY, SinkRequirements((), 2)),
        ({"sink.parallelism": "1"}, DAY, SinkRequirements((), 1)),
        (SHUFFLED, DAY, SinkRequirements((2,))),
        (SHUFFLED | TWO, DAY, SinkRequirements((2,), 2)),
        (SHUFFLED, [], AS_THEY_COME),
        (COMPACTED, DAY, AS_THEY_COME),
    ],
    ids=["none", "parallelism", "one task", "shuffle", "both", "no partitions", "compaction is for streams"],
)
def test_batch(options: dict[str, str], keys: list[int], expected: SinkRequirements) -> None:
    assert batch_spread(values(options), keys) == expected


@pytest.mark.parametrize(
    ("options", "keys", "input_tasks", "expected"),
    [
        ({}, DAY, 3, AS_THEY_COME),
        (TWO, DAY, 3, SinkRequirements(EVEN, 2)),
        (TWO, DAY, 2, AS_THEY_COME),
        (SHUFFLED, DAY, 3, SinkRequirements((2,), 3)),
        (COMPACTED, DAY, 3, SinkRequirements((2,), 3)),
        (COMPACTED | {"compaction.parallelism": "2"}, DAY, 3, SinkRequirements((2,), 2)),
        (COMPACTED, [], 3, SinkRequirements((), 1)),
        (COMPACTED, DAY, 1, AS_THEY_COME),
    ],
    ids=[
        *("none", "parallelism", "as it is", "shuffle", "compaction", "compaction by two"),
        *("compaction without partitions", "compaction of one task's rows"),
    ],
)
def test_epochs(
    options: dict[str, str], keys: list[int], input_tasks: int, expected: SinkRequirements
) -> None:
    assert epoch_spread(values(options), keys, input_tasks, EVEN) == expected
