"""Users' functions where rows are read: in the Python task that reads a table, before Spark has the rows.

Rows of CSV, JSON and most connectors come from Python tasks. A function that Spark calls over them takes each row
through the JVM and back into a second Python process, and a table function's rows through the JVM once more. So a
query's steps over such a table (projections, filters, table functions), up to the last that calls a function, are
done in the task that reads, by the programs that an epoch would use (`streaming/linear.py`), if all of them can be:

    Aggregate(SUM(f(v)))                       Aggregate(SUM(c0))
       Scan(k, v, w)                   ->         Relation(c0), whose task n reads split n and calls f

What an aggregate adds up is computed below it first, which also drops the columns that it does not need; where it
has a local half (`local_aggregates.py`), that is done there too.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from penstock.common.config_values import parse_map
from penstock.common.datatypes import DataType
from penstock.common.surroundings import here
from penstock.formats.arrow_rows import RowsToArrow, columns_type
from penstock.metrics import MetricGroup
from penstock.runtime.tables.linear import TableProgram
from penstock.sql.async_calls import Waiting
from penstock.sql.plan.algebra import (
    Aggregate,
    DataFrameScan,
    Field,
    Filter,
    Plan,
    Project,
    Scan,
    TableFunctionScan,
    Watermark,
    walk_plan,
)
from penstock.sql.plan.plan_rexes import contains_subquery, rexes
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, OuterRef, Rex, UdfCall, walk
from penstock.sql.spark.connector_io import ReadSteps
from penstock.sql.spark.local_aggregates import LocalAggregate, local_aggregate
from penstock.sql.spark.user_function_calls import JOB_PARAMETERS, spark_task
from penstock.sql.streaming.linear import Linear

_ROWS = 1 << 14
"""Rows that go through the programs together: a table function may give thousands for each."""

Read = Callable[[Scan, ReadSteps], str | None]
"""Makes a relation of a table whose rows are taken through the steps; None if Python does not read the table."""


def has_calls(plan: Plan) -> bool:
    """Whether a plan calls users' functions of rows anywhere."""
    return any(map(_calls, walk_plan(plan)))


def calls_at_source(plan: Plan, zone: str, config: Mapping[str, str], read: Read) -> Plan:
    """The plan with calls of users' functions moved into the tasks that read, where that can be done."""
    return _Moving(Linear(zone, Waiting.of(config), hidden=0), config, read).plan(plan)


@dataclass
class _Moving:
    linear: Linear
    config: Mapping[str, str]
    read: Read

    def plan(self, plan: Plan) -> Plan:
        narrow = _over_operands(plan) if isinstance(plan, Aggregate) else None
        if narrow is not None:
            return self._aggregate(narrow)
        steps, source = _chain(plan)
        if isinstance(source, Scan) and any(map(_calls, steps)):
            return self._moved(steps, source)[0] or plan
        inputs = tuple(self.plan(child) for child in plan.inputs)
        same = all(a is b for a, b in zip(inputs, plan.inputs, strict=True))
        return plan if same else plan.with_inputs(inputs)

    def _aggregate(self, plan: Aggregate) -> Plan:
        """An aggregate over a projection of its operands."""
        steps, source = _chain(plan.input)
        assert isinstance(source, Scan)
        local = local_aggregate(plan)
        made, complete = self._moved(steps, source, local)
        if made is None:
            return plan
        return local.above(made) if local is not None and complete else plan.with_inputs((made,))

    def _moved(
        self, steps: Sequence[Plan], source: Scan, local: LocalAggregate | None = None
    ) -> tuple[Plan | None, bool]:
        """The steps with as many as possible in the tasks that read, the local half of an aggregate if all are.

        None if no call can be there. Also says whether all steps are.
        """
        programs, done = self.linear.programs(steps[: _possible(steps)])
        if not any(map(_calls, steps[:done])):
            return None, False
        complete, out = done == len(steps), steps[done - 1].fields
        if local is not None and complete:
            programs, out = [*programs, local.program], local.fields
        types = [f.type for f in out]
        names = [f.name for f in source.fields]
        calls = SourceCalls(names, programs, types, parse_map(self.config.get(JOB_PARAMETERS, "")))
        relation = self.read(source, ReadSteps(columns_type(types), calls))
        if relation is None:
            return None, False
        shown = ", ".join(f"c{i} AS c{i}" for i in range(len(out)))
        told = f"/* {_told(steps[:done])} in the tasks that read {source.identifier.as_summary_string()} */"
        made: Plan = DataFrameScan(out, f"SELECT {shown} FROM {relation} {told}", relation)
        for step in steps[done:]:
            made = step.with_inputs((made,))
        return made, complete


def _chain(plan: Plan) -> tuple[list[Plan], Plan]:
    """The linear steps over a plan, innermost first, and what they are over."""
    steps: list[Plan] = []
    while isinstance(plan, (Project, Filter, TableFunctionScan, Watermark)):
        if not isinstance(plan, Watermark):  # nothing waits for time in a batch
            steps.append(plan)
        plan = plan.input
    return steps[::-1], plan


