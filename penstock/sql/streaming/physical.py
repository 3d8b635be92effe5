"""The physical plan of a streaming query: what Python runs, and the Spark SQL between.

    Stream        a relation of changes: an algebra plan over views of nodes, rendered to one Spark SQL text
    ScanNode      reads a connector's splits
    ValuesNode    constants, which come once
    WatermarkNode follows the row time of its input, row by row
    LookupNode    asks a table for the rows of each key
    DeltaNode     a stateful operator of `penstock.delta`

Every relation ends with three hidden columns: `__kind` (0 +I, 1 -U, 2 +U, 3 -D), `__wm` (the watermark that had
been emitted before the row) and `__pos` (arrival order: the producing subtask, then a running number). Linear
nodes carry them along as ordinary columns of the algebra, so the text writer needs to know nothing about them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.common.datatypes import DataType, DataTypes, LocalZonedTimestampType, RowField, RowType
from penstock.common.ids import MIN_WATERMARK
from penstock.connectors.table import TableConnector
from penstock.delta.base import DeltaOperator
from penstock.delta.columns import KIND, POSITION, WATERMARK
from penstock.delta.local.base import LocalStage
from penstock.runtime.tables.detail import NET, Detail
from penstock.sql.plan.algebra import DataFrameScan, Field, Fields, LocalTable, Plan, Project, Scan, Values
from penstock.sql.plan.rex import Const, InputRef, Rex

HIDDEN: Fields = (
    Field(KIND, DataTypes.TINYINT(False)),
    Field(WATERMARK, DataTypes.BIGINT(False)),
    Field(POSITION, DataTypes.BIGINT(False)),
)
SUBTASK_BITS = 44
"""`__pos` is subtask << 44 | number within the epoch."""


@dataclass(eq=False)
class PhysicalNode:
    """Something that Python runs; its output is the temporary view `view`."""

    name: str
    fields: Fields
    inputs: tuple[Stream, ...] = ()
    uid: str = ""
    view: str = ""
    parallelism: int = 1
    retracts: bool = False
    keys: frozenset[frozenset[int]] = frozenset()
    detail: str = ""
    """What EXPLAIN says about it beside its name."""
    label: str = ""
    """What EXPLAIN calls it where it is used again: its place among the nodes, and its name."""
    identity: Any = None
    """What it computes (`node_identity.py`), from which its uid is made."""

    @property
    def row_type(self) -> RowType:
        """Columns of the view: c0..cN, then the hidden ones."""
        columns = [RowField(f"c{i}", f.type.nullable()) for i, f in enumerate(self.fields)]
        columns += [RowField(f.name, f.type) for f in HIDDEN]
        return RowType(columns, nullable=False)


@dataclass(eq=False)
class ScanNode(PhysicalNode):
    """A table of a connector; `columns` are the physical ones that somebody reads."""

    scan: Scan | None = None
    connector: TableConnector | None = None
    columns: tuple[str, ...] = ()
    source: Any = None
    """What reads it; None until somebody asks (`scan_source.source_of`)."""
    tags_splits: bool = False


@dataclass(eq=False)
class ValuesNode(PhysicalNode):
    """Constant rows: expressions, or a table that is there already."""

    values: Values | None = None
    local: LocalTable | None = None


@dataclass(eq=False)
class WatermarkNode(PhysicalNode):
    """With `delay_ms` the watermark is a column less that; else the input has, as its last visible columns, the row
    time and the watermark expression."""

    interval_ms: int = 200
    time_column: int = 0
    delay_ms: int | None = None
    by_split: bool = False
    idle_ms: int | None = None


@dataclass(eq=False)
class DeltaNode(PhysicalNode):
    """A stateful operator, and for each input what is done before its rows are sent to it, if anything is."""

    operator: DeltaOperator | None = None
    local: tuple[LocalStage | None, ...] = ()
    detail_of_changes: Detail = NET
    """Up to which size of an epoch each change of its result is shown."""
    distributed: tuple[tuple[int, ...], ...] = ()
    """Columns of a join's output by which its rows are spread over the subtasks (`distribution.py`)."""

    @property
    def is_keyed(self) -> bool:
        assert self.operator is not None
        return bool(self.operator.key_columns(0))


