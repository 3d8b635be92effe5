"""What a finished job leaves to the program that ran it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.common.job_id import JobID

__all__ = ["JobExecutionResult"]


class JobExecutionResult:
    """Id, run time and accumulators of a job that has ended."""

    def __init__(
        self, job_id: JobID, net_runtime_ms: int = 0, accumulators: Mapping[str, Any] | None = None
    ) -> None:
        self._job_id = job_id
        self._net_runtime_ms = net_runtime_ms
        self._accumulators = dict(accumulators or {})

    def get_job_id(self) -> JobID:
        """The id of the job that has ended."""
        return self._job_id

    def get_net_runtime(self) -> int:
        """How long it ran, in milliseconds, without the time to submit it."""
        return self._net_runtime_ms

    def get_accumulator_result(self, accumulator_name: str) -> Any:
        """An accumulator's final value, or None if there was none of that name."""
        return self._accumulators.get(accumulator_name)

    def get_all_accumulator_results(self) -> dict[str, Any]:
        """The values of all accumulators by name, merged over subtasks."""
        return dict(self._accumulators)

    def __str__(self) -> str:
        lines = [
            "Program execution finished",
            f"Job with JobID {self._job_id} has finished.",
            f"Job Runtime: {self._net_runtime_ms} ms",
        ]
        if self._accumulators:
            lines.append("Accumulator Results:")
            lines += [f"- {name} ({type(v).__name__}): {v}" for name, v in self._accumulators.items()]
        return "\n".join(lines)

    __repr__ = __str__
