"""What a job's coordinator writes to the log: every line says whose it is.

>>> import types
>>> timing = types.SimpleNamespace(epoch=7, records=10, total_ms=12.34, planning_ms=1.0, launching_ms=2.0,
...                                working_ms=8.0, committing_ms=1.34, subtasks=2, warm=2)
>>> epoch_line(timing)
'epoch=7 records=10 total_ms=12.3 planning_ms=1.0 launching_ms=2.0 working_ms=8.0 committing_ms=1.3 subtasks=2 warm=2'
"""

from __future__ import annotations

import logging
from collections.abc import MutableMapping
from typing import Any

__all__ = ["EPOCHS", "JobLog", "epoch_line"]

EPOCHS = "penstock.epochs"
"""The logger of lines of epochs: it has a level of its own, since they are asked for by an option of their own."""

_FIELDS = (
    "epoch", "records", "total_ms", "planning_ms", "launching_ms", "working_ms", "committing_ms", "subtasks",
    "warm",
)  # fmt: skip


class JobLog(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines begin with the job's id; records have it as `job_id`, too."""

    def __init__(self, logger: logging.Logger, job_id: str) -> None:
        super().__init__(logger, {"job_id": job_id})
        self._prefix = f"[job {job_id}] "

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        kwargs["extra"] = {**(kwargs.get("extra") or {}), **(self.extra or {})}
        return f"{self._prefix}{msg}", kwargs


def epoch_line(timing: Any, **more: int) -> str:
    """An epoch as `key=value`, for programs that read logs."""
    values = {name: getattr(timing, name) for name in _FIELDS} | more
    return " ".join(
        f"{key}={round(value, 1) if isinstance(value, float) else value}" for key, value in values.items()
    )
