"""MATCH_RECOGNIZE: which columns the operator gets, and what it does with them.

What looks at the row at hand alone is computed on columns before the operator: a condition such as `B.price >
10` costs it one look at a boolean. What is left of DEFINE compares the row with others of the partial match, in
Python. Measures are computed behind the operator, by a projection over the leaves that it emits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cep.match_operator import MatchRecognizeOperator
from penstock.cep.match_rows import AggregateLeaf, RowLeaf, TimeLeaf, Variable
from penstock.cep.match_rows import Leaf as OperatorLeaf
from penstock.common.datatypes import (
    BigIntType,
    BooleanType,
    CharType,
    DataTypes,
    DateType,
    DoubleType,
    IntType,
    LocalZonedTimestampType,
    SmallIntType,
    TimestampType,
    TinyIntType,
    VarCharType,
)
from penstock.common.errors import NotSupportedError, ValidationError
from penstock.delta.time.clock import from_ms
from penstock.formats.arrow_rows import RowsToArrow, columns_type
from penstock.sql.arrow.expression import compile_columns
from penstock.sql.plan.algebra import MatchRecognize
from penstock.sql.plan.match_spec import (
    Definition,
    Leaf,
    MatchSpec,
    Navigation,
    RowsAggregate,
    RowValue,
    Step,
)
from penstock.sql.plan.rex import Call, Const, InputRef, Rex, TypeRef, UdfCall, conjuncts, transform, walk
from penstock.sql.plan.rex_facts import COMPARISONS, is_total
from penstock.sql.python_eval import CompiledRex
from penstock.sql.streaming.aggregates import InputColumns, agg_spec
from penstock.sql.streaming.physical import Stream
from penstock.sql.streaming.sorts import sort_order

if TYPE_CHECKING:
    from penstock.sql.streaming.planner import Planner


def plan_match(planner: Planner, plan: MatchRecognize) -> Stream:
    stream, spec = planner.plan(plan.input), plan.spec
    if stream.retracts and not planner.one_epoch:
        raise ValidationError(
            f"Match Recognize doesn't support consuming update changes which is produced by {stream.updated_by}",
            do="look for the pattern before the aggregation or join that updates its rows",
        )
    columns = InputColumns()
    lowering = _Lowering(spec, stream, columns, planner.zone)
    partition = [columns.place(stream.refs()[column]) for column in spec.partition]
    first = stream.refs()[spec.order[0].rex.index]
    operator = MatchRecognizeOperator(
        partition,
        None if stream.fields[spec.order[0].rex.index].time == "proctime" else columns.place(first),
        sort_order(spec.order[1:], columns),
        [lowering.variable(step) for step in spec.steps],
        spec.skip,
        spec.within_ms,
        [lowering.leaf(leaf) for leaf in spec.outputs],
        drops_late=not planner.one_epoch,
    )
    return planner.delta(plan.describe(), operator, [columns.of(stream)], plan.fields)


class _Lowering:
    """Turns leaves and definitions into what the operator understands, over columns that are placed on the way."""

    def __init__(self, spec: MatchSpec, stream: Stream, columns: InputColumns, zone: str) -> None:
        self._definitions = {definition.variable: definition for definition in spec.definitions}
        self._stream = stream
        self._columns = columns
        self._zone = zone

    def leaf(self, leaf: Leaf) -> OperatorLeaf:
        if isinstance(leaf, RowValue):
            where = leaf.navigation
            column = self._columns.place(self._stream.refs()[leaf.column])
            return RowLeaf(where.variable, column, where.first, where.offset)
        if isinstance(leaf, RowsAggregate):
            return AggregateLeaf(leaf.variable, agg_spec(leaf.call, self._columns, self._zone))
        return TimeLeaf(from_ms)

    def variable(self, step: Step) -> Variable:
        shape = (step.name, step.minimum, step.maximum, step.greedy)
        definition = self._definitions.get(step.name)
        if definition is None:
            return Variable(*shape)
        alone, together = _split(definition)
        column = None if alone is None else self._columns.place(self._on_row(alone, definition))
        if together is None:
            return Variable(*shape, column)
        rex, leaves = self._condition(together, definition)
        return Variable(*shape, column, tuple(leaves), _compiled(rex, step.name, self._zone))

    def _condition(self, rex: Rex, definition: Definition) -> tuple[Rex, list[OperatorLeaf]]:
        """A condition over leaves; parts that look at one row alone become columns of it."""
        leaves: list[OperatorLeaf] = []

        def place(leaf: OperatorLeaf, part: Rex) -> Rex:
            leaves.append(leaf)
            return InputRef(part.type, len(leaves) - 1)

        def change(part: Rex) -> Rex | None:
            if isinstance(part, (Const, TypeRef)):
                return part
            if isinstance(part, InputRef):
                return place(self.leaf(definition.leaves[part.index]), part)
            row = _row_of(part, definition)
            if row is not None and _can_be_asked(part):
                column = self._columns.place(self._on_row(part, definition))
                return place(RowLeaf(row.variable, column, row.first, row.offset), part)
            return None

        return transform(rex, change), leaves

    def _on_row(self, rex: Rex, definition: Definition) -> Rex:
        """An expression over leaves of the row at hand, as one over the columns of the input."""
        refs = self._stream.refs()

        def change(part: Rex) -> Rex | None:
            if isinstance(part, InputRef):
                leaf = definition.leaves[part.index]
                assert isinstance(leaf, RowValue)
                return refs[leaf.column]
            return None

        return transform(rex, change)


def _split(definition: Definition) -> tuple[Rex | None, Rex | None]:
    """The conditions on the row at hand alone that can be asked of any row, and the rest."""
    parts = conjuncts(definition.condition)
    alone = [part for part in parts if _looks_at_row(part, definition) and _can_be_asked(part)]
    return _all(alone), _all([part for part in parts if part not in alone])


def _can_be_asked(rex: Rex) -> bool:
    """Whether it can be computed for every row, also for those that the pattern does not ask about.

    Users' functions are taken to give an answer for each: docs/differences.md.
    """
    calls = [part for part in walk(rex) if isinstance(part, UdfCall)]
    if not all(_can_be_asked(argument) for call in calls for argument in call.args):
        return False
    return is_total(transform(rex, lambda p: Const(p.type, None) if isinstance(p, UdfCall) else None))


def _all(parts: Sequence[Rex]) -> Rex | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return Call(DataTypes.BOOLEAN(), "AND", tuple(parts))


def _looks_at_row(rex: Rex, definition: Definition) -> bool:
    at_hand = (Navigation(None), Navigation(definition.variable))
    leaves = [definition.leaves[part.index] for part in walk(rex) if isinstance(part, InputRef)]
    return all(isinstance(leaf, RowValue) and leaf.navigation in at_hand for leaf in leaves)


def _row_of(rex: Rex, definition: Definition) -> Navigation | None:
    """The one row that an expression looks at, if it is NULL where there is no such row, or the row is at hand."""
    if _looks_at_row(rex, definition):
        return Navigation(definition.variable)
    calls = [part for part in walk(rex) if not isinstance(part, (InputRef, Const))]
    if not all(isinstance(c, UdfCall) or (isinstance(c, Call) and c.name in _STRICT) for c in calls):
        return None
    leaves = [definition.leaves[part.index] for part in walk(rex) if isinstance(part, InputRef)]
    rows = {leaf.navigation if isinstance(leaf, RowValue) else None for leaf in leaves}
    return rows.pop() if len(rows) == 1 else None


def _compiled(rex: Rex, variable: str, zone: str) -> Any:
    """The condition as a function of the leaves' values: in Python where that is exact, else on Arrow."""
    if _is_plain(rex):
        return CompiledRex(rex)
    if compile_columns([rex], zone) is not None:
        return ArrowCondition(rex, zone)
    names = {part.name for part in walk(rex) if isinstance(part, (Call, UdfCall))}
    raise NotSupportedError(
        f"a condition in DEFINE {variable} over rows of several pattern variables with {', '.join(sorted(names))}",
        "conditions that compare rows are computed row by row, outside Spark",
        do="let the function look at one row only: such expressions are computed before, by all of the library",
    )


