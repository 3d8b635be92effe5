"""How much one epoch reads: enough to take about the target time, no more.

Small epochs give low latency when there is little to read; under a backlog an epoch grows until its fixed
cost (about 100 ms on the test machine) no longer matters. A job that only has bounded sources serves nobody's
latency, so its epochs may take several times the target.
"""

from __future__ import annotations

from dataclasses import dataclass

FIRST_BUDGET = 50_000
SMALLEST_BUDGET = 1_000
LARGEST_BUDGET = 50_000_000
BACKLOG_FACTOR = 8
_GROWTH = 4.0
_GROWTH_OF_BACKLOG = 16.0
_LEAST_WORK = 0.5


@dataclass
class Pacing:
    """Chooses the number of records that each source subtask may read in the next epoch."""

    target_ms: int
    bounded: bool
    fixed_budget: int | None = None
    budget: int = FIRST_BUDGET

    def next_budget(self) -> int:
        return self.fixed_budget or self.budget

    def observe(self, records_of_busiest_subtask: int, elapsed_ms: float, work_ms: float) -> None:
        """Learns from an epoch. One that read less than its budget says nothing about the speed.

        Args:
            records_of_busiest_subtask: What the subtask that read most has read.
            elapsed_ms: The whole epoch.
            work_ms: The part of it that depends on the number of records. The rest is Spark's fixed cost; were
                it counted as work, a busy machine would make epochs smaller and smaller and gain nothing.
        """
        if self.fixed_budget or records_of_busiest_subtask < 0.8 * self.budget or work_ms <= 0:
            return
        target_ms = self.target_ms * (BACKLOG_FACTOR if self.bounded else 1)
        for_work_ms = max(target_ms - max(0.0, elapsed_ms - work_ms), target_ms * _LEAST_WORK)
        wanted = records_of_busiest_subtask * for_work_ms / work_ms
        limited = min(wanted, self.budget * (_GROWTH_OF_BACKLOG if self.bounded else _GROWTH))
        self.budget = int(max(SMALLEST_BUDGET, min(LARGEST_BUDGET, limited)))
