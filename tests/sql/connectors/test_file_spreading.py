"""Which tasks write which rows, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.sql.connectors import find_connector
from penstock.sql.connectors.filesystem.spreading import Spread, batch_spread, epoch_spread

COMPACTED = {"auto-compaction": "true"}
SHUFFLED = {"sink.shuffle-by-partition.enable": "true"}
TWO = {"sink.parallelism": "2"}
DAY, EVEN = [2], (-1,)


def values(options: dict[str, str]) -> dict[str, Any]:
    return find_connector({"connector": "filesystem", "path": "/t", "format": "csv", **options}, "t").values


@pytest.mark.parametrize(
    ("options", "keys", "expected"),
    [
        ({}, DAY, None),
        (TWO, DAY, Spread(2)),
        ({"sink.parallelism": "1"}, DAY, Spread(1, in_order=True)),
        (SHUFFLED, DAY, Spread(None, (2,))),
        (SHUFFLED | TWO, DAY, Spread(2, (2,))),
        (SHUFFLED, [], None),
        (COMPACTED, DAY, None),
    ],
    ids=["none", "parallelism", "one task", "shuffle", "both", "no partitions", "compaction is for streams"],
)
def test_batch(options: dict[str, str], keys: list[int], expected: Spread | None) -> None:
    assert batch_spread(values(options), keys) == expected


@pytest.mark.parametrize(
    ("options", "keys", "input_tasks", "expected"),
    [
        ({}, DAY, 3, None),
        (TWO, DAY, 3, Spread(2, EVEN)),
        (TWO, DAY, 2, None),
        (SHUFFLED, DAY, 3, Spread(3, (2,))),
        (COMPACTED, DAY, 3, Spread(3, (2,))),
        (COMPACTED | {"compaction.parallelism": "2"}, DAY, 3, Spread(2, (2,))),
        (COMPACTED, [], 3, Spread(1)),
        (COMPACTED, DAY, 1, None),
    ],
    ids=[
        *("none", "parallelism", "as it is", "shuffle", "compaction", "compaction by two"),
        *("compaction without partitions", "compaction of one task's rows"),
    ],
)
def test_epochs(options: dict[str, str], keys: list[int], input_tasks: int, expected: Spread | None) -> None:
    assert epoch_spread(values(options), keys, input_tasks, EVEN) == expected
