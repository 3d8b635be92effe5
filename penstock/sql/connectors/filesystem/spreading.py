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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Spread:
    """How rows go to the tasks that write them.

    Attributes:
        tasks: How many; None leaves that to Spark.
        by: Positions of the columns whose equal values meet in one task; empty deals the rows out evenly.
        in_order: One task takes the rows of one after the other, which keeps what ORDER BY has done. It then also
            does the work since the last exchange alone.
    """

    tasks: int | None = None
    by: tuple[int, ...] = ()
    in_order: bool = False

    def apply(self, df: DataFrame) -> DataFrame:
        """Rows that come from one task and go to one task by `by` stay in order."""
        if self.in_order:
            return df.coalesce(1)
        columns = [df.columns[i] for i in self.by]
        if self.tasks is None:
            return df.repartition(*columns)
        return df.repartition(self.tasks, *columns)


def batch_spread(options: Mapping[str, Any], keys: Sequence[int]) -> Spread | None:
    """For a statement in batch mode; None leaves the rows where they are.

    Args:
        options: The connector's options.
        keys: Positions of the partition columns.
    """
    tasks: int | None = options["sink.parallelism"]
    if options["sink.shuffle-by-partition.enable"] and keys:
        return Spread(tasks, tuple(keys))
    return None if tasks is None else Spread(tasks, in_order=tasks == 1)


def epoch_spread(
    options: Mapping[str, Any], keys: Sequence[int], input_tasks: int, even: Sequence[int]
) -> Spread | None:
    """For the epochs of a streaming job; None leaves the rows where they are.

    Args:
        options: The connector's options.
        keys: Positions of the partition columns.
        input_tasks: How many tasks make the rows.
        even: Positions of the columns to deal rows out by: a primary key, or one that is different in all rows.
    """
    tasks: int = options["sink.parallelism"] or input_tasks
    if options["auto-compaction"]:
        merging = (options["compaction.parallelism"] or tasks) if keys else 1
        return None if input_tasks == 1 else Spread(merging, tuple(keys))
    if options["sink.shuffle-by-partition.enable"] and keys:
        return None if input_tasks == tasks == 1 else Spread(tasks, tuple(keys))
    return None if tasks == input_tasks else Spread(tasks, tuple(even))
