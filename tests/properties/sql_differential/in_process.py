"""Runs a program without Spark: the job as ever, its tasks in this process, Catalyst's part by `linear.py`.

The test draws where the epochs are cut, how many subtasks there are, and before which epochs all worker processes are
lost, so that their successors restore committed state.
"""

from __future__ import annotations

import pathlib
import tempfile
from dataclasses import replace
from typing import Any
from unittest import mock

import pyarrow as pa

from penstock.common.datatypes import RowField, RowType
from penstock.formats.arrow_rows import RowReader, RowsToArrow
from penstock.runtime.in_process import InProcessEpochs, forget
from penstock.sql.plan.algebra import DataFrameScan
from penstock.sql.streaming import jobs
from penstock.sql.streaming.physical import HIDDEN
from tests.properties.sql_differential.cases import Case
from tests.properties.sql_differential.linear import Row, rows_of
from tests.properties.sql_differential.on_spark import run_on_spark


def run_in_process(case: Case) -> list[tuple[int, Row]]:
    """The changelog of the program's result, as (kind, row)."""

    def runner(job: Any) -> InProcessEpochs:
        lost: set[int] = set()

        def interfere(plan: Any, partition: int) -> None:
            if plan.epoch - 1 in case.restores and plan.epoch not in lost:
                lost.add(plan.epoch)
                forget()

        return InProcessEpochs(job, interfere, lambda edge, table: _linear(job, edge, table))

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(jobs, "make_runner", runner):
        return run_on_spark(case, pathlib.Path(folder))


def _linear(job: Any, edge: int, table: pa.Table) -> pa.Table:
    """What Catalyst would make of a table."""
    segment = job.graph.edges[edge].partitioner.segment
    hidden = [RowField(f.name, f.type) for f in HIDDEN]
    before = RowType([*segment.input_type.fields, *hidden], nullable=False)
    behind = RowType([*segment.output_type.fields, *hidden], nullable=False)
    reader = RowReader(before)
    rows = [row for batch in table.to_batches() for row in reader.rows(batch)]
    plan: Any = DataFrameScan((), "here")
    for step in segment.steps:
        plan = replace(step, input=plan)
    return pa.Table.from_batches([RowsToArrow(behind).batch(rows_of(plan, {"here": rows}))])
