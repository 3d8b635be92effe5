"""MATCH_RECOGNIZE: measures and conditions over pattern variables become expressions over leaves.

While an expression is bound, each variable is a relation of its own with the columns of the table, and so is "any
variable", which unqualified columns belong to. FIRST and LAST with an offset add one more. What was bound is then an
expression over all of these columns side by side, from which the leaves are read off (`plan/match_spec.py`).

    MatchRecognize ── partition columns, leaves of all measures
    Project        ── the measures
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from sqlglot import exp

from penstock.common.datatypes import DataTypes, DayTimeIntervalType, LocalZonedTimestampType, TimestampType
from penstock.sql.binder.context import BindContext
from penstock.sql.binder.expressions import ExpressionBinder
from penstock.sql.binder.scope import Relation, Scope
from penstock.sql.binder.tables import time_of
from penstock.sql.dialect.match_recognize import MatchClause
from penstock.sql.plan.algebra import Field, Fields, MatchRecognize, Plan, Project
from penstock.sql.plan.match_spec import (
    Definition,
    Leaf,
    MatchSpec,
    MatchTime,
    Navigation,
    RowsAggregate,
    RowValue,
    Step,
)
from penstock.sql.plan.rex import AggCall, Call, Const, InputRef, Rex, SortKey, SubqueryRex, transform, walk

if TYPE_CHECKING:
    from penstock.sql.binder.query import QueryBinder

_NAVIGATIONS = ("FIRST", "LAST", "PREV", "NEXT")
_MATCH_ROWTIME = "MATCH_ROWTIME"
_UNKNOWN_CALLS = {"CLASSIFIER", "MATCH_NUMBER"}


def bind_match(queries: QueryBinder, plan: Plan, alias: str | None, node: exp.MatchRecognize) -> Plan:
    """The plan of a table with MATCH_RECOGNIZE behind it."""
    return _MatchBinder(queries, plan, alias, node).bind()


class _MatchBinder:
    def __init__(self, queries: QueryBinder, plan: Plan, alias: str | None, node: exp.MatchRecognize) -> None:
        self._queries = queries
        self._ctx: BindContext = queries.ctx
        self._plan = plan
        self._node = node
        self._clause: MatchClause = node.meta["clause"]
        self._table = Scope([Relation(alias, 0, plan.fields)])
        self._variables = [variable.name for variable in self._clause.pattern]
        self._outputs: list[Leaf] = []

    def bind(self) -> Plan:
        self._check()
        partition = tuple(self._column_of(column, "PARTITION BY") for column in self._clause.partition)
        order = self._order()
        # A variable that the pattern does not have may be defined, as in Flink; nobody asks for it.
        definitions = tuple(
            self._definition(name, node) for name, node in self._clause.define if name in self._variables
        )
        measures = [self._measure(name, node) for name, node in self._clause.measures]
        spec = MatchSpec(
            partition,
            order,
            tuple(Step(v.name, v.minimum, v.maximum, v.greedy) for v in self._clause.pattern),
            self._clause.skip,
            self._within(),
            definitions,
            tuple(self._outputs),
        )
        keys = [replace(self._plan.fields[column], time="") for column in partition]
        leaves = [self._field_of(leaf, number) for number, leaf in enumerate(self._outputs)]
        match = MatchRecognize((*keys, *leaves), self._plan, spec)
        return self._with_measures(match, keys, measures)

    def _with_measures(self, match: Plan, keys: list[Field], measures: list[tuple[str, Rex]]) -> Plan:
        width = len(keys)
        exprs: list[Rex] = [InputRef(key.type, at) for at, key in enumerate(keys)]
        fields = list(keys)

        def behind_keys(part: Rex) -> Rex | None:
            if not isinstance(part, InputRef):
                return None
            return InputRef(part.type, width + part.index, match.fields[width + part.index].time)

        for name, rex in measures:
            placed = transform(rex, behind_keys)
            exprs.append(placed)
            fields.append(Field(name, placed.type, time_of(placed)))
        return Project(tuple(fields), match, tuple(exprs))

    # -- clauses --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        clause = self._clause
        if clause.all_rows:
            self._refuse("All rows per match mode is not supported yet.", do="write ONE ROW PER MATCH")
        if clause.running:
            self._refuse(f"RUNNING is not supported in the measure '{clause.running[0]}'", do="leave it out")
        for name in self._variables:
            if self._variables.count(name) > 1:
                self._refuse(
                    f"Pattern variables must be unique, '{name}' is not. That might change in the future."
                )
        defined = [name for name, _ in clause.define]
        for name in defined:
            if defined.count(name) > 1:
                self._refuse(f"Pattern variable '{name}' has already been defined")
        if clause.skip[1] is not None and clause.skip[1] not in self._variables:
            self._refuse(f"Unknown pattern variable '{clause.skip[1]}' in AFTER MATCH SKIP")
        alias = self._node.args.get("alias")
        if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
            self._refuse(
                "MATCH_RECOGNIZE takes an alias without column names", do="name the measures with AS"
            )
        self._check_names()

    def _check_names(self) -> None:
        names = [name for name, _ in self._clause.measures]
        if not names:
            self._refuse("Columns ambiguously defined: {}", do="name what you want to know in MEASURES")
        if len(set(names)) < len(names):
            self._refuse("Columns ambiguously defined: two measures have the same name")
        columns = {column.name for column in self._clause.partition if isinstance(column, exp.Column)}
        twice = [name for name in names if name in columns]
        if twice:
            self._refuse(f"Columns ambiguously defined: {{{', '.join(twice)}}}")

    def _order(self) -> tuple[SortKey, ...]:
        binder = ExpressionBinder(self._ctx, self._table, self._queries, place="ORDER BY")
        keys = tuple(binder.sort_key(ordered) for ordered in self._clause.order)
        streaming = self._ctx.streaming
        if not keys:
            what = "either rowtime or proctime for order by." if streaming else "non-empty order by."
            self._refuse(f"You must specify {what}")
        first = keys[0].rex
        for key in keys:
            if not isinstance(key.rex, InputRef):
                self._refuse("ORDER BY of MATCH_RECOGNIZE takes columns")
        assert isinstance(first, InputRef)
        if streaming and not first.time:
            self._refuse("You must specify either rowtime or proctime for order by as the first one.")
        if not first.time and not isinstance(first.type, (TimestampType, LocalZonedTimestampType)):
            self._refuse("You must specify time point for order by as the first one.")
        if keys[0].descending:
            table = "streaming table" if streaming else "table"
            self._refuse(f"Primary sort order of a {table} must be ascending on time.")
        return keys

    def _within(self) -> int:
        if self._clause.within is None:
            return 0
        limit = ExpressionBinder(self._ctx, Scope([]), self._queries).bind(self._clause.within)
        if not isinstance(limit, Const) or not isinstance(limit.type, DayTimeIntervalType):
            self._refuse(
                "Only constant intervals with millisecond resolution are supported as time constraints of patterns."
            )
        return int(limit.value)

    def _column_of(self, node: Any, place: str) -> int:
        rex = ExpressionBinder(self._ctx, self._table, self._queries, place=place).bind(node)
        if not isinstance(rex, InputRef):
            self._refuse(f"{place} of MATCH_RECOGNIZE takes columns")
        return rex.index

    # -- expressions ----------------------------------------------------------------------------------------

    def _definition(self, variable: str, node: Any) -> Definition:
        binder = _VariableBinder(self._ctx, self._queries, self._plan.fields, self._variables, "DEFINE")
        leaves: list[Leaf] = []
        condition = binder.leaves_of(binder.condition(node), leaves)
        if any(isinstance(leaf, MatchTime) for leaf in leaves):
            self._refuse("MATCH_ROWTIME() cannot stand in DEFINE")
        return Definition(variable, condition, tuple(leaves))

    def _measure(self, name: str, node: Any) -> tuple[str, Rex]:
        binder = _VariableBinder(self._ctx, self._queries, self._plan.fields, self._variables, "MEASURES")
        return name, binder.leaves_of(binder.bind(node), self._outputs)

    def _field_of(self, leaf: Leaf, number: int) -> Field:
        """In batch any timestamp may be the time of a window; a batch is one epoch, so it is in order anyway."""
        timed = isinstance(leaf, MatchTime) or (
            not self._ctx.streaming and isinstance(leaf.type, TimestampType)
        )
        return Field(f"leaf{number}", leaf.type, "rowtime" if timed else "")

    def _refuse(self, what: str, do: str | None = None) -> NoReturn:
        raise self._ctx.error(what, self._node.args.get("input"), do=do)


class _VariableScope(Scope):
    """A relation for each variable, and one for any variable in front of them."""

    def __init__(self, fields: Fields, variables: Sequence[str]) -> None:
        width = len(fields)
        super().__init__([Relation(name, (n + 1) * width, fields) for n, name in enumerate(variables)])
        self._any = Relation(None, 0, fields)

    def _unqualified(self, name: str, node: exp.Identifier, ctx: BindContext) -> Rex | None:
        return self._in_relation(self._any, name, node, ctx)

    def _ref(self, relation: Relation, index: int) -> InputRef:
        """Time attributes of rows are plain columns; only MATCH_ROWTIME() is one again."""
        return replace(super()._ref(relation, index), time="")


class _VariableBinder(ExpressionBinder):
    """Binds one expression; columns of navigation n are at `n * width`."""

    def __init__(
        self, ctx: BindContext, queries: QueryBinder, fields: Fields, variables: Sequence[str], place: str
    ) -> None:
        super().__init__(ctx, _VariableScope(fields, variables), queries, aggregates=True, place=place)
        self._fields = fields
        self._navigations = [Navigation(None), *(Navigation(name) for name in variables)]

    def _named_call(self, name: str, arguments: list[Any], node: Any) -> Rex:
        upper = name.upper()
        if upper in _NAVIGATIONS and "." not in name:
            return self._navigate(upper, arguments, node)
        if upper == _MATCH_ROWTIME:
            return Call(self._rowtime_type(arguments, node), _MATCH_ROWTIME, ())
        if upper == "MATCH_PROCTIME":
            return self.call("PROCTIME", (), node)
        if upper in _UNKNOWN_CALLS:
            raise self._ctx.error(f"{upper}() is not supported in MATCH_RECOGNIZE", node)
        return super()._named_call(name, arguments, node)

    def _navigate(self, name: str, arguments: list[Any], node: Any) -> Rex:
        """FIRST(expression [, offset]) or LAST: the columns inside are those of another row."""
        if not 1 <= len(arguments) <= 2:
            raise self._ctx.error(f"{name} takes an expression and an offset", node)
        given = self.bind(arguments[1]) if len(arguments) == 2 else None
        if given is not None and not (isinstance(given, Const) and isinstance(given.value, int)):
            raise self._ctx.error(f"the offset of {name} must be a constant", node)
        offset = given.value if isinstance(given, Const) else int(name in ("PREV", "NEXT"))
        if name in ("PREV", "NEXT") and offset:
            raise self._ctx.error(
                "Flink does not support physical offsets within partition.",
                node,
                do="use LAST(variable.column, n)",
            )
        operand = self.bind(arguments[0])
        used = {self._navigation_of(part) for part in walk(operand) if isinstance(part, InputRef)}
        if len(used) != 1 or any(navigation.first or navigation.offset for navigation in used):
            raise self._ctx.error(f"{name} takes an expression over one pattern variable", node)
        moved = replace(used.pop(), first=name == "FIRST", offset=offset)
        if moved not in self._navigations:
            self._navigations.append(moved)
        width, place = len(self._fields), self._navigations.index(moved)

        def there(part: Rex) -> Rex | None:
            return (
                replace(part, index=place * width + part.index % width)
                if isinstance(part, InputRef)
                else None
            )

        return transform(operand, there)

    def _rowtime_type(self, arguments: list[Any], node: Any) -> Any:
        fields = [field for field in self._fields if field.time == "rowtime"]
        zoned = any(isinstance(field.type, LocalZonedTimestampType) for field in fields)
        if arguments and not self._ctx.streaming:
            raise self._ctx.error(
                "The function MATCH_ROWTIME requires argument to be a row time attribute, which batch tables lack",
                node,
            )
        if not arguments:
            if zoned and self._ctx.streaming:
                raise self._ctx.error(
                    "MATCH_ROWTIME(rowtimeField) should be used when input stream contains rowtime attribute with "
                    "TIMESTAMP_LTZ type.",
                    node,
                )
            return DataTypes.TIMESTAMP(3, False)
        column = arguments[0]
        named = next((f for f in fields if isinstance(column, exp.Column) and f.name == column.name), None)
        if named is None:
            raise self._ctx.error(
                "The function MATCH_ROWTIME requires argument to be a row time attribute", node
            )
        return named.type

    # -- leaves ---------------------------------------------------------------------------------------------

    def leaves_of(self, rex: Rex, leaves: list[Leaf]) -> Rex:
        """The expression over `leaves`, to which its own are added."""
        if any(isinstance(part, SubqueryRex) for part in walk(rex)):
            raise self._ctx.error("subqueries cannot stand in MATCH_RECOGNIZE")

        def place(leaf: Leaf, time: Any = "") -> InputRef:
            if leaf not in leaves:
                leaves.append(leaf)
            return InputRef(leaf.type, leaves.index(leaf), time)

        def change(part: Rex) -> Rex | None:
            if isinstance(part, AggCall):
                return place(self._aggregate_leaf(part))
            if isinstance(part, Call) and part.name == _MATCH_ROWTIME:
                return place(MatchTime(part.type), "rowtime")
            if isinstance(part, InputRef):
                column = part.index % len(self._fields)
                return place(RowValue(self._navigation_of(part), column, part.type.nullable()))
            return None

        return transform(rex, change)

    def _aggregate_leaf(self, call: AggCall) -> Leaf:
        refs = [part for child in call.children() for part in walk(child) if isinstance(part, InputRef)]
        variables = {self._navigation_of(ref).variable for ref in refs}
        if len(variables) > 1:
            raise self._ctx.error("Aggregation must be applied to a single pattern variable.")
        if call.distinct:
            raise self._ctx.error(f"DISTINCT is not supported in {call.name} inside MATCH_RECOGNIZE")
        if any(self._navigation_of(ref).first or self._navigation_of(ref).offset for ref in refs):
            raise self._ctx.error("FIRST and LAST cannot stand inside an aggregate function")
        width = len(self._fields)
        on_rows: Callable[[Rex], Rex | None] = lambda r: (  # noqa: E731
            replace(r, index=r.index % width) if isinstance(r, InputRef) else None
        )
        over = transform(call, on_rows)
        assert isinstance(over, AggCall)
        return RowsAggregate(variables.pop() if variables else None, over, call.type)

    def _navigation_of(self, ref: InputRef) -> Navigation:
        return self._navigations[ref.index // len(self._fields)]
