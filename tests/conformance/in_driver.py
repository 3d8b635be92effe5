"""Runs the tasks of streaming queries in the driver, so that the whole matrix of ways takes minutes.

The cases have a handful of rows: nearly all of a case's time is Spark starting tasks and talking to Python workers.
Here the stages run one after the other in this process (`runtime/in_process.py`); linear SQL that needs Catalyst is
still computed by Catalyst, from a local relation. Everything else is as ever: the coordinator plans, commits and
restores.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pyarrow as pa


@contextmanager
def stages_in_driver() -> Iterator[None]:
    """Lets all streaming queries of the block run so."""
    with mock.patch("penstock.sql.streaming.jobs.make_runner", in_driver):
        yield


def in_driver(job: Any) -> Any:
    """An `EpochRunner` whose tasks run here."""
    from penstock.runtime.in_process import InProcessEpochs

    return InProcessEpochs(job, evaluate=_Catalyst(job))


class _Catalyst:
    """Computes segments of linear SQL from local relations."""

    def __init__(self, job: Any) -> None:
        self._job = job
        self._session: Any = None

    def __call__(self, edge: int, table: pa.Table) -> pa.Table:
        from pyspark.sql.types import StructType

        from penstock.runtime.spark.session import get_spark
        from penstock.runtime.tables.base import renamed

        if self._session is None:
            self._session = get_spark().newSession()
        segment = self._job.graph.edges[edge].partitioner.segment
        segment.prepare(self._session)
        struct = StructType.fromDDL(segment.input_schema)
        frame = self._session.createDataFrame(table.rename_columns(struct.names), struct)
        frame.createOrReplaceTempView("penstock_here")
        return renamed(self._session.sql(segment.text.replace("{view}", "penstock_here")).toArrow())
