"""Trees of the Table API become typed expressions.

`NodeBinder` is SQL's `ExpressionBinder` for another kind of tree: functions, their types, implicit casts and users'
functions go the same way, so that a program and its SQL twin have the same plan.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.common.datatypes import (
    ArrayType,
    CharType,
    DataType,
    DataTypes,
    MapType,
    RowField,
    RowType,
    VarCharType,
)
from penstock.common.near_names import did_you_mean
from penstock.common.types import Row
from penstock.sql.binder import literals
from penstock.sql.binder.coercion import cast_rex
from penstock.sql.binder.expressions import ExpressionBinder, user_aggregate
from penstock.sql.binder.group_windows import bind_group_window
from penstock.sql.binder.query import QueryBinder
from penstock.sql.binder.scope import Relation, Scope
from penstock.sql.dialect.statement_parser import parse_expression
from penstock.sql.functions import FUNCTIONS, FunctionDef
from penstock.sql.plan.algebra import Fields
from penstock.sql.plan.rex import (
    AggCall,
    Call,
    Const,
    Frame,
    InputRef,
    OverCall,
    Rex,
    SortKey,
    SubqueryRex,
    TypeRef,
    UdfCall,
)
from penstock.sql.user_functions import UserFunction, as_user_function, find_user_function
from penstock.table.expression_parts.nodes import (
    Apply,
    Bound,
    CallByName,
    CallOf,
    Name,
    Node,
    Rows,
    SqlText,
    Symbol,
    TableNode,
    TypeNode,
    Value,
)
from penstock.table.resolving.context import ProgramContext
from penstock.table.resolving.functions import registry_name
from penstock.table.window_specs import GroupWindowSpec, OverWindowSpec


@dataclass
class Windows:
    """What the alias of a window means at a place."""

    group: GroupWindowSpec | None = None
    over: Mapping[str, OverWindowSpec] | None = None


class NodeBinder(ExpressionBinder):
    """Binds trees over the columns of a plan.

    Args:
        named: Names for expressions, which come before the columns: the keys of a grouping.
    """

    def __init__(
        self,
        ctx: ProgramContext,
        fields: Fields,
        *,
        place: str,
        aggregates: bool = False,
        windows: Windows | None = None,
        named: Mapping[str, Node] | None = None,
    ) -> None:
        scope = Scope([Relation(None, 0, fields)])
        over = windows is not None and windows.over is not None
        super().__init__(ctx, scope, QueryBinder(ctx), aggregates=aggregates, over=over, place=place)
        self._fields = fields
        self._own_windows = windows or Windows()
        self._named = named or {}

    def bind(self, node: Any) -> Rex:
        """The typed expression of a node of the Table API, or of SQL within it."""
        method = _NODES.get(type(node))
        return super().bind(node) if method is None else method(self, node)

    def sort_key(self, node: Any) -> SortKey:
        """`a.asc`, `a.desc` or just `a`; NULLs are the smallest values."""
        if not isinstance(node, Node):
            return super().sort_key(node)
        descending = isinstance(node, Apply) and node.function == "desc"
        if isinstance(node, Apply) and node.function in ("asc", "desc"):
            node = node.args[0]
        return SortKey(self.bind(node), descending, not descending)

    # -- leaves ----------------------------------------------------------------------------------------

    def column(self, name: str) -> InputRef:
        """A column by its name; an unknown one is refused with those that are near."""
        for i, field in enumerate(self._fields):
            if field.name == name:
                return InputRef(field.type, i, field.time)
        names = [f.name for f in self._fields]
        hint = did_you_mean(name, names) or f"the columns are {', '.join(names)}"
        raise self._ctx.error(f"column '{name}' not found in {self._place}", do=hint)

    def _name(self, node: Name) -> Rex:
        named = self._named.get(node.name)
        if named is not None and named != node:
            return self.bind(named)
        group = self._own_windows.group
        if group is not None and node.name == group.alias:
            return self._group_window(group)
        if node.name in (self._own_windows.over or {}):
            raise self._ctx.error(
                f"'{node.name}' is a window, not a column",
                do=f"use it in over: col('a').sum.over(col('{node.name}'))",
            )
        return self.column(node.name)

    def _value(self, node: Value) -> Rex:
        value, data_type = node.value, node.type
        if value is None:
            return literals.null() if data_type == DataTypes.NULL() else cast_rex(literals.null(), data_type)
        if not value and isinstance(data_type, (ArrayType, MapType)):
            return _empty(data_type)
        if isinstance(data_type, ArrayType):
            items = tuple(self._value(Value(v, data_type.element_type)) for v in value)
            return cast_rex(self.call("ARRAY", items), data_type)
        if isinstance(data_type, MapType):
            pairs = [Value(x, t) for kv in value.items() for x, t in zip(kv, _entry(data_type), strict=True)]
            return cast_rex(self.call("MAP", tuple(self._value(p) for p in pairs)), data_type)
        if isinstance(data_type, RowType) and isinstance(value, (Row, tuple, list)):
            items = tuple(self._value(Value(v, f.data_type)) for v, f in zip(value, data_type, strict=True))
            return cast_rex(self.call("ROW", items), data_type)
        if isinstance(data_type, VarCharType) and isinstance(value, str):
            return cast_rex(literals.text(value), data_type)
        return Const(data_type, value)

    def _sql(self, node: SqlText) -> Rex:
        inner = ExpressionBinder(
            self._ctx.for_text(node.text),
            self._scope,
            self._queries,
            aggregates=self._aggregates,
            place=self._place,
        )
        return inner.bind(parse_expression(node.text))

    def _cannot_stand(self, node: Node) -> Rex:
        raise self._ctx.error(f"{node} cannot stand in {self._place}")

    # -- calls -----------------------------------------------------------------------------------------

    def _apply(self, node: Apply) -> Rex:
        own = self._ctx.catalogs.system_functions.get(node.function.lower())
        if own is not None and node.function not in _NO_FUNCTIONS:
            user = find_user_function(self._ctx.catalogs, node.function)
            assert user is not None
            return self._user(node.function, user, node.args)
        special = _SPECIAL.get(node.function)
        if special is not None:
            return special(self, node)
        name = registry_name(node.function)
        definition = FUNCTIONS.get(name)
        if definition is not None and definition.kind == "aggregate":
            return self._aggregate_of(definition, node.args)
        if definition is not None and definition.kind == "window":
            raise self._ctx.error(f"{node.function} needs a window", do="put .over(col('w')) behind it")
        return self.call(name, tuple(self.bind(a) for a in node.args), node)

    def _call_by_name(self, node: CallByName) -> Rex:
        user = find_user_function(self._ctx.catalogs, node.path)
        if user is not None:
            return self._user(node.path, user, node.args)
        if node.path.lower() == "sum0":
            return self._sum0(Apply("sum0", node.args))
        definition = FUNCTIONS.get(node.path.upper())
        if definition is None:
            near = difflib.get_close_matches(node.path.upper(), FUNCTIONS, n=3)
            names = [n.lower() for n in near if n[0].isalpha()]
            hint = (
                "did you mean " + " or ".join(names) + "?"
                if names
                else "register it: create_temporary_function(...)"
            )
            raise self._ctx.error(f"undefined function: {node.path}", do=hint)
        return self._apply(Apply(definition.name, node.args))

    def _call_of(self, node: CallOf) -> Rex:
        user = (
            node.function
            if isinstance(node.function, UserFunction)
            else as_user_function(node.name, node.function)
        )
        args: Sequence[Node | Rex] = node.args
        if node.takes_row:
            args = (self.row_of(node.args),)
        return self._user(node.name, user, args)

    def row_of(self, nodes: Sequence[Node]) -> Rex:
        """The arguments as one row, with the columns' names."""
        values = tuple(self.bind(n) for n in nodes)
        fields = [RowField(str(n), v.type) for n, v in zip(nodes, values, strict=True)]
        return Call(RowType(fields, nullable=False), "ROW", values)

    def call_type(self, name: str, args: tuple[Rex, ...]) -> DataType:
        """What a function of the registry gives for these arguments."""
        return self._infer(FUNCTIONS[name], args, None)

    def fitting(self, user: UserFunction, args: tuple[Rex, ...]) -> tuple[Rex, ...]:
        """The arguments as the function declares them."""
        return self._fitting(user, args, None)

    def _user(self, name: str, user: UserFunction, args: Sequence[Node | Rex]) -> Rex:
        if user.kind == "aggregate":
            call = self._aggregate_of(user_aggregate(user), args)
            return replace(call, args=self._fitting(user, call.args, None), function=user)
        if user.kind == "table aggregate":
            raise self._ctx.error(
                f"{name} is a table aggregate function", do="call it in flat_aggregate(...)"
            )
        if user.kind != "scalar":
            raise self._ctx.error(
                f"{name} is a {user.kind} function", do="call it in join_lateral(...) or flat_map(...)"
            )
        bound = tuple(a if isinstance(a, Rex) else self.bind(a) for a in args)
        fitting = self._fitting(user, bound, None)
        return UdfCall(user.result_type([a.type for a in fitting]), name, user, fitting)

    def _aggregate_of(
        self, definition: FunctionDef, nodes: Sequence[Node | Rex], distinct: bool = False
    ) -> AggCall:
        if not self._aggregates:
            raise self._ctx.error(
                f"aggregate function {definition.name} cannot stand in {self._place}",
                do="aggregate in select(...) of a table or a grouped table first",
            )
        if self._inside_aggregate:
            raise self._ctx.error("an aggregate function cannot be the input of another aggregate function")
        self._inside_aggregate = True
        try:
            args = tuple(n if isinstance(n, Rex) else self.bind(n) for n in nodes)
        finally:
            self._inside_aggregate = False
        return AggCall(self._infer(definition, args, None), definition.name, args, distinct)

    # -- special forms ---------------------------------------------------------------------------------

    def _connective(self, node: Apply) -> Rex:
        """a & b & c is one AND of three, as in SQL."""
        parts: list[Node] = []
        for arg in node.args:
            inner = isinstance(arg, Apply) and arg.function == node.function
            parts += self._flat(arg, node.function) if inner else [arg]
        return self.call(node.function.upper(), tuple(self.bind(p) for p in parts), node)

    def _flat(self, node: Node, function: str) -> list[Node]:
        if isinstance(node, Apply) and node.function == function:
            return [part for arg in node.args for part in self._flat(arg, function)]
        return [node]

    def _plus(self, node: Apply) -> Rex:
        """Texts are put together, all else is added."""
        left, right = (self.bind(a) for a in node.args)
        texts = all(isinstance(r.type, (CharType, VarCharType)) for r in (left, right))
        return self.call("||" if texts else "+", (left, right), node)

    def _then(self, node: Apply) -> Rex:
        return self.call("CASE", tuple(self.bind(a) for a in node.args), node)

    def _cast_to(self, node: Apply) -> Rex:
        target = node.args[1]
        assert isinstance(target, TypeNode)
        name = "TRY_CAST" if node.function == "TRY_CAST" else "CAST"
        return self.call(name, (self.bind(node.args[0]), TypeRef(target.type)), node)

    def _without_name(self, node: Apply) -> Rex:
        return self.bind(node.args[0])

    def _misplaced_sort(self, node: Apply) -> Rex:
        raise self._ctx.error(f"{node} cannot stand in {self._place}", do="use it in order_by(...)")

    def _sum0(self, node: Apply) -> Rex:
        return self._or_zero(self._aggregate_of(FUNCTIONS["SUM"], node.args))

    def _or_zero(self, call: Rex) -> Rex:
        zero = cast_rex(Const(DataTypes.INT(False), 0), call.type.not_null())
        return self.call("COALESCE", (replace(call, type=call.type.nullable()), zero))

    def _distinct(self, node: Apply) -> Rex:
        inner = node.args[0]
        found = self.bind(inner)
        if isinstance(found, AggCall):
            return replace(found, distinct=True)
        if isinstance(inner, Apply) and inner.function == "sum0" and isinstance(found, Call):
            return self._or_zero(replace(found.args[0], distinct=True))  # type: ignore[call-arg]
        raise self._ctx.error(
            f"distinct belongs behind an aggregate, and {inner} is none", do="write col('a').count.distinct"
        )

    def _in_elements(self, node: Apply) -> Rex:
        if not isinstance(node.args[1], TableNode):
            return self.call("IN", tuple(self.bind(a) for a in node.args), node)
        plan = node.args[1].table.plan
        if len(plan.fields) != 1:
            raise self._ctx.error(
                f"in_ takes a table of one column, this one has {len(plan.fields)}",
                do="select the column first",
            )
        left, plan = self._queries.align_in([self.bind(node.args[0])], plan, node)
        nullable = left[0].type.is_nullable or plan.fields[0].type.is_nullable
        return SubqueryRex(DataTypes.BOOLEAN(nullable), "in", plan, tuple(left))

    def _get(self, node: Apply) -> Rex:
        row, key = self.bind(node.args[0]), node.args[1]
        assert isinstance(key, Value)
        if not isinstance(row.type, RowType):
            known = f"; expressions have no method '{key.value}' either" if isinstance(key.value, str) else ""
            raise self._ctx.error(
                f"a field cannot be taken from {node.args[0]} of type {row.type.as_summary()}{known}",
                do=did_you_mean(
                    str(key.value), [n for n in dir(_expression_class()) if not n.startswith("_")]
                ),
            )
        names = row.type.field_names()
        name = names[key.value] if isinstance(key.value, int) and key.value < len(names) else key.value
        if name not in names:
            raise self._ctx.error(f"the row has no field '{name}'", do=did_you_mean(str(name), names))
        return self.call("DOT", (row, literals.text(name)), node)

    def _row(self, node: Apply) -> Rex:
        """SQL calls the fields EXPR$0 and so on, the Table API f0."""
        made = self.call("ROW", tuple(self.bind(a) for a in node.args), node)
        assert isinstance(made.type, RowType)
        fields = [RowField(f"f{i}", f.data_type) for i, f in enumerate(made.type)]
        return replace(made, type=RowType(fields, made.type.is_nullable))

    def _trim(self, node: Apply) -> Rex:
        leading, trailing, character, value = node.args
        assert isinstance(leading, Value) and isinstance(trailing, Value)
        side = {(True, False): "LEADING", (False, True): "TRAILING"}.get(
            (leading.value, trailing.value), "BOTH"
        )
        return self.call("TRIM", (literals.text(side), self.bind(character), self.bind(value)), node)

    def _units(self, node: Apply) -> Rex:
        """Functions with a unit of time among the arguments."""
        args = tuple(
            literals.text(a.word.replace("_", " ")) if isinstance(a, Symbol) else self.bind(a)
            for a in node.args
        )
        return self.call(registry_name(node.function), args, node)

    def _json_value(self, node: Apply) -> Rex:
        text, path, kind, *rest = node.args
        assert isinstance(kind, TypeNode)
        parts = tuple(self._word(a) for a in rest)
        return self.call("JSON_VALUE", (self.bind(text), self.bind(path), TypeRef(kind.type), *parts), node)

    def _json_query(self, node: Apply) -> Rex:
        text, path, kind, wrapper, *rest = node.args
        assert isinstance(kind, TypeNode) and isinstance(wrapper, Symbol)
        words = (literals.text(wrapper.word.removesuffix("_ARRAY")), *(self._word(a) for a in rest))
        return self.call("JSON_QUERY", (self.bind(text), self.bind(path), TypeRef(kind.type), *words), node)

    def _word(self, node: Node) -> Rex:
        return literals.text(node.word.replace("_", " ")) if isinstance(node, Symbol) else self.bind(node)

    def _words_among(self, node: Apply) -> Rex:
        return self.call(registry_name(node.function), tuple(self._word(a) for a in node.args), node)

    def _json_agg(self, node: Apply) -> Rex:
        """The registry has what becomes of NULL behind the values."""
        on_null, *values = node.args
        bound = [self._inside(v) for v in values]
        return self._aggregate_of(FUNCTIONS[node.function], [*bound, self._word(on_null)])

    def _inside(self, node: Node) -> Rex:
        before, self._inside_aggregate = self._inside_aggregate, True
        try:
            return self.bind(node)
        finally:
            self._inside_aggregate = before

    def _current_database(self, node: Apply) -> Rex:
        return Const(DataTypes.STRING(False), self._ctx.catalogs.current_database or "")

    def _expanded(self, node: Apply) -> Rex:
        raise self._ctx.error(f"{node} stands for several columns, which cannot stand in {self._place}")

    # -- windows ---------------------------------------------------------------------------------------

    def _group_window(self, window: GroupWindowSpec, suffix: str = "") -> Rex:
        args = tuple(self.bind(a) for a in (window.time, *window.lengths))
        return bind_group_window(window.kind + suffix, args)

    def _window_property(self, node: Apply) -> Rex:
        """`w.start`, `w.end`, `w.rowtime`, `w.proctime`."""
        window, alias = self._own_windows.group, node.args[0]
        if window is None or not isinstance(alias, Name) or alias.name != window.alias:
            raise self._ctx.error(
                f"{node.function} belongs to a window, and '{alias}' is none",
                do="declare one: window(Tumble.over(...).on(...).alias('w')), and group by it",
            )
        if window.counts_rows:
            raise self._ctx.error("a window of rows has no start and no end")
        return self._group_window(window, "_" + node.function.upper())

    def _over_call(self, node: Apply) -> Rex:
        aggregate, alias = node.args
        name = (
            alias.name
            if isinstance(alias, Name)
            else str(alias.value)
            if isinstance(alias, Value)
            else str(alias)
        )
        windows = self._own_windows.over
        window = None if windows is None else windows.get(name)
        if window is None:
            hint = (
                did_you_mean(name, windows or ())
                or "declare it: over_window(Over.partition_by(...)...alias('w'))"
            )
            raise self._ctx.error(f"could not resolve over call: there is no window '{name}'", do=hint)
        if isinstance(aggregate, Apply) and aggregate.function == "sum0":
            return self._or_zero(self._over_of(Apply("sum", aggregate.args), window))
        return self._over_of(aggregate, window)

    def _over_of(self, node: Node, window: OverWindowSpec) -> OverCall:
        call = self._windowed_call(node)
        if call.distinct and not self._ctx.streaming:
            raise self._ctx.error("distinct over a window is not possible in batch mode")
        partition = tuple(self.bind(p) for p in window.partition)
        order = (self.sort_key(window.order),)
        self._check_order(order[0].rex)
        frame = self._frame_of(window)
        return OverCall(
            call.type, call.name, call.args, partition, order, frame, call.distinct, None, call.function
        )

    def _check_order(self, order: Rex) -> None:
        """A stream's rows come in the order of their time, so nothing else can order an OVER window."""
        if self._ctx.streaming and not getattr(order, "time", ""):
            raise self._ctx.error(
                f"Second argument in OVER window must be a TIME ATTRIBUTE, but is: {order.type.as_summary()}",
                do="order by a column with a watermark, or by processing time",
            )

    def _windowed_call(self, node: Node) -> AggCall:
        if isinstance(node, Apply) and node.function in ("LAG", "LEAD"):
            definition = FUNCTIONS[node.function]
            args = tuple(self.bind(a) for a in node.args)
            return AggCall(self._infer(definition, args, None), definition.name, args)
        before, self._aggregates = self._aggregates, True
        try:
            found = self.bind(node)
        finally:
            self._aggregates = before
        if not isinstance(found, AggCall):
            raise self._ctx.error(f"{node} is not an aggregate, which over(...) needs")
        return found

    def _frame_of(self, window: OverWindowSpec) -> Frame | None:
        if window.preceding is None:
            return None
        rows = isinstance(window.preceding, Rows) or window.preceding == Bound("UNBOUNDED_ROW")
        start = ("PRECEDING", self._offset(window.preceding))
        return Frame("ROWS" if rows else "RANGE", start, self._end_of(window.following))

    def _end_of(self, node: Node | None) -> tuple[str, Rex | None]:
        if node is None or node in (Bound("CURRENT_ROW"), Bound("CURRENT_RANGE")):
            return "CURRENT ROW", None
        return "FOLLOWING", self._offset(node)

    def _offset(self, node: Node) -> Rex | None:
        if isinstance(node, Bound):
            return None
        if isinstance(node, Rows):
            return Const(DataTypes.INT(False), node.count)
        return self.bind(node)