_COMPARED = {
    *COMPARISONS,
    "BETWEEN",
    "NOT BETWEEN",
    "IN",
    "NOT IN",
    "IS DISTINCT FROM",
    "IS NOT DISTINCT FROM",
}
_CHOSEN = {"COALESCE", "CASE", "NULLIF"}
_LOGIC = {
    "AND",
    "OR",
    "NOT",
    *(f"IS {w}" for w in ("NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "NOT FALSE")),
}
_ADDED = {"+", "-", "*"}
_STRICT = {*_ADDED, "- (unary)", "ABS", "UPPER", "LOWER", "CHAR_LENGTH", "||", "SUBSTRING", "TRIM"}
"""NULL if an argument is: so they are for a row that is not there."""
_KINDS: tuple[tuple[type, ...], ...] = (
    (TinyIntType, SmallIntType, IntType, BigIntType),
    (DoubleType,),
    (CharType, VarCharType),
    (TimestampType,),
    (LocalZonedTimestampType,),
    (DateType,),
    (BooleanType,),
)
"""Types among which Python's operators do what SQL's do."""


def _is_plain(rex: Rex) -> bool:
    if isinstance(rex, (InputRef, Const)):
        return True
    if not isinstance(rex, Call) or not all(map(_is_plain, rex.args)):
        return False
    if rex.name in _LOGIC:
        return True
    if rex.name in _ADDED and isinstance(rex.type, (IntType, SmallIntType, TinyIntType)):
        return False  # sums of small integers wrap around, Python's do not
    return rex.name in _COMPARED | _CHOSEN | _ADDED and _is_one_kind(rex)


def _is_one_kind(rex: Call) -> bool:
    args = rex.args if rex.name != "CASE" else (*rex.args[1::2], rex.args[-1])
    return any(all(isinstance(arg.type, kind) for arg in args) for kind in _KINDS)


class ArrowCondition:
    """A condition computed on a table of one row; pickled as the expression."""

    def __init__(self, rex: Rex, zone: str) -> None:
        self._rex, self._zone = rex, zone
        compiled = compile_columns([rex], zone)
        assert compiled is not None
        self._expression = compiled[0]
        types = {part.index: part.type for part in walk(rex) if isinstance(part, InputRef)}
        self._to_arrow = RowsToArrow(columns_type([types[i] for i in range(len(types))]))

    def __call__(self, values: Sequence[Any]) -> Any:
        return self._expression(self._to_arrow.batch([tuple(values)]).columns, 1)[0].as_py()

    def __reduce__(self) -> tuple[Any, ...]:
        return ArrowCondition, (self._rex, self._zone)
