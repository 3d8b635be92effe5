"""Relational nodes with typed output: the one description of a query that batch and streaming share.

Every node knows its `fields`: name, type and whether the column is a time attribute. Column names need not
be unique; positions are what counts. Nodes are frozen dataclasses and never contain SQL text or Spark
objects, so they can be printed (`explain`), compared and rewritten (`sql/plan/rules`).

    leaves      Scan, Values, LocalRows
    linear      Project, Filter, Watermark, WindowTvf (TUMBLE/HOP/CUMULATE), Unnest, TableFunctionScan, Union
    stateful    Join, Correlate, TemporalJoin, LookupJoin, Aggregate, Over, SetOp, Sort, MatchRecognize
    root        InsertInto
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from penstock.catalog.conditions import clauses_text
from penstock.catalog.identifiers import ObjectIdentifier
from penstock.catalog.objects import CatalogTable
from penstock.common.datatypes import DataType
from penstock.sql.plan.rex import AggCall, OverCall, Rex, SortKey, TimeKind
from penstock.sql.plan.rex_text import rex_text

JoinKind = Literal["inner", "left", "right", "full", "semi", "anti"]


@dataclass(frozen=True)
class Field:
    """An output column."""

    name: str
    type: DataType
    time: TimeKind = ""


Fields = tuple[Field, ...]


@dataclass(frozen=True)
class Plan:
    """Base of all nodes."""

    fields: Fields

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return ()

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return self

    def describe(self) -> str:
        """The node in one line, for EXPLAIN."""
        return type(self).__name__


@dataclass(frozen=True)
class _Unary(Plan):
    input: Plan

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.input,)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, input=inputs[0])


@dataclass(frozen=True)
class Scan(Plan):
    """A table of a connector: its physical columns, then the metadata columns that are asked for."""

    identifier: ObjectIdentifier
    table: CatalogTable
    hints: tuple[tuple[str, Any], ...] = ()

    def describe(self) -> str:
        filters = clauses_text(self.table.filters)
        shown = f", filter=[{filters}]" if filters else ""
        return f"TableSourceScan(table=[{self.identifier.as_summary_string()}]{shown})"


class StreamInput:
    """A DataStream of the program as the rows of a table.

    Attributes:
        make: Gives, for the columns and parallelism of a `StreamNode`, the transformation whose output is the table.
        parallelism: How many subtasks make its elements; None: as many as the job's default.
        changelog: Whether elements may take rows back.
        upserts: Whether an element replaces the row with its key, so that there are no -U; `key` must be set then.
        key: Positions of the primary key's columns.
    """

    def __init__(
        self,
        make: Callable[[Any], Any],
        parallelism: int | None = None,
        changelog: bool = False,
        upserts: bool = False,
        key: tuple[int, ...] = (),
    ) -> None:
        self.make = make
        self.parallelism = parallelism
        self.changelog = changelog
        self.upserts = upserts
        self.key = key


@dataclass(frozen=True)
class StreamScan(Plan):
    """Rows of a DataStream: the columns of its elements, then their timestamp if the table's schema asks for it."""

    name: str
    stream: StreamInput

    def describe(self) -> str:
        return f"DataStreamScan(stream=[{self.name}])"


@dataclass(frozen=True)
class DataFrameScan(Plan):
    """A relation the session registered itself: `relation` is Spark SQL text whose columns are in order.

    `source` is what made the relation, where somebody wants to know.
    """

    relation: str
    name: str = ""
    source: Any = field(default=None, compare=False)

    def describe(self) -> str:
        return f"Relation({self.name or self.relation})"


@dataclass(frozen=True)
class Values(Plan):
    """Rows of constants (or of constant expressions)."""

    rows: tuple[tuple[Rex, ...], ...]

    def describe(self) -> str:
        return f"Values(rows=[{len(self.rows)}])"


class LocalTable:
    """Rows that the program itself holds: an Arrow table with columns c0, c1, …; equal only to itself."""

    def __init__(self, table: Any) -> None:
        self.table = table


