"""Streaming SQL behind the session's executor interface: `validate`, `rows`, `insert_all`, `explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from penstock.common.types import Row
from penstock.connectors.sink import Committer
from penstock.sql.plan.algebra import Plan, Sink
from penstock.sql.result import StatementResult
from penstock.sql.spark.batch import BatchExecutor
from penstock.sql.streaming.explaining import explain_query
from penstock.sql.streaming.jobs import start_job
from penstock.sql.streaming.planner import Planner
from penstock.sql.streaming.sinks import CollectRows, plan_sinks

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class StreamingExecutor:
    """Plans in, changes out. Each query is a job of the epoch loop."""

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = config
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
        planner = Planner(self._config)
        stream = planner.query(plan)
        sink = CollectRows([f.type for f in plan.fields], [f.name for f in plan.fields])
        ends = [(stream, sink, sink.committer())]
        job = start_job(planner, ends, self._batch, self._config, "collect")
        return sink.iterate(job)

    def insert(self, sink: Sink) -> None:
        wait: Any = self.insert_all([sink]).details["wait"]
        wait()

    def insert_all(self, sinks: list[Sink]) -> StatementResult:
        """Starts one job for all INSERTs and gives a result that can be waited for."""
        from penstock.sql.streaming.inserting import insert_result

        planner, planned = plan_sinks(self._config, sinks)
        ends = [(s, target, target if isinstance(target, Committer) else None) for s, target in planned]
        name = "insert-into_" + ",".join(s.identifier.as_summary_string() for s in sinks)
        result = insert_result(sinks, start_job(planner, ends, self._batch, self._config, name))
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
        if isinstance(plan, Sink):
            planner, [(stream, _)] = plan_sinks(self._config, [plan])
            return planner, stream
        planner = Planner(self._config)
        return planner, planner.query(plan)
