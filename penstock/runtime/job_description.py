"""What a job is about, for people and catalogs: its SQL, its plan, the tables it reads and writes.

Whoever submits a job may describe it; the engine only passes it on. What takes work is a function: most jobs run
without anybody looking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Datasets", "JobDescription"]

Datasets = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""Inputs and outputs in OpenLineage's form."""


@dataclass(frozen=True)
class JobDescription:
    """`datasets` takes the namespace in which tables have their names."""

    statement: str = ""
    plan: Callable[[], str] | None = None
    changelog_mode: str = ""
    datasets: Callable[[str], Datasets] | None = None