@dataclass(frozen=True)
class LocalRows(Plan):
    """Rows of the program: `from_elements`, `from_pandas`."""

    data: LocalTable

    def describe(self) -> str:
        return f"LocalRows(rows=[{self.data.table.num_rows}])"


@dataclass(frozen=True)
class Project(_Unary):
    """One expression per output column."""

    exprs: tuple[Rex, ...]

    def describe(self) -> str:
        return f"Calc(select=[{', '.join(f.name for f in self.fields)}])"


@dataclass(frozen=True)
class Filter(_Unary):
    """Rows for which the condition is true."""

    condition: Rex

    def describe(self) -> str:
        return f"Filter(where=[{rex_text(self.condition, [f.name for f in self.input.fields])}])"


@dataclass(frozen=True)
class Watermark(_Unary):
    """Makes a column the row time. Batch ignores the expression."""

    column: int
    expression: Rex

    def describe(self) -> str:
        return f"WatermarkAssigner(rowtime=[{self.fields[self.column].name}])"


@dataclass(frozen=True)
class WindowTvf(_Unary):
    """TUMBLE, HOP, CUMULATE or SESSION: appends window_start, window_end and window_time.

    Sizes are milliseconds. `slide` is HOP's slide or CUMULATE's step, `size` SESSION's gap; `partition`
    are SESSION's partition columns.
    """

    kind: Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]
    time_column: int
    size: int
    slide: int | None = None
    offset: int = 0
    partition: tuple[int, ...] = ()

    def describe(self) -> str:
        slide = "" if self.slide is None else f", slide=[{self.slide} ms]"
        return f"WindowTableFunction({self.kind}, size=[{self.size} ms]{slide})"


@dataclass(frozen=True)
class Unnest(_Unary):
    """Appends the elements of a collection: one row per element, none for an empty one unless `outer`.

    An element that is a row is spread over several columns; the last one is the position when `ordinality` is set.
    """

    collection: Rex
    ordinality: bool = False
    outer: bool = False
    condition: Rex | None = None

    def describe(self) -> str:
        return f"Unnest(outer=[{self.outer}])"


@dataclass(frozen=True)
class TableFunctionScan(_Unary):
    """Appends what a table function gives for each row; `outer` keeps rows for which it gives nothing."""

    name: str
    function: Any
    args: tuple[Rex, ...]
    function_fields: Fields
    outer: bool = False
    condition: Rex | None = None

    def describe(self) -> str:
        return f"Correlate(function=[{self.name}])"


@dataclass(frozen=True)
class Join(Plan):
    """Rows of both sides for which the condition holds. "semi" and "anti" give left columns only.

    `ttl_ms` says how long a streaming join remembers a side; None leaves it to the configuration.
    """

    left: Plan
    right: Plan
    kind: JoinKind
    condition: Rex | None
    hints: tuple[str, ...] = ()
    ttl_ms: tuple[int | None, int | None] = (None, None)

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, left=inputs[0], right=inputs[1])

    @property
    def title(self) -> str:
        """Its name without the condition, which is what operators and their uids are called."""
        return f"Join(joinType=[{self.kind}])"

    def describe(self) -> str:
        if self.condition is None:
            return self.title
        names = [f.name for child in self.inputs for f in child.fields]
        return f"{self.title[:-1]}, where=[{rex_text(self.condition, names)}])"


@dataclass(frozen=True)
class Correlate(Plan):
    """The right plan is evaluated per left row, which it sees as `OuterRef(1, …)` (LATERAL)."""

    left: Plan
    right: Plan
    kind: Literal["inner", "left"]
    condition: Rex | None = None

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"Correlate(joinType=[{self.kind}])"


@dataclass(frozen=True)
class TemporalJoin(Plan):
    """`left JOIN right FOR SYSTEM_TIME AS OF left.time`: the right row that was valid then.

    `time` is the left time column; with `processing` the right side is looked at now (a lookup join).
    """

    left: Plan
    right: Plan
    kind: Literal["inner", "left"]
    condition: Rex
    time: int
    processing: bool = False
    hints: tuple[tuple[str, str], ...] = ()

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"{'LookupJoin' if self.processing else 'TemporalJoin'}(joinType=[{self.kind}])"


