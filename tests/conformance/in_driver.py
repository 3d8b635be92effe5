"""Runs the Python stages of streaming queries in the driver, so that the whole matrix of ways takes minutes.

A stage is a function from record batches to record batches, and the cases have a handful of rows: nearly all of
a case's time is Spark starting tasks and talking to Python workers. Here `mapInArrow` takes its input to the
driver, calls the function, once for each subtask, and makes a local relation of what it returns. Everything else
is as ever: Catalyst runs the SQL texts, the coordinator plans, commits and restores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc

Stage = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@contextmanager
def stages_in_driver() -> Iterator[None]:
    """Lets all streaming queries of the block run so."""
    from pyspark.sql.classic.dataframe import DataFrame

    with ExitStack() as patches:
        for name, replacement in (
            ("mapInArrow", _map_in_arrow),
            ("repartitionById", _repartition_by_id),
            ("coalesce", _coalesce),
        ):
            patches.enter_context(mock.patch.object(DataFrame, name, replacement))
        patches.enter_context(mock.patch("penstock.sql.streaming.epoch_runner.in_workers", _here))
        yield


def _here(_: Any, function: Callable[[], Any]) -> None:
    function()


def _repartition_by_id(frame: Any, partitions: int, _: Any) -> Any:
    frame.penstock_subtasks = partitions
    return frame


def _coalesce(frame: Any, _: int) -> Any:
    return frame


def _map_in_arrow(frame: Any, function: Stage, schema: Any, **_: Any) -> Any:
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    struct = schema if isinstance(schema, StructType) else StructType.fromDDL(schema)
    batches: list[pa.RecordBatch] = []
    for part in _parts(frame.toArrow(), getattr(frame, "penstock_subtasks", 0)):
        batches.extend(function(iter(part.to_batches())))
    if batches:
        table = pa.Table.from_batches(batches).rename_columns(struct.names)
    else:
        table = to_arrow_schema(struct, timezone="UTC").empty_table()
    return frame.sparkSession.createDataFrame(table, struct)


def _parts(table: pa.Table, subtasks: int) -> list[pa.Table]:
    """The input of each subtask, which the first column names."""
    if not subtasks:
        return [table]
    return [table.filter(pc.equal(table.column(0), subtask)) for subtask in range(subtasks)]
