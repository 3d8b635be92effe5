"""Column lineage: from which columns of which tables a result column comes, and through which functions.

It is read off the bound algebra, so views and common table expressions are seen through. A source column matters to
a result in one of these ways (the words are OpenLineage's):

    DIRECT    IDENTITY          the value as it is
              TRANSFORMATION    computed from the value of the same row
              AGGREGATION       computed from the values of many rows
    INDIRECT  CONDITIONAL       decides which values count: FILTER (WHERE ...), CASE WHEN, EXISTS
              WINDOW            partition and order of an OVER window
              GROUP_BY, JOIN, FILTER, SORT    decides which rows there are; of the whole result, not of one column

`trace(plan)` gives, for each output column, what it comes from, and what decides which rows there are. Columns of an
enclosing query (`OuterRef`) are found in `outer`, the columns of the queries around, nearest first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.sql.functions.enforcing import CHECK_LENGTH, NOT_NULL
from penstock.sql.plan.algebra import (
    Aggregate,
    Correlate,
    DataFrameScan,
    Filter,
    InsertInto,
    Join,
    LocalRows,
    MatchRecognize,
    Over,
    Plan,
    Project,
    Scan,
    SetOp,
    Sort,
    StreamScan,
    TableFunctionScan,
    TemporalJoin,
    Unnest,
    Values,
    Watermark,
    WindowTvf,
)
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    InputRef,
    OuterRef,
    OverCall,
    Rex,
    SubqueryRex,
    UdfCall,
)

_FIELD_ACCESS = "DOT"
_DIRECT = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")
_UNSEEN = (NOT_NULL, CHECK_LENGTH)
"""Checks of a sink: they let a value pass or fail."""


@dataclass(frozen=True, order=True)
class SourceColumn:
    """A column of a table; `name` of a nested field is its path."""

    table: str
    name: str


@dataclass(frozen=True)
class Origin:
    """One way in which a source column matters. `source` is None for values that come from no column."""

    source: SourceColumn | None
    subtype: str = "IDENTITY"
    functions: tuple[str, ...] = ()

    @property
    def type(self) -> str:
        return "DIRECT" if self.subtype in _DIRECT else "INDIRECT"

    def through(self, function: str, subtype: str = "TRANSFORMATION") -> Origin:
        """The same behind a function; what only decides stays as it is."""
        if self.type == "INDIRECT":
            return self
        strongest = max(self.subtype, subtype, key=_DIRECT.index)
        return Origin(self.source, strongest, (*self.functions, function))

    def deciding(self, subtype: str) -> Origin:
        """The same where the value is not shown and only decides."""
        return Origin(self.source, subtype, self.functions) if self.type == "DIRECT" else self


Origins = tuple[Origin, ...]
Outer = tuple[Sequence[Origins], ...]


@dataclass
class Traced:
    """The columns of a plan, and what decides which rows it has."""

    columns: list[Origins]
    rows: list[Origin] = field(default_factory=list)

    def decided_by(self, origins: Iterable[Origin], subtype: str) -> Traced:
        self.rows += [o.deciding(subtype) for o in origins if o.source is not None]
        return self


def trace(plan: Plan, outer: Outer = ()) -> Traced:
    """What the columns and rows of a plan come from."""
    return _NODES[type(plan)](plan, outer)


def merged(origins: Iterable[Origin]) -> Origins:
    """Each origin once; one without a source only if there is no other."""
    found = dict.fromkeys(origins)
    known = [o for o in found if o.source is not None]
    return tuple(known or found)


# -- expressions ---------------------------------------------------------------------------------------------


@dataclass
class _Reader:
    """Origins of expressions over columns; subqueries add to `rows` what decides their rows."""

    columns: Sequence[Origins]
    outer: Outer
    rows: list[Origin]

    def of(self, rex: Rex) -> Origins:
        if isinstance(rex, InputRef):
            return self.columns[rex.index]
        if isinstance(rex, OuterRef):
            return self.outer[rex.depth - 1][rex.index] if rex.depth <= len(self.outer) else ()
        if isinstance(rex, SubqueryRex):
            return self._subquery(rex)
        if isinstance(rex, Call):
            return self._call(rex)
        if isinstance(rex, UdfCall):
            return self._through(rex.name, rex.args)
        if isinstance(rex, AggCall):
            return self._aggregate(rex, rex.name)
        if isinstance(rex, OverCall):
            deciding = [*rex.partition, *(key.rex for key in rex.order)]
            return merged([*self._aggregate(rex, rex.name), *self.deciding(deciding, "WINDOW")])
        return merged(o for child in rex.children() for o in self.of(child))

    def all_of(self, expressions: Iterable[Rex]) -> Origins:
        return merged(o for rex in expressions for o in self.of(rex))

    def deciding(self, expressions: Iterable[Rex], subtype: str) -> list[Origin]:
        return [o.deciding(subtype) for o in self.all_of(expressions) if o.source is not None]

    def _through(self, name: str, args: Sequence[Rex], subtype: str = "TRANSFORMATION") -> Origins:
        found = [o.through(name, subtype) for o in self.all_of(args)]
        return merged(found or [Origin(None, subtype, (name,))])

    def _call(self, rex: Call) -> Origins:
        if rex.name in _UNSEEN:
            return self.of(rex.args[0])
        nested = _field_path(rex)
        if nested is not None:
            return self._nested(*nested)
        if rex.name in ("CASE", "IF"):
            return self._case(rex)
        return self._through(rex.name, rex.args)

    def _nested(self, base: Rex, path: str) -> Origins:
        return merged(
            Origin(SourceColumn(o.source.table, f"{o.source.name}.{path}"), o.subtype, o.functions)
            if o.source is not None and o.subtype == "IDENTITY"
            else o.through(f".{path}")
            for o in self.of(base)
        )

    def _case(self, rex: Call) -> Origins:
        """CASE and IF: conditions decide, values are shown."""
        conditions, values = rex.args[:-1:2], [*rex.args[1::2], *rex.args[-1:]]
        shown = [o.through(rex.name) for o in self.all_of(values)]
        deciding = self.deciding(conditions, "CONDITIONAL")
        return merged([*shown, *deciding] or [Origin(None, "TRANSFORMATION", (rex.name,))])

    def _aggregate(self, rex: AggCall | OverCall, name: str) -> Origins:
        found = list(self._through(name, rex.args, "AGGREGATION"))
        deciding = [] if rex.filter is None else [rex.filter]
        if isinstance(rex, AggCall):
            deciding += [key.rex for key in rex.order]
        return merged([*found, *self.deciding(deciding, "CONDITIONAL")])

    def _subquery(self, rex: SubqueryRex) -> Origins:
        inner = trace(rex.plan, (self.columns, *self.outer))
        if rex.kind == "scalar":
            self.rows += inner.rows
            return inner.columns[0]
        compared = [o for column in inner.columns for o in column] if rex.kind == "in" else []
        found = [*self.all_of(rex.left), *compared, *inner.rows]
        return merged(o.deciding("CONDITIONAL") for o in found)


def _field_path(rex: Rex) -> tuple[Rex, str] | None:
    """A row and the path of the field that is taken from it."""
    if not isinstance(rex, Call) or rex.name != _FIELD_ACCESS or len(rex.args) != 2:
        return None
    base, name = rex.args
    if not isinstance(name, Const):
        return None
    deeper = _field_path(base)
    return (deeper[0], f"{deeper[1]}.{name.value}") if deeper is not None else (base, str(name.value))


# -- nodes ---------------------------------------------------------------------------------------------------


def _scan(plan: Scan, outer: Outer) -> Traced:
    return _table(plan, plan.identifier.as_summary_string())


def _stream(plan: StreamScan, outer: Outer) -> Traced:
    return _table(plan, f"DataStream {plan.name}")


def _table(plan: Plan, name: str) -> Traced:
    return Traced([(Origin(SourceColumn(name, f.name)),) for f in plan.fields])


def _rows_of_nowhere(plan: Plan, outer: Outer) -> Traced:
    return Traced([() for _ in plan.fields])


def _values(plan: Values, outer: Outer) -> Traced:
    rows: list[Origin] = []
    reader = _Reader((), outer, rows)
    return Traced([reader.all_of(column) for column in zip(*plan.rows, strict=True)], rows)


def _project(plan: Project, outer: Outer) -> Traced:
    below = trace(plan.input, outer)
    reader = _Reader(below.columns, outer, below.rows)
    return Traced([reader.of(rex) for rex in plan.exprs], below.rows)


def _filter(plan: Filter, outer: Outer) -> Traced:
    below = trace(plan.input, outer)
    reader = _Reader(below.columns, outer, below.rows)
    return below.decided_by(reader.of(plan.condition), "FILTER")


def _same(plan: Any, outer: Outer) -> Traced:
    return trace(plan.input, outer)


def _window_tvf(plan: WindowTvf, outer: Outer) -> Traced:
    below = trace(plan.input, outer)
    bounds = tuple(o.through(plan.kind) for o in below.columns[plan.time_column])
    partition = [o.deciding("WINDOW") for i in plan.partition for o in below.columns[i]]
    added = len(plan.fields) - len(below.columns)
    return Traced([*below.columns, *[merged([*bounds, *partition])] * added], below.rows)


def _appended(plan: Unnest | TableFunctionScan, outer: Outer) -> Traced:
    """Columns that a collection or a table function adds to those of a row."""
    below = trace(plan.input, outer)
    reader = _Reader(below.columns, outer, below.rows)
    if isinstance(plan, Unnest):
        made = reader._through("UNNEST", (plan.collection,))
    else:
        made = reader._through(plan.name, plan.args)
    columns = [*below.columns, *[made] * (len(plan.fields) - len(below.columns))]
    return _on(Traced(columns, below.rows), plan.condition, outer)


def _join(plan: Join | TemporalJoin, outer: Outer) -> Traced:
    left, right = trace(plan.left, outer), trace(plan.right, outer)
    both = _on(Traced([*left.columns, *right.columns], [*left.rows, *right.rows]), plan.condition, outer)
    if isinstance(plan, TemporalJoin):
        both.decided_by(left.columns[plan.time], "JOIN")
    return Traced(both.columns[: len(plan.fields)], both.rows)


def _correlate(plan: Correlate, outer: Outer) -> Traced:
    left = trace(plan.left, outer)
    right = trace(plan.right, (left.columns, *outer))
    both = Traced([*left.columns, *right.columns], [*left.rows, *right.rows])
    return _on(both, plan.condition, outer)


def _on(traced: Traced, condition: Rex | None, outer: Outer) -> Traced:
    if condition is None:
        return traced
    reader = _Reader(traced.columns, outer, traced.rows)
    return traced.decided_by(reader.of(condition), "JOIN")


def _aggregate(plan: Aggregate, outer: Outer) -> Traced:
    below = trace(plan.input, outer)
    reader = _Reader(below.columns, outer, below.rows)
    keys = [reader.of(key) for key in plan.keys]
    calls = [reader.of(call) for call in plan.calls]
    return Traced([*keys, *calls], below.rows).decided_by([o for key in keys for o in key], "GROUP_BY")


def _over(plan: Over, outer: Outer) -> Traced:
    below = trace(plan.input, outer)
    reader = _Reader(below.columns, outer, below.rows)
    return Traced([*below.columns, *(reader.of(call) for call in plan.calls)], below.rows)


def _set_op(plan: SetOp, outer: Outer) -> Traced:
    left, right = trace(plan.left, outer), trace(plan.right, outer)
    if plan.kind == "EXCEPT":
        taken = [o for column in right.columns for o in column]
        return Traced(left.columns, [*left.rows, *right.rows]).decided_by(taken, "FILTER")
    columns = [merged([*a, *b]) for a, b in zip(left.columns, right.columns, strict=True)]
    return Traced(columns, [*left.rows, *right.rows])


def _sort(plan: Sort, outer: Outer) -> Traced:
    below = trace(plan.input, outer)
    reader = _Reader(below.columns, outer, below.rows)
    return below.decided_by(reader.all_of(key.rex for key in plan.keys), "SORT")


def _match(plan: MatchRecognize, outer: Outer) -> Traced:
    """Which column a measure reads is only known to the pattern: it may be any."""
    below = trace(plan.input, outer)
    any_of = merged(o.through("MATCH_RECOGNIZE", "AGGREGATION") for column in below.columns for o in column)
    return Traced([any_of for _ in plan.fields], below.rows)


_NODES: dict[type, Callable[[Any, Outer], Traced]] = {
    Scan: _scan,
    StreamScan: _stream,
    DataFrameScan: _rows_of_nowhere,
    LocalRows: _rows_of_nowhere,
    Values: _values,
    Project: _project,
    Filter: _filter,
    Watermark: _same,
    InsertInto: _same,
    WindowTvf: _window_tvf,
    Unnest: _appended,
    TableFunctionScan: _appended,
    Join: _join,
    TemporalJoin: _join,
    Correlate: _correlate,
    Aggregate: _aggregate,
    Over: _over,
    SetOp: _set_op,
    Sort: _sort,
    MatchRecognize: _match,
}
