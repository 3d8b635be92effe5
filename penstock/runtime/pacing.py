"""How much one epoch reads: enough to take about the target time, no more.

Small epochs give low latency when there is little to read; under a backlog an epoch grows until its fixed
cost (about 100 ms on the test machine) no longer matters. A job that only has bounded sources serves nobody's
latency, so its epochs may take several times the target.

All of an epoch's rows are in the memory of the workers at some point, so an epoch stays small enough that a worker
needs no more than `COMFORTABLE_BYTES` for it beyond what it keeps anyway.
"""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_BUDGET = 50_000
SMALLEST_BUDGET = 1_000
LARGEST_BUDGET = 50_000_000
BACKLOG_FACTOR = 8
LIMIT_FACTOR = 3
"""An epoch takes input for so many times its target, then what is left waits (`operators/time_box.py`)."""
COMFORTABLE_BYTES = 512 << 20
_GROWTH = 4.0
_GROWTH_OF_BACKLOG = 16.0
_LEAST_WORK = 0.5


class _Cost:
    """Work as a line over the number of records, through the epochs seen, the later ones counting more.

    Part of the work does not depend on the records: state is opened, changes of other workers are read. Seen as a
    cost per record it would make epochs smaller, and each record dearer still.
    """

    _MEMORY = 0.7

    def __init__(self) -> None:
        self._weight = self._n = self._work = self._nn = self._n_work = 0.0

    def per_record_ms(self, records: int, work_ms: float) -> float:
        """What one record more costs, now that `records` have taken `work_ms`."""
        values = (1.0, records, work_ms, records * records, records * work_ms)
        sums = (self._weight, self._n, self._work, self._nn, self._n_work)
        self._weight, self._n, self._work, self._nn, self._n_work = (
            old * self._MEMORY + new for old, new in zip(sums, values, strict=True)
        )
        average = work_ms / records
        spread = self._weight * self._nn - self._n**2
        if spread <= 0.01 * self._n**2:  # all of about one size: that says nothing about a line
            return average
        slope = (self._weight * self._n_work - self._n * self._work) / spread
        return min(average, max(slope, 0.1 * average))


@dataclass
class Pacing:
    """Chooses the number of records that each source subtask may read in the next epoch."""

    target_ms: int
    bounded: bool
    fixed_budget: int | None = None
    budget: int = FIRST_BUDGET
    ceiling: int = LARGEST_BUDGET
    """What a worker's memory is known not to be enough for, or more."""
    comfortable_bytes: int = COMFORTABLE_BYTES
    _cost: _Cost = field(default_factory=_Cost)
    _behind: bool = False

    def next_budget(self) -> int:
        return min(self.fixed_budget or self.budget, self.ceiling)

    def too_large(self) -> None:
        """An epoch did not fit into a worker's memory: all later ones are at most a quarter of it."""
        self.ceiling = max(1, self.next_budget() // 4)
        self.budget = min(self.budget, self.ceiling)

    def left_over(self, share_done: float) -> None:
        """An epoch's time was not enough for what it read: the next ones read that much less.

        Later epochs work off what waits and read nothing; they say nothing new.
        """
        if share_done < 1 and not self.fixed_budget and not self._behind:
            self.budget = max(1, int(self.budget * share_done))
        self._behind = share_done < 1

    def observe(
        self, records_of_busiest_subtask: int, elapsed_ms: float, work_ms: float, growth_bytes: int = 0
    ) -> None:
        """Learns from an epoch. One that read less than its budget says nothing about the speed.

        Args:
            records_of_busiest_subtask: What the subtask that read most has read.
            elapsed_ms: The whole epoch.
            work_ms: The part of it that depends on the number of records. The rest is Spark's fixed cost; were
                it counted as work, a busy machine would make epochs smaller and smaller and gain nothing.
            growth_bytes: What the worker that needed most memory for the epoch needed.
        """
        if self.fixed_budget or records_of_busiest_subtask < 0.8 * self.budget or work_ms <= 0:
            return
        target_ms = self.target_ms * (BACKLOG_FACTOR if self.bounded else 1)
        per_record_ms = self._cost.per_record_ms(records_of_busiest_subtask, work_ms)
        overhead_ms = max(0.0, elapsed_ms - records_of_busiest_subtask * per_record_ms)
        # There was more to read than the epoch could take, so at least half of its time shall be work on records.
        half_ms = min(overhead_ms, target_ms * BACKLOG_FACTOR)
        for_work_ms = max(target_ms - overhead_ms, target_ms * _LEAST_WORK, half_ms)
        wanted = for_work_ms / per_record_ms
        fitting = records_of_busiest_subtask * self.comfortable_bytes / max(growth_bytes, 1)
        limited = min(wanted, fitting, self.budget * (_GROWTH_OF_BACKLOG if self.bounded else _GROWTH))
        self.budget = int(min(self.ceiling, max(SMALLEST_BUDGET, limited)))
