"""SHOW JOBS, DESCRIBE JOB and STOP JOB: the jobs of this process, whoever started them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.common.datatypes import DataType, DataTypes
from penstock.common.time import Instant
from penstock.runtime.job_list import ListedJob, find_job, list_jobs
from penstock.sql.dialect import statements as st
from penstock.sql.result import StatementResult, ok, table

if TYPE_CHECKING:
    from penstock.sql.session import SqlSession

_COLUMNS: list[tuple[str, DataType]] = [
    ("job id", DataTypes.STRING()),
    ("job name", DataTypes.STRING()),
    ("status", DataTypes.STRING()),
    ("start time", DataTypes.TIMESTAMP_LTZ(6)),
]
_SAVEPOINT_DIR = ("execution.checkpointing.savepoint-dir", "state.savepoints.dir")


def show_jobs() -> StatementResult:
    """Those that run and the last that have ended, in the order in which they began."""
    return table(_COLUMNS, [_row(job) for job in list_jobs()])


def describe_job(job_id: str) -> StatementResult:
    return table(_COLUMNS, [_row(find_job(job_id))])


def stop_job(session: SqlSession, statement: st.StopJobStatement) -> StatementResult:
    """Cancels a job or, WITH SAVEPOINT, ends it behind one and tells where that is.

    Raises:
        ValidationError: There is no such job.
        JobEndedError: It has ended.
    """
    job = find_job(statement.job_id)
    if not statement.with_savepoint:
        job.cancel()
        return ok()
    directory = next((session.config[key] for key in _SAVEPOINT_DIR if key in session.config), None)
    path = job.stop_with_savepoint(statement.with_drain, directory)
    return table([("savepoint path", DataTypes.STRING())], [[path]])


def _row(job: ListedJob) -> list[object]:
    started = Instant.of_epoch_milli(int(job.start_time * 1000))
    return [job.job_id, job.job_name, job.status().name, started]
