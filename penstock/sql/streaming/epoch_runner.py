"""Runs the epochs of a streaming query: one Spark job for each sink, made of SQL texts and Python stages.

The coordinator (`runtime/coordinator.py`) says what is committed and what to read. For each epoch this runner finds
out what that means for the nodes (`epoch.py`), builds the relations (`relations.py`), lets every sink take its one,
and turns what the tasks said into reports (`epoch_reports.py`). It keeps nothing itself from one epoch to the next;
workers keep their states open (`kept_states.py`).
"""

from __future__ import annotations

import functools
import logging
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.errors import PenstockError
from penstock.runtime.plan import JobDefinition, LevelPlan, SubtaskReport
from penstock.runtime.spark.workers import in_workers
from penstock.sql.spark.batch import spark_error
from penstock.sql.streaming.epoch import Epoch, plan_epoch
from penstock.sql.streaming.epoch_reports import Collector, subtask_reports
from penstock.sql.streaming.kept_states import KEPT
from penstock.sql.streaming.physical import DeltaNode
from penstock.sql.streaming.query import Output, Query, Taken, TimedSink
from penstock.sql.streaming.relations import Relations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_log = logging.getLogger(__name__)


class SqlEpochRunner:
    """An `EpochRunner` for a streaming query."""

    def __init__(self, job: JobDefinition, query: Query, spark: SparkSession, udf_text: Any) -> None:
        self._job = job
        self._query = query
        self._spark = spark
        self._udf_text = udf_text
        self._group = f"penstock-sql-{uuid.uuid4().hex}"
        self._states_are_kept = False

    def run(self, plans: Sequence[LevelPlan]) -> list[SubtaskReport]:
        epoch = plan_epoch(self._job, self._query, plans)
        collector = Collector(self._spark)
        relations = Relations(self._job, self._query, epoch, self._spark, self._udf_text, collector)
        self._spark.sparkContext.setJobGroup(self._group, self._job.job_name, True)
        try:
            taken = {output.uid: self._take(output, epoch, relations) for output in self._query.outputs}
        except PenstockError:
            raise
        except Exception as error:
            raise spark_error(error) from error
        finally:
            relations.close()
        if epoch.final:
            self._close_kept()
        else:
            self._states_are_kept = any(isinstance(node, DeltaNode) for node in self._query.nodes)
        return subtask_reports(self._job, self._query, epoch, collector.reports(), taken)

    def _take(self, output: Output, epoch: Epoch, relations: Relations) -> Taken:
        committables = output.sink.take(self._spark, relations.frame(output.stream.plan))
        if not isinstance(output.sink, TimedSink):
            return Taken(committables)
        return output.sink.at_end(committables, epoch.moment(output.stream), epoch.sink_state(output.uid))

    def cancel(self) -> None:
        self._spark.sparkContext.cancelJobGroup(self._group)

    def close(self) -> None:
        """Closes the states that workers have kept; those that are not reached die with their idle worker."""
        self._close_kept()

    def _close_kept(self) -> None:
        """Copies in the workers that had a subtask before; the last epoch closes those it works on itself."""
        if not self._states_are_kept:
            return
        self._states_are_kept = False
        try:
            in_workers(self._spark.sparkContext, functools.partial(_close_states, self._job.job_id))
        except Exception as error:
            _log.warning("could not close the states of job %s in the workers: %s", self._job.job_id, error)


def _close_states(job_id: str) -> None:
    KEPT.close_job(job_id)