@dataclass(eq=False)
class LookupNode(PhysicalNode):
    """Asks a table for rows; `spec` is the `LookupSpec` of its tasks. It keeps no state."""

    spec: Any = None
    connector: str = ""


@dataclass(eq=False)
class StreamNode(PhysicalNode):
    """Rows of a DataStream; `make` gives the transformation that turns its elements into a table of changes."""

    make: Any = None
    bounded: bool = False


@dataclass(frozen=True)
class OperatorEdit:
    """What somebody wants of an operator that the planner would do otherwise; None and () leave it as it is."""

    uid: str | None = None
    parallelism: int | None = None
    ttl_ms: tuple[int, ...] = ()


@dataclass(frozen=True)
class Stream:
    """A relation of changes.

    Attributes:
        plan: Algebra over views; its last three fields are the hidden columns.
        retracts: Whether rows may be taken back.
        keys: Sets of columns that are unique in the table the changes make (upsert keys).
        updated_by: Which operator made the stream an updating one, for messages.
        disordered_by: Why the changes of one row may come from several subtasks, in any order; "" if they do not.
        window: Where the window bounds are, if a window table function or aggregate gave some (`windows.py`).
    """

    plan: Plan
    nodes: tuple[PhysicalNode, ...]
    retracts: bool = False
    keys: frozenset[frozenset[int]] = frozenset()
    updated_by: str = ""
    disordered_by: str = ""
    window: Any = field(default=None, compare=False)

    @property
    def fields(self) -> Fields:
        return self.plan.fields[: -len(HIDDEN)]

    @property
    def width(self) -> int:
        return len(self.plan.fields) - len(HIDDEN)

    def over(self, plan: Plan, **changes: Any) -> Stream:
        return replace(self, plan=plan, **changes)

    def project(self, fields: Sequence[Field], exprs: Sequence[Rex], **changes: Any) -> Stream:
        """Other columns, the hidden ones kept."""
        plan = Project((*fields, *HIDDEN), self.plan, (*exprs, *hidden_refs(self.width)))
        return replace(self, plan=plan, **changes)

    def refs(self) -> list[Rex]:
        return [InputRef(f.type, i, f.time) for i, f in enumerate(self.fields)]


def hidden_refs(width: int) -> tuple[Rex, ...]:
    """References to the hidden columns behind `width` visible ones."""
    return tuple(InputRef(f.type, width + i) for i, f in enumerate(HIDDEN))


def hidden_constants() -> tuple[Rex, ...]:
    """Hidden columns of rows that come from nowhere."""
    return (
        Const(HIDDEN[0].type, 0),
        Const(HIDDEN[1].type, MIN_WATERMARK),
        Const(HIDDEN[2].type, 0),
    )


def view_of(node: PhysicalNode) -> DataFrameScan:
    """A node's output as a leaf of the next plan."""
    columns = [f"c{i}" for i in range(len(node.fields))] + [f.name for f in HIDDEN]
    shown = ", ".join(f"{name} AS c{i}" for i, name in enumerate(columns))
    return DataFrameScan((*node.fields, *HIDDEN), f"SELECT {shown} FROM {node.view}", node.name, node)


@dataclass(frozen=True)
class WatermarkText:
    """A watermark in milliseconds as a value of the row time's type; NULL before the first one."""

    type: DataType

    def text(self, millis: str) -> str:
        moment = f"timestampadd(MICROSECOND, {millis} * 1000L, TIMESTAMP_NTZ '1970-01-01 00:00:00')"
        if isinstance(self.type, LocalZonedTimestampType):
            moment = f"timestamp_millis({millis})"
        return f"if({millis} = CAST('{MIN_WATERMARK}' AS BIGINT), NULL, {moment})"
