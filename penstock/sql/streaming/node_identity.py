"""What an operator of a streaming query computes, as text: the uid that its state is kept under is made of it.

State belongs to operators by uid. If uids came from positions, any edit of a statement would move them and lose the
state of operators that the edit has nothing to do with. Here two operators have the same identity if their state
means the same:

    kind       what it is: Aggregate, Join, Rank …
    own        what it does with its input columns: keys, functions, conditions. Not: names, parallelism, time to live
    columns    how each input column comes about, down to the columns of tables
    nodes      the operators and tables that its rows come from
    filters    conditions on the way, but only if rows may be taken back

A condition on rows that only come decides what an operator sees from now on, so its state stays good if the condition
changes. Rows that are taken back must have come through the same condition before.

Texts are compared as hashes, and must be the same in every process: nothing in them may come from addresses, random
names or the order of sets.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import functools
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from xxhash import xxh3_128_hexdigest

from penstock.common.datatypes import DataType
from penstock.sql.plan.algebra import DataFrameScan, Filter, Plan, Project, walk_plan
from penstock.sql.plan.rex import InputRef
from penstock.sql.streaming.physical import (
    DeltaNode,
    PhysicalNode,
    ScanNode,
    Stream,
    ValuesNode,
    WatermarkNode,
)

_VIEW = re.compile(r"penstock_node_[0-9a-f]{32}")
_PLAIN = (
    str,
    int,
    float,
    bool,
    type(None),
    decimal.Decimal,
    datetime.date,
    datetime.time,
    datetime.timedelta,
)
_LEFT_OUT = frozenset({"fields", "_emit_before", "_resend_unchanged"})
"""What an operator sends, and what columns are called, is not what it remembers."""
_DEPTH = 40

Refs = Callable[[int], str]


@dataclass(frozen=True)
class InputIdentity:
    """One input of an operator."""

    columns: tuple[str, ...]
    nodes: tuple[str, ...]
    filters: tuple[str, ...]


@dataclass(frozen=True)
class NodeIdentity:
    """An operator. `digest` stands for all of it."""

    kind: str
    own: str
    inputs: tuple[InputIdentity, ...] = ()

    @functools.cached_property
    def digest(self) -> str:
        return _hash(repr((self.kind, self.own, [dataclasses.astuple(i) for i in self.inputs])))


def identity_of(node: PhysicalNode) -> NodeIdentity:
    """The identity of a node whose inputs have theirs."""
    return NodeIdentity(kind_of(node), _own(node), tuple(_input(stream) for stream in node.inputs))


def kind_of(node: PhysicalNode) -> str:
    return node.name.split("(")[0]


def slug_of(node: PhysicalNode) -> str:
    """How a uid begins: the kind, and the table of a scan."""
    text = kind_of(node)
    if isinstance(node, ScanNode) and node.scan is not None:
        text = f"scan-{node.scan.identifier.object_name}"
    return "".join(c if c.isalnum() else "-" for c in text.lower())[:40]


def _own(node: PhysicalNode) -> str:
    if isinstance(node, ScanNode) and node.scan is not None:
        return node.scan.identifier.as_summary_string()
    if isinstance(node, DeltaNode):
        return _hash(shape(node.operator))
    if isinstance(node, WatermarkNode):
        return repr((node.time_column, node.delay_ms))
    if isinstance(node, ValuesNode):
        rows = node.values.rows if node.values is not None else node.local and node.local.table.num_rows
        return _hash(shape(rows))
    return node.name


def _input(stream: Stream) -> InputIdentity:
    columns = _columns(stream.plan)[: stream.width]
    leaves = [leaf.source for leaf in walk_plan(stream.plan) if isinstance(leaf, DataFrameScan)]
    filters = tuple(_filters(stream.plan)) if stream.retracts else ()
    return InputIdentity(tuple(columns), tuple(leaf.identity.digest for leaf in leaves), filters)


def _filters(plan: Plan) -> Iterator[str]:
    for part in walk_plan(plan):
        if isinstance(part, Filter):
            yield _hash(shape(part.condition, _columns(part.input).__getitem__))
        if isinstance(part, DataFrameScan) and isinstance(part.source, ScanNode) and part.source.scan:
            yield from (_hash(shape(clause)) for clause in part.source.scan.table.filters)


def _columns(plan: Plan) -> list[str]:
    """How each column of a relation comes about."""
    if isinstance(plan, DataFrameScan):
        node = plan.source
        if isinstance(node, ScanNode):
            table = node.identity.own
            names = [field.name for field in node.fields]
            return [f"{table}.{n}" for n in names] + ["hidden"] * (len(plan.fields) - len(names))
        return [f"{node.identity.digest}.{i}" for i in range(len(plan.fields))]
    if isinstance(plan, Filter):
        return _columns(plan.input)
    below = [column for child in plan.inputs for column in _columns(child)]
    if isinstance(plan, Project):
        return [
            below[e.index] if isinstance(e, InputRef) else _hash(shape(e, below.__getitem__))
            for e in plan.exprs
        ]
    inputs = {id(child) for child in plan.inputs}
    own = {k: v for k, v in vars(plan).items() if id(v) not in inputs}
    made = _hash(repr((type(plan).__name__, shape(own, below.__getitem__), below)))
    return [*below, *(f"{made}.{i}" for i in range(len(below), len(plan.fields)))][: len(plan.fields)]


# --- texts --------------------------------------------------------------------------------------------------


def shape(value: Any, refs: Refs | None = None, depth: int = 0) -> str:
    """A value as text that is the same in every process. Columns that it refers to are what `refs` says.

    >>> shape({"b": (1, None), "a": {3, 1}})
    "{'a': {1, 3}, 'b': (1, None)}"
    """
    if depth > _DEPTH:
        return "…"
    inner = functools.partial(shape, refs=refs, depth=depth + 1)
    if isinstance(value, InputRef) and refs is not None:
        return f"<{refs(value.index)}>"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, str):
        return repr(_VIEW.sub("view", value))
    if isinstance(value, (*_PLAIN, bytes)):
        return repr(value)
    if isinstance(value, DataType):
        return value.as_summary()
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(map(inner, value)) + ")"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(inner, value))) + "}"
    if isinstance(value, (dict, Mapping)):
        return "{" + ", ".join(sorted(f"{inner(k)}: {inner(v)}" for k, v in value.items())) + "}"
    return _object(value, inner)


def _object(value: Any, inner: Callable[[Any], str]) -> str:
    if isinstance(value, (range, re.Pattern, pa.DataType, pa.Schema, pa.Field)):
        return str(value)
    if isinstance(value, type):
        return value.__qualname__
    if isinstance(value, functools.partial):
        return f"partial{inner((value.func, value.args, value.keywords))}"
    if isinstance(value, types.MethodType):
        return f"{inner(value.__self__)}.{value.__name__}"
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        return f"{value.__qualname__}{inner(cells)}"
    kind = type(value)
    if not kind.__module__.startswith("penstock."):
        return kind.__qualname__  # of a user's function its name is what counts
    names = [*getattr(value, "__dict__", {}), *(s for c in kind.__mro__ for s in getattr(c, "__slots__", ()))]
    parts = [
        f"{name}={inner(getattr(value, name, None))}"
        for name in sorted(set(names))
        if name not in _LEFT_OUT and not name.endswith("ttl_ms") and not name.startswith("__")
    ]
    return f"{kind.__qualname__}({', '.join(parts)})"


def _hash(text: str) -> str:
    return xxh3_128_hexdigest(text.encode())
