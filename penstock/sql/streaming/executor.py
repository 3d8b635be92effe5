"""Streaming SQL behind the session's executor interface: `validate`, `rows`, `insert_all`, `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from penstock.common.types import Row
from penstock.sql.plan.algebra import InsertInto, Plan
from penstock.sql.result import StatementResult
from penstock.sql.spark.batch import BatchExecutor
from penstock.sql.streaming.describing import describe
from penstock.sql.streaming.explaining import explain_query
from penstock.sql.streaming.inserting import insert_result
from penstock.sql.streaming.jobs import collect, insert_job_name, lowered_inserts, plan_inserts, submit
from penstock.sql.streaming.planner import Planner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StreamingExecutor:
    """Plans in, changes out. Each query is a job of the epoch loop.

    With `one_epoch` the job is of BATCH mode: all input is one epoch, whose net changes are the final rows.
    """

    def __init__(self, config: Mapping[str, str], one_epoch: bool = False) -> None:
        self._config = config
        self._one_epoch = one_epoch
        self._batch = BatchExecutor(config)

    @property
    def spark(self) -> SparkSession:
        """The session of this environment; jobs have sessions of their own."""
        return self._batch.spark

    def validate(self, plan: Plan) -> None:
        """Refuses what cannot run, before any job starts."""
        self._plan(plan)

    def rows(self, plan: Plan) -> Iterator[Row]:
        """Runs the query; the changes of its result, as epochs commit them."""
        collected, job = collect(self._config, plan, self._one_epoch)
        return collected.rows(job)

    def insert(self, sink: InsertInto) -> None:
        wait: Any = self.insert_all([sink]).details["wait"]
        wait()

    def insert_all(
        self, sinks: list[InsertInto], planner: Planner | None = None, uids: Sequence[str] = ()
    ) -> StatementResult:
        """Starts one job for all INSERTs and gives a result that can be waited for.

        Args:
            planner: One that knows of edited operators.
            uids: Those of the sinks, if somebody chose them.
        """
        ends = lowered_inserts(planner or self._planner(), sinks, uids)
        about = describe(sinks, lambda: "\n\n".join(map(self.explain, sinks)), streaming=not self._one_epoch)
        job = submit(self._config, ends, insert_job_name(sinks), self._one_epoch, about)
        result = insert_result(sinks, job)
        if self._config.get("table.dml-sync", "false").lower() == "true":
            wait: Any = result.details["wait"]
            wait()
        return result

    def text(self, plan: Plan) -> str:
        return self.explain(plan)

    def explain(self, plan: Plan, details: tuple[str, ...] = ()) -> str:
        planner, stream = self._plan(plan)
        return explain_query(planner, stream, details)

    def _plan(self, plan: Plan) -> tuple[Planner, Any]:
        planner = self._planner()
        if isinstance(plan, InsertInto):
            [(stream, _, _)] = plan_inserts(planner, [plan])
            return planner, stream
        return planner, planner.query(plan)

    def _planner(self) -> Planner:
        return Planner(self._config, one_epoch=self._one_epoch)