@dataclass(frozen=True)
class Aggregate(_Unary):
    """GROUP BY: output is the keys, then one column per call.

    `ttl_ms` says how long a streaming aggregate remembers a group; None leaves it to the configuration.
    `grouping_sets` lists positions in `keys`; None is the ordinary single set of all keys. Calls named
    GROUPING and GROUPING_ID have key positions as their literal arguments. With `row_window` (size, slide) there
    is a row for each window of that many rows of a group, not for each group.
    """

    keys: tuple[Rex, ...]
    calls: tuple[AggCall, ...]
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    ttl_ms: int | None = None
    row_window: tuple[int, int] | None = None

    def describe(self) -> str:
        keys = ", ".join(f.name for f in self.fields[: len(self.keys)])
        calls = ", ".join(c.name for c in self.calls)
        return f"Aggregate(groupBy=[{keys}], select=[{calls}])"


@dataclass(frozen=True)
class Over(_Unary):
    """Appends one column per window call."""

    calls: tuple[OverCall, ...]

    def describe(self) -> str:
        return f"OverAggregate(select=[{', '.join(c.name for c in self.calls)}])"


@dataclass(frozen=True)
class SetOp(Plan):
    """UNION, INTERSECT or EXCEPT; both sides have the types of the result already."""

    left: Plan
    right: Plan
    kind: Literal["UNION", "INTERSECT", "EXCEPT"]
    all: bool

    @property
    def inputs(self) -> tuple[Plan, ...]:
        return (self.left, self.right)

    def with_inputs(self, inputs: tuple[Plan, ...]) -> Plan:
        return replace(self, left=inputs[0], right=inputs[1])

    def describe(self) -> str:
        return f"{self.kind.title()}(all=[{self.all}])"


@dataclass(frozen=True)
class Sort(_Unary):
    """ORDER BY, OFFSET and FETCH together; without keys it is a plain LIMIT."""

    keys: tuple[SortKey, ...] = ()
    offset: int = 0
    fetch: int | None = None

    def describe(self) -> str:
        return f"Sort(keys=[{len(self.keys)}], offset=[{self.offset}], fetch=[{self.fetch}])"


@dataclass(frozen=True)
class MatchRecognize(_Unary):
    """MATCH_RECOGNIZE: partition columns and the leaves of its measures; `spec` is a `MatchSpec`."""

    spec: Any = field(compare=False, default=None)

    def describe(self) -> str:
        keys = ", ".join(self.input.fields[column].name for column in self.spec.partition)
        steps = " ".join(step.name for step in self.spec.steps)
        return f"Match(partitionBy=[{keys}], pattern=[{steps}], skip=[{self.spec.skip[0]}])"


@dataclass(frozen=True)
class InsertInto(_Unary):
    """INSERT: the input has exactly the columns and types of the target's persisted columns."""

    identifier: ObjectIdentifier
    table: CatalogTable
    overwrite: bool = False
    static_partition: tuple[tuple[str, str], ...] = ()

    def describe(self) -> str:
        return f"Sink(table=[{self.identifier.as_summary_string()}])"


def walk_plan(plan: Plan) -> Iterator[Plan]:
    """The node and all nodes below it."""
    yield plan
    for child in plan.inputs:
        yield from walk_plan(child)


def readers(plans: Iterable[Plan]) -> Counter[int]:
    """How many nodes read each node, by its id; a node that is shared reads its inputs once."""
    found: Counter[int] = Counter()
    pending = list(plans)
    while pending:
        for child in pending.pop().inputs:
            found[id(child)] += 1
            if found[id(child)] == 1:
                pending.append(child)
    return found


def transform_plan(plan: Plan, change: Callable[[Plan], Plan]) -> Plan:
    """Applies `change` to every node, from the leaves up."""
    inputs = plan.inputs
    if inputs:
        new = tuple(transform_plan(child, change) for child in inputs)
        if any(a is not b for a, b in zip(new, inputs, strict=True)):
            plan = plan.with_inputs(new)
    return change(plan)
