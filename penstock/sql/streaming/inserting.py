"""What INSERT gives back: one row with a column per sink, and a way to wait for the job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.catalog.resolved_schema import Column, PhysicalColumn, ResolvedSchema
from penstock.common.datatypes import DataTypes
from penstock.common.types import Row
from penstock.sql.plan.algebra import InsertInto
from penstock.sql.result import StatementResult
from penstock.sql.streaming.collecting import raise_failure


def insert_result(sinks: list[InsertInto], job: Any) -> StatementResult:
    """The row is there at once; `wait` returns when the job has ended."""
    columns: list[Column] = [
        PhysicalColumn(s.identifier.as_summary_string(), DataTypes.BIGINT()) for s in sinks
    ]

    def rows() -> Iterator[Row]:
        yield Row(*[-1] * len(sinks))

    def wait(timeout_ms: int | None = None) -> None:
        raise_failure(job, timeout_ms)

    result = StatementResult(ResolvedSchema(columns), rows)
    result.details.update(jobs=[job], wait=wait)
    return result
