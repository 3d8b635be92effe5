"""Results of statements: rows to iterate, a table to print."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from penstock.common.types import Row
from penstock.table.result_kind import ResultKind
from penstock.table.tableau import NULL_TEXT, tableau

if TYPE_CHECKING:
    from penstock.catalog.resolved_schema import ResolvedSchema
    from penstock.catalog.table_schema import TableSchema
    from penstock.runtime.running_job import RunningJob
    from penstock.sql.result import StatementResult

__all__ = ["CloseableIterator", "TableResult"]


class CloseableIterator:
    """Rows one by one; close it (or use `with`) when you stop early."""

    def __init__(self, rows: Iterator[Row]) -> None:
        self._rows = rows

    @property
    def job(self) -> RunningJob | None:
        """The job that makes the rows; None where no job of the epoch loop does."""
        job: RunningJob | None = getattr(self._rows, "job", None)
        return job

    def __iter__(self) -> CloseableIterator:
        return self

    def __next__(self) -> Row:
        return next(self._rows)

    def next(self) -> Row:
        """The next row; raises StopIteration behind the last one."""
        return self.__next__()

    def close(self) -> None:
        """Ends the query whose rows these are."""
        close = getattr(self._rows, "close", None)
        if close is not None:
            close()

    def __enter__(self) -> CloseableIterator:
        return self

    def __exit__(self, exc_type: Any, exc_val: Any, exc_tb: Any) -> None:
        self.close()


class TableResult:
    """What `execute_sql` returns. Its rows can be read once."""

    def __init__(self, result: StatementResult, job_client: Any = None) -> None:
        self._result = result
        self._job_client = job_client

    def get_job_client(self) -> Any | None:
        """The job of a streaming INSERT, None where none runs on its own."""
        jobs: Any = self._result.details.get("jobs")
        if self._job_client is None and jobs:
            from penstock.datastream.job_handle import job_client

            self._job_client = job_client(jobs[0])
        return self._job_client

    def get_running_job(self) -> RunningJob | None:
        """The job of a streaming INSERT as the runtime knows it."""
        jobs: Any = self._result.details.get("jobs")
        return jobs[0] if jobs else None

    def wait(self, timeout_ms: int | None = None) -> None:
        """Until the rows are there or, for INSERT, until the job has ended.

        Example:
            ```python
            tables.execute_sql("INSERT INTO large SELECT * FROM orders WHERE amount > 100").wait()
            ```
        """
        waiter = self._result.details.get("wait")
        if callable(waiter):
            waiter(timeout_ms)

    def get_resolved_schema(self) -> ResolvedSchema:
        """The columns and their types."""
        return self._result.schema

    def get_table_schema(self) -> TableSchema:
        """The columns and their types, in the form of Flink 1.x."""
        return self._result.schema.to_table_schema()

    def get_result_kind(self) -> int:
        """`ResultKind.SUCCESS` or `ResultKind.SUCCESS_WITH_CONTENT`."""
        return ResultKind.SUCCESS if self._result.success_only else ResultKind.SUCCESS_WITH_CONTENT

    def collect(self) -> CloseableIterator:
        """The rows as they are computed; leaving the iterator's `with` block cancels the job.

        Example:
            ```python
            with tables.execute_sql("SELECT * FROM orders").collect() as rows:
                for row in rows:
                    print(row["customer"])
            ```
        """
        return CloseableIterator(self._result.rows())

    def print(self) -> None:
        """Writes the rows to standard output, as Flink's SQL client lays them out."""
        for line in self.lines():
            sys.stdout.write(line + "\n")

    def lines(self) -> Iterator[str]:
        """The lines of `print`."""
        if self._result.success_only:
            yield "OK"
            return
        query = self._result.is_query
        yield from tableau(
            self._result.schema,
            self._result.rows(),
            query and self._result.streaming,
            NULL_TEXT if query else "",
            self._result.zone,
        )
