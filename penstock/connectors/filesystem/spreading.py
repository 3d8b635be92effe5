"""Which task writes which rows.

Every task writes its own files, at least one for each partition it has rows of, so the number of files is decided
before anything is written:

    as they come            3 tasks, 2 partitions                     up to 6 files
    sink.parallelism = 2    rows dealt out to 2 tasks                 up to 4 files
    by partition            rows of a partition meet in one task      2 files, more only by their size

The last line is `sink.shuffle-by-partition.enable`, and it is also how files are compacted (`auto-compaction`): what
Flink writes into small files, reads back and merges before it shows it, is brought together before it is written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.connectors.table import SinkRequirements

AS_THEY_COME = SinkRequirements()


def batch_spread(options: Mapping[str, Any], keys: Sequence[int]) -> SinkRequirements:
    """For a statement in batch mode.

    Args:
        options: The connector's options.
        keys: Positions of the partition columns.
    """
    tasks: int | None = options["sink.parallelism"]
    if options["sink.shuffle-by-partition.enable"] and keys:
        return SinkRequirements(tuple(keys), tasks)
    return AS_THEY_COME if tasks is None else SinkRequirements((), tasks)


def epoch_spread(
    options: Mapping[str, Any], keys: Sequence[int], input_tasks: int, even: Sequence[int] = ()
) -> SinkRequirements:
    """For the epochs of a streaming job.

    Args:
        options: The connector's options.
        keys: Positions of the partition columns.
        input_tasks: How many tasks make the rows.
        even: Positions of the columns to deal rows out by, such as a primary key; empty: evenly.
    """
    tasks: int = options["sink.parallelism"] or input_tasks
    if options["auto-compaction"]:
        merging = (options["compaction.parallelism"] or tasks) if keys else 1
        return AS_THEY_COME if input_tasks == 1 else SinkRequirements(tuple(keys), merging)
    if options["sink.shuffle-by-partition.enable"] and keys:
        return AS_THEY_COME if input_tasks == tasks == 1 else SinkRequirements(tuple(keys), tasks)
    return AS_THEY_COME if tasks == input_tasks else SinkRequirements(tuple(even), tasks)