def _empty(data_type: ArrayType | MapType) -> Rex:
    """ARRAY[] and MAP[] need elements for their types; here the type is known."""
    return Call(data_type, "ARRAY" if isinstance(data_type, ArrayType) else "MAP", ())


def _entry(data_type: MapType) -> tuple[Any, Any]:
    return data_type.key_type, data_type.value_type


def _expression_class() -> type:
    from penstock.table.expression import Expression

    return Expression


_B = NodeBinder
_NODES: dict[type, Callable[[NodeBinder, Any], Rex]] = {
    Name: _B._name,
    Value: _B._value,
    SqlText: _B._sql,
    Apply: _B._apply,
    CallByName: _B._call_by_name,
    CallOf: _B._call_of,
    TypeNode: _B._cannot_stand,
    Symbol: _B._cannot_stand,
    Rows: _B._cannot_stand,
    Bound: _B._cannot_stand,
    TableNode: _B._cannot_stand,
}

_NO_FUNCTIONS = {
    "as",
    "asc",
    "desc",
    "over",
    "distinct",
    "get",
    "cast",
    "TRY_CAST",
    "start",
    "end",
    "rowtime",
    "proctime",
}
"""What looks like a call and is part of the expression's form: a user's function of the name does not replace it."""

_SPECIAL: dict[str, Callable[[NodeBinder, Apply], Rex]] = {
    "and": _B._connective,
    "or": _B._connective,
    "plus": _B._plus,
    "ifThenElse": _B._then,
    "cast": _B._cast_to,
    "TRY_CAST": _B._cast_to,
    "as": _B._without_name,
    "asc": _B._misplaced_sort,
    "desc": _B._misplaced_sort,
    "sum0": _B._sum0,
    "distinct": _B._distinct,
    "in": _B._in_elements,
    "get": _B._get,
    "row": _B._row,
    "trim": _B._trim,
    "extract": _B._units,
    "floor": _B._units,
    "ceil": _B._units,
    "timestampDiff": _B._units,
    "JSON_VALUE": _B._json_value,
    "JSON_QUERY": _B._json_query,
    "JSON_EXISTS": _B._words_among,
    "JSON_OBJECT": _B._words_among,
    "JSON_ARRAY": _B._words_among,
    "IS_JSON": _B._words_among,
    "JSON_OBJECTAGG": _B._json_agg,
    "JSON_ARRAYAGG": _B._json_agg,
    "currentDatabase": _B._current_database,
    "start": _B._window_property,
    "end": _B._window_property,
    "rowtime": _B._window_property,
    "proctime": _B._window_property,
    "over": _B._over_call,
    "flatten": _B._expanded,
    "withColumns": _B._expanded,
    "withoutColumns": _B._expanded,
    "withAllColumns": _B._expanded,
    "rangeTo": _B._expanded,
}
