"""An operator's epoch as a data frame: its inputs in one shape, each row at the subtask that owns its key.

input 0 (straight)  scan -> watermark -> local -> shape -> marks ─┐
input 1 (text)      Spark SQL ---------> local -> shape ──────────┼─ repartitionById ─ DeltaTask
numbers             a row that tells each subtask its number ─────┘
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from penstock.common.datatypes import DataType, RowField, RowType
from penstock.common.errors import InvariantError
from penstock.common.pickling import ship
from penstock.sql.connectors.spark_types import spark_schema
from penstock.sql.functions.text import spark_type
from penstock.sql.plan.algebra import Plan, Project, SetOp
from penstock.sql.streaming.delta_task import DeltaTask
from penstock.sql.streaming.exchange_task import LocalTask, MarkTask, ShapeTask, shape_names
from penstock.sql.streaming.physical import HIDDEN, DeltaNode
from penstock.sql.streaming.task_report import Chain, Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.sql.streaming.relations import Relations, Straight


def delta_frame(relations: Relations, node: DeltaNode) -> DataFrame:
    """The changes an operator makes in this epoch."""
    branches = [
        _Branch(index, part, relations.straight(part))
        for index, stream in enumerate(node.inputs)
        for part in union_parts(stream.plan)
    ]
    task = _delta_task(relations, node)
    if all(branch.straight is not None and branch.straight.watermark for branch in branches):
        # Only then the operator hears of every watermark it waits for within the epoch.
        sources = {i: b.straight.node.parallelism for i, b in enumerate(branches) if b.straight}
        task = replace(task, marks=sources)
    frames = [_shaped(relations, node, task, number, branch) for number, branch in enumerate(branches)]
    if node.parallelism > 1:
        frames.append(_numbers(relations, node, task))
    frame = frames[0]
    for other in frames[1:]:
        frame = frame.unionAll(other)
    if node.parallelism == 1:
        frame = frame.coalesce(1)
    else:
        from pyspark.sql.functions import col

        frame = frame.repartitionById(node.parallelism, col("__subtask"))
    return frame.mapInArrow(task.__call__, spark_schema(node.row_type))


def union_parts(plan: Plan) -> list[Plan]:
    """The parts of a UNION ALL, with the projections above it moved into them."""
    if isinstance(plan, SetOp) and plan.kind == "UNION" and plan.all:
        return [*union_parts(plan.left), *union_parts(plan.right)]
    if isinstance(plan, Project):
        return [replace(plan, input=below) for below in union_parts(plan.input)]
    return [plan]


def row_type_of(types: Sequence[DataType]) -> RowType:
    return RowType([RowField(f"c{i}", t.nullable()) for i, t in enumerate(types)], nullable=False)


@dataclass(frozen=True)
class _Branch:
    """An input of the operator, or a part of its UNION ALL."""

    index: int
    plan: Plan
    straight: Straight | None


def _shaped(
    relations: Relations, node: DeltaNode, task: DeltaTask, number: int, branch: _Branch
) -> DataFrame:
    """A branch in the shape all inputs of the operator share."""
    index = branch.index
    local = node.local[index] if node.local else None
    assert node.operator is not None
    shape = ShapeTask(
        index, task.input_types, node.operator.key_columns(index), task.max_parallelism, node.parallelism
    )
    stages: tuple[Stage, ...] = (shape,) if local is None else (LocalTask(local), shape)
    schema = ", ".join(f"{name} {data_type}" for name, data_type in _shape_types(task))
    straight = branch.straight
    if straight is not None:
        chain = straight.then(*stages)
        if task.marks and straight.watermark is not None:
            mark = MarkTask(straight.scan, straight.watermark, number, task.input_types, node.parallelism)
            chain = chain.then(mark)
        return chain.frame(schema)
    text = relations.text(branch.plan)
    if local is None and node.parallelism == 1:
        return relations.sql(_shape_text(text, index, task))
    columns = [f"CAST(c{i} AS {spark_type(f.type)}) AS c{i}" for i, f in enumerate(branch.plan.fields)]
    typed = relations.sql(f"SELECT {', '.join(columns)} FROM ({text})")
    return typed.mapInArrow(Chain(stages).__call__, schema)


def _shape_text(text: str, index: int, task: DeltaTask) -> str:
    """The shape made by Spark, where no Python stage is needed."""
    width = len(task.input_types[index].fields)
    columns = ["0 AS __subtask", f"{index} AS __input"]
    columns += [f"CAST(c{width + i} AS {spark_type(f.type)}) AS {f.name}" for i, f in enumerate(HIDDEN)]
    for at, other in enumerate(task.input_types):
        for i, field in enumerate(other.fields):
            value = f"c{i}" if at == index else "NULL"
            columns.append(f"CAST({value} AS {spark_type(field.data_type)}) AS i{at}_{i}")
    return f"SELECT {', '.join(columns)} FROM ({text})"


def _numbers(relations: Relations, node: DeltaNode, task: DeltaTask) -> DataFrame:
    """A row per subtask that tells it its number: a partition without rows could not know it."""
    columns = ["CAST(id AS INT) AS __subtask", "-1 AS __input"]
    columns += [f"CAST(NULL AS {t}) AS {name}" for name, t in _shape_types(task)[2:]]
    return relations.spark.range(0, node.parallelism, 1, 1).selectExpr(*columns)


def _shape_types(task: DeltaTask) -> list[tuple[str, str]]:
    types = ["INT", "INT", *(spark_type(f.type) for f in HIDDEN)]
    types += [spark_type(f.data_type) for t in task.input_types for f in t.fields]
    return list(zip(shape_names(task.input_types), types, strict=True))


def _delta_task(relations: Relations, node: DeltaNode) -> DeltaTask:
    epoch, job = relations.epoch, relations.job
    restores = []
    for subtask in range(node.parallelism):
        keyed = epoch.nodes[node.uid][subtask].keyed
        if keyed is None:
            raise InvariantError(f"operator {node.uid} has no keyed state")
        restores.append(keyed)
    return DeltaTask(
        uid=node.uid,
        operator=ship(node.operator),
        input_types=tuple(_columns_type(node, index) for index in range(len(node.inputs))),
        output_type=node.row_type,
        parallelism=node.parallelism,
        max_parallelism=next(n.max_parallelism for n in job.graph.nodes if n.uid == node.uid),
        restores=tuple(restores),
        epoch=epoch.plan.epoch,
        processing_time_ms=epoch.plan.processing_time_ms,
        former_watermark=epoch.advanced(node.uid),
        watermark=epoch.target(node),
        job_id=job.job_id,
        backend=job.backend,
        local_dir=job.local_dir,
        storage=job.storage,
        report=relations.report,
        local=node.local,
    )


def _columns_type(node: DeltaNode, index: int) -> RowType:
    """The columns of an input as they reach the operator."""
    local = node.local[index] if node.local else None
    types = [f.type for f in node.inputs[index].fields] if local is None else local.output_types()
    return row_type_of(types)