def _calls(step: Plan) -> bool:
    """Whether a step calls a user's function."""
    return isinstance(step, TableFunctionScan) or any(
        isinstance(part, UdfCall) for rex in rexes(step) for part in walk(rex)
    )


def _told(steps: Sequence[Plan]) -> str:
    """The names of the functions, for EXPLAIN."""
    parts = [part for step in steps for rex in rexes(step) for part in walk(rex)]
    names = [part.name for part in parts if isinstance(part, UdfCall)]
    names += [step.name for step in steps if isinstance(step, TableFunctionScan)]
    return ", ".join(dict.fromkeys(names)).replace("*/", "* /")


def _possible(steps: Sequence[Plan]) -> int:
    """How many of the steps have nothing that only the query as a whole can do."""
    most = 0
    for number, step in enumerate(steps, 1):
        conditional = isinstance(step, TableFunctionScan) and step.condition is not None
        if conditional or not all(map(_is_plain, rexes(step))):
            break
        most = number
    return most


def _is_plain(rex: Rex) -> bool:
    """No subquery, and nothing else whose value is not in the row: those are Spark's in a batch."""
    if contains_subquery(rex):
        return False
    own = (isinstance(p, OuterRef) or (isinstance(p, Call) and p.name in _SPARKS_OWN) for p in walk(rex))
    return not any(own)


_SPARKS_OWN = ("RAND", "RAND_INTEGER", "UUID", "UNIX_TIMESTAMP")


def _over_operands(plan: Aggregate) -> Aggregate | None:
    """The aggregate over a projection of just what it needs; None if no user's function is concerned."""
    steps, source = _chain(plan.input)
    called = any(isinstance(p, UdfCall) for rex in rexes(plan) for p in walk(rex)) or any(map(_calls, steps))
    if not isinstance(source, Scan) or not called or not all(map(_is_plain, rexes(plan))):
        return None
    if plan.grouping_sets is not None or plan.row_window is not None:
        return None
    if any(call.function is not None or call.order for call in plan.calls):
        return None
    operands: dict[Rex, int] = {}

    def column(rex: Rex) -> Rex:
        if isinstance(rex, Const):  # some aggregates want a literal
            return rex
        return InputRef(rex.type, operands.setdefault(rex, len(operands)))

    keys = tuple(column(key) for key in plan.keys)
    calls = tuple(_with_operands(call, column) for call in plan.calls)
    if not operands:
        return None
    fields = tuple(Field(f"$operand{i}", rex.type) for i, rex in enumerate(operands))
    return replace(plan, input=Project(fields, plan.input, tuple(operands)), keys=keys, calls=calls)


def _with_operands(call: AggCall, column: Callable[[Rex], Rex]) -> AggCall:
    args = tuple(column(arg) for arg in call.args)
    return replace(call, args=args, filter=None if call.filter is None else column(call.filter))


# --- in the task ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TaskContext:
    """What programs are told when they are opened."""

    name: str
    subtask_index: int
    parallelism: int
    max_parallelism: int
    attempt_number: int
    job_parameters: Mapping[str, str]
    metrics: MetricGroup = field(default_factory=MetricGroup)


_OPENED: dict[str, Sequence[TableProgram]] = {}
"""The programs of the last query of this worker process, by the key of their `SourceCalls`."""


class SourceCalls:
    """Takes the rows that a task reads through programs; Spark sends it with every task.

    Programs are opened once per worker process, and closed when the next query's come; those that hold a function
    with a `close` of its own live for one task.

    Args:
        names: The columns of the table in the order in which the programs expect them.
        types: Of the columns that come out.
    """

    def __init__(
        self,
        names: Sequence[str],
        programs: Sequence[TableProgram],
        types: Sequence[DataType],
        parameters: Mapping[str, str],
    ) -> None:
        self._key = uuid.uuid4().hex
        self._names, self._programs, self._types = list(names), list(programs), list(types)
        self._parameters = dict(parameters)
        self._surroundings = here()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = RowsToArrow(columns_type(self._types)).schema
        programs = self._opened()
        try:
            for batch in batches:
                for start in range(0, batch.num_rows, _ROWS):
                    part = batch.slice(start, _ROWS).select(self._names)
                    yield from _through(programs, part, schema)
        finally:
            if self._key not in _OPENED:
                _close(programs)

    def _opened(self) -> Sequence[TableProgram]:
        """The programs, among the files of the user's program."""
        self._surroundings.enter()
        if self._key in _OPENED:
            return _OPENED[self._key]
        task = spark_task()
        context: Any = _TaskContext(
            task.name, task.index, task.parallelism, task.max_parallelism, task.attempt, self._parameters
        )
        for program in self._programs:
            program.open(context)
        for key in list(_OPENED):
            _close(_OPENED.pop(key))
        if not any(program.wants_closing for program in self._programs):
            _OPENED[self._key] = self._programs
        return self._programs


def _through(
    programs: Sequence[TableProgram], batch: pa.RecordBatch, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    table = pa.Table.from_batches([batch])
    for program in programs:
        if not table.num_rows:
            return
        table = program(table)
    yield from table.rename_columns(schema.names).cast(schema).combine_chunks().to_batches()


def _close(programs: Sequence[TableProgram]) -> None:
    for program in programs:
        program.close()
